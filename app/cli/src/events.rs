//! `redial events`: lists the latest calls of methods at level trace, or those in flight. It changes no dial.

use super::traced_calls::{CallFormat, CallLines, heading};
use super::{arguments, multi_process, status};
use crate::output::{Out, terminal_columns};
use redial_link::connect;
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::{ReplyPage, Session};
use redial_model::dials::DialledCopies;
use redial_protocol::level::Level;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::trace::TracedCall;
use redial_text::words::printable;

/// Lists the calls.
pub fn run(arguments: &arguments::EventsArguments) -> Result<Exit, Failure> {
    if let Some(pattern) = &arguments.pattern {
        arguments::check_pattern(pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    if !arguments.json || arguments.target.only().is_some() {
        return multi_process::each(&arguments.target, false, |pid, out| list(pid, arguments, out));
    }
    let command = |member: &crate::target::TargetProcess, out: &mut Out| list(member.key.pid, arguments, out);
    let reports = multi_process::side_by_side(arguments.target.find()?, &command);
    let mut out = Out::new();
    reports.iter().try_for_each(|report| out.text(&report.text))?;
    out.flush()?;
    drop(out);
    reports.iter().for_each(multi_process::ProcessResult::print_remarks);
    Ok(multi_process::combined(reports.iter().map(multi_process::ProcessResult::exit)))
}

fn list(pid: u32, arguments: &arguments::EventsArguments, out: &mut Out) -> Result<Exit, Failure> {
    let mut session = connect::open(pid, "redial events")?;
    let columns = terminal_columns().filter(|_| !arguments.wide);
    let format = if arguments.json { CallFormat::Json } else { CallFormat::Text(columns) };
    let mut lines = CallLines::new(pid, format, None);
    let mut calls = ask(&mut session, arguments, &mut lines)?;
    if calls.is_empty() {
        return explain(&mut session, arguments, out);
    }
    choose(&mut calls, arguments);
    if !arguments.json {
        out.line(&heading(arguments.in_flight))?;
    }
    for call in &calls {
        out.line(&lines.line(call)?)?;
    }
    if !arguments.json && !arguments.in_flight {
        lines.dropped_sentences().iter().try_for_each(|sentence| out.line(&printable(sentence)))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn ask(
    session: &mut Session,
    arguments: &arguments::EventsArguments,
    lines: &mut CallLines,
) -> Result<Vec<TracedCall>, Failure> {
    let mut all = Vec::new();
    let mut taken: Result<(), LinkError> = Ok(());
    let command = WireCommand::Calls { pattern: arguments.pattern.clone(), in_flight: arguments.in_flight };
    let reply = session.ask(command, &mut |page| {
        if let ReplyPage::Calls { methods, calls, dropped } = page
            && taken.is_ok()
        {
            taken = lines.take(methods, dropped);
            all.extend(calls);
        }
    })?;
    taken?;
    match reply {
        Reply::Calls { .. } => Ok(all),
        _ => Err(session.wrong_reply().into()),
    }
}

/// Sorts the calls and keeps those to list: the latest at the end, or the longest in flight first.
fn choose(calls: &mut Vec<TracedCall>, arguments: &arguments::EventsArguments) {
    let most = arguments.count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
    if arguments.in_flight {
        calls.sort_by_key(|call| call.start_unix_ns);
        calls.truncate(most);
    } else {
        calls.sort_by_key(|call| call.number);
        calls.drain(..calls.len().saturating_sub(most));
    }
}

/// Says why there are no calls.
fn explain(
    session: &mut Session,
    arguments: &arguments::EventsArguments,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let pattern = arguments.pattern.as_deref();
    let dials = status::ask_rows(session, pattern.map(str::to_owned))?;
    if let Some(pattern) = pattern.filter(|_| dials.is_empty()) {
        let why = status::unmatched(pattern, &status::ask_rows(session, None)?);
        return Err(Failure::new(Exit::NothingMatched, why));
    }
    if !arguments.json {
        out.line(&none(&dials, session.pid(), arguments))?;
        out.flush()?;
    }
    Ok(Exit::Done)
}

fn none(dials: &DialledCopies, pid: u32, arguments: &arguments::EventsArguments) -> String {
    let shown = arguments.pattern.as_deref().map(printable);
    let matching = shown.as_ref().map(|pattern| format!(" that matches '{pattern}'")).unwrap_or_default();
    if !dials.iter().any(|dial| dial.row.wanted == Level::Trace) {
        let pattern = shown.as_deref().unwrap_or("PATTERN");
        return format!(
            "no method{matching} is at level trace; `redial dial {pid} '{pattern}' trace` sets it"
        );
    }
    match arguments.in_flight {
        true => format!("no call of a traced method{matching} is in flight"),
        false => format!("no call of a traced method{matching} has ended yet"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;
    use redial_link::test_agent::{facts, serve};
    use redial_model::fixtures::row;
    use redial_protocol::message::{Event, StatusRow};
    use redial_text::fixtures::{traced_call, traced_method};

    fn arguments(in_flight: bool, count: Option<u64>) -> arguments::EventsArguments {
        arguments::EventsArguments {
            target: Target::of(1),
            pattern: Some("Shop.*".into()),
            last: false,
            in_flight,
            count,
            wide: false,
            json: false,
        }
    }

    fn calls() -> Vec<TracedCall> {
        let call = |number, start_unix_ns| TracedCall { number, start_unix_ns, ..traced_call() };
        vec![call(3, 10), call(1, 30), call(2, 20)]
    }

    #[test]
    fn lists_latest_calls_last_and_longest_in_flight_first() {
        let chosen = |in_flight, count| {
            let mut calls = calls();
            choose(&mut calls, &arguments(in_flight, count));
            calls.iter().map(|call| call.number).collect::<Vec<_>>()
        };
        assert_eq!(chosen(false, None), [1, 2, 3]);
        assert_eq!(chosen(false, Some(2)), [2, 3], "the latest");
        assert_eq!(chosen(true, None), [3, 2, 1]);
        assert_eq!(chosen(true, Some(1)), [3], "the longest");
    }

    #[test]
    fn says_why_there_are_no_calls() {
        let dials = |wanted| {
            let mut dials = DialledCopies::default();
            dials.rows(vec![StatusRow { wanted, ..row(0, "Shop.Cart.Add", 1) }]);
            dials
        };
        assert_eq!(
            none(&dials(Level::Time), 9, &arguments(false, None)),
            "no method that matches 'Shop.*' is at level trace; `redial dial 9 'Shop.*' trace` sets it"
        );
        let traced = dials(Level::Trace);
        assert!(none(&traced, 9, &arguments(false, None)).ends_with("has ended yet"));
        assert!(none(&traced, 9, &arguments(true, None)).ends_with("is in flight"));
    }

    #[test]
    fn prints_pages_of_calls() {
        serve(
            |mut agent| {
                agent.hello(facts(0));
                let request = agent.request();
                let pattern = Some("Shop.*".to_owned());
                assert_eq!(request.command, WireCommand::Calls { pattern, in_flight: false });
                for (methods, call) in [(vec![traced_method()], 0), (vec![], 1)] {
                    let calls = vec![calls().swap_remove(call)];
                    let id = Some(request.id);
                    agent.event(Event::Calls { id, methods, calls, dropped: vec![], unread: 0 });
                }
                agent.reply(request.id, Reply::Calls { calls: 2 });
            },
            |pid| {
                let mut out = Out::memory(1);
                let exit =
                    list(pid, &arguments::EventsArguments { json: true, ..arguments(false, None) }, &mut out);
                assert_eq!(exit.expect("listed"), Exit::Done);
                let (text, _) = out.into_kept();
                let start = |line: &str| {
                    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                    line["start"].as_str().map(str::to_owned)
                };
                let starts: Vec<_> = text.lines().filter_map(start).collect();
                assert_eq!(starts, ["1970-01-01T00:00:00.000000030Z", "1970-01-01T00:00:00.000000010Z"]);
            },
        );
    }
}
