//! Numbers and lists in words.
#![forbid(unsafe_code)]

use redial_protocol::level::Level;
use redial_protocol::state::State;
use std::borrow::Cow;

/// A whole number with thousands separated: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 method`, `2 methods`, `1,000 methods`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// `1 method`, `2 methods`: what the agent calls copies. One that several AppDomains load for themselves counts in each.
pub fn methods(number: u64) -> String {
    count(number, "method", "methods")
}

/// Of how many it is live in how many: `3 of 4 live`.
pub fn live_of(live: u64, all: u64) -> String {
    format!("{} of {} live", grouped(live), grouped(all))
}

/// `it` for one, else `them`.
pub fn them(number: u64) -> &'static str {
    if number == 1 { "it" } else { "them" }
}

/// What a state means for a method, as a sentence without its beginning.
pub fn state_means(state: State, level: Option<Level>) -> &'static str {
    match state {
        State::Off => "the original code runs",
        State::Asked => "the runtime accepted it; live from the method's next call",
        State::Live => match level {
            Some(Level::Count) => "the code that runs counts its calls",
            Some(Level::Time) => "the code that runs counts and times its calls",
            _ => "the code that runs counts, or times, its calls",
        },
        State::Reverting => {
            "off from the next call; some calls are still in the version that counted or timed them"
        }
        State::Refused => "nothing was changed",
        State::Failed => "the runtime reported an error; the original code runs",
        State::Lost => "its module or AppDomain was unloaded",
    }
}

/// A row's two notes, on its state or number and on its times, as one text; None where there is neither.
pub fn notes<'a>(note: Option<&'a str>, times_note: Option<&'a str>) -> Option<Cow<'a, str>> {
    match (note, times_note) {
        (Some(note), Some(times)) => Some(Cow::Owned(format!("{note}; {times}"))),
        (note, times) => note.or(times).map(Cow::Borrowed),
    }
}

/// What the version of a live method means.
pub fn version_means(version: u32) -> String {
    match version {
        1 => "it is the first that was made for this method".to_owned(),
        _ => format!("it is version {version}: one is made each time the method is dialled anew"),
    }
}

/// The levels there are: `off, count or time; trace is to come`.
pub fn levels() -> String {
    let (here, later): (Vec<Level>, Vec<Level>) =
        Level::ALL.into_iter().partition(|level| *level <= Level::OFFERED);
    let words = |levels: &[Level]| levels.iter().map(Level::to_string).collect::<Vec<_>>();
    let here = either(&words(&here));
    match later.as_slice() {
        [] => here,
        [one] => format!("{here}; {one} is to come"),
        later => format!("{here}; {} are to come", all(&words(later))),
    }
}

/// How far a program's dials go, and who says so.
pub fn max_level() -> String {
    let words = Level::ALL.map(|level| level.to_string());
    format!(
        "the environment variable REDIAL_MAX_LEVEL of a program's start says how far its dials go: {}; without it {}, the highest \
         there is so far",
        either(&words),
        Level::OFFERED
    )
}

/// What people call a kind of runtime: `.NET` for `coreclr`.
pub fn runtime(kind: &str) -> &str {
    match kind {
        "coreclr" => ".NET",
        "framework" => ".NET Framework",
        "nativeaot" => "Native AOT",
        "mono" => "Mono",
        other => other,
    }
}

/// A rate in calls a second, whole from 10 on.
pub fn rate(per_second: f64) -> String {
    if per_second >= 9.95 { grouped(per_second.round() as u64) } else { format!("{per_second:.1}") }
}

/// A share of a processor, given in percent: `less than 0.1 %`, `2.4 %`, `31 %`.
pub fn percent(percent: f64) -> String {
    match percent {
        ..0.1 => "less than 0.1 %".to_owned(),
        ..9.95 => format!("{percent:.1} %"),
        _ => format!("{} %", grouped(percent.round() as u64)),
    }
}

/// The same of one that is not known exactly: `less than 0.1 %`, `about 2.4 %`.
pub fn about_percent(number: f64) -> String {
    let about = if number < 0.1 { "" } else { "about " };
    format!("{about}{}", percent(number))
}

/// Picoseconds as nanoseconds, two significant digits or more: `0.54 ns`, `21 ns`.
pub fn picoseconds(number: u64) -> String {
    let ns = number as f64 / 1e3;
    if ns < 9.95 { format!("{ns:.2} ns") } else { format!("{} ns", grouped(ns.round() as u64)) }
}

/// Bytes in binary units, three significant digits: `512 B`, `1.25 KiB`, `16.0 MiB`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// `a`, `a or b`, `a, b or c`.
pub fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Parameters as people write them: a pointer's star without the backslash that patterns need (`byte\\*` → `byte*`).
pub fn plain_parameters(signature: &str) -> String {
    signature.replace(r"\*", "*")
}

/// Parameters as a pattern says them: the opposite of [`plain_parameters`].
pub fn pattern_parameters(plain: &str) -> String {
    plain.replace('*', r"\*")
}

/// Said of a method that is the body of another, as that of an async method or an iterator is: `body of Shop.Cart.Add` of
/// `Shop.Cart+<Add>d__1.MoveNext`. These are the C# compiler's names; no standard has them.
pub fn body_of(method: &str) -> Option<String> {
    let (owner, machine) = method.strip_suffix(".MoveNext")?.rsplit_once('+')?;
    let (name, rest) = machine.strip_prefix('<')?.split_once(">d__")?;
    let parameters = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let made = parameters.len() < rest.len() && (parameters.is_empty() || parameters.starts_with('<'));
    made.then(|| format!("body of {owner}.{name}{parameters}"))
}

/// `a`, `a and b`, `a, b and c`.
pub fn all(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A short time given in microseconds: `450 µs`, `12 ms`, `1.2 s`, `90 s`.
pub fn short_time(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..10_000_000 => format!("{:.1} s", us as f64 / 1e6),
        _ => format!("{} s", grouped(us / 1_000_000)),
    }
}

/// A duration in nanoseconds, three significant digits: `950 ns`, `1.20 µs`, `12.0 ms`, `1.50 s`, `1,100 s`.
pub fn duration(ns: u64) -> String {
    // What rounds to 1,000 of a unit is 1.00 of the next.
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..999_500 => (ns as f64 / 1e3, "µs"),
        999_500..999_500_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    match value {
        ..9.995 => format!("{value:.2} {unit}"),
        ..99.95 => format!("{value:.1} {unit}"),
        _ => format!("{} {unit}", grouped(value.round() as u64)),
    }
}

/// The same of a round number that somebody chose, without zeros that say nothing: `1 ms`, `2.5 ms`.
pub fn round_duration(ns: u64) -> String {
    let text = duration(ns);
    match text.split_once(' ').filter(|(number, _)| number.contains('.')) {
        Some((number, unit)) => format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.')),
        None => text,
    }
}

/// The text on one line: line breaks become spaces, other control characters are escaped.
pub fn one_line(text: &str) -> String {
    let joined: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    super::table::printable(&joined.join(" "))
}

/// A sentence with its beginning and its end.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

/// A Unix time in milliseconds as `2026-11-20 05:46:01Z` (proleptic Gregorian calendar).
pub fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01 in eras of 400 years, so that leap days fall at the end of a year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// An order with names in place of tokens (`Shop!0x06000012`), as far as `name_of` knows the name of an assembly's token.
pub fn with_names(order: &str, mut name_of: impl FnMut(&str, u32) -> Option<String>) -> String {
    let mut said = String::with_capacity(order.len());
    let mut rest = order;
    while let Some(mark) = rest.find("!0x") {
        let name_at = rest.get(..mark).and_then(|before| before.rfind(' ')).map_or(0, |space| space + 1);
        let end = (mark + "!0x".len() + 8).min(rest.len());
        let parts = (rest.get(..name_at), rest.get(name_at..mark), rest.get(mark + 3..end), rest.get(end..));
        let (Some(before), Some(assembly), Some(digits), Some(after)) = parts else { break };
        let token = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 8);
        let named = token.and_then(|token| name_of(assembly, token));
        said.push_str(before);
        said.push_str(&named.unwrap_or_else(|| format!("{assembly}!0x{digits}")));
        rest = after;
    }
    said + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            [0, 999, 1_000, 12_345, 1_234_567].map(grouped),
            ["0", "999", "1,000", "12,345", "1,234,567"]
        );
        assert_eq!(methods(1), "1 method");
        assert_eq!(methods(0), "0 methods");
    }

    #[test]
    fn levels_that_are_not_offered_are_told_as_such() {
        let (here, later) =
            levels().split_once("; ").map(|(a, b)| (a.to_owned(), b.to_owned())).expect("two");
        for level in Level::ALL {
            let part = if level <= Level::OFFERED { &here } else { &later };
            assert!(part.contains(level.word()), "{here}; {later}");
        }
        assert!(later.ends_with("to come"), "{later}");
        let without = "off, count, time or trace; without it time, the highest there is so far";
        assert!(max_level().ends_with(&format!(": {without}")), "{}", max_level());
    }

    #[test]
    fn rates_and_bytes_read_well() {
        assert_eq!([0.0, 0.25, 9.94, 9.99, 12_345.6].map(rate), ["0.0", "0.2", "9.9", "10", "12,346"]);
        assert_eq!(
            [0, 1023, 1024, 1280, 16 << 20, 123 << 30].map(bytes),
            ["0 B", "1023 B", "1.00 KiB", "1.25 KiB", "16.0 MiB", "123 GiB"]
        );
    }

    #[test]
    fn bodies_are_told_by_their_methods() {
        for (method, said) in [
            ("Shop.Cart+<Add>d__1.MoveNext", Some("body of Shop.Cart.Add")),
            ("Shop.Box<T>+Inner+<Map>d__12<U>.MoveNext", Some("body of Shop.Box<T>+Inner.Map<U>")),
            ("Program+<<Main>$>d__0.MoveNext", Some("body of Program.<Main>$")),
            ("Shop.Cart+<Add>d__1.Dispose", None),
            // A lambda's has no name of its own.
            ("Shop.Cart+<>c+<<Add>b__0_1>d.MoveNext", None),
            ("Shop.Cart+Steps.MoveNext", None),
            ("<Add>d__1.MoveNext", None),
            ("Shop.Cart+<Add>d__.MoveNext", None),
        ] {
            assert_eq!(body_of(method).as_deref(), said, "{method}");
        }
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(
            [0, 950, 1_200, 12_040, 99_960, 250_000, 12_000_000, 1_500_000_000, 1_100_000_000_000]
                .map(duration),
            ["0 ns", "950 ns", "1.20 µs", "12.0 µs", "100 µs", "250 µs", "12.0 ms", "1.50 s", "1,100 s"]
        );
    }

    #[test]
    fn what_rounds_to_a_thousand_of_a_unit_is_one_of_the_next() {
        for (below, from, next) in [
            ((999, "999 ns"), 1_000, "1.00 µs"),
            ((999_499, "999 µs"), 999_500, "1.00 ms"),
            ((999_499_999, "999 ms"), 999_500_000, "1.00 s"),
        ] {
            assert_eq!(duration(below.0), below.1);
            assert_eq!((duration(below.0 + 1), duration(from)), (next.to_owned(), next.to_owned()));
            assert_eq!(round_duration(from), next.replace(".00", ""));
        }
        assert_eq!(duration(999_600_000_000), "1,000 s", "there is no next one");
    }

    #[test]
    fn short_times_read_well() {
        assert_eq!(
            [0, 999, 1_000, 12_900, 1_240_000, 90_000_000].map(short_time),
            ["0 µs", "999 µs", "1 ms", "12 ms", "1.2 s", "90 s"]
        );
    }

    #[test]
    fn a_sentence_begins_and_ends() {
        assert_eq!(sentence("über all of it"), "Über all of it.");
        assert_eq!(sentence("4,866 copies are async"), "4,866 copies are async.");
        assert_eq!(sentence(""), ".");
    }

    #[test]
    fn lists_and_lines() {
        let words: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        assert_eq!(either(&words), "a, b or c");
        assert_eq!(either(&words[..1]), "a");
        assert_eq!((all(&words), all(&words[1..])), ("a, b and c".to_owned(), "b and c".to_owned()));
        assert_eq!(one_line("one\n  two\u{7}\n"), "one two\\u{7}");
    }

    #[test]
    fn a_pointer_has_a_backslash_in_patterns_only() {
        let pattern = r"(byte\*, System.Span<int>, void\*\*)";
        let plain = plain_parameters(pattern);
        assert_eq!(plain, "(byte*, System.Span<int>, void**)");
        assert_eq!(pattern_parameters(&plain), pattern);
    }

    #[test]
    fn dates_agree_with_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00Z");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00Z");
        assert_eq!(utc(1_795_153_561_999), "2026-11-20 05:46:01Z");
        assert_eq!(utc(4_107_542_399_000), "2100-02-28 23:59:59Z");
    }
}
