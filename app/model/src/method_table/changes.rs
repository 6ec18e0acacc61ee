//! Changes of a table's methods: which are possible, and which are pending.

use super::{MethodTable, Targets};
use crate::ids::Ticket;
use crate::method_set::MethodSet;
use crate::orders::ChangeScope;
use crate::update::Now;
use redial_protocol::level::Level;
use redial_text::diagnostics::{Reader, reasons};

/// Why a group cannot be turned of which no method has a body.
pub const NO_BODIES: &str =
    "none of these has a body (abstract, extern, P/Invoke); dial implementations or callers instead";

impl MethodTable {
    /// Checks whether methods can be turned to a level. `obstacle` says why nothing can be; `offered` are the levels that
    /// the agents offer, lowest first.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub(crate) fn check(
        &self,
        methods: &MethodSet,
        level: Level,
        obstacle: Option<&str>,
        offered: &[Level],
    ) -> Result<(), String> {
        if let Some(obstacle) = obstacle {
            return Err(obstacle.to_owned());
        }
        if methods.is_empty() {
            return Err("no method is selected".to_owned());
        }
        let bodyless = self.off_and_bodyless();
        let none: u64 = methods.ranges().map(|range| u64::from(bodyless.count_in(range))).sum();
        if none == methods.len() {
            let first = methods.iter().next().and_then(|method| self.catalogue.without_body(method));
            return Err(match (none, first) {
                (1, Some(reason)) => reasons::sentence(reason, Reader::Window).to_owned(),
                _ => NO_BODIES.to_owned(),
            });
        }
        if level != Level::Off && !offered.contains(&level) {
            let top = offered.last().copied().unwrap_or(Level::Off);
            return Err(format!("this agent offers levels up to {top} (see REDIAL_MAX_LEVEL)"));
        }
        Ok(())
    }

    /// Marks the targets of a change pending. `change` is its ticket and description.
    pub(crate) fn begin_change(
        &mut self,
        change: (Ticket, String),
        targets: &Targets,
        level: Level,
        now: Now,
    ) {
        let wishes = vec![(level, targets.methods.clone())];
        self.changes.begin(change, wishes, targets.scope, &self.live, now);
        self.changes.has_options(targets.options_at(level), targets.when_at(level));
    }

    /// Marks all methods that are on pending, to be turned off.
    pub(crate) fn begin_all_off(&mut self, ticket: Ticket, now: Now) {
        let on = self.live.rows().filter(|row| row.wanted != Level::Off).filter_map(|row| row.method);
        let wishes = vec![(Level::Off, on.collect())];
        self.changes.begin(
            (ticket, "all dials off".to_owned()),
            wishes,
            ChangeScope::Copies,
            &self.live,
            now,
        );
        self.changes.is_all_off();
    }
}
