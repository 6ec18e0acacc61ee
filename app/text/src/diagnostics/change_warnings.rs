//! Wording of warnings about a change or a plan.

use super::Reader;
use crate::words::{count, them};
use redial_protocol::diagnostics::ChangeWarning;

/// Words a warning.
pub fn sentence(warning: &ChangeWarning, reader: Reader) -> String {
    match warning {
        ChangeWarning::NothingMatches { pattern, copy, left_out } => {
            let left_out = if *left_out { "; it was not set" } else { "" };
            match copy {
                Some(copy) => {
                    format!("nothing in a module with the id {copy:#x} matches {pattern}{left_out}")
                }
                None => format!("nothing matches {pattern} yet{left_out}"),
            }
        }
        ChangeWarning::MoreUnmatched { orders } => {
            let patterns = if *orders == 1 { "pattern matches" } else { "patterns match" };
            format!("and {orders} more {patterns} nothing yet")
        }
        ChangeWarning::CallsInlined { copies } => {
            let their = if *copies == 1 { "its" } else { "their" };
            format!(
                "calls of {} may be missing: {their} code was, or may have been, inlined into callers that are not \
                 recompiled; the note of each copy says which applies",
                of(*copies)
            )
        }
        ChangeWarning::CallsReplaced { copies } => {
            let list = reader.choose(" (`redial status` lists the copies)", "");
            format!(
                "calls of {} may be missing: the JIT, or precompiled code of other modules, may replace calls by code \
                 of its own{list}",
                of(*copies)
            )
        }
        ChangeWarning::OnlyCounted { copies } => {
            let list =
                reader.choose("`redial status` lists them, with reasons", "the details of each say why");
            format!("{} only counted, not timed ({list})", count(*copies, "copy is", "copies are"))
        }
        ChangeWarning::OnlyStarts { copies } => {
            let list = reader.choose(
                "`redial dial --completions` does; `redial status` names them",
                "“Time completions” in their details does",
            );
            format!(
                "{}: times end at the first await; to see completions, dial the methods that do the work, too ({list})",
                count(*copies, "async method", "async methods")
            )
        }
        ChangeWarning::BudgetSpares { methods } => format!(
            "the budget had stepped {} down; it leaves {} alone from now on, until you set a new budget",
            count(*methods, "method", "methods"),
            them(*methods)
        ),
        ChangeWarning::PausesProgram => {
            "this runtime pauses the program while it accepts a request".to_owned()
        }
    }
}

/// Words the warnings of a report.
pub fn sentences(warnings: &[ChangeWarning], reader: Reader) -> Vec<String> {
    warnings.iter().map(|warning| sentence(warning, reader)).collect()
}

fn of(copies: u64) -> String {
    count(copies, "copy", "copies")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_orders_that_match_nothing() {
        let words = |copy, left_out| {
            let warning = ChangeWarning::NothingMatches { pattern: "Shop.*".into(), copy, left_out };
            sentence(&warning, Reader::CommandLine)
        };
        assert_eq!(words(None, true), "nothing matches Shop.* yet; it was not set");
        assert_eq!(words(None, false), "nothing matches Shop.* yet");
        assert_eq!(words(Some(0x1f), false), "nothing in a module with the id 0x1f matches Shop.*");
        let more = |orders| sentence(&ChangeWarning::MoreUnmatched { orders }, Reader::CommandLine);
        assert_eq!(more(1), "and 1 more pattern matches nothing yet");
        assert_eq!(more(896), "and 896 more patterns match nothing yet");
    }

    #[test]
    fn words_numbers_of_copies() {
        let words = |warning: ChangeWarning| sentence(&warning, Reader::CommandLine);
        assert!(words(ChangeWarning::OnlyStarts { copies: 1 }).starts_with("1 async method: times end"));
        assert!(
            words(ChangeWarning::OnlyCounted { copies: 4866 }).starts_with("4,866 copies are only counted")
        );
        assert!(
            words(ChangeWarning::CallsInlined { copies: 1 })
                .contains("calls of 1 copy may be missing: its code")
        );
        assert!(
            words(ChangeWarning::BudgetSpares { methods: 1 }).contains("1 method down; it leaves it alone")
        );
    }
}
