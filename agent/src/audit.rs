//! The audit: a ring of the latest changes, each with its user.
#![forbid(unsafe_code)]

use crate::planner::history::ChangeRecord;
use crate::sync::lock;
use redial_protocol::diagnostics::{AuditAction, AuditedChange};
use redial_protocol::limits::AUDIT_ENTRIES;
use redial_protocol::message::AuditEntry;
use redial_protocol::process;
use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the record of a change that is made now.
pub fn record(user: &str, program: &str, change: AuditedChange) -> ChangeRecord {
    ChangeRecord { t_unix_ms: now_unix_ms(), user: user.into(), program: program.into(), change }
}

fn now_unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
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
    /// Records an action with the present time.
    pub fn note(&self, user: &str, program: &str, action: AuditAction) {
        self.put(AuditEntry { t_unix_ms: now_unix_ms(), user: user.into(), program: program.into(), action });
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
        audit.note("", "redial run", AuditAction::Changed(AuditedChange::order("A.B = count")));
        audit.note("1000", "redial attach", AuditAction::AgentLoaded);
        let entries = audit.entries().into_iter().map(|entry| (entry.user, entry.program));
        let own = process::owner_of(std::process::id()).expect("this process has one").word();
        assert_eq!(
            entries.collect::<Vec<_>>(),
            [(own, "redial run".to_owned()), ("1000".to_owned(), "redial attach".to_owned())]
        );
    }
}
