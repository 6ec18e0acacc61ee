//! Methods that went on or off in several processes: told together, a second after the first of them did.

use super::{Connections, Fleet, Member, out_of_reach};
use crate::model::connection::transitions::SPAN;
use crate::model::ids::{ConnectionId, FLEET};
use crate::model::log::{Kind, Log};
use crate::model::update::Now;
use crate::output::words;
use redial_protocol::ids::RowId;
use redial_protocol::state::State;
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

/// Methods of which it was not told yet, and since when.
#[derive(Debug, Default)]
pub(super) struct Went {
    since: Option<Duration>,
    rows: HashSet<(ConnectionId, RowId)>,
    /// When it was told last that every dial is off.
    all_off: Option<Duration>,
}

impl Went {
    /// Of these nothing is told any more.
    pub fn forget(&mut self, left: &[Member]) {
        self.rows.retain(|(id, _)| left.iter().all(|member| member.connection != *id));
    }

    /// It was told that every dial is off: that methods of the same moment are, is no news.
    pub fn told_all_off(&mut self, now: Duration) {
        self.all_off = Some(now);
    }

    /// When there will be something to tell, on `Now::mono`'s clock.
    pub fn due(&self) -> Option<Duration> {
        self.since.map(|since| since + SPAN)
    }
}

impl Fleet {
    /// Tells what went on or off a while ago, a line for each state it is in by now; nothing of processes that are out of
    /// reach by then.
    pub(super) fn tell_went(&mut self, connections: &mut Connections, log: &mut Log, now: Now) {
        for member in &self.members {
            let Some(connection) = connections.get_mut(&member.connection) else { continue };
            let rows = connection.take_went();
            self.went.rows.extend(rows.into_iter().map(|row| (member.connection, row)));
        }
        if self.went.rows.is_empty() || self.went.since.is_none() {
            self.went.since = (!self.went.rows.is_empty()).then_some(now.mono);
            return;
        }
        if self.went.due().is_some_and(|due| now.mono < due) {
            return;
        }
        let since = self.went.since.take();
        let told_off = self.went.all_off.take().zip(since).is_some_and(|(told, since)| told + SPAN >= since);
        let rows = std::mem::take(&mut self.went.rows);
        let row = |(id, row): &(ConnectionId, RowId)| {
            let connection = connections.get(id).filter(|one| out_of_reach(&one.status).is_none())?;
            Some((*id, connection.live.row(*row)?))
        };
        for (state, went) in [(State::Live, "went live"), (State::Off, "went off")] {
            let (mut copies, mut processes, mut levels) = (0_u64, BTreeSet::new(), BTreeSet::new());
            let (mut name, mut is_one) = (None, true);
            for (id, row) in rows.iter().filter_map(row).filter(|(_, row)| row.state == state) {
                copies += 1;
                processes.insert(id);
                // What cannot be timed is counted only, and says why.
                levels.insert(row.times_note.is_none().then_some(row.wanted));
                is_one &= *name.get_or_insert(&row.name) == &row.name;
            }
            let Some(name) = name.filter(|_| state != State::Off || !told_off) else { continue };
            let level = match levels.first() {
                Some(Some(level)) if levels.len() == 1 && state == State::Live => format!(" at {level}"),
                _ => String::new(),
            };
            let place = self.titles(&processes.into_iter().collect::<Vec<_>>());
            let text = match is_one {
                true => format!("{name}: {state}{level} in {place}"),
                false => format!("{} {went}{level} in {place}", words::count(copies, "copy", "copies")),
            };
            log.add(now, Some(FLEET), Kind::Transition, text);
        }
    }
}
