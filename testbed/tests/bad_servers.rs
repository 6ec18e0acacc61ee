//! Servers that answer incorrectly in place of an agent. `redial` ends with a sentence and an exit code, never
//! a panic.
#![cfg(unix)]

use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{Context, Result, ensure};
use redial_protocol::catalogue::MethodPage;
use redial_protocol::counters::CounterDelta;
use redial_protocol::frozen::{AgentFacts, RuntimeKind};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_FRAME;
use redial_protocol::message::{Event, Reply};
use redial_protocol::packet::AgentPacket;
use redial_protocol::transport::{Connection, Listener};
use redial_protocol::{PROTOCOL_VERSION, process};
use redial_testbed::host;
use redial_testbed::noise::noise;
use redial_testbed::under_agent::ensure_messages;

/// The answers of a server to one connection. It sends each piece after receiving some bytes.
type Script = Vec<Vec<u8>>;

/// Starts the last piece of a script that a server repeats until the client has gone.
const ENDLESS: &[u8] = b"endless";

/// A server on this process's endpoint that follows the latest script for every connection.
struct Server {
    script: Arc<Mutex<Script>>,
    served: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Result<Self> {
        let listener = Listener::bind(process::own_key()?)?;
        let (script, served) = (Arc::new(Mutex::new(Script::new())), Arc::new(AtomicUsize::new(0)));
        let server = Self { script: Arc::clone(&script), served: Arc::clone(&served) };
        thread::spawn(move || {
            while let Ok(connection) = listener.accept() {
                let pieces = script.lock().map(|script| script.clone()).unwrap_or_default();
                served.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || serve(connection, pieces));
            }
        });
        Ok(server)
    }

    /// Runs `redial WORDS` against a script.
    fn run_against(&self, script: &Script, words: &[&str]) -> Result<host::Outcome> {
        *self.script.lock().map_err(|_| anyhow::anyhow!("the lock is poisoned"))? = script.clone();
        let before = self.served.load(Ordering::Relaxed);
        let pid = std::process::id().to_string();
        let mut command = host::redial(&words[..1])?;
        command.args([pid.as_str()]).args(&words[1..]);
        let outcome = host::run(command)?;
        ensure!(self.served.load(Ordering::Relaxed) > before, "it never connected:\n{}", outcome.output());
        Ok(outcome)
    }
}

fn serve(connection: Connection, script: Script) {
    let (mut read, mut write, closer) = connection.split();
    let mut buffer = [0; 4096];
    for piece in script {
        // A client that has gone ends it. The test checks the client's reaction to each piece.
        if !matches!(read.read(&mut buffer), Ok(1..)) {
            break;
        }
        let sent = match piece.strip_prefix(ENDLESS) {
            Some(part) => loop {
                if let Err(error) = write.write_all(part) {
                    break Err(error);
                }
            },
            None => write.write_all(&piece),
        };
        if sent.is_err() {
            break;
        }
    }
    closer.close();
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

fn hello(protocol: u32) -> Result<Vec<u8>> {
    let facts = AgentFacts {
        protocol,
        agent_version: "9.8.7".into(),
        process: process::own_key()?,
        runtime_kind: RuntimeKind::CoreClr,
        runtime_version: "8.0.0".into(),
        levels: vec![Level::Off, Level::Count],
        holder: None,
        live: 0,
        kept: 0,
        held: 0,
        clr_kept_bytes: 0,
    };
    Ok(AgentPacket::Hello(facts).to_frame()?)
}

const COMMANDS: [&[&str]; 6] =
    [&["modules"], &["methods"], &["dial", "A.B", "count"], &["status"], &["watch"], &["off"]];

/// One test, because this process has only one endpoint name.
#[test]
fn reports_every_bad_answer_in_a_sentence() -> Result<()> {
    let server = Server::start()?;
    check_nonsense(&server)?;
    check_floods(&server)?;
    check_other_protocol_version(&server)
}

fn check_nonsense(server: &Server) -> Result<()> {
    let hello = hello(PROTOCOL_VERSION)?;
    let mut half = hello.clone();
    half.truncate(hello.len() / 2);
    let event = AgentPacket::Event(Event::Goodbye { missed_deadlines: 0 }).to_frame()?;
    let stray_reply =
        AgentPacket::Event(Event::Reply { id: 1, reply: Reply::Status { rows: 0 } }).to_frame()?;
    // An event that claims more rows than fit in memory: kind, tag, no id, a length of 2^63.
    let mut claim = vec![0x90, 2, 0, 253];
    claim.extend_from_slice(&(1u64 << 63).to_le_bytes());

    let garbled = "does not speak Redial's protocol";
    let mut cases: Vec<(String, Script, &str)> = vec![
        ("no bytes".into(), vec![], "closed the connection"),
        ("half a hello".into(), vec![half], "closed the connection: in the middle of a message"),
        ("a length of 0".into(), vec![0u32.to_le_bytes().to_vec()], garbled),
        ("the limit and one more".into(), vec![(MAX_FRAME as u32 + 1).to_le_bytes().to_vec()], garbled),
        ("the longest length".into(), vec![vec![0xff; 4]], garbled),
        ("an unknown kind".into(), vec![framed(&[0x77, 1, 2, 3])], garbled),
        ("an event for a hello".into(), vec![event], "its first message is not a hello"),
        ("HTTP".into(), vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()], garbled),
        ("a cut hello".into(), vec![framed(&hello[4..hello.len() - 3])], garbled),
        ("noise after the hello".into(), vec![[hello.clone(), noise(7, 5000)].concat()], garbled),
        ("a close after the hello".into(), vec![hello.clone()], "closed the connection"),
        ("a cut reply".into(), vec![hello.clone(), framed(&[0x90, 0])], garbled),
        ("a claim of 2^63 rows".into(), vec![hello.clone(), framed(&claim)], garbled),
        ("a hello for a reply".into(), vec![hello.clone(), hello.clone()], garbled),
    ];
    for seed in 1..=4 {
        cases.push((format!("noise {seed}"), vec![noise(seed, 3000)], garbled));
    }
    for (name, script, part) in &cases {
        for words in COMMANDS {
            let outcome = server.run_against(script, words)?;
            // `off` accepts events and keeps waiting until the connection ends.
            ensure_messages(&outcome, 1, &[part])
                .or_else(|error| match words[0] {
                    "off" => ensure_messages(&outcome, 1, &["closed the connection"]),
                    _ => Err(error),
                })
                .with_context(|| format!("{name}: redial {words:?}"))?;
            ensure!(outcome.stdout.is_empty(), "{name}: {}", outcome.output());
        }
        // `ps` still lists the other processes.
        host::run(host::redial(&["ps"])?)?.ok()?;
    }
    for words in COMMANDS.iter().filter(|words| words[0] != "off" && words[0] != "status") {
        let outcome = server.run_against(&vec![hello.clone(), stray_reply.clone()], words)?;
        ensure_messages(&outcome, 1, &["the reply belongs to another command"])
            .with_context(|| format!("{words:?}"))?;
    }
    Ok(())
}

/// Pages of an answer, and events nobody asked for, without end.
fn check_floods(server: &Server) -> Result<()> {
    let hello = hello(PROTOCOL_VERSION)?;
    let flood = |event: Event| -> Result<Vec<u8>> {
        let frame = AgentPacket::Event(event).to_frame()?;
        Ok([ENDLESS, frame.repeat(1000).as_slice()].concat())
    };
    let floods = [
        ("pages of methods", flood(Event::Methods { id: 1, page: MethodPage::default() })?),
        ("pages of rows", flood(Event::Rows { id: Some(1), rows: vec![] })?),
        ("counters", flood(Event::Counters { delta: CounterDelta::default(), dropped: 0 })?),
        ("progress", flood(Event::Progress { id: 1, done: 1, total: 2 })?),
    ];
    for (name, flood) in floods {
        for words in COMMANDS {
            // Unit tests with a shorter patience cover these two: they wait 40 s for progress.
            if matches!(words[0], "dial" | "off") {
                continue;
            }
            let outcome = server.run_against(&vec![hello.clone(), flood.clone()], words)?;
            ensure_messages(&outcome, 1, &["sends more than 128 MiB", "it may be faulty"])
                .with_context(|| format!("{name}: redial {words:?}"))?;
            ensure!(outcome.stdout.is_empty(), "{name}: {}", outcome.output());
        }
    }
    Ok(())
}

fn check_other_protocol_version(server: &Server) -> Result<()> {
    let old = hello(PROTOCOL_VERSION + 40)?;
    let done = AgentPacket::AllOffDone { reverted: 3, remaining: 0, change: 0 }.to_frame()?;
    let versions = ["9.8.7", env!("CARGO_PKG_VERSION"), "redial off"];
    for words in COMMANDS.iter().filter(|words| words[0] != "off") {
        ensure_messages(&server.run_against(&vec![old.clone()], words)?, 1, &versions)
            .with_context(|| format!("{words:?}"))?;
    }
    let outcome = server.run_against(&vec![old, done], &["off"])?;
    ensure_messages(&outcome, 0, &[])?;
    ensure!(outcome.stdout.contains("3 methods reverted"), "{}", outcome.output());
    Ok(())
}
