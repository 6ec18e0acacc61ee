//! The audit: a ring of the latest changes, each with its user.
#![forbid(unsafe_code)]

use crate::sync::lock;
use redial_protocol::limits::AUDIT_ENTRIES;
use redial_protocol::message::AuditEntry;
use redial_protocol::order::Order;
use redial_protocol::process;
use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Makes an entry with the present time.
pub fn entry(user: &str, program: &str, order: String) -> AuditEntry {
    let t_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    AuditEntry { t_unix_ms, user: user.into(), program: program.into(), order }
}

/// Returns this process's user, in the form that identifies peers.
pub fn own_user() -> &'static str {
    static OWN: OnceLock<String> = OnceLock::new();
    OWN.get_or_init(|| {
        process::owner_of(std::process::id()).map_or_else(|_| "unknown".to_owned(), |owner| owner.word())
    })
}

/// The ring of entries.
#[derive(Debug, Default)]
pub struct Audit {
    entries: Mutex<VecDeque<AuditEntry>>,
}

impl Audit {
    /// Records one order.
    pub fn note(&self, user: &str, program: &str, order: &Order) {
        self.note_text(user, program, redial_protocol::dialset::print_order(order));
    }

    /// Records an action other than an order, such as `all off`.
    pub fn note_text(&self, user: &str, program: &str, order: String) {
        self.put(entry(user, program, order));
    }

    /// Adds an entry. Actions without a connection (of the launcher or the runtime) get this process's user.
    pub fn put(&self, mut entry: AuditEntry) {
        if entry.user.is_empty() {
            entry.user = own_user().to_owned();
        }
        let mut entries = lock(&self.entries);
        if entries.len() >= AUDIT_ENTRIES {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// Returns the entries, oldest first.
    pub fn entries(&self) -> Vec<AuditEntry> {
        lock(&self.entries).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_a_user() {
        let audit = Audit::default();
        audit.note_text("", "redial run", "A.B = count".into());
        audit.note_text("1000", "redial attach", "the agent was loaded".into());
        let entries = audit.entries().into_iter().map(|entry| (entry.user, entry.program));
        let own = process::owner_of(std::process::id()).expect("this process has one").word();
        assert_eq!(
            entries.collect::<Vec<_>>(),
            [(own, "redial run".to_owned()), ("1000".to_owned(), "redial attach".to_owned())]
        );
    }
}
