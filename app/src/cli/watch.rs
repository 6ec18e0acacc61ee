//! `redial watch`: the numbers as they change. It reads only; ending it changes no dial.

use super::{arguments, status};
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::link::error::LinkError;
use crate::link::session::Session;
use crate::model::dials::{Change, Dial, Dials};
use crate::output::json::{DialJson, WatchJson};
use crate::output::table::{Table, cut_middle, number, printable, text, wide};
use crate::output::{Out, terminal, words};
use crate::signals::Interrupts;
use redial_protocol::message::{Command, Event};
use std::time::{Duration, Instant};

/// Watches until Ctrl-C, `--count`, a closed pipe, or the end of the process.
pub fn run(arguments: &arguments::Watch) -> Result<Exit, Failure> {
    if let Some(pattern) = &arguments.pattern {
        arguments::check_pattern(pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    let interrupts = Interrupts::catch().map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let mut session = connect::open(arguments.pid, "redial watch")?;
    interrupts.deliver_to(session.interrupter());
    match watch(&mut session, arguments) {
        Err(Stop::Link(LinkError::Interrupted)) | Ok(()) => Ok(Exit::Done),
        Err(Stop::Link(error)) => Err(error.into()),
        Err(Stop::Output(failure)) => Err(failure),
    }
}

/// Why the watch stopped before its count.
enum Stop {
    Link(LinkError),
    Output(Failure),
}

impl From<LinkError> for Stop {
    fn from(error: LinkError) -> Self {
        Stop::Link(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Output(failure)
    }
}

fn watch(session: &mut Session, arguments: &arguments::Watch) -> Result<(), Stop> {
    let interval = Duration::from_millis(arguments.interval.into());
    let mut dials = Dials::default();
    session
        .tell(Command::Subscribe { pattern: arguments.pattern.clone(), interval_ms: arguments.interval })?;
    while let Some(event) = session.next(Some(Instant::now()))? {
        dials.apply(event);
    }
    let mut screen = Screen::new(arguments);
    let mut pace = Pace::new(interval);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    loop {
        screen.show(&dials)?;
        left -= 1;
        if left == 0 {
            return Ok(());
        }
        match next_fold(session, &mut dials, &mut pace) {
            Ok(()) => {}
            // The last numbers came with the goodbye, or never will.
            Err(error @ LinkError::Ended(_)) => {
                screen.show(&dials)?;
                return Err(error.into());
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes events in until the counters were folded, or should have been.
fn next_fold(session: &mut Session, dials: &mut Dials, pace: &mut Pace) -> Result<(), LinkError> {
    loop {
        match session.next(Some(pace.deadline))? {
            Some(event) => match pace.apply(dials, event) {
                Change::Fold => {
                    pace.folded();
                    return Ok(());
                }
                Change::Ended => return Err(LinkError::Ended(session.pid())),
                Change::Rows | Change::None => {}
            },
            None => {
                dials.silence(pace.silent());
                return Ok(());
            }
        }
    }
}

/// When the next fold is overdue.
struct Pace {
    interval: Duration,
    /// The time up to which numbers are accounted for.
    known: Instant,
    deadline: Instant,
}

impl Pace {
    fn new(interval: Duration) -> Pace {
        let now = Instant::now();
        Pace { interval, known: now, deadline: now + interval + interval / 2 }
    }

    fn apply(&self, dials: &mut Dials, event: Event) -> Change {
        dials.first_fold_covers(self.known.elapsed().as_millis() as u64);
        dials.apply(event)
    }

    fn folded(&mut self) {
        *self = Pace::new(self.interval);
    }

    /// Notes that the deadline passed; the milliseconds without a fold that are now accounted for. The first
    /// deadline has half an interval of grace, so that a late fold is not taken for silence.
    fn silent(&mut self) -> u64 {
        let passed = self.deadline.saturating_duration_since(self.known);
        self.known = self.deadline;
        self.deadline += self.interval;
        passed.as_millis() as u64
    }
}

/// The form of the output: a table drawn over itself on a terminal, else lines or JSON.
struct Screen {
    out: Out,
    pid: u32,
    json: bool,
    began: Instant,
    /// Lines of the table on the terminal.
    drawn: usize,
}

impl Screen {
    fn new(arguments: &arguments::Watch) -> Screen {
        Screen { out: Out::new(), pid: arguments.pid, json: arguments.json, began: Instant::now(), drawn: 0 }
    }

    fn show(&mut self, dials: &Dials) -> Result<(), Failure> {
        let t_ms = self.began.elapsed().as_millis() as u64;
        if self.json {
            let rows = dials.iter().map(|dial| DialJson::new(self.pid, dial)).collect();
            self.out.json(&WatchJson { pid: self.pid, t_ms, dials: rows, dropped: dials.dropped() })?;
        } else if let Some((columns, rows)) = terminal() {
            let lines = table(self.pid, dials, columns, rows);
            // Up to the first line of the old table, and clear from there (ECMA-48 CUU, ED).
            if self.drawn > 0 {
                self.out.text(&format!("\x1b[{}A\x1b[J", self.drawn))?;
            }
            self.drawn = lines.len();
            for line in lines {
                self.out.line(&line)?;
            }
        } else {
            for line in plain(t_ms, dials) {
                self.out.line(&line)?;
            }
        }
        self.out.flush()
    }
}

/// The table for a terminal, never larger than it.
fn table(pid: u32, dials: &Dials, columns: usize, rows: usize) -> Vec<String> {
    let most = rows.saturating_sub(4).max(1);
    let mut head = format!("process {pid}: {}", words::count(dials.len() as u64, "dial", "dials"));
    if dials.dropped() > 0 {
        head.push_str(&format!(", {} dropped", words::count(dials.dropped(), "update", "updates")));
    }
    let mut lines = vec![head];
    let mut table = Table::new(&[number("CALLS"), number("PER SECOND"), text("STATE"), wide("METHOD")]);
    for dial in dials.screen(most) {
        table.row(vec![words::grouped(dial.row.calls), rate(dial), status::state(dial), status::name(dial)]);
    }
    lines.extend(table.lines(Some(columns)));
    if dials.len() > most {
        lines.push(format!("… and {} with fewer calls", words::grouped((dials.len() - most) as u64)));
    }
    lines.iter().map(|line| cut_middle(line, columns)).collect()
}

/// Lines for a file or another program: time, calls, rate, state, method.
fn plain(t_ms: u64, dials: &Dials) -> Vec<String> {
    let time = format!("{:>9.3} s", t_ms as f64 / 1000.0);
    if dials.is_empty() {
        return vec![format!("{time}  no method is dialled")];
    }
    let line = |dial: &&Dial| {
        let (calls, state) = (words::grouped(dial.row.calls), status::state(dial));
        format!("{time}  {calls:>15}  {:>12}/s  {state:<9}  {}", rate(dial), printable(&status::name(dial)))
    };
    dials.screen(usize::MAX).iter().map(line).collect()
}

fn rate(dial: &Dial) -> String {
    dial.rate.map_or_else(|| "-".to_owned(), words::rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::row;

    fn dials(count: u32) -> Dials {
        let mut dials = Dials::default();
        dials.rows(
            (0..count)
                .map(|index| row(index, &format!("Shop.Cart.Method{index:03}"), u64::from(index)))
                .collect(),
        );
        dials
    }

    #[test]
    fn silence_is_accounted_for_once() {
        let mut pace = Pace::new(Duration::from_millis(200));
        assert_eq!([pace.silent(), pace.silent(), pace.silent()], [300, 200, 200]);
        pace.folded();
        assert_eq!(pace.silent(), 300);
    }

    #[test]
    fn the_table_never_leaves_the_terminal() {
        for (columns, rows) in [(80, 24), (40, 8), (20, 5), (200, 60)] {
            let lines = table(42, &dials(100), columns, rows);
            assert!(lines.len() < rows, "{} lines on {rows}", lines.len());
            assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns}: {lines:#?}");
        }
        let lines = table(42, &dials(100), 80, 24);
        assert!(lines[0].contains("100 dials"));
        assert!(lines[lines.len() - 1].contains("and 80 with fewer calls"), "{lines:#?}");
    }

    #[test]
    fn lines_for_files_name_time_and_method() {
        assert_eq!(plain(1500, &dials(0)), ["    1.500 s  no method is dialled"]);
        let lines = plain(61_000, &dials(2));
        assert_eq!(lines.len(), 2);
        assert!(
            lines[1].starts_with("   61.000 s") && lines[1].ends_with("Shop!Shop.Cart.Method001()"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_json_line_has_the_documented_fields() {
        let dials = dials(1);
        let rows = dials.iter().map(|dial| DialJson::new(42, dial)).collect();
        let line =
            serde_json::to_value(WatchJson { pid: 42, t_ms: 5, dials: rows, dropped: 0 }).expect("JSON");
        assert_eq!((&line["pid"], &line["t_ms"], &line["dropped"]), (&42.into(), &5.into(), &0.into()));
        assert_eq!(line["dials"][0]["method"], "Shop.Cart.Method000");
    }
}
