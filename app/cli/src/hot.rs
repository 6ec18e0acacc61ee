//! `redial hot`: finds the methods with the most self time and keeps them timed.

use super::arguments::HotArguments;
use super::{arguments, change, multi_process};
use crate::output::json::HotJson;
use crate::output::page::Page;
use crate::output::table::{Table, name, number};
use crate::output::{Out, sentence};
use redial_link::error::nothing_matched;
use redial_link::exit::{Exit, Failure};
use redial_link::hot::{HotOutcome, find_hot};
use redial_link::signals::Interrupts;
use redial_model::hot::{HotReport, HotStep};
use redial_text::words;

/// The name of this program for the agent.
const PROGRAM: &str = "redial hot";

/// Searches until the time is over, or Ctrl-C, which turns the dials of the search off.
pub fn run(arguments: &HotArguments) -> Result<Exit, Failure> {
    if let Some(pattern) = &arguments.pattern {
        arguments::check_pattern(pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    let interrupts = change::catch_interrupts()?;
    multi_process::each(&arguments.target, arguments.json, |pid, out| {
        search(pid, arguments, &interrupts, out)
    })
}

fn search(
    pid: u32,
    arguments: &HotArguments,
    interrupts: &Interrupts,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let alone = arguments.target.only().is_some();
    let say = |text: String| sentence(if alone { text } else { format!("process {pid}: {text}") });
    let mut session = change::open_or_attach(pid, PROGRAM, arguments.attach, "", &mut |text| say(text))?;
    interrupts.deliver_to(session.interrupter());
    let tell = &mut |step: HotStep| {
        if !matches!(step, HotStep::Turning { .. }) {
            say(step.sentence());
        }
    };
    let outcome = find_hot(&mut session, arguments.options(), tell)?;
    let report = match outcome {
        HotOutcome::Found(report) => report,
        HotOutcome::NothingMatched { suggestions } => {
            let why = match &arguments.pattern {
                Some(pattern) => nothing_matched(Some(pattern), &suggestions),
                None => {
                    "no module of the program itself is loaded; a PATTERN searches frameworks, too".to_owned()
                }
            };
            return Err(Failure::new(Exit::NothingMatched, why));
        }
        HotOutcome::NothingCalled(report) => {
            let methods = words::methods(report.counted);
            let why = format!(
                "none of {methods} was called; search again while the program works, or --for longer"
            );
            return Err(Failure::new(Exit::NothingMatched, why));
        }
        HotOutcome::TurnedOff => {
            let why = "someone else turned the dials off during the search; nothing stays on";
            return Err(Failure::new(Exit::Failed, why));
        }
        HotOutcome::Cancelled { reverted, remaining } => {
            let why = cancelled(reverted, remaining);
            return Err(Failure::new(if remaining == 0 { Exit::Failed } else { Exit::Partly }, why));
        }
    };
    change::release(session)?;
    if arguments.json {
        out.json(&HotJson::new(pid, &report))?;
    } else {
        lines(pid, &report, &out.page(None)).iter().try_for_each(|line| out.line(line))?;
    }
    out.flush()?;
    Ok(if report.remaining == 0 { Exit::Done } else { Exit::Partly })
}

fn cancelled(reverted: u64, remaining: u64) -> String {
    let off = match reverted {
        0 => "stopped; nothing was changed".to_owned(),
        _ => format!("stopped; {} off again", words::count(reverted, "method is", "methods are")),
    };
    match remaining {
        0 => off,
        _ => format!("{off}, {} could not be turned off", words::methods(remaining)),
    }
}

fn lines(pid: u32, report: &HotReport, page: &Page) -> Vec<String> {
    let mut lines = Vec::new();
    if !report.methods.is_empty() {
        let headings = [
            number("SELF").at_least(7),
            number("SHARE").goes(1),
            number("TOTAL").at_least(7).goes(2),
            number("CALLS"),
            number("PER SECOND").or("PER S").goes(0),
            name("METHOD"),
        ];
        let mut table = Table::new(&headings);
        let seconds = report.measured_ms.max(1) as f64 / 1000.0;
        for hot in &report.methods {
            let numbers = hot.numbers;
            let body = words::body_of(&hot.method.method).map(|of| format!(" ({of})")).unwrap_or_default();
            table.row(vec![
                words::duration(numbers.self_ns),
                share(report.share(hot)),
                words::duration(numbers.total_ns),
                words::grouped(numbers.calls),
                words::rate(numbers.calls as f64 / seconds),
                hot.method.name() + &body,
            ]);
        }
        let mut drawn = table.lines(page.columns);
        if let Some(headings) = drawn.first_mut() {
            *headings = page.paint.heading(std::mem::take(headings));
        }
        lines.extend(drawn);
        lines.push(String::new());
    }
    let mut below = report.sentences();
    below.push(what_stays(pid, report));
    let wrapped = |line: String| match page.columns {
        Some(columns) => crate::output::table::wrapped(&line, columns),
        None => vec![line],
    };
    lines.extend(below.into_iter().flat_map(wrapped).map(|line| page.paint.dim(line)));
    lines
}

/// Formats a percentage of all self time.
fn share(percent: f64) -> String {
    if percent < 0.1 { "<0.1 %".to_owned() } else { words::percent(percent) }
}

/// Returns the sentence about the dials that stay on.
fn what_stays(pid: u32, report: &HotReport) -> String {
    let kept = report.methods.len() as u64;
    if kept == 0 {
        return "nothing stays on".to_owned();
    }
    let (methods, them) = (words::count(kept, "method stays", "methods stay"), words::them(kept));
    let off = if report.left_alone > 0 {
        format!("`redial undo {pid}` turns {them} off")
    } else {
        format!("`redial off {pid}` turns {them} off")
    };
    format!("{methods} at time until turned off; {off}; everything else is off again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::row;
    use redial_model::hot::{HotMethod, HotNumbers, MethodKey};
    use serde_json::json;

    fn report() -> HotReport {
        let hot = |index, name: &str, self_ns| HotMethod {
            method: MethodKey::of(&row(index, name, 0)),
            numbers: HotNumbers { calls: 1_000, exceptions: 0, total_ns: 2 * self_ns, self_ns },
        };
        HotReport {
            counted: 200,
            called: 3,
            timed: 3,
            measured_ms: 5_000,
            self_ns: 4_000_000,
            methods: vec![
                hot(0, "Shop.Cart.Add", 3_000_000),
                hot(1, "Shop.Cart+<Take>d__1.MoveNext", 1_000_000),
            ],
            more: 1,
            turned_off: 198,
            change: 4,
            ..HotReport::default()
        }
    }

    #[test]
    fn lists_methods_and_says_what_stays_on() {
        assert_eq!(
            lines(9, &report(), &Page::default()),
            [
                "   SELF  SHARE    TOTAL  CALLS  PER SECOND  METHOD",
                "3.00 ms   75 %  6.00 ms  1,000         200  Shop!Shop.Cart.Add()",
                "1.00 ms   25 %  2.00 ms  1,000         200  Shop!Shop.Cart+<Take>d__1.MoveNext() (body of Shop.Cart.Take)",
                "",
                "200 methods counted, 3 called, 3 timed for 5.0 s",
                "2 methods stay at time until turned off; `redial off 9` turns them off; everything else is off again",
            ]
        );
        let mixed = HotReport { left_alone: 1, ..report() };
        let last = lines(9, &mixed, &Page::default()).pop().unwrap_or_default();
        assert!(last.contains("`redial undo 9` turns them off"), "others have dials, too: {last}");
    }

    #[test]
    fn json_has_every_documented_field() {
        let value = serde_json::to_value(HotJson::new(9, &report())).expect("JSON");
        assert_eq!(
            value["methods"][0],
            json!({
                "method": "Shop.Cart.Add", "signature": "()", "module": "Shop", "token": "0x06000001", "calls": 1000,
                "exceptions": 0, "rate": 200.0, "total_ns": 6_000_000, "self_ns": 3_000_000, "self_percent": 75.0,
            })
        );
        assert_eq!(value["kept"], 2);
    }

    #[test]
    fn says_what_a_cancelled_search_left() {
        assert_eq!(cancelled(0, 0), "stopped; nothing was changed");
        assert_eq!(cancelled(1_200, 0), "stopped; 1,200 methods are off again");
        assert_eq!(cancelled(1, 2), "stopped; 1 method is off again, 2 methods could not be turned off");
    }
}
