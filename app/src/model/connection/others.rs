//! What others turned, by the agent's account of who turned what: numbers that come or stop without anybody here having
//! asked for it must not be a riddle. (What other windows turned is not among it: of them it is told that they have control.)

use crate::model::catalogue::Catalogue;
use crate::model::orders::readable;
use crate::output::words;
use redial_protocol::message::AuditEntry;

/// What this window calls itself towards agents.
pub const PROGRAM: &str = "redial app";

/// What the agent calls the runtime in its account: what that did is no turn.
const RUNTIME: &str = "runtime";

/// What the agent calls the budget there: of that is told as it happens.
const BUDGET: &str = "the budget";

/// A sentence for each entry of others that stands in `now` and did not in `before`, oldest first; one for those that are more
/// than `singly`.
pub(super) fn turned(
    before: &[AuditEntry],
    now: &[AuditEntry],
    singly: usize,
    catalogue: &Catalogue,
) -> Vec<String> {
    let seen = before.last().and_then(|last| now.iter().rposition(|entry| entry == last));
    let new = now.get(seen.map_or(0, |seen| seen + 1)..).unwrap_or_default();
    let others: Vec<&AuditEntry> =
        new.iter().filter(|entry| ![PROGRAM, RUNTIME, BUDGET].contains(&entry.program.as_str())).collect();
    let (told, rest) = others.split_at(others.len().min(singly));
    let sentence = |entry: &&AuditEntry| {
        let (program, user) = (words::one_line(&entry.program), words::one_line(&entry.user));
        format!("{program} (by {user}): {}", readable(catalogue, &words::one_line(&entry.order)))
    };
    let mut sentences: Vec<String> = told.iter().map(sentence).collect();
    if !rest.is_empty() {
        sentences.push("… and more; the orders of the process tell who turned what".to_owned());
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalogue::tests::small;

    fn entry(t_unix_ms: u64, program: &str, order: &str) -> AuditEntry {
        AuditEntry { t_unix_ms, user: "www".into(), program: program.into(), order: order.into() }
    }

    #[test]
    fn only_what_is_new_and_of_others_is_told() {
        let first = entry(1, "redial dial", "Shop!* = count");
        let mine = entry(2, PROGRAM, "Shop!* = off");
        let by_token = entry(3, "redial undo", "undone: Shop!0x06000002 = count");
        let told = |before: &[AuditEntry], now: &[AuditEntry]| turned(before, now, 3, &small());
        let known = [first.clone()];
        let runtime = entry(4, RUNTIME, "ReJITError for 0x06000002: E_FAIL");
        assert_eq!(
            told(&known, &[first.clone(), mine.clone(), by_token.clone(), runtime]),
            ["redial undo (by www): undone: Shop!Shop.Cart.Add(int) = count"]
        );
        assert!(told(&[first.clone(), mine.clone()], &[first.clone(), mine.clone()]).is_empty());
        assert!(told(&[], &[]).is_empty());
        // The ring keeps so many: what was told last may be gone from it.
        let many: Vec<AuditEntry> = (10..16).map(|t| entry(t, "redial apply", "A.B = count")).collect();
        let said = told(&known, &many);
        assert_eq!(said.len(), 4);
        assert!(said[3].starts_with("… and more"));
    }
}
