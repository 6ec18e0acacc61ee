//! Dial sets as text: the format that `redial save` writes, that `apply` and `REDIAL_ORDERS` read, and that
//! `--dial` takes on a command line.
//!
//! The first line is `# redial dials 1`. Then each line is one order: `PATTERN = LEVEL [domain=PREFIX]
//! [copy=0xMODULE] [all-domains]`; from level time on also `[slower-than=DURATION] [failed-only] [callers] [stack]`, and at
//! level trace `[rate=N] [depth=D] [when=CONDITION]`. A set with `stack` or `when`, or with a pattern by interface or
//! attribute, begins with `# redial dials 2`.
//! Lines that begin with `#` are comments. A domain or condition with spaces or quotes is in double quotes, with the escapes
//! `\"`, `\\` and `\u{HEX}`. This module owns only the format; it must not know what orders do.

mod problem;

pub use problem::{DialProblem, DialSetError};

use crate::condition::Condition;
use crate::duration;
use crate::level::Level;
use crate::limits::MAX_CAPTURE_DEPTH;
use crate::limits::MAX_ORDERS;
use crate::order::{CALLERS, DEPTH, FAILED_ONLY, Order, RATE, SLOWER_THAN, STACK, WHEN};
use crate::pattern::Pattern;
use std::fmt::Write;

/// First line, up to the version of the format.
const HEADER: &str = "# redial dials ";
/// Word for [`Order::all_domains`].
const ALL_DOMAINS: &str = "all-domains";
/// Version of the format.
const VERSION: &str = "1";
/// Version of a dial set in which conditions, stacks, and patterns by interface or attribute may stand.
const VERSION_WITH_CONDITIONS: &str = "2";

/// Parses a dial set.
///
/// # Errors
/// The first problem, with its line.
pub fn parse(text: &str) -> Result<Vec<Order>, DialSetError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().enumerate();
    let header = lines.next().map(|(_, line)| line.trim_end()).unwrap_or_default();
    let at_header = |problem| DialSetError { line: 1, problem };
    match header.strip_prefix(HEADER) {
        Some(VERSION | VERSION_WITH_CONDITIONS) => {}
        Some(found) => return Err(at_header(DialProblem::OtherVersion { found: found.to_owned() })),
        None => return Err(at_header(DialProblem::NoHeader)),
    }
    let mut orders = Vec::new();
    for (index, line) in lines {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let failed = |problem| DialSetError { line: index + 1, problem };
        if orders.len() == MAX_ORDERS {
            return Err(failed(DialProblem::TooMany));
        }
        orders.push(order(line).map_err(failed)?);
    }
    Ok(orders)
}

/// Prints a dial set; `parse` returns the same orders. Their patterns must be valid for `Pattern`.
pub fn print(orders: &[Order]) -> String {
    let mut out = header(orders);
    for order in orders {
        out.push_str(&print_order(order));
        out.push('\n');
    }
    out
}

/// Prints the first line of a dial set with these orders.
pub fn header<'a>(orders: impl IntoIterator<Item = &'a Order>) -> String {
    let has_newer_pattern =
        |order: &Order| Pattern::parse(&order.pattern).is_ok_and(|pattern| pattern.needs_metadata());
    let is_newer = |order: &Order| order.when.is_some() || order.options.stack || has_newer_pattern(order);
    let has_newer = orders.into_iter().any(is_newer);
    format!("{HEADER}{}\n", if has_newer { VERSION_WITH_CONDITIONS } else { VERSION })
}

/// Prints one order as its line in a dial set.
pub fn print_order(order: &Order) -> String {
    let mut out = format!("{} = {}", order.pattern.trim(), order.level);
    if let Some(domain) = &order.domain {
        out.push_str(" domain=");
        out.push_str(&quoted(domain));
    }
    if let Some(copy) = order.copy {
        // Writing to a String cannot fail.
        let _ = write!(out, " copy={copy:#x}");
    }
    if order.all_domains {
        out.push(' ');
        out.push_str(ALL_DOMAINS);
    }
    if !order.options.is_none() {
        let _ = write!(out, " {}", order.options);
    }
    if let Some(when) = &order.when {
        let _ = write!(out, " {WHEN}{}", quoted(when));
    }
    out
}

/// Parses the argument of `--dial`: a line of a dial set. Without options that is `PATTERN=LEVEL`, split at the
/// last `=`, because only a level may follow it.
///
/// # Errors
/// The problem with the text.
pub fn parse_dial_option(text: &str) -> Result<Order, DialProblem> {
    order(text.trim())
}

fn level(word: &str) -> Result<Level, DialProblem> {
    Level::from_word(word).ok_or_else(|| DialProblem::UnknownLevel { word: word.to_owned() })
}

/// Parses a line. The pattern ends at the first `=` that is followed by a level and options.
fn order(line: &str) -> Result<Order, DialProblem> {
    let mut first_problem = None;
    for (equals, _) in line.match_indices('=') {
        match level_and_options(&line[equals + 1..]) {
            Ok(order) => {
                let pattern = Pattern::parse(&line[..equals])?.text().to_owned();
                return Ok(Order { pattern, ..order });
            }
            Err(problem) => {
                first_problem.get_or_insert(problem);
            }
        }
    }
    Err(first_problem.unwrap_or_else(|| DialProblem::NoLevel { text: line.to_owned() }))
}

/// Parses the text after the `=` into an order without pattern.
fn level_and_options(text: &str) -> Result<Order, DialProblem> {
    let text = text.trim();
    let (word, mut rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut order = Order::new("", level(word)?);
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return check_options(&order).map(|()| order);
        }
        if let Some(value) = rest.strip_prefix("domain=").filter(|_| order.domain.is_none()) {
            let (text, after) = value_of("domain=", value)?;
            order.domain = Some(text);
            rest = after;
            continue;
        }
        if let Some(value) = rest.strip_prefix(WHEN).filter(|_| order.when.is_none()) {
            let (text, after) = value_of(WHEN, value)?;
            order.when = Some(Condition::parse(&text)?.text().to_owned());
            rest = after;
            continue;
        }
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        match word.strip_prefix("copy=") {
            Some(value) if order.copy.is_none() => order.copy = Some(module_id(value)?),
            None if word == ALL_DOMAINS && !order.all_domains => order.all_domains = true,
            None if word == FAILED_ONLY && !order.options.failed_only => order.options.failed_only = true,
            None if word == STACK && !order.options.stack => order.options.stack = true,
            None if word == CALLERS && !order.options.callers => order.options.callers = true,
            None if word.starts_with(SLOWER_THAN) && order.options.slower_than_ns.is_none() => {
                order.options.slower_than_ns = Some(threshold(word)?);
            }
            None if word.starts_with(RATE) && order.options.rate.is_none() => {
                order.options.rate = Some(limit(word, RATE, u32::MAX)?);
            }
            None if word.starts_with(DEPTH) && order.options.depth.is_none() => {
                order.options.depth = Some(limit(word, DEPTH, MAX_CAPTURE_DEPTH.into())? as u8);
            }
            _ => return Err(DialProblem::BadOption { text: rest.to_owned() }),
        }
        rest = after;
    }
}

/// Checks that an order's level supports its options.
///
/// # Errors
/// [`DialProblem::NeedsTime`], [`DialProblem::NeedsTrace`], [`DialProblem::StackNeedsCalls`].
pub fn check_options(order: &Order) -> Result<(), DialProblem> {
    if order.level < Level::Trace && order.options.needs_trace() {
        return Err(DialProblem::NeedsTrace { text: order.options.to_string() });
    }
    if order.level < Level::Trace
        && let Some(when) = &order.when
    {
        return Err(DialProblem::NeedsTrace { text: format!("{WHEN}{}", quoted(when)) });
    }
    if order.level < Level::Time && !order.options.is_none() {
        return Err(DialProblem::NeedsTime { text: order.options.to_string() });
    }
    if order.level == Level::Time && order.options.lacks_calls() {
        return Err(DialProblem::StackNeedsCalls);
    }
    Ok(())
}

fn limit(word: &str, prefix: &str, most: u32) -> Result<u32, DialProblem> {
    let number = word.strip_prefix(prefix).and_then(|digits| digits.parse().ok());
    number.filter(|number| *number <= most).ok_or_else(|| DialProblem::BadOption { text: word.to_owned() })
}

fn threshold(word: &str) -> Result<u64, DialProblem> {
    let value = word.strip_prefix(SLOWER_THAN).unwrap_or(word);
    duration::parse_threshold(value).map_err(|why| DialProblem::BadThreshold { text: word.to_owned(), why })
}

fn module_id(text: &str) -> Result<u64, DialProblem> {
    let digits = text.strip_prefix("0x").filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    digits
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| DialProblem::BadCopy { text: text.to_owned() })
}

/// Splits off the value of an option, bare or quoted; returns it and the rest.
fn value_of<'t>(option: &str, text: &'t str) -> Result<(String, &'t str), DialProblem> {
    let Some(inner) = text.strip_prefix('"') else {
        let (value, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if value.is_empty() {
            return Err(DialProblem::BadOption { text: option.to_owned() });
        }
        return Ok((value.to_owned(), rest));
    };
    let bad = || DialProblem::BadQuote { text: text.to_owned() };
    let mut value = String::new();
    let mut rest = inner;
    loop {
        let (c, after) = first_char(rest).ok_or_else(bad)?;
        rest = after;
        match c {
            '"' if rest.is_empty() || rest.starts_with(char::is_whitespace) => return Ok((value, rest)),
            '"' => return Err(bad()),
            '\\' => {
                let (escape, after) = first_char(rest).ok_or_else(bad)?;
                match escape {
                    '"' | '\\' => {
                        value.push(escape);
                        rest = after;
                    }
                    'u' => {
                        let digits = after.strip_prefix('{').ok_or_else(bad)?;
                        let (digits, after) = digits.split_once('}').ok_or_else(bad)?;
                        let number = u32::from_str_radix(digits, 16).map_err(|_| bad())?;
                        value.push(char::from_u32(number).ok_or_else(bad)?);
                        rest = after;
                    }
                    _ => return Err(bad()),
                }
            }
            other => value.push(other),
        }
    }
}

fn first_char(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    chars.next().map(|c| (c, chars.as_str()))
}

fn quoted(text: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '"';
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            // Line ends above all, and other characters that an editor could change or hide.
            c if c != ' ' && (c.is_control() || c.is_whitespace()) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::TimeOptions;
    use crate::pattern::PatternError;

    fn order_of(pattern: &str, level: Level, domain: Option<&str>, copy: Option<u64>) -> Order {
        Order { domain: domain.map(str::to_owned), copy, ..Order::new(pattern, level) }
    }

    #[test]
    fn printed_orders_round_trip() {
        let mut orders = vec![
            order_of("Shop!Shop.Cart.*", Level::Count, None, None),
            order_of("Shop.Box<T>.Put<U>(T, U)", Level::Off, None, Some(0x7f31_c0a8_4000)),
            order_of("*.Add(int\\*)", Level::Trace, Some("/LM/W3SVC/1/ROOT-2"), Some(0)),
        ];
        orders.push(Order { all_domains: true, ..orders[0].clone() });
        orders.push(Order { all_domains: true, ..order_of("A.B", Level::Count, Some("A B"), Some(1)) });
        for domain in
            ["My App", "", " ", "a\"b\\c", "a\\b", "x = off", "line\nend\u{2028}\t", "é", "\"", "# x"]
        {
            orders.push(order_of("A.B", Level::Time, Some(domain), None));
        }
        let options = TimeOptions {
            slower_than_ns: Some(1_500_000_000),
            failed_only: true,
            callers: true,
            ..TimeOptions::default()
        };
        orders.push(Order { options, ..order_of("A.B", Level::Time, Some("d"), Some(2)) });
        let options = TimeOptions { failed_only: true, ..TimeOptions::default() };
        orders.push(Order { options, ..order_of("A.B", Level::Trace, None, None) });
        assert_eq!(parse(&print(&orders)).unwrap(), orders);
        assert_eq!(print_order(&orders[1]), "Shop.Box<T>.Put<U>(T, U) = off copy=0x7f31c0a84000");
        assert_eq!(print_order(&orders[4]), "A.B = count domain=\"A B\" copy=0x1 all-domains");
        assert_eq!(print_order(&orders[5]), "A.B = time domain=\"My App\"");
        let [.., both, failed] = &orders[..] else { panic!("two at least") };
        assert_eq!(print_order(both), "A.B = time domain=d copy=0x2 slower-than=1s500ms failed-only callers");
        assert_eq!(print_order(failed), "A.B = trace failed-only");
        assert_eq!(print(&[]), "# redial dials 1\n");
    }

    #[test]
    fn reads_comments_empty_lines_and_windows_line_ends() {
        let text = "\u{feff}# redial dials 1\r\n\r\n  # all of it\r\n Shop.Cart.* =count \r\nA.B=off copy=0xa domain=d";
        let expected = [
            order_of("Shop.Cart.*", Level::Count, None, None),
            order_of("A.B", Level::Off, Some("d"), Some(10)),
        ];
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn conditions_and_stacks_need_the_second_version() {
        let mut orders = Vec::new();
        let options = TimeOptions { stack: true, ..TimeOptions::default() };
        orders.push(Order { options, ..Order::new("A.B", Level::Trace) });
        let options = TimeOptions { failed_only: true, ..options };
        orders.push(Order { options, ..Order::new("A.B", Level::Time) });
        let lines = "A.B = trace stack\nA.B = time failed-only stack\n";
        assert_eq!(print(&orders), format!("# redial dials 2\n{lines}"));
        let when = Some("a == \"x y\" && b.startsWith('\\n')".to_owned());
        orders.push(Order { when, ..order_of("A.B", Level::Trace, Some("d"), None) });
        assert!(print(&orders).starts_with("# redial dials 2\n"), "{}", print(&orders));
        assert_eq!(parse(&print(&orders)).unwrap(), orders);
    }

    #[test]
    fn patterns_by_metadata_need_the_second_version() {
        for pattern in ["implements:Shop.IOrderHandler.Handle*", "Shop![HttpGet] [Shop.Audit]Shop.*.*"] {
            let orders = [order_of(pattern, Level::Count, None, None)];
            assert_eq!(print(&orders), format!("# redial dials 2\n{pattern} = count\n"));
            assert_eq!(parse(&print(&orders)).unwrap(), orders);
        }
    }

    #[test]
    fn problems_name_their_line() {
        for (text, expected) in [
            ("", "line 1: a dial set begins with the line '# redial dials 1'"),
            ("A.B = count", "line 1: a dial set begins with the line '# redial dials 1'"),
            (
                "# redial dials 3\n",
                "line 1: this dial set has version '3'; this program reads versions 1 and 2",
            ),
            (
                "# redial dials 2\nA.B = time when=a>1",
                "line 2: 'when=a>1' needs level trace; write PATTERN = trace when=a>1",
            ),
            (
                "# redial dials 2\nA.B = trace when=",
                "line 2: 'when=' is not an option; after a level write at most one domain=PREFIX, one copy=0xMODULE and all-domains, and after time also one slower-than=DURATION, failed-only, callers and stack, and after trace also one rate=N, depth=D and when=CONDITION",
            ),
            (
                "# redial dials 2\nA.B = trace when=\"a = 1\"",
                "line 2: the condition needs '==' here\n  a = 1\n    ^",
            ),
            (
                "# redial dials 2\nA.B = time callers stack",
                "line 2: 'stack' at level time needs slower-than=DURATION or failed-only: it is captured for the slowest calls",
            ),
            ("# redial dials 1\n\nA.B", "line 3: 'A.B' is not an order; write PATTERN = LEVEL"),
            (
                "# redial dials 1\nA.B = loud",
                "line 2: 'loud' is not a level; the levels are off, count, time and trace",
            ),
            (
                "# redial dials 1\nA.B = off domain=a domain=b",
                "line 2: 'domain=b' is not an option; after a level write at most one domain=PREFIX, one copy=0xMODULE and all-domains, and after time also one slower-than=DURATION, failed-only, callers and stack, and after trace also one rate=N, depth=D and when=CONDITION",
            ),
            (
                "# redial dials 1\nA.B = off all-domains all-domains",
                "line 2: 'all-domains' is not an option; after a level write at most one domain=PREFIX, one copy=0xMODULE and all-domains, and after time also one slower-than=DURATION, failed-only, callers and stack, and after trace also one rate=N, depth=D and when=CONDITION",
            ),
            (
                "# redial dials 1\nA.B = off domain=",
                "line 2: 'domain=' is not an option; after a level write at most one domain=PREFIX, one copy=0xMODULE and all-domains, and after time also one slower-than=DURATION, failed-only, callers and stack, and after trace also one rate=N, depth=D and when=CONDITION",
            ),
            (
                "# redial dials 1\nA.B = time failed-only failed-only",
                "line 2: 'failed-only' is not an option; after a level write at most one domain=PREFIX, one copy=0xMODULE and all-domains, and after time also one slower-than=DURATION, failed-only, callers and stack, and after trace also one rate=N, depth=D and when=CONDITION",
            ),
            (
                "# redial dials 1\nA.B = time slower-than=10",
                "line 2: 'slower-than=10' is not a valid option: a duration is a number with a unit, such as 500us, 10ms or 2s",
            ),
            (
                "# redial dials 1\nA.B = count callers slower-than=10ms",
                "line 2: 'slower-than=10ms callers' needs level time; write PATTERN = time slower-than=10ms callers",
            ),
            (
                "# redial dials 1\nA.B = off copy=12",
                "line 2: '12' is not a module id; write it as status shows it, for example copy=0x7f31c0a84000",
            ),
            (
                "# redial dials 1\nA.B = off domain=\"a",
                "line 2: the quoted text \"a has no closing quote, or an unknown escape",
            ),
            (
                "# redial dials 1\nA.B( = off",
                "line 2: the brackets of the parameters in the pattern 'A.B(' do not match",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
        let many = format!("# redial dials 1\n{}", "A.B = off\n".repeat(MAX_ORDERS + 1));
        assert_eq!(parse(&many).unwrap_err().to_string(), "line 4098: a dial set has at most 4096 orders");
        assert_eq!(parse(many.trim_end().trim_end_matches("A.B = off")).unwrap().len(), MAX_ORDERS);
    }

    #[test]
    fn dial_option_splits_at_its_last_equals_sign() {
        assert_eq!(
            parse_dial_option("Shop.Cart.* = count").unwrap(),
            order_of("Shop.Cart.*", Level::Count, None, None)
        );
        assert_eq!(parse_dial_option("A.a=b=off").unwrap(), order_of("A.a=b", Level::Off, None, None));
        assert_eq!(
            parse_dial_option("A.a=b=off domain=\"x = off\"").unwrap(),
            order_of("A.a=b", Level::Off, Some("x = off"), None)
        );
        assert_eq!(
            parse_dial_option("Shop.Cart.*").unwrap_err().to_string(),
            "'Shop.Cart.*' is not an order; write PATTERN = LEVEL"
        );
        assert_eq!(
            parse_dial_option("A.B=").unwrap_err().to_string(),
            "'' is not a level; the levels are off, count, time and trace"
        );
        assert!(matches!(parse_dial_option("=count"), Err(DialProblem::Pattern(PatternError::Empty))));
    }
}
