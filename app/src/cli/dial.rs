//! `redial dial`: turns the dials of matching methods, and says what became of each.

use super::arguments;
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::link::error::LinkError;
use crate::link::session::{PING_EVERY, Session};
use crate::model::dials::{Change, Dials};
use crate::output::json::DialledJson;
use crate::output::table::printable;
use crate::output::{Out, sentence, words};
use crate::signals::Interrupts;
use redial_protocol::level::Level;
use redial_protocol::message::{Command, Event, Reply};
use redial_protocol::order::Stand;
use redial_protocol::reason::Reason;
use redial_protocol::report::DialReport;
use redial_protocol::state::State;
use std::time::Instant;

const PROGRAM: &str = "redial dial";
/// Milliseconds between folds that nobody looks at.
const HOLD_INTERVAL_MS: u32 = 60_000;
/// Refused methods named per reason; `--json` names all the agent sent.
const NAMED_PER_REASON: usize = 10;

/// Turns dials.
pub fn run(arguments: &arguments::Dial) -> Result<Exit, Failure> {
    arguments::check_pattern(&arguments.pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    if arguments.hold && arguments.level == Level::Off {
        return Err(Failure::new(Exit::Usage, "--hold keeps dials on while it runs; it has no use with off"));
    }
    let interrupts = match arguments.hold {
        true => Some(Interrupts::catch().map_err(|error| Failure::new(Exit::Failed, error.to_string()))?),
        false => None,
    };
    let mut session = connect::open(arguments.pid, PROGRAM)?;
    let reply = session.ask(command(arguments), &mut |_| {})?;
    let Reply::Dialled(report) = reply else { return Err(session.wrong_reply().into()) };
    let exit = outcome(&report, arguments.later);
    let mut out = Out::new();
    if arguments.json {
        out.json(&DialledJson::new(arguments.pid, &report))?;
    } else {
        for line in lines(&report, arguments.level) {
            out.line(&line)?;
        }
        if exit != Exit::Failed {
            out.line(&standing(arguments, &report))?;
        }
    }
    out.flush()?;
    match interrupts {
        Some(interrupts) if exit != Exit::Failed => hold(session, &interrupts, &arguments.pattern, exit),
        _ => {
            // At once, and not when the agent notices the end of the session: the next command may be waiting.
            session.tell(Command::ReleaseControl)?;
            Ok(exit)
        }
    }
}

fn command(arguments: &arguments::Dial) -> Command {
    if arguments.level == Level::Off && !arguments.later {
        return Command::RequestRevert { patterns: vec![arguments.pattern.clone()], take: arguments.take };
    }
    Command::RequestReJit {
        orders: vec![arguments::order(&arguments.pattern, arguments.level)],
        later: arguments.later,
        take: arguments.take,
        stand: if arguments.hold { Stand::Held } else { Stand::Kept },
    }
}

/// What a report amounts to. Copies without a body are nobody's fault, but a dial that turned nothing failed.
fn outcome(report: &DialReport, later: bool) -> Exit {
    match (report.accepted, refused(report)) {
        (0, 0) if later => Exit::Done,
        (0, _) => Exit::Failed,
        (_, 0) => Exit::Done,
        _ => Exit::Partly,
    }
}

fn refused(report: &DialReport) -> u64 {
    report.refused_by_reason.iter().fold(0u64, |sum, (_, number)| sum.saturating_add(*number))
}

fn lines(report: &DialReport, level: Level) -> Vec<String> {
    let mut first = format!(
        "{} matched, {} accepted at {level}",
        words::methods(report.matched),
        words::grouped(report.accepted)
    );
    if report.bodyless > 0 {
        first.push_str(&format!(", {} without a body", words::grouped(report.bodyless)));
    }
    let mut lines = vec![first];
    for (reason, number) in &report.refused_by_reason {
        lines.push(format!("{} refused: {}", words::methods(*number), reason.sentence()));
        let named: Vec<_> =
            report.refused.iter().filter(|one| one.reason == *reason).take(NAMED_PER_REASON).collect();
        for one in &named {
            let code =
                if *reason == Reason::Hresult { format!("  ({:#010x})", one.hresult) } else { String::new() };
            lines.push(format!("    {}{code}", printable(&one.method)));
        }
        let rest = number.saturating_sub(named.len() as u64);
        if rest > 0 {
            lines.push(format!("    … and {} more", words::grouped(rest)));
        }
    }
    lines.extend(report.warnings.iter().map(|warning| format!("warning: {}", words::one_line(warning))));
    lines
}

/// How long the dial stands.
fn standing(arguments: &arguments::Dial, report: &DialReport) -> String {
    let pid = arguments.pid;
    match (arguments.level, arguments.hold) {
        (Level::Off, _) => "off: the original IL runs again".to_owned(),
        (_, true) => {
            format!("held while this command runs; Ctrl-C turns '{}' off", printable(&arguments.pattern))
        }
        (_, false) if report.matched == 0 => {
            format!("kept for what loads later; `redial off {pid}` turns it off")
        }
        (_, false) => format!("kept until it is turned off, by `redial off {pid}` for example"),
    }
}

/// Stays until Ctrl-C; the dials are reverted by the agent when the session ends.
fn hold(mut session: Session, interrupts: &Interrupts, pattern: &str, exit: Exit) -> Result<Exit, Failure> {
    interrupts.deliver_to(session.interrupter());
    session.keep_alive(PING_EVERY)?;
    // Only for the words about control and the end of the process: the numbers are `watch`'s.
    session.tell(Command::Subscribe { pattern: Some(pattern.to_owned()), interval_ms: HOLD_INTERVAL_MS })?;
    let mut held = Held { dials: Dials::default(), on: true, news: true };
    loop {
        // Judged when all is heard for now: turning many dials off takes many events.
        match session.next(held.news.then(Instant::now)) {
            Ok(Some(Event::Control(Some(holder)))) => {
                sentence(format!(
                    "{} (pid {}) took control; the dials stay held until this command ends",
                    holder.program, holder.pid
                ));
            }
            Ok(Some(Event::Goodbye { .. })) => {
                held.judge(pattern);
                return Err(LinkError::Ended(session.pid()).into());
            }
            Ok(Some(event)) => held.apply(event),
            Ok(None) => held.judge(pattern),
            Err(LinkError::Interrupted) => return Ok(exit),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The rows of what is held, to notice when others turn all of it off.
struct Held {
    dials: Dials,
    /// Whether any was on when it was judged last.
    on: bool,
    news: bool,
}

impl Held {
    fn apply(&mut self, event: Event) {
        self.news |= self.dials.apply(event) == Change::Rows;
    }

    /// Whether all of it was turned off since this was asked last.
    fn went_off(&mut self) -> bool {
        self.news = false;
        // What was unloaded was turned off by nobody.
        let mut loaded = self.dials.iter().filter(|dial| dial.row.state != State::Lost).peekable();
        if loaded.peek().is_none() {
            return false;
        }
        let on = loaded.any(|dial| dial.row.wanted > Level::Off);
        std::mem::replace(&mut self.on, on) && !on
    }

    fn judge(&mut self, pattern: &str) {
        if self.went_off() {
            sentence(format!(
                "someone else turned '{pattern}' off: nothing is held any more, and Ctrl-C ends this command"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::report::RefusedMethod;
    use serde_json::json;

    fn report(matched: u64, accepted: u64, refused: &[(Reason, u64)]) -> DialReport {
        let method = |(reason, index): (Reason, u64)| RefusedMethod {
            method: format!("Shop!Shop.Cart.M{index}()"),
            reason,
            hresult: if reason == Reason::Hresult { 0x8013_1371 } else { 0 },
        };
        DialReport {
            matched,
            accepted,
            refused_by_reason: refused.to_vec(),
            refused: refused
                .iter()
                .flat_map(|(reason, n)| (0..*n).map(|i| (*reason, i)))
                .map(method)
                .collect(),
            ..DialReport::default()
        }
    }

    #[test]
    fn outcomes_have_their_codes() {
        assert_eq!(outcome(&report(3, 3, &[]), false), Exit::Done);
        assert_eq!(outcome(&report(3, 2, &[(Reason::Dynamic, 1)]), false), Exit::Partly);
        assert_eq!(outcome(&report(1, 0, &[(Reason::Dynamic, 1)]), true), Exit::Failed);
        assert_eq!(outcome(&report(0, 0, &[]), true), Exit::Done);
        let bodyless = DialReport { bodyless: 2, ..report(2, 0, &[]) };
        assert_eq!(outcome(&bodyless, false), Exit::Failed);
        assert_eq!(outcome(&DialReport { bodyless: 2, ..report(3, 1, &[]) }, false), Exit::Done);
    }

    #[test]
    fn refusals_are_grouped_and_long_lists_end() {
        let lines = lines(&report(20, 7, &[(Reason::Hresult, 1), (Reason::Dynamic, 12)]), Level::Count);
        assert_eq!(lines[0], "20 methods matched, 7 accepted at count");
        assert_eq!(lines[1], "1 method refused: the runtime refused the request");
        assert_eq!(lines[2], "    Shop!Shop.Cart.M0()  (0x80131371)");
        assert!(lines[3].starts_with("12 methods refused: it was emitted at run time"));
        assert_eq!(lines.len(), 3 + 1 + NAMED_PER_REASON + 1);
        assert_eq!(lines[lines.len() - 1], "    … and 2 more");
    }

    #[test]
    fn the_json_has_the_documented_fields() {
        let report = report(2, 1, &[(Reason::Hresult, 1)]);
        assert_eq!(
            serde_json::to_value(DialledJson::new(9, &report)).expect("JSON"),
            json!({
                "pid": 9, "matched": 2, "accepted": 1, "bodyless": 0, "warnings": [],
                "refused": [{
                    "method": "Shop!Shop.Cart.M0()",
                    "reason": "the runtime refused the request (0x80131371)",
                }],
            })
        );
    }

    #[test]
    fn the_last_dial_that_others_turn_off_is_noticed_once() {
        use redial_protocol::ids::RowId;
        use redial_protocol::message::Transition;
        let turn = |row, wanted, state| {
            let (version, instances, note) = (None, vec![], None);
            Event::Transition(Transition {
                row: RowId(row),
                t_ms: 1,
                wanted,
                state,
                version,
                instances,
                note,
            })
        };
        let rows = || Event::Rows {
            id: None,
            rows: [0, 1].map(|index| crate::model::dials::tests::row(index, "Shop.Cart.Add", 0)).to_vec(),
        };
        let held = || Held { dials: Dials::default(), on: true, news: true };
        let gone = |held: &mut Held, events: Vec<Event>| {
            events.into_iter().for_each(|event| held.apply(event));
            held.went_off()
        };
        let (off, lost) = (State::Off, State::Lost);
        let mut all = held();
        assert!(!gone(&mut all, vec![]), "nothing is known yet");
        assert!(!gone(&mut all, vec![rows()]));
        assert!(!gone(&mut all, vec![turn(0, Level::Off, off)]), "one is left");
        assert!(gone(&mut all, vec![turn(1, Level::Off, off)]));
        assert!(!gone(&mut all, vec![turn(1, Level::Off, off)]), "it is said once");
        assert!(!gone(&mut all, vec![turn(1, Level::Count, State::Asked)]));
        assert!(gone(&mut all, vec![turn(1, Level::Off, off)]), "and again after another turn");
        let first = vec![rows(), turn(0, Level::Off, off), turn(1, Level::Off, off)];
        assert!(gone(&mut held(), first), "it may be off before it is looked at");
        let unloaded = vec![rows(), turn(0, Level::Count, lost), turn(1, Level::Off, lost)];
        assert!(!gone(&mut held(), unloaded), "what is unloaded was not turned off");
    }

    #[test]
    fn off_is_a_revert_unless_it_is_meant_for_later() {
        let mut arguments = arguments::Dial {
            pid: 1,
            pattern: "A.B".into(),
            level: Level::Off,
            hold: false,
            later: false,
            take: true,
            json: false,
        };
        assert!(matches!(command(&arguments), Command::RequestRevert { take: true, .. }));
        arguments.later = true;
        assert!(matches!(command(&arguments), Command::RequestReJit { later: true, stand: Stand::Kept, .. }));
    }
}
