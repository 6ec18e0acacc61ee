//! The names of the processes of a table of calls.

use redial_model::ids::ConnectionId;
use redial_model::subject::Subject;
use std::collections::BTreeMap;

/// The titles of several processes; none for a single one, whose table has no column for them.
pub struct ProcessTitles(BTreeMap<ConnectionId, String>);

impl ProcessTitles {
    /// Returns the titles of all processes of a fleet.
    pub fn of(subject: Subject<'_>) -> ProcessTitles {
        let members = subject.fleet().into_iter().flat_map(|fleet| {
            let title = |id: ConnectionId| (id, fleet.title_of(id).to_owned());
            fleet.members().iter().map(move |member| title(member.connection))
        });
        ProcessTitles(members.collect())
    }

    /// Returns whether the table has a column for the process.
    pub fn are_shown(&self) -> bool {
        self.0.len() > 1
    }

    /// Returns process id and name, which tell processes apart even if the end is cut off.
    pub fn cell(&self, connection: ConnectionId) -> String {
        let title = self.get(connection);
        let parts = title.strip_suffix(')').and_then(|title| title.rsplit_once(" ("));
        parts.map_or_else(|| title.to_owned(), |(name, pid)| format!("{pid} {name}"))
    }

    /// Returns the title of a process.
    pub fn get(&self, connection: ConnectionId) -> &str {
        self.0.get(&connection).map_or("", String::as_str)
    }
}
