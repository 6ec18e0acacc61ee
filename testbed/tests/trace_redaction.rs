//! Hidden values are never read: their bytes are neither in the memory of the host nor on the wire.
//!
//! The program overwrites its own strings after the call (`Traced.CallLogin` in `programs/traced.cs`), so the search covers
//! the whole readable memory of the process, the managed heap and the stacks included. A value of the same call that is not
//! hidden must be found in each search.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result, ensure};
use memchr::memmem::Finder;
use redial_protocol::message::{Event, WireCommand};
use redial_protocol::trace::{OmittedReason, TracedCall, Value};
use redial_testbed::controller::Controller;
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::{end, list, say, text, trace, warm_up};
use redial_testbed::{programs, under_agent};

on_each_runtime!(never_reads_hidden_values, finds_the_same_values_without_redaction);

/// Bytes of memory read at once.
const CHUNK: usize = 4 << 20;
const LOGIN: &str = "traced!Traced.Login";

/// A string that the program makes, like `Secret` in `Traced.CallLogin`.
fn secret(kind: u32) -> String {
    let letter = |i: u32| (i * 7 + kind * 5) % 26 + if i.is_multiple_of(3) { 32 } else { 0 };
    (0..24).map(|i| char::from(b'A' + letter(i) as u8)).collect()
}

/// How often the strings of a call were found: the hidden argument, the hidden field, the argument that is not hidden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    password: usize,
    field: usize,
    user: usize,
}

impl Found {
    /// Counts the strings in bytes: as UTF-16, and one byte per letter as on the wire.
    fn count(bytes: &[u8]) -> Found {
        let occurrences = |kind: u32| {
            let letters = secret(kind);
            let utf16: Vec<u8> = letters.encode_utf16().flat_map(u16::to_le_bytes).collect();
            [utf16.as_slice(), letters.as_bytes()]
                .map(|needle| Finder::new(needle).find_iter(bytes).count())
                .iter()
                .sum()
        };
        Found { password: occurrences(1), field: occurrences(2), user: occurrences(3) }
    }

    fn add(&mut self, other: Found) {
        self.password += other.password;
        self.field += other.field;
        self.user += other.user;
    }
}

/// Searches all readable memory of a process.
fn in_memory(pid: u32) -> Result<Found> {
    let memory = File::open(format!("/proc/{pid}/mem"))?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    // Chunks overlap, so that a string across their border is found.
    let overlap = 2 * secret(1).len();
    let mut buffer = vec![0; CHUNK + overlap];
    let (mut found, mut searched) = (Found::default(), 0);
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let range = words.next().and_then(|range| range.split_once('-')).context("a range")?;
        if !words.next().is_some_and(|access| access.starts_with('r')) {
            continue;
        }
        let end = u64::from_str_radix(range.1, 16)?;
        let mut at = u64::from_str_radix(range.0, 16)?;
        while at < end {
            let wanted = buffer.len().min((end - at) as usize);
            // Some mappings of the kernel cannot be read, and others end meanwhile.
            let read = memory.read_at(&mut buffer[..wanted], at).unwrap_or(0);
            found.add(Found::count(&buffer[..read]));
            searched += read;
            if read < buffer.len() {
                break;
            }
            at += CHUNK as u64;
        }
    }
    ensure!(searched > 16 << 20, "only {searched} bytes were read");
    Ok(found)
}

/// The results of both searches, and the latest call of `Traced.Login`.
struct Searched {
    memory: Found,
    wire: Found,
    call: TracedCall,
}

/// Traces the method, streams and lists its calls, and searches.
fn search(runtime: Runtime, redact: Option<&str>) -> Result<Searched> {
    let mut command = programs::named("traced")?.command(runtime)?;
    if let Some(redact) = redact {
        command.env("REDIAL_REDACT", redact);
    }
    let (mut live, mut controller) = under_agent::start_controlled(command)?;
    controller.record();
    trace(&mut controller, LOGIN)?;
    controller.execute(WireCommand::StreamCalls { pattern: None })?;
    warm_up(&mut live.host, &mut controller, "login 1")?;
    say(&mut live.host, "login 20")?;
    let calls = list(&mut controller, false)?;
    let call = (*calls.of(".Login").last().context("a call")?).clone();
    ensure_streamed(&mut controller, call.number)?;
    let memory = in_memory(live.pid)?;
    let wire = Found::count(&controller.recorded_bytes());
    end(live, controller)?;
    Ok(Searched { memory, wire, call })
}

/// Waits until the stream has sent a call.
fn ensure_streamed(controller: &mut Controller, number: u64) -> Result<()> {
    controller.wait_for("the call in the stream", |event| match event {
        Event::Calls { id: None, calls, .. } => calls.iter().any(|call| call.number == number).then_some(()),
        _ => None,
    })
}

/// Ensures that the call has these values, and nothing else hidden.
fn ensure_captured(call: &TracedCall, password: &Value, field: &Value) -> Result<()> {
    let [user, of_call, Value::Object { type_name, fields }] = &call.arguments[..] else {
        anyhow::bail!("{call:?}")
    };
    ensure!(*user == text(&secret(3)) && of_call == password, "{call:?}");
    let named = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    ensure!(type_name == "Traced+Account" && named("Password") == Some(field), "{call:?}");
    ensure!(named("Note") == Some(&text("note 19")) && named("Id") == Some(&Value::Int(1)), "{call:?}");
    Ok(())
}

fn never_reads_hidden_values(runtime: Runtime) -> Result<()> {
    let searched = search(runtime, None)?;
    let hidden = Value::Omitted(OmittedReason::RedactedName);
    ensure_captured(&searched.call, &hidden, &hidden)?;
    for found in [searched.memory, searched.wire] {
        ensure!(found.user > 20, "the search finds nothing: {found:?}");
        ensure!((found.password, found.field) == (0, 0), "{found:?}");
    }
    Ok(())
}

fn finds_the_same_values_without_redaction(runtime: Runtime) -> Result<()> {
    let searched = search(runtime, Some("!password"))?;
    ensure_captured(&searched.call, &text(&secret(1)), &text(&secret(2)))?;
    for found in [searched.memory, searched.wire] {
        ensure!(found.password > 20 && found.field > 20 && found.user > 20, "{found:?}");
    }
    Ok(())
}
