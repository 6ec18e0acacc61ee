//! Traced calls as lines: one a call, as text or JSON. Keeps the methods that the calls refer to, and the numbers of
//! calls that were not captured.

use crate::output::json_line;
use redial_link::error::LinkError;
use redial_link::exit::Failure;
use redial_link::machine;
use redial_model::events::method_bytes;
use redial_protocol::ids::RowId;
use redial_protocol::limits::MAX_STATUS_ROWS;
use redial_protocol::peer_text::clean;
use redial_protocol::report::total;
use redial_protocol::trace::{DroppedCalls, Outcome, TracedCall, TracedMethod};
use redial_text::json::TracedCallJson;
use redial_text::stack_lines::{StackLine, stack_lines};
use redial_text::traced_calls::{call, course, dropped, fitted, outcome, target, time_of_day};
use redial_text::width::{cut_end, pad_left};
use redial_text::words;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The most memory for methods, bytes. Thousands of methods take a few MiB.
const MAX_MEMORY: usize = 32 << 20;
/// Methods that sentences about dropped calls name; others are counted together.
const NAMED: usize = 10;
/// Spaces for each call around a call.
const INDENT: usize = 2;
/// Calls around a call that indent it, at most.
const MAX_INDENTED: u32 = 16;

/// The columns before the call and the gaps between them.
const GAP: &str = "  ";
const TIME: usize = 13;
const THREAD: usize = 7;
const DURATION: usize = 8;
/// Width of everything before the call.
const BEFORE: usize = TIME + THREAD + DURATION + 3 * GAP.len();

/// The form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFormat {
    /// One JSON object.
    Json,
    /// Text, cut to this many columns.
    Text(Option<usize>),
}

/// The heading above text lines. Calls in flight show their age instead of their duration.
pub fn heading(in_flight: bool) -> String {
    let duration = pad_left(if in_flight { "AGE" } else { "DURATION" }, DURATION);
    format!("{:<TIME$}{GAP}{:>THREAD$}{GAP}{duration}{GAP}CALL", "TIME", "THREAD")
}

/// Makes the lines of the calls of one process.
pub struct CallLines {
    pid: u32,
    host: Option<String>,
    format: CallFormat,
    /// Only AppDomains whose name starts with this.
    domain: Option<String>,
    methods: HashMap<u32, TracedMethod>,
    memory: usize,
    /// By row, since the agent began to count.
    dropped: HashMap<RowId, DroppedCalls>,
    /// By row, what `dropped` was at the beginning.
    before: HashMap<RowId, DroppedCalls>,
    /// For calls whose method the agent did not send.
    unknown: TracedMethod,
}

impl CallLines {
    /// Makes lines of calls in process `pid`; with `domain`, only of those in AppDomains whose name starts with it.
    pub fn new(pid: u32, format: CallFormat, domain: Option<String>) -> CallLines {
        CallLines {
            pid,
            host: machine::host_name().filter(|_| format == CallFormat::Json),
            format,
            domain,
            methods: HashMap::new(),
            memory: 0,
            dropped: HashMap::new(),
            before: HashMap::new(),
            unknown: TracedMethod {
                plan: 0,
                row: RowId(u32::MAX),
                method: "(unknown method)".to_owned(),
                signature: String::new(),
                module: String::new(),
                domain: String::new(),
                parameters: vec![],
                result: None,
            },
        }
    }

    /// Takes the parts of a page that later lines need.
    ///
    /// # Errors
    /// When the agent sends more methods than fit into memory.
    pub fn take(&mut self, methods: Vec<TracedMethod>, dropped: Vec<DroppedCalls>) -> Result<(), LinkError> {
        for method in methods {
            self.memory += method_bytes(&method);
            if let Some(replaced) = self.methods.insert(method.plan, method) {
                self.memory -= method_bytes(&replaced);
            }
        }
        for of_row in dropped {
            if self.dropped.len() < MAX_STATUS_ROWS || self.dropped.contains_key(&of_row.row) {
                self.dropped.insert(of_row.row, of_row);
            }
        }
        let limit = || format!("{} MiB of method names", MAX_MEMORY >> 20);
        match self.memory > MAX_MEMORY {
            true => Err(LinkError::TooMuch { pid: self.pid, limit: limit() }),
            false => Ok(()),
        }
    }

    /// Counts dropped calls from now on only.
    pub fn forget_dropped(&mut self) {
        self.before = self.dropped.clone();
    }

    /// Returns whether a call belongs to an AppDomain that is shown.
    pub fn shows(&self, call: &TracedCall) -> bool {
        let domain = &self.method(call).domain;
        self.domain.as_ref().is_none_or(|prefix| domain.starts_with(prefix))
    }

    /// Returns the line of a call.
    pub fn line(&self, traced: &TracedCall) -> Result<String, Failure> {
        let method = self.method(traced);
        let age = (traced.outcome == Outcome::InFlight).then(|| age_ns(traced.start_unix_ns));
        match self.format {
            CallFormat::Json => {
                let process = (self.host.as_deref(), self.pid);
                json_line(&TracedCallJson::new(process, method, traced, age, self.dropped_calls(method)))
            }
            CallFormat::Text(columns) => Ok(text(method, traced, age, columns)),
        }
    }

    /// Returns a sentence for each method that had calls dropped, the most calls first.
    pub fn dropped_sentences(&self) -> Vec<String> {
        let mut names: HashMap<RowId, &str> = HashMap::new();
        for method in self.methods.values() {
            names.insert(method.row, &method.method);
        }
        let each = self.dropped.keys().map(|row| self.dropped(*row));
        let count = |of: &DroppedCalls| total([of.over_rate, of.no_room, of.undecided]);
        let mut rows: Vec<DroppedCalls> = each.filter(|of| count(of) > 0).collect();
        rows.sort_by_key(|of| (std::cmp::Reverse(count(of)), of.row.0));
        let named = rows.iter().take(NAMED);
        let name = |row: RowId| names.get(&row).copied().unwrap_or("a method without captured calls");
        let mut sentences: Vec<String> = named.filter_map(|of| dropped(name(of.row), of)).collect();
        let others = rows.get(NAMED..).unwrap_or_default();
        if !others.is_empty() {
            let calls = words::grouped(total(others.iter().map(count)));
            let methods = words::count(others.len() as u64, "other method", "other methods");
            sentences.push(format!("{calls} calls of {methods} not captured, either"));
        }
        sentences
    }

    /// Returns the method of a call.
    pub fn method(&self, call: &TracedCall) -> &TracedMethod {
        self.methods.get(&call.plan).unwrap_or(&self.unknown)
    }

    /// Returns the number of calls of a method that were not captured since the beginning.
    pub fn dropped_calls(&self, method: &TracedMethod) -> u64 {
        let dropped = self.dropped(method.row);
        total([dropped.over_rate, dropped.no_room, dropped.undecided])
    }

    /// Returns the calls of a row that were dropped since the beginning.
    fn dropped(&self, row: RowId) -> DroppedCalls {
        let of = |rows: &HashMap<RowId, DroppedCalls>| {
            rows.get(&row).copied().unwrap_or(DroppedCalls { row, over_rate: 0, no_room: 0, undecided: 0 })
        };
        let (now, before) = (of(&self.dropped), of(&self.before));
        DroppedCalls {
            row,
            over_rate: now.over_rate.saturating_sub(before.over_rate),
            no_room: now.no_room.saturating_sub(before.no_room),
            undecided: now.undecided.saturating_sub(before.undecided),
        }
    }
}

fn text(method: &TracedMethod, traced: &TracedCall, age: Option<u64>, columns: Option<usize>) -> String {
    let thread = if traced.thread == 0 { "-".to_owned() } else { traced.thread.to_string() };
    let duration = age.or(traced.duration_ns).map_or("-".to_owned(), words::duration);
    let indent = INDENT * traced.depth.min(MAX_INDENTED) as usize;
    let room = columns.map(|columns| columns.saturating_sub(BEFORE));
    // Deep calls keep most of a narrow terminal.
    let indent = indent.min(room.map_or(indent, |room| room / 4));
    let (call, outcome) = (call(method, traced), outcome(traced) + &course(traced));
    let call = match room {
        Some(room) => fitted(&call, &outcome, room.saturating_sub(indent)),
        None => format!("{call}{}{outcome}", target(method, traced)),
    };
    let time = time_of_day(traced.start_unix_ns);
    let (thread, duration) = (pad_left(&thread, THREAD), pad_left(&duration, DURATION));
    let line = format!("{time}{GAP}{thread}{GAP}{duration}{GAP}{:indent$}{call}", "");
    let callers = stack_lines(&traced.stack).into_iter().map(|caller| {
        let caller = format!("    {}", at(&caller));
        let caller = room.map_or(caller.clone(), |room| cut_end(&caller, room.saturating_sub(indent)));
        format!("{:width$}{caller}", "", width = BEFORE + indent)
    });
    let lines: Vec<String> =
        std::iter::once(line).chain(callers).map(|line| clean(&line).into_owned()).collect();
    lines.join("\n")
}

/// Returns a line of a stack as text.
pub fn at(line: &StackLine) -> String {
    match line {
        StackLine::Caller(_, name) => format!("at {name}"),
        StackLine::Runtime(_) => line.text(),
    }
}

/// Returns the nanoseconds since a Unix time.
fn age_ns(start_unix_ns: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX).saturating_sub(start_unix_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::trace::{InnerException, Value};
    use redial_text::fixtures::{traced_call, traced_method};
    use redial_text::width::width;

    fn lines(format: CallFormat) -> CallLines {
        let mut lines = CallLines::new(12, format, None);
        lines.take(vec![traced_method()], vec![]).expect("few");
        lines
    }

    fn dropped_calls(row: u32, over_rate: u64, no_room: u64) -> DroppedCalls {
        DroppedCalls { row: RowId(row), over_rate, no_room, undecided: 0 }
    }

    #[test]
    fn aligns_calls_below_the_heading() {
        let line = lines(CallFormat::Text(None)).line(&traced_call()).expect("a line");
        assert_eq!(line, "05:46:01.123Z     4711   1.20 ms    Pricing.Discount(order: 7, rate: 0.5) = 3.50");
        assert_eq!(heading(false), "TIME            THREAD  DURATION  CALL");
        assert_eq!(heading(true), "TIME            THREAD       AGE  CALL");
        let unknown = TracedCall { thread: 0, duration_ns: None, depth: 0, ..traced_call() };
        let line = lines(CallFormat::Text(None)).line(&unknown).expect("a line");
        assert!(line.starts_with("05:46:01.123Z        -         -  Pricing."), "{line}");
    }

    #[test]
    fn fits_lines_to_the_terminal() {
        let lines_of = |columns| lines(CallFormat::Text(Some(columns)));
        let long = Value::String { units: vec![0x6ce8; 300], length: 300 };
        for depth in [0, 1, u32::MAX] {
            let call = TracedCall { depth, arguments: vec![long.clone()], ..traced_call() };
            for columns in [20, 60, 80, 200] {
                let line = lines_of(columns).line(&call).expect("a line");
                assert!(width(&line) <= columns.max(BEFORE + 1), "{columns}: {line}");
                assert!(columns < 60 || line.contains("… = 3"), "{columns}: {line}");
            }
        }
        assert!(lines_of(80).line(&traced_call()).expect("a line").ends_with(") = 3.50"), "it fits");
    }

    #[test]
    fn calls_in_flight_show_their_age() {
        let start_unix_ns = age_ns(0) - 90_000_000_000;
        let call =
            TracedCall { start_unix_ns, duration_ns: None, outcome: Outcome::InFlight, ..traced_call() };
        let line = lines(CallFormat::Text(None)).line(&call).expect("a line");
        assert!(line.contains("  90.0 s  ") || line.contains("  90.1 s  "), "{line}");
        let line = lines(CallFormat::Json).line(&call).expect("a line");
        let json: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert!(json["age_ns"].as_u64().is_some_and(|age| age >= 90_000_000_000), "{line}");
        assert!(json["host"].is_string() == machine::host_name().is_some(), "{line}");
    }

    #[test]
    fn no_line_contains_what_acts() {
        let hostile = Value::String { units: (0..=u16::MAX).collect(), length: 1 << 16 };
        let thrown = Outcome::Thrown {
            type_name: Some("\u{202e}E".into()),
            message: Some(hostile.clone()),
            inner: vec![InnerException {
                type_name: Some("\u{1b}[2JF".into()),
                message: Some(hostile.clone()),
            }],
        };
        let call = TracedCall { arguments: vec![hostile], outcome: thrown, ..traced_call() };
        for format in [CallFormat::Json, CallFormat::Text(None), CallFormat::Text(Some(100))] {
            let line = lines(format).line(&call).expect("a line");
            assert!(!line.chars().any(redial_protocol::peer_text::acts), "{format:?}");
        }
    }

    #[test]
    fn unknown_methods_are_named_so() {
        let call = TracedCall { plan: 99, ..traced_call() };
        let line = lines(CallFormat::Text(None)).line(&call).expect("a line");
        assert!(line.contains("(unknown method)(7, 0.5) = 3.50"), "{line}");
    }

    #[test]
    fn shows_only_calls_of_the_domain() {
        let mut lines = CallLines::new(12, CallFormat::Json, Some("clr".into()));
        let other = TracedMethod { plan: 2, domain: "Shop".into(), ..traced_method() };
        lines.take(vec![traced_method(), other], vec![]).expect("few");
        assert!(lines.shows(&traced_call()));
        assert!(!lines.shows(&TracedCall { plan: 2, ..traced_call() }));
    }

    #[test]
    fn counts_dropped_calls_from_the_beginning_on() {
        let mut lines = lines(CallFormat::Json);
        lines.take(vec![], vec![dropped_calls(7, 100, 1)]).expect("few");
        assert_eq!(lines.dropped_sentences().len(), 1);
        lines.forget_dropped();
        assert!(lines.dropped_sentences().is_empty());
        lines.take(vec![], vec![dropped_calls(7, 105, 1), dropped_calls(8, 9, 0)]).expect("few");
        let sentences = lines.dropped_sentences();
        assert!(sentences[0].starts_with("a method without captured calls: 9 calls"), "{sentences:?}");
        assert!(sentences[1].starts_with("Shop.Pricing.Discount: 5 calls over the"), "{sentences:?}");
        let line = lines.line(&traced_call()).expect("a line");
        assert!(line.ends_with(",\"dropped\":5}"), "{line}");
        lines.take(vec![], (10..30).map(|row| dropped_calls(row, 1, 1)).collect()).expect("few");
        let sentences = lines.dropped_sentences();
        assert_eq!(sentences.len(), NAMED + 1);
        assert_eq!(sentences[NAMED], "24 calls of 12 other methods not captured, either");
    }

    #[test]
    fn methods_have_a_limit() {
        let mut lines = lines(CallFormat::Json);
        let long = "x".repeat(16 << 10);
        let error = (0..10_000).find_map(|plan| {
            let method = TracedMethod { plan, method: long.clone(), ..traced_method() };
            lines.take(vec![method], vec![]).err()
        });
        assert!(error.is_some_and(|error| error.to_string().contains("32 MiB of method names")));
        let mut lines = CallLines::new(1, CallFormat::Json, None);
        for _ in 0..10_000 {
            let method = TracedMethod { method: long.clone(), ..traced_method() };
            lines.take(vec![method], vec![]).expect("the same method takes no more memory");
        }
    }
}
