//! A real single-file program on .NET 10: a server that speaks JSON-RPC in lines. With dials on its answers
//! stay the same, its calls are counted exactly, and at the end every method runs its original code.
#![cfg(target_os = "linux")]

use redial_protocol::diagnostics::RowNote;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::StatusRow;
use redial_protocol::state::CopyState;
use redial_testbed::controller::{Controller, Lifetime, full_name};
use redial_testbed::host::{self, Host, redial_run};
use redial_testbed::runtimes::{self, Runtime};
use redial_testbed::shop::{ReportFile, has_last_numbers};
use redial_testbed::state_counts::StateCounts;
use serde_json::{Value, json};

const DOCS: &str = "Fabric.Mcp.Tools.Docs!*";
/// Each is called once by a `tools/call` of `docs_best-practices`.
const CALLED_ONCE: [&str; 3] = [
    "*!Fabric.Mcp.Tools.Docs.Commands.BestPractices.GetBestPracticesCommand.ExecuteAsync",
    "*!Fabric.Mcp.Tools.Docs.Services.FabricPublicApiService.GetTopicBestPractices",
    "*!Fabric.Mcp.Tools.Docs.Services.EmbeddedResourceProviderService.GetEmbeddedResource",
];

/// Number of timed conversations.
const CONVERSATIONS: u32 = 20;

/// The server, with one request at a time.
struct Server {
    host: Host,
    last_id: u32,
}

impl Server {
    fn start(command: Command) -> Result<Self> {
        Ok(Self { host: Host::start(command)?, last_id: 0 })
    }

    /// Sends a request and returns the answer's line, which ends with the id.
    fn ask(&mut self, method: &str, params: &Value) -> Result<String> {
        self.last_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.host.say(&request.to_string())?;
        let line = self.host.next_line()?;
        let answer: Value = serde_json::from_str(&line).with_context(|| format!("no JSON: {line:?}"))?;
        ensure!(answer["id"] == self.last_id, "{method} {}: {line}", self.last_id);
        Ok(line)
    }

    fn initialize(&mut self) -> Result<String> {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", &params)?;
        self.host.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())?;
        Ok(answer)
    }

    fn best_practices(&mut self) -> Result<String> {
        self.call("docs_best-practices", &json!({"topic": "pagination"}))
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// One of each kind of answer: a long list, documents, errors.
    fn conversation(&mut self) -> Result<Vec<String>> {
        Ok(vec![
            self.ask("tools/list", &json!({}))?,
            self.best_practices()?,
            self.call("docs_list-item-types", &json!({}))?,
            self.call("docs_best-practices", &json!({"topic": "no such topic"}))?,
            self.call("no_such_tool", &json!({}))?,
            self.ask("no/such/method", &json!({}))?,
            self.ask("ping", &json!({}))?,
        ])
    }

    /// Holds enough conversations to time them, and returns the answers and the duration.
    fn conversations(&mut self) -> Result<(Vec<String>, Duration)> {
        let began = Instant::now();
        let answers = (0..CONVERSATIONS).map(|_| self.conversation()).collect::<Result<Vec<_>>>()?;
        Ok((answers.concat(), began.elapsed()))
    }

    /// Ends the server by closing its input, and returns its standard error.
    fn finish(mut self) -> Result<String> {
        self.host.close_input();
        let outcome = self.host.finish()?;
        ensure!(outcome.code()? == 0, "{}", outcome.output());
        Ok(outcome.stderr)
    }
}

fn command() -> Result<Command> {
    let mut command = Command::new(runtimes::single_file_program()?);
    command.args(["server", "start", "--mode", "all"]);
    Runtime::V8_0.settle_environment(&mut command);
    // Otherwise it sends telemetry to its makers.
    command.env("AZURE_MCP_COLLECT_TELEMETRY", "false");
    Ok(command)
}

#[test]
fn dialling_everything_changes_no_answer() -> Result<()> {
    let began = Instant::now();
    let mut plain = Server::start(command()?)?;
    let mut expected = vec![plain.initialize()?];
    expected.extend(plain.conversation()?);
    let first_alone = began.elapsed();
    let (answers, then_alone) = plain.conversations()?;
    expected.extend(answers);
    expected.extend(plain.conversation()?);
    assert!(
        expected[1].len() > 10_000 && expected[2].contains("Success"),
        "it hardly does anything: {expected:?}"
    );
    let errors = plain.finish()?;

    let report = ReportFile::new("single-file")?;
    let options = ["--report", report.path(), "--dial", "*=count"];
    let began = Instant::now();
    let mut server = Server::start(redial_run(&options, &command()?)?)?;
    let mut answers = vec![server.initialize()?];
    let mut controller = Controller::connect(server.host.only_child()?)?;
    assert!(controller.facts().runtime_version.starts_with("10."), "{:?}", controller.facts());
    controller.subscribe(Some(DOCS))?;
    controller.wait_until("all of a module dialled", |dials| {
        dials.len() > 100 && dials.values().all(|row| row.wanted == Level::Count)
    })?;
    answers.extend(server.conversation()?);
    let first = began.elapsed();
    for method in CALLED_ONCE {
        let row = controller.row(method)?;
        assert!(row.state == CopyState::Live && row.calls > 0, "{row:?}");
    }
    let (more, then) = server.conversations()?;
    answers.extend(more);

    let dialled = StateCounts::of_rows(&controller.status(None)?);
    println!(
        "a single-file server on .NET 10, everything dialled: {dialled}; {first:.1?} beside {first_alone:.1?} to its \
         first answers, {then:.1?} beside {then_alone:.1?} for {CONVERSATIONS} times as many"
    );
    dialled.ensure_sound()?;
    let status = controller.agent_status()?;
    assert!(status.kept > 50_000 && status.guard_trips == 0, "{status:?}");
    let (reverted, remaining) = controller.all_off()?;
    assert!(reverted >= status.kept && remaining == 0, "{reverted} of {} off, {remaining} not", status.kept);
    let before = controller.status(Some(DOCS))?;
    answers.extend(server.conversation()?);
    let after = controller.status(Some(DOCS))?;
    assert_eq!(calls(&after), calls(&before), "counted on when off");
    assert!(after.iter().all(|row| row.state == CopyState::Off), "{after:?}");
    assert_eq!(answers, expected);
    assert_eq!(server.finish()?, errors);
    let report = report.read()?;
    assert_eq!(report["exit_code"], 0);
    assert!(has_last_numbers(&report), "{}", report["note"]);
    assert!(report["status"].as_array().is_some_and(|rows| rows.len() > 50_000));
    Ok(())
}

#[test]
fn counts_calls_exactly() -> Result<()> {
    let mut server = Server::start(redial_run(&[], &command()?)?)?;
    server.initialize()?;
    let expected = server.best_practices()?;
    let mut controller = Controller::connect(server.host.only_child()?)?;
    let report = controller.dial(DOCS, Level::Count, Lifetime::Kept)?;
    assert!(report.accepted > 100 && report.accepted + report.bodyless == report.matched, "{report:?}");
    let mut total = 0;
    for (version, round) in [(1, 5), (2, 3)] {
        for _ in 0..round {
            assert_eq!(without_id(&server.best_practices()?), without_id(&expected));
        }
        total += round;
        for method in CALLED_ONCE {
            let row = controller.row(method)?;
            assert_eq!(
                (row.state, row.version, row.calls),
                (CopyState::Live, Some(version), total),
                "{row:?}"
            );
        }
        controller.off(DOCS)?;
        server.best_practices()?;
        for method in CALLED_ONCE {
            let row = controller.row(method)?;
            assert_eq!((row.state, row.version, row.calls), (CopyState::Off, None, total), "{row:?}");
        }
        controller.dial(DOCS, Level::Count, Lifetime::Kept)?;
    }
    assert_eq!(controller.all_off()?, (report.accepted, 0));
    server.finish().map(drop)
}

/// The runtime is linked into the program. Its port loads the agent anyway, and counts are exact from then on.
#[test]
fn accepts_an_attach() -> Result<()> {
    let mut plain = Server::start(command()?)?;
    let mut expected = vec![plain.initialize()?];
    for _ in 0..3 {
        expected.extend(plain.conversation()?);
    }
    let errors = plain.finish()?;

    let mut server = Server::start(command()?)?;
    let pid = server.host.pid();
    let mut answers = vec![server.initialize()?];
    answers.extend(server.conversation()?);
    let attached = host::run(host::redial(&["attach", &pid.to_string()])?)?.ok()?;
    ensure!(attached.stdout.contains("loaded the agent into process"), "{}", attached.output());
    let mut controller = Controller::connect(pid)?;
    assert!(controller.facts().runtime_version.starts_with("10."), "{:?}", controller.facts());
    let report = controller.dial(DOCS, Level::Count, Lifetime::Kept)?;
    assert!(report.accepted > 100 && report.refused.is_empty(), "{report:?}");
    answers.extend(server.conversation()?);
    let row = controller.row(CALLED_ONCE[0])?;
    let called = row.calls;
    assert!(called > 0 && row.state == CopyState::Live, "{row:?}");
    for method in CALLED_ONCE {
        let before = controller.row(method)?.calls;
        for _ in 0..5 {
            server.best_practices()?;
            // Keep request numbers in the range of the other server.
            server.last_id -= 1;
        }
        let row = controller.row(method)?;
        let may_be_inlined = matches!(row.note, Some(RowNote::Inlined | RowNote::PerhapsInlined));
        assert!(row.calls - before == 5 || may_be_inlined, "{row:?}");
    }
    assert_eq!(controller.all_off()?.1, 0);
    let before = controller.status(Some(DOCS))?;
    answers.extend(server.conversation()?);
    assert_eq!(calls(&controller.status(Some(DOCS))?), calls(&before), "counted on when off");
    assert_eq!(answers, expected);
    assert_eq!(server.finish()?, errors);
    Ok(())
}

fn calls(rows: &[StatusRow]) -> Vec<(String, u64)> {
    rows.iter().map(|row| (full_name(row), row.calls)).collect()
}

fn without_id(answer: &str) -> &str {
    answer.rsplit_once("\"id\":").map_or(answer, |(content, _)| content)
}
