//! Parsers of single values on the command line.

use redial_protocol::condition::Condition;
use redial_protocol::cost::Share;
use redial_protocol::level::Level;
use redial_protocol::pattern::{Pattern, types_pattern};
use redial_text::words;

pub(super) fn pid(word: &str) -> Result<u32, String> {
    let number = word.parse().ok().filter(|pid| *pid > 0);
    number.ok_or_else(|| "a process id is a number of at least 1; `redial ps` lists them".to_owned())
}

/// Reads whole numbers from `least` to `most`.
pub(super) fn number(least: u64, most: u64) -> impl Fn(&str) -> Result<u64, String> + Clone {
    let range =
        if most == u64::MAX { format!("of at least {least}") } else { format!("from {least} to {most}") };
    move |word| {
        let number = word.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("expected a whole number {range}"))
    }
}

pub(super) fn pattern(word: &str) -> Result<String, String> {
    if word.starts_with('-') {
        Err("a pattern cannot start with '-'".to_owned())
    } else {
        Ok(word.to_owned())
    }
}

/// Checks a condition before the command does anything; the error is a sentence, and the condition with a mark.
pub fn check_condition(text: Option<&str>) -> Result<(), String> {
    text.map_or(Ok(()), |text| Condition::parse(text).map(drop).map_err(|error| error.to_string()))
}

pub(super) fn budget(word: &str) -> Result<BudgetLimit, String> {
    Share::parse_budget(word).map(BudgetLimit).map_err(|error| error.to_string())
}

pub(super) fn level(word: &str) -> Result<Level, String> {
    Level::from_word(word).ok_or_else(|| format!("a level is {}", words::levels()))
}

/// Checks a pattern before the command does anything; the error is a sentence.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    Pattern::parse(pattern).map(drop).map_err(|error| error.to_string())
}

/// Checks a pattern for types before the command does anything; the error is a sentence.
pub fn check_types(types: &str) -> Result<(), String> {
    let is_token = types.split_once('!').is_some_and(|(_, name)| name.trim_start().starts_with("0x"));
    if types.trim().is_empty() || types.contains(['(', ')']) || is_token {
        return Err(format!("'{types}' names no types; TYPE is [ASSEMBLY!]TYPE with C# names and *"));
    }
    check_pattern(&types_pattern(types))
}

pub(super) fn module_id(word: &str) -> Result<u64, String> {
    let digits = word.strip_prefix("0x").filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    let id = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    id.ok_or_else(|| "a module id looks like 0x7f31c0a84000; `redial modules` lists them".to_owned())
}

/// The requested budget; `None` turns it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetLimit(pub Option<Share>);
