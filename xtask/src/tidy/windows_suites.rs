//! Which end-to-end tests run on Windows: all except those that a list names, with a reason. The lists name tests that exist.

use anyhow::Result;

use crate::test::windows_tests::{self, Suites, means};
use crate::test::wine_lists::{LINUX_ONLY, OPEN, SHARE};

/// Fewest tests of the share.
const FEWEST: usize = 150;

/// Compares the lists with the tests of a Windows build.
pub fn check() -> Result<Vec<String>> {
    let suites = windows_tests::read()?;
    let mut breaches = left_out(&suites, LINUX_ONLY);
    breaches.extend(open(&suites, OPEN));
    let (chosen, missing) = chosen(&suites, SHARE, OPEN);
    breaches.extend(missing);
    if chosen < FEWEST {
        breaches.push(format!("SHARE has {chosen} tests that run on Windows; {FEWEST} are the fewest"));
    }
    Ok(breaches)
}

fn left_out(suites: &Suites, listed: &[(&str, &str)]) -> Vec<String> {
    let mut breaches = Vec::new();
    for suite in suites.iter().filter(|(_, tests)| tests.is_empty()).map(|(suite, _)| suite) {
        if !listed.iter().any(|(name, _)| name == suite) {
            breaches.push(format!("testbed/tests/{suite} is left out on Windows; say why in LINUX_ONLY"));
        }
    }
    for (name, reason) in listed {
        if suites.get(*name).is_none_or(|tests| !tests.is_empty()) {
            breaches
                .push(format!("LINUX_ONLY names {name}, which a Windows build has, or which does not exist"));
        }
        if reason.is_empty() {
            breaches.push(format!("LINUX_ONLY gives no reason for {name}"));
        }
    }
    breaches
}

fn open(suites: &Suites, listed: &[(&str, &str, &str)]) -> Vec<String> {
    let mut breaches = Vec::new();
    for (suite, test, reason) in listed {
        if matching(suites, suite, test) == 0 {
            breaches.push(format!("OPEN names {suite}::{test}, which a Windows build does not have"));
        }
        if reason.is_empty() {
            breaches.push(format!("OPEN gives no reason for {suite}::{test}"));
        }
    }
    breaches
}

/// Returns the number of tests in the share, and what is wrong with its list.
fn chosen(suites: &Suites, listed: &[(&str, &[&str])], open: &[(&str, &str, &str)]) -> (usize, Vec<String>) {
    let (mut number, mut breaches) = (0, Vec::new());
    for (suite, named) in listed {
        for test in *named {
            if matching(suites, suite, test) == 0 {
                breaches.push(format!("SHARE names {suite}::{test}, which a Windows build does not have"));
            }
        }
        let is_chosen = |test: &&String| named.iter().any(|named| *named == "*" || means(named, test));
        let is_open = |test: &str| {
            open.iter().any(|(of, named, _)| of == suite && (*named == "*" || means(named, test)))
        };
        let tests = suites.get(*suite).into_iter().flatten();
        number += tests.filter(is_chosen).filter(|test| !is_open(test)).count();
    }
    (number, breaches)
}

/// Returns how many tests of a suite a listed name means.
fn matching(suites: &Suites, suite: &str, named: &str) -> usize {
    let tests = suites.get(suite).into_iter().flatten();
    tests.filter(|test| named == "*" || means(named, test)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites() -> Suites {
        let tests = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Suites::from([
            ("users".to_owned(), tests(&[])),
            ("web".to_owned(), tests(&[])),
            ("counts".to_owned(), tests(&["exactly::net_2_1", "exactly::net_8_0", "once"])),
        ])
    }

    #[test]
    fn left_out_suites_and_list_must_agree() {
        let check = |listed| left_out(&suites(), listed).len();
        assert_eq!(check(&[("users", "why"), ("web", "why")]), 0);
        assert_eq!(check(&[("users", "why")]), 1, "one has no reason");
        assert_eq!(check(&[("users", "why"), ("web", "")]), 1, "an empty reason");
        assert_eq!(check(&[("users", "why"), ("web", "why"), ("counts", "why")]), 1, "it runs there");
        assert_eq!(check(&[("users", "why"), ("web", "why"), ("none", "why")]), 1, "it does not exist");
    }

    #[test]
    fn open_tests_must_exist() {
        let check = |listed| open(&suites(), listed).len();
        assert_eq!(
            check(&[("counts", "exactly", "why"), ("counts", "*", "why"), ("counts", "once", "why")]),
            0
        );
        assert_eq!(check(&[("counts", "exact", "why")]), 1, "no such test");
        assert_eq!(check(&[("count", "exactly", "why")]), 1, "no such suite");
        assert_eq!(check(&[("counts", "exactly::net_3_1", "why")]), 1, "not on this runtime");
        assert_eq!(check(&[("counts", "once", "")]), 1, "an empty reason");
    }

    #[test]
    fn chosen_tests_must_exist_and_are_counted() {
        let check = |listed, open| {
            let (number, breaches) = chosen(&suites(), listed, open);
            (number, breaches.len())
        };
        assert_eq!(check(&[("counts", &["*"])], &[]), (3, 0));
        assert_eq!(check(&[("counts", &["exactly", "exactly::net_8_0"])], &[]), (2, 0));
        assert_eq!(check(&[("counts", &["*"])], &[("counts", "exactly::net_2_1", "why")]), (2, 0));
        assert_eq!(check(&[("counts", &["often", "once"])], &[]), (1, 1), "no such test");
        assert_eq!(check(&[("web", &["*"])], &[]), (0, 1), "no test at all");
    }
}
