//! Logs methods that went live or off in several processes together, a second after the first of them did.

use super::{Fleet, out_of_reach};
use crate::connection::Connections;
use crate::connection::transition_log::SPAN;
use crate::ids::ConnectionId;
use crate::log::{Log, LogKind};
use crate::update::Now;
use redial_protocol::ids::RowId;
use redial_protocol::state::CopyState;
use redial_text::words;
use std::collections::BTreeSet;

impl Fleet {
    /// Logs the methods that went live or off a while ago, a line for each state they are in by now. Leaves out
    /// processes that are out of reach by then.
    pub(super) fn log_transitions(&mut self, connections: &mut Connections, log: &mut Log, now: Now) {
        let summary = &mut self.transitions;
        for member in &self.members {
            let Some(connection) = connections.get_mut(&member.connection) else { continue };
            let rows = connection.take_finished_transitions();
            summary.rows.extend(rows.into_iter().map(|row| (member.connection, row)));
        }
        if summary.rows.is_empty() || summary.since.is_none() {
            summary.since = (!summary.rows.is_empty()).then_some(now.mono);
            return;
        }
        if summary.due().is_some_and(|due| now.mono < due) {
            return;
        }
        let since = summary.since.take();
        let off_logged = summary.all_off.take().zip(since).is_some_and(|(at, since)| at + SPAN >= since);
        let rows = std::mem::take(&mut summary.rows);
        let row = |(id, row): &(ConnectionId, RowId)| {
            let connection = connections.get(id)?;
            if out_of_reach(&connection.session.status).is_some() {
                return None;
            }
            Some((*id, connection.table.live.row(*row)?))
        };
        for (state, verb) in [(CopyState::Live, "went live"), (CopyState::Off, "went off")] {
            let (mut copies, mut processes, mut levels) = (0_u64, BTreeSet::new(), BTreeSet::new());
            let (mut name, mut is_one) = (None, true);
            for (id, row) in rows.iter().filter_map(row).filter(|(_, row)| row.state == state) {
                copies += 1;
                processes.insert(id);
                // A method that cannot be timed is only counted, and its note says why.
                levels.insert(row.times_note.is_none().then_some(row.wanted));
                is_one &= *name.get_or_insert(&row.name) == &row.name;
            }
            let Some(name) = name.filter(|_| state != CopyState::Off || !off_logged) else { continue };
            let level = match levels.first() {
                Some(Some(level)) if levels.len() == 1 && state == CopyState::Live => format!(" at {level}"),
                _ => String::new(),
            };
            let place = self.titles(&processes.into_iter().collect::<Vec<_>>());
            let text = match is_one {
                true => format!("{name}: {state}{level} in {place}"),
                false => format!("{} {verb}{level} in {place}", words::count(copies, "copy", "copies")),
            };
            Fleet::log_line(log, now, LogKind::Transition, text);
        }
    }
}
