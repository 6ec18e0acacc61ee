//! Who turned what: a ring of the latest turns.
#![forbid(unsafe_code)]

use crate::sync::lock;
use redial_protocol::limits::AUDIT_ENTRIES;
use redial_protocol::message::AuditEntry;
use redial_protocol::order::Order;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// An entry of now.
pub fn entry(user: &str, program: &str, order: String) -> AuditEntry {
    let t_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    AuditEntry { t_unix_ms, user: user.into(), program: program.into(), order }
}

/// The ring.
#[derive(Debug, Default)]
pub struct Audit {
    entries: Mutex<VecDeque<AuditEntry>>,
}

impl Audit {
    /// Notes one order.
    pub fn note(&self, user: &str, program: &str, order: &Order) {
        self.note_text(user, program, redial_protocol::dialset::print_order(order));
    }

    /// Notes something that is no order (`all off`).
    pub fn note_text(&self, user: &str, program: &str, order: String) {
        self.put(entry(user, program, order));
    }

    /// Puts an entry in.
    pub fn put(&self, entry: AuditEntry) {
        let mut entries = lock(&self.entries);
        if entries.len() >= AUDIT_ENTRIES {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> Vec<AuditEntry> {
        lock(&self.entries).iter().cloned().collect()
    }
}
