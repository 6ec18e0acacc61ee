//! `redial trace --perfetto FILE`: writes the calls as slices of a Perfetto trace, with a track for each process and
//! thread.

mod annotations;
mod packets;
mod proto;
mod thread_order;
mod trace_file;
mod writer;

use super::call_stream::{CallStream, Form};
use super::per_process;
use super::printer::shown_domain;
use crate::arguments::TraceArguments;
use crate::change::ChangeRequest;
use crate::output::sentence;
use crate::target::TargetProcess;
use crate::traced_calls::{CallFormat, CallLines};
use proto::{EventType, TrackEvent};
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use redial_protocol::trace::TracedCall;
use redial_text::{names, words};
use std::path::Path;
use thread_order::CallEvent;
use trace_file::TraceFile;
use writer::PerfettoWriter;

/// Traces into a file until Ctrl-C, `--count`, or the end of the processes.
pub fn run(
    wanted: &ChangeRequest<'_>,
    arguments: &TraceArguments,
    path: &Path,
    interrupts: &Interrupts,
) -> Result<Exit, Failure> {
    let single = arguments.target.only();
    let members = match single {
        Some(pid) => vec![TargetProcess::with_pid(pid)],
        None => arguments.target.find()?,
    };
    let cannot = |error| Failure::new(Exit::Failed, format!("cannot create {}: {error}", path.display()));
    let file = TraceFile::create(path).map_err(cannot)?;
    let mut writer = PerfettoWriter::new(file, &members, arguments.count);
    let lines = |pid| CallLines::new(pid, CallFormat::Text(None), shown_domain(arguments));
    let form: &Form<'_, CallEvent> = &|lines, call| Ok(event(lines, call));
    let outcome = match single {
        Some(pid) => {
            let mut stream = CallStream::new(wanted, lines(pid), form, &|text| sentence(text));
            stream.run(pid, interrupts, &mut |calls| writer.add(pid, calls))
        }
        None => per_process::run(wanted, &members, interrupts, (&lines, form), &mut |pid, calls| {
            writer.add(pid, calls)
        }),
    };
    let keep = matches!(outcome, Ok(Exit::Done | Exit::Partly));
    let finished = writer.finish(keep);
    if let Ok(Some(written)) = finished {
        let calls = words::count(written, "call", "calls");
        sentence(format!("wrote {calls} to {}; open it in ui.perfetto.dev", path.display()));
    }
    outcome.and_then(|exit| finished.map(|_| exit))
}

/// Returns the event of a call. Calls without known duration or thread are instants.
fn event(lines: &CallLines, call: &TracedCall) -> CallEvent {
    let method = lines.method(call);
    let duration = call.duration_ns.filter(|_| call.thread != 0);
    let kind = if duration.is_some() { EventType::SliceBegin } else { EventType::Instant };
    // Others do not end while their callers run.
    let is_async = duration.is_some() && call.course.is_some_and(|course| course.steps > 1);
    CallEvent {
        thread: call.thread,
        is_async,
        depth: if call.thread == 0 { 0 } else { call.depth },
        start: call.start_unix_ns,
        end: duration.map(|duration| call.start_unix_ns.saturating_add(duration)),
        event: TrackEvent {
            kind: Some(kind.into()),
            track_uuid: None,
            categories: vec![method.module.clone()],
            name: names::shorter(&method.method).last().map(str::to_owned),
            debug_annotations: annotations::of_call(method, call, lines.dropped_calls(method)),
        },
    }
}
