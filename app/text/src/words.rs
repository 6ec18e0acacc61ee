//! Formats numbers, states and lists as text.

use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use std::borrow::Cow;

/// Formats a whole number with thousands separators: `1,234,567`.
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

/// Formats a count with its noun: `1 method`, `1,000 methods`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Formats a number of copies as methods: `1 method`, `2 methods`. A method that several AppDomains load separately
/// counts once in each.
pub fn methods(number: u64) -> String {
    count(number, "method", "methods")
}

/// A number of processes in words.
pub fn processes(number: usize) -> String {
    count(number as u64, "process", "processes")
}

/// Formats in how many of all processes a method is live: `3 of 4 live`.
pub fn live_of(live: u64, all: u64) -> String {
    format!("{} of {} live", grouped(live), grouped(all))
}

/// Returns `it` for one, otherwise `them`.
pub fn them(number: u64) -> &'static str {
    if number == 1 { "it" } else { "them" }
}

/// Returns the word for a state in text for people; JSON has [`CopyState::word`].
pub fn state_word(state: CopyState) -> &'static str {
    match state {
        CopyState::Asked => "pending",
        other => other.word(),
    }
}

/// Explains a state, as a clause that starts in lower case.
pub fn state_means(state: CopyState, level: Option<Level>) -> &'static str {
    match state {
        CopyState::Off => "the original code runs",
        CopyState::Asked => "accepted by the runtime; live from the method's next call",
        CopyState::Live => match level {
            Some(Level::Count) => "the running code counts its calls",
            Some(Level::Time) => "the running code counts and times its calls",
            Some(Level::Trace) => "the running code counts, times and captures its calls",
            _ => "the running code counts, times or captures its calls",
        },
        CopyState::Reverting => "off from the next call; some calls still run the instrumented version",
        CopyState::Refused => "nothing was changed",
        CopyState::Failed => "the runtime reported an error; the original code runs",
        CopyState::Lost => "its module or AppDomain was unloaded",
    }
}

/// Explains the version of a live method.
pub fn version_means(version: u32) -> String {
    match version {
        1 => "the first instrumented version of this method".to_owned(),
        _ => format!("instrumented version {version}; dialling the method again makes a new one"),
    }
}

/// Lists the levels: `off, count, time or trace`.
pub fn levels() -> String {
    either(&Level::ALL.map(|level| level.to_string()))
}

/// Explains the variable that limits a program's dials.
pub fn max_level() -> String {
    format!(
        "The environment variable REDIAL_MAX_LEVEL, read when a program starts, limits its dials: {}; without it {}, the \
         highest",
        levels(),
        Level::OFFERED
    )
}

/// Returns the usual name for a kind of runtime: `.NET` for `coreclr`.
pub fn runtime(kind: &str) -> &str {
    match kind {
        "coreclr" => ".NET",
        "framework" => ".NET Framework",
        "nativeaot" => "Native AOT",
        "mono" => "Mono",
        other => other,
    }
}

/// Formats a rate in calls per second, as a whole number from 10 up.
pub fn rate(per_second: f64) -> String {
    if per_second >= 9.95 { grouped(per_second.round() as u64) } else { format!("{per_second:.1}") }
}

/// Formats a share of a processor, given in percent: `less than 0.1 %`, `2.4 %`, `31 %`.
pub fn percent(percent: f64) -> String {
    match percent {
        ..0.1 => "less than 0.1 %".to_owned(),
        ..9.95 => format!("{percent:.1} %"),
        _ => format!("{} %", grouped(percent.round() as u64)),
    }
}

/// Formats an estimated share of a processor: `less than 0.1 %`, `about 2.4 %`.
pub fn about_percent(number: f64) -> String {
    let about = if number < 0.1 { "" } else { "about " };
    format!("{about}{}", percent(number))
}

/// Formats picoseconds as nanoseconds, with two or more significant digits: `0.54 ns`, `21 ns`.
pub fn picoseconds(number: u64) -> String {
    let ns = number as f64 / 1e3;
    if ns < 9.95 { format!("{ns:.2} ns") } else { format!("{} ns", grouped(ns.round() as u64)) }
}

/// Formats bytes in binary units, with three significant digits: `512 B`, `1.25 KiB`, `16.0 MiB`.
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

/// Joins alternatives: `a`, `a or b`, `a, b or c`.
pub fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Removes the backslash that patterns need before a pointer's star (`byte\\*` → `byte*`).
pub fn plain_parameters(signature: &str) -> String {
    signature.replace(r"\*", "*")
}

/// Adds the backslash that patterns need: the inverse of [`plain_parameters`].
pub fn pattern_parameters(plain: &str) -> String {
    plain.replace('*', r"\*")
}

/// Names the async method or iterator that a `MoveNext` implements: `body of Shop.Cart.Add` for
/// `Shop.Cart+<Add>d__1.MoveNext`. These names are a convention of the C# compiler; no standard defines them.
pub fn body_of(method: &str) -> Option<String> {
    let (owner, machine) = method.strip_suffix(".MoveNext")?.rsplit_once('+')?;
    let (name, rest) = machine.strip_prefix('<')?.split_once(">d__")?;
    let parameters = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let made = parameters.len() < rest.len() && (parameters.is_empty() || parameters.starts_with('<'));
    made.then(|| format!("body of {owner}.{name}{parameters}"))
}

/// Joins a list: `a`, `a and b`, `a, b and c`.
pub fn all(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Joins the first `most` of a list and counts the others: `a, b and 3 more`.
pub fn first(words: &[&str], most: usize) -> String {
    let more = words.len().saturating_sub(most);
    let mut named: Vec<String> = words.iter().take(most).map(|word| (*word).to_owned()).collect();
    named.extend((more > 0).then(|| format!("{} more", grouped(more as u64))));
    all(&named)
}

/// Formats a short time, given in microseconds: `450 µs`, `12 ms`, `1.2 s`, `90 s`.
pub fn short_time(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{} ms", us / 1_000),
        1_000_000..10_000_000 => format!("{:.1} s", us as f64 / 1e6),
        _ => format!("{} s", grouped(us / 1_000_000)),
    }
}

/// Formats nanoseconds with three significant digits: `950 ns`, `1.20 µs`, `12.0 ms`, `1.50 s`, `1,100 s`.
pub fn duration(ns: u64) -> String {
    // A value that rounds to 1,000 becomes 1.00 of the next unit.
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

/// Formats a round duration that a user chose, without trailing zeros: `1 ms`, `2.5 ms`.
pub fn round_duration(ns: u64) -> String {
    let text = duration(ns);
    match text.split_once(' ').filter(|(number, _)| number.contains('.')) {
        Some((number, unit)) => format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.')),
        None => text,
    }
}

/// Puts text on one line: line breaks become spaces, other control characters are escaped.
pub fn one_line(text: &str) -> String {
    let joined: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    printable(&joined.join(" "))
}

/// Capitalizes the first word of a text, unless it is the name of a program or method: `count on …` → `Count on …`, but
/// `dotnet (9): …` and `shop.Cart: …` stay.
pub fn sentence_case(text: &str) -> Cow<'_, str> {
    let end = text.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is_word = rest.is_empty() || [" ", ", ", ": ", "; "].iter().any(|after| rest.starts_with(after));
    if word.is_empty() || !is_word || rest.starts_with(" (") {
        return Cow::Borrowed(text);
    }
    let (first, others) = word.split_at(1);
    Cow::Owned(format!("{}{others}{rest}", first.to_ascii_uppercase()))
}

/// Turns a clause into a sentence: capitalizes it and adds a period.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

/// Formats a Unix time in milliseconds as `2026-11-20 05:46:01Z` (proleptic Gregorian calendar).
pub fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Count days since 0000-03-01 in eras of 400 years, so that leap days fall at the end of a year.
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

/// Replaces tokens (`Shop!0x06000012`) in an order by names, where `name_of` knows the name of an assembly's token.
pub fn with_names(order: &str, mut name_of: impl FnMut(&str, u32) -> Option<String>) -> String {
    let mut readable = String::with_capacity(order.len());
    let mut rest = order;
    while let Some(mark) = rest.find("!0x") {
        let name_at = rest.get(..mark).and_then(|before| before.rfind(' ')).map_or(0, |space| space + 1);
        let end = (mark + "!0x".len() + 8).min(rest.len());
        let parts = (rest.get(..name_at), rest.get(name_at..mark), rest.get(mark + 3..end), rest.get(end..));
        let (Some(before), Some(assembly), Some(digits), Some(after)) = parts else { break };
        let token = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 8);
        let named = token.and_then(|token| name_of(assembly, token));
        readable.push_str(before);
        readable.push_str(&named.unwrap_or_else(|| format!("{assembly}!0x{digits}")));
        rest = after;
    }
    readable + rest
}

/// Escapes control characters.
pub fn printable(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_thousands() {
        assert_eq!(
            [0, 999, 1_000, 12_345, 1_234_567].map(grouped),
            ["0", "999", "1,000", "12,345", "1,234,567"]
        );
        assert_eq!(methods(1), "1 method");
        assert_eq!(methods(0), "0 methods");
    }

    #[test]
    fn lists_every_level() {
        assert_eq!(levels(), "off, count, time or trace");
        assert_eq!(Level::ALL.last(), Some(&Level::OFFERED), "none is planned any more");
        let without = "off, count, time or trace; without it trace, the highest";
        assert!(max_level().ends_with(&format!(": {without}")), "{}", max_level());
    }

    #[test]
    fn formats_rates_and_bytes() {
        assert_eq!([0.0, 0.25, 9.94, 9.99, 12_345.6].map(rate), ["0.0", "0.2", "9.9", "10", "12,346"]);
        assert_eq!(
            [0, 1023, 1024, 1280, 16 << 20, 123 << 30].map(bytes),
            ["0 B", "1023 B", "1.00 KiB", "1.25 KiB", "16.0 MiB", "123 GiB"]
        );
    }

    #[test]
    fn names_the_owners_of_bodies() {
        for (method, expected) in [
            ("Shop.Cart+<Add>d__1.MoveNext", Some("body of Shop.Cart.Add")),
            ("Shop.Box<T>+Inner+<Map>d__12<U>.MoveNext", Some("body of Shop.Box<T>+Inner.Map<U>")),
            ("Program+<<Main>$>d__0.MoveNext", Some("body of Program.<Main>$")),
            ("Shop.Cart+<Add>d__1.Dispose", None),
            // The body of a lambda has no owner's name.
            ("Shop.Cart+<>c+<<Add>b__0_1>d.MoveNext", None),
            ("Shop.Cart+Steps.MoveNext", None),
            ("<Add>d__1.MoveNext", None),
            ("Shop.Cart+<Add>d__.MoveNext", None),
        ] {
            assert_eq!(body_of(method).as_deref(), expected, "{method}");
        }
    }

    #[test]
    fn formats_durations() {
        assert_eq!(
            [0, 950, 1_200, 12_040, 99_960, 250_000, 12_000_000, 1_500_000_000, 1_100_000_000_000]
                .map(duration),
            ["0 ns", "950 ns", "1.20 µs", "12.0 µs", "100 µs", "250 µs", "12.0 ms", "1.50 s", "1,100 s"]
        );
    }

    #[test]
    fn rounds_up_to_the_next_unit() {
        for (below, from, next) in [
            ((999, "999 ns"), 1_000, "1.00 µs"),
            ((999_499, "999 µs"), 999_500, "1.00 ms"),
            ((999_499_999, "999 ms"), 999_500_000, "1.00 s"),
        ] {
            assert_eq!(duration(below.0), below.1);
            assert_eq!((duration(below.0 + 1), duration(from)), (next.to_owned(), next.to_owned()));
            assert_eq!(round_duration(from), next.replace(".00", ""));
        }
        assert_eq!(duration(999_600_000_000), "1,000 s", "seconds are the largest unit");
    }

    #[test]
    fn formats_short_times() {
        assert_eq!(
            [0, 999, 1_000, 12_900, 1_240_000, 90_000_000].map(short_time),
            ["0 µs", "999 µs", "1 ms", "12 ms", "1.2 s", "90 s"]
        );
    }

    #[test]
    fn completes_sentences() {
        assert_eq!(sentence("über all of it"), "Über all of it.");
        assert_eq!(sentence("4,866 async methods"), "4,866 async methods.");
        assert_eq!(sentence(""), ".");
    }

    #[test]
    fn capitalizes_words_but_no_names() {
        for (text, expected) in [
            ("count on Shop.Cart.Add", "Count on Shop.Cart.Add"),
            ("refused: no", "Refused: no"),
            ("continues", "Continues"),
            ("dotnet (9): off", "dotnet (9): off"),
            ("shop.Cart.Add: off", "shop.Cart.Add: off"),
            ("awaits!Shop.Cart.Add: off", "awaits!Shop.Cart.Add: off"),
            ("4 methods: off", "4 methods: off"),
            ("", ""),
        ] {
            assert_eq!(sentence_case(text), expected);
        }
    }

    #[test]
    fn joins_lists_and_lines() {
        let words: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        assert_eq!(either(&words), "a, b or c");
        assert_eq!(either(&words[..1]), "a");
        assert_eq!((all(&words), all(&words[1..])), ("a, b and c".to_owned(), "b and c".to_owned()));
        assert_eq!(one_line("one\n  two\u{7}\n"), "one two\\u{7}");
    }

    #[test]
    fn only_patterns_escape_pointer_stars() {
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
