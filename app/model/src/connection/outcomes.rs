//! Logs the outcomes of changes.

use super::{Connection, PartOutcome};
use crate::changes::PendingChange;
use crate::ids::Ticket;
use crate::log::{Log, LogKind};
use crate::update::{Now, RefusedRequest};
use crate::wanted_level::WantedLevel;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, SharedModule, total};
use redial_text::diagnostics::{Reader, change_warnings, reasons};
use redial_text::words;

impl Connection {
    /// Takes in the report of a change that the agent carried out.
    pub(super) fn dialled(&mut self, ticket: Ticket, report: &DialReport, log: &mut Log, now: Now) {
        self.note_refused_condition(ticket, report);
        let accepted = self.table.changes.accepted(ticket, now);
        let Some((words, kind, on_again)) = accepted.map(|pending| {
            let on_again = pending.on_again().map(<[WantedLevel]>::to_vec);
            (pending.words.clone(), pending.done(), on_again)
        }) else {
            return;
        };
        if self.finish_part(ticket, || PartOutcome::Done(Box::new(report.clone()))) {
            return;
        }
        let whole = report.refused_by_reason.is_empty() && report.warnings.is_empty();
        if let Some(wishes) = on_again.filter(|_| whole) {
            // The report also counts dials that go off again.
            let are = words::count(self.table.on_by(&wishes), "method is", "methods are");
            return self.log_line(log, now, kind, format!("{words}: {are} on again"));
        }
        self.log_report(&words, report, kind, log, now);
        let pending = self.table.changes.pending().iter().find(|pending| pending.ticket == ticket);
        let mut without =
            pending.into_iter().flat_map(PendingChange::turned_on).map(|set| self.table.bodyless_named(set));
        if let Some(named) = without.find(|named| report.bodyless > 0 && !named.is_empty()) {
            let text = format!("without a body, so not counted: {}", named.replace('\n', ", "));
            self.log_line(log, now, LogKind::Notice, text);
        }
    }

    /// Logs a report: `kind` is the kind of its first line unless everything was refused.
    pub(super) fn log_report(
        &self,
        change: &str,
        report: &DialReport,
        kind: LogKind,
        log: &mut Log,
        now: Now,
    ) {
        let refused = total(report.refused_by_reason.iter().map(|(_, number)| *number));
        let (accepted, matched) = (words::grouped(report.accepted), words::grouped(report.matched));
        let mut text = match report.matched {
            0 => format!("{change}: nothing was left to do"),
            _ => format!("{change}: {accepted} of {matched} accepted"),
        };
        if report.bodyless > 0 {
            text.push_str(&format!(", {} without a body", words::grouped(report.bodyless)));
        }
        let kind = if report.accepted == 0 && refused > 0 { LogKind::Refusal } else { kind };
        self.log_line(log, now, kind, text);
        for (reason, number) in &report.refused_by_reason {
            let named = report.refused.iter().filter(|one| one.reason == *reason);
            let first: Vec<String> = named.take(3).map(|one| words::plain_parameters(&one.method)).collect();
            let rest = number.saturating_sub(first.len() as u64);
            let more = if rest > 0 { format!(" and {} more", words::grouped(rest)) } else { String::new() };
            let why = match reason {
                Reason::Shared => shared_by(&report.shared),
                reason => reasons::sentence(*reason, Reader::Window).to_owned(),
            };
            let text = format!("refused: {}{more}: {why}", first.join(", "));
            self.log_line(log, now, LogKind::Refusal, text);
        }
        for warning in &report.warnings {
            let text = change_warnings::sentence(warning, Reader::Window);
            self.log_line(log, now, LogKind::Notice, text);
        }
    }

    /// Takes in the answer to *all off*: the number of copies reverted, and of those that could not be; or why it
    /// failed.
    pub(super) fn all_off_done(
        &mut self,
        ticket: Ticket,
        result: Result<(u64, u64), String>,
        log: &mut Log,
        now: Now,
    ) {
        let outcome = || match &result {
            Ok((reverted, remaining)) => PartOutcome::Off(*reverted, *remaining),
            Err(why) => PartOutcome::Refused(RefusedRequest { why: why.clone(), holder: None }),
        };
        // The agent's next status report says so too, but later.
        if let (Ok((_, 0)), Some(agent)) = (&result, &mut self.agent) {
            (agent.held, agent.kept) = (0, 0);
            self.hot_search.all_off();
        }
        let is_part = self.finish_part(ticket, outcome);
        match &result {
            // There is nothing to undo.
            Ok((0, 0)) | Err(_) => drop(self.table.changes.failed(ticket)),
            Ok(_) => drop(self.table.changes.accepted(ticket, now)),
        }
        if is_part {
            return;
        }
        let (title, grouped) = (self.title(), words::grouped);
        let (kind, text) = match result {
            Ok((0, 0)) => (LogKind::NoneOn, format!("all off: no dial was on in {title}")),
            Ok((reverted, 0)) => {
                let reverted = grouped(reverted);
                let text =
                    format!("all off: every dial is off in {title}, {reverted} reverted to the original IL");
                (LogKind::AllOff, text)
            }
            Ok((reverted, remaining)) => {
                let (reverted, remaining) = (grouped(reverted), grouped(remaining));
                let text =
                    format!("all off in {title}: {reverted} reverted to the original IL, {remaining} not");
                (LogKind::Failure, text)
            }
            Err(why) => (LogKind::Failure, format!("all off failed: {why}")),
        };
        self.log_line(log, now, kind, text);
    }
}

/// Why methods of shared modules were refused: the AppDomains that would see their dials.
fn shared_by(modules: &[SharedModule]) -> String {
    let refused = modules.iter().filter(|module| !module.accepted);
    let each: Vec<String> = refused
        .map(|module| {
            let mut domains = module.domains.clone();
            if module.more_domains > 0 {
                domains.push(format!("{} more", words::grouped(module.more_domains)));
            }
            format!("one copy of {} serves {}", module.module, words::all(&domains))
        })
        .collect();
    format!("{}; a dial there is a dial for all of them", each.join(", "))
}
