//! Logs changes by the command line, from the agent's audit, to explain numbers that start or stop without an action
//! in this window. (It leaves out other windows: the log says that those have control.)

use crate::catalogue::Catalogue;
use crate::orders::readable;
use redial_protocol::message::AuditEntry;
use redial_text::diagnostics::audit;
use redial_text::{programs, words};

/// The agent's name for entries about the runtime, which are no changes.
const RUNTIME: &str = "runtime";

/// The agent's name for entries about the budget, which are logged as they happen.
const BUDGET: &str = "the budget";

/// Returns a sentence for each entry by another controller that is in `now` but not in `before`, oldest first, and one
/// sentence for all beyond `singly`.
pub(super) fn entries_by_others(
    before: &[AuditEntry],
    now: &[AuditEntry],
    singly: usize,
    catalogue: &Catalogue,
) -> Vec<String> {
    let seen = before.last().and_then(|last| now.iter().rposition(|entry| entry == last));
    let new = now.get(seen.map_or(0, |seen| seen + 1)..).unwrap_or_default();
    let others: Vec<&AuditEntry> = new
        .iter()
        .filter(|entry| ![programs::WINDOW, RUNTIME, BUDGET].contains(&entry.program.as_str()))
        .collect();
    let (single, rest) = others.split_at(others.len().min(singly));
    let sentence = |entry: &&AuditEntry| {
        let (program, user) = (programs::title(&entry.program), words::one_line(&entry.user));
        let action = words::one_line(&audit::action(&entry.action));
        format!("change by {program} ({user}): {}", readable(catalogue, &action))
    };
    let mut sentences: Vec<String> = single.iter().map(sentence).collect();
    if !rest.is_empty() {
        sentences.push("and more; the history of the process (Ctrl+I) has all changes".to_owned());
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::tests::small;
    use redial_protocol::diagnostics::{AuditAction, AuditedChange};
    use redial_protocol::ids::MethodToken;

    fn entry(t_unix_ms: u64, program: &str, order: &str) -> AuditEntry {
        let action = AuditAction::Changed(AuditedChange::order(order));
        AuditEntry { t_unix_ms, user: "www".into(), program: program.into(), action }
    }

    #[test]
    fn returns_only_new_entries_by_others() {
        let first = entry(1, "redial dial", "Shop!* = count");
        let mine = entry(2, programs::WINDOW, "Shop!* = off");
        let undone = AuditAction::Undone(AuditedChange::order("Shop!0x06000002 = count"));
        let by_token = AuditEntry { action: undone, ..entry(3, "redial undo", "") };
        let sentences =
            |before: &[AuditEntry], now: &[AuditEntry]| entries_by_others(before, now, 3, &small());
        let known = [first.clone()];
        let error = AuditAction::RuntimeError { token: MethodToken(0x0600_0002), hresult: 0x8000_4005 };
        let runtime = AuditEntry { action: error, ..entry(4, RUNTIME, "") };
        assert_eq!(
            sentences(&known, &[first.clone(), mine.clone(), by_token.clone(), runtime]),
            ["change by redial undo (www): undo of Shop!Shop.Cart.Add(int) = count"]
        );
        assert!(sentences(&[first.clone(), mine.clone()], &[first.clone(), mine.clone()]).is_empty());
        assert!(sentences(&[], &[]).is_empty());
        // The agent keeps a limited number of entries, so the last known one may be gone.
        let many: Vec<AuditEntry> = (10..16).map(|t| entry(t, "redial apply", "A.B = count")).collect();
        let said = sentences(&known, &many);
        assert_eq!(said.len(), 4);
        assert!(said[3].starts_with("and more"));
    }
}
