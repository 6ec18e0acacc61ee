//! A web server on ASP.NET Core 3.1 under load, on its own 3.1.2 and rolled forward to 8.0: the agent is attached to it while
//! it answers, its methods are counted exactly from a pause of the load on, and everything goes off again while it answers.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use redial_protocol::state;
use redial_testbed::controller::Controller;
use redial_testbed::host::{self, DEADLINE, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::{self, Counted};
use redial_testbed::{programs, soak, truth};

/// Connections that ask without a pause.
const CLIENTS: usize = 4;
/// Methods that the JIT never inlines: their numbers must be exact whatever was compiled before.
const KEPT: [&str; 4] =
    ["Web.Cart.Total(int)", "Web.Prices.Of(int)", "Web.Store<T>.Find(T)", "Web.Pages.Show(HttpContext)"];

#[test]
fn attached_under_load_on_3_1() -> Result<()> {
    attached_under_load(Runtime::SDK_3_1)
}

#[test]
fn attached_under_load_on_8_0() -> Result<()> {
    attached_under_load(Runtime::V8_0)
}

#[test]
fn everything_dialled_under_load_on_3_1() -> Result<()> {
    everything_dialled_under_load(Runtime::SDK_3_1)
}

#[test]
fn everything_dialled_under_load_on_8_0() -> Result<()> {
    everything_dialled_under_load(Runtime::V8_0)
}

/// Clients that ask on loopback, each answer checked; they pause and go on together.
struct Load {
    state: Arc<State>,
    clients: Vec<JoinHandle<Result<()>>>,
}

#[derive(Default)]
struct State {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    /// Whether clients are to ask.
    on: bool,
    over: bool,
    /// Clients that wait to be let on.
    parked: usize,
    /// Answers so far.
    answers: u64,
    /// Why clients ended before they were told to.
    lost: Vec<String>,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        now: MutexGuard<'a, Now>,
        until: impl Fn(&Now) -> bool,
    ) -> Result<MutexGuard<'a, Now>> {
        let waited = self.changed.wait_timeout_while(now, DEADLINE, |now| !until(now) && now.lost.is_empty());
        let (now, _) = waited.unwrap_or_else(PoisonError::into_inner);
        ensure!(now.lost.is_empty(), "clients gave up: {:?}", now.lost);
        ensure!(until(&now), "the load does not go on: {} answers, {} parked", now.answers, now.parked);
        Ok(now)
    }

    /// Waits until asking is allowed; whether it goes on.
    fn may_ask(&self) -> bool {
        let mut now = self.lock();
        if !now.on && !now.over {
            now.parked += 1;
            self.changed.notify_all();
            while !now.on && !now.over {
                now = self.changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            now.parked -= 1;
        }
        !now.over
    }
}

impl Load {
    fn start(port: u16) -> Load {
        let state = Arc::new(State::default());
        let client = |number: usize| {
            let state = Arc::clone(&state);
            std::thread::spawn(move || {
                let asked = ask(port, number, &state);
                if let Err(error) = &asked {
                    state.lock().lost.push(format!("{error:#}"));
                    state.changed.notify_all();
                }
                asked
            })
        };
        let clients = (0..CLIENTS).map(client).collect();
        Load { state, clients }
    }

    /// Lets the clients ask; returns when so many more answers have come, while they ask on.
    fn go_on(&self, answers: u64) -> Result<()> {
        let mut now = self.state.lock();
        now.on = true;
        let until = now.answers + answers;
        self.state.changed.notify_all();
        self.state.wait(now, |now| now.answers >= until).map(drop)
    }

    /// Returns when no request is under way.
    fn pause(&self) -> Result<()> {
        let mut now = self.state.lock();
        now.on = false;
        self.state.wait(now, |now| now.parked == CLIENTS).map(drop)
    }

    /// Ends it; what went wrong in any client.
    fn end(mut self) -> Result<()> {
        self.over();
        for client in std::mem::take(&mut self.clients) {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        Ok(())
    }

    fn over(&self) {
        self.state.lock().over = true;
        self.state.changed.notify_all();
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.over();
    }
}

/// One connection: a request and its checked answer, again and again.
fn ask(port: u16, number: usize, state: &State) -> Result<()> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let mut items = number;
    while state.may_ask() {
        items = (items + 1) % 12;
        write!(stream, "GET /cart/{items} HTTP/1.1\r\nHost: shop\r\n\r\n")?;
        let body = answer(&mut reader)?;
        ensure!(body == format!("total {}", total(items as u32)), "/cart/{items}: {body:?}");
        state.lock().answers += 1;
        state.changed.notify_all();
    }
    Ok(())
}

/// The body of an answer.
fn answer(reader: &mut impl BufRead) -> Result<String> {
    let mut length = 0;
    let mut line = String::new();
    for first in std::iter::once(true).chain(std::iter::repeat(false)) {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the server closed the connection");
        let line = line.trim_end();
        if first {
            ensure!(line == "HTTP/1.1 200 OK", "{line}");
        } else if line.is_empty() {
            break;
        } else if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8(body)?)
}

/// What the server adds up: twice each price, the item's number from two stores, the size of one, the height of a shelf.
fn total(items: u32) -> u32 {
    let known = |item: u32| if item < 10 { item } else { 0 };
    (0..items).map(|item| 2 * (item * 3 + 1) + 2 * known(item) + 10 + 2).sum()
}

/// The server, and the load on it.
struct Server {
    host: Host,
    pid: u32,
    load: Load,
}

impl Server {
    fn start(runtime: Runtime, with_agent: bool) -> Result<Server> {
        let mut command = programs::named("web")?.command(runtime)?;
        if with_agent {
            host::load_agent(&mut command)?;
        }
        let mut host = Host::start(command)?;
        let ready = host.wait_for("ready ")?;
        let (pid, port) = ready.split_once(' ').with_context(|| format!("ready {ready:?}"))?;
        Ok(Server { host, pid: pid.parse()?, load: Load::start(port.parse()?) })
    }

    fn redial(&self, words: &[&str]) -> Result<Outcome> {
        let pid = self.pid.to_string();
        let (command, rest) = words.split_first().context("a command")?;
        host::run(host::redial(&[&[*command, pid.as_str()], rest].concat())?)
    }

    fn status(&self) -> Result<shop::Counts> {
        let outcome = self.redial(&["status", "web!*", "--json"])?;
        ensure!(matches!(outcome.code()?, 0 | 6), "{}", outcome.said());
        shop::of_json(&outcome.json()?)
    }

    /// Paths of the modules in the catalogue.
    fn modules(&self) -> Result<BTreeSet<String>> {
        let told = self.redial(&["modules", "--json"])?.ok()?.json()?;
        let rows = told["modules"].as_array().context("modules")?;
        let mut paths = BTreeSet::new();
        for row in rows {
            let path = row["path"].as_str().context("a path")?.to_owned();
            ensure!(paths.insert(path.clone()), "{path} is there twice");
        }
        Ok(paths)
    }

    /// Pauses the load for as long as a comparison of numbers takes, which it returns.
    fn counted_exactly(&mut self, answers: u64) -> Result<BTreeMap<String, Counted>> {
        self.load.pause()?;
        self.host.ask("truth-reset", "reset")?;
        let before = self.status()?;
        self.load.go_on(answers)?;
        self.load.pause()?;
        let (truth, after) = (truth::ask(&mut self.host, "truth")?, self.status()?);
        ensure!(truth.values().all(|calls| *calls >= answers / 2), "hardly anything was called: {truth:?}");
        let wrong = shop::differences(&truth, &before, &after, |method, counted| {
            let says_so = counted.note.as_deref().is_some_and(|note| note.contains("inlined"));
            KEPT.contains(&method) || !says_so
        });
        ensure!(wrong.is_empty(), "silently wrong:\n  {}", wrong.join("\n  "));
        Ok(after)
    }

    fn end(mut self) -> Result<()> {
        self.load.end()?;
        self.host.say("exit")?;
        let outcome = self.host.finish()?.ok()?;
        ensure!(outcome.stderr.is_empty(), "{}", outcome.said());
        Ok(())
    }
}

/// Managed files that a process has mapped: each of them is a module.
fn mapped(pid: u32) -> Result<BTreeSet<String>> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let files = maps.lines().filter_map(|line| line.get(line.find('/')?..));
    Ok(files.filter(|file| file.ends_with(".dll")).map(str::to_owned).collect())
}

fn attached_under_load(runtime: Runtime) -> Result<()> {
    let mut server = Server::start(runtime, false)?;
    match go_through(runtime, &mut server) {
        Ok(()) => server.end(),
        // Whether the server ended is what a client's error does not say.
        Err(error) => Err(server.host.failed_with(error)),
    }
}

fn go_through(runtime: Runtime, server: &mut Server) -> Result<()> {
    let rounds = soak::scaled(3, 20);
    let early = Server::start(runtime, true)?;
    early.load.go_on(500)?;
    early.load.pause()?;
    let expected = early.modules()?;
    early.end()?;

    server.load.go_on(500)?;
    let attached = server.redial(&["attach"])?.ok()?;
    ensure!(attached.stdout.contains("the agent is loaded into process"), "{}", attached.said());
    // While requests are answered: everything of the server, and of the framework that carries them.
    for pattern in ["web!*", "Microsoft.AspNetCore.Server.Kestrel.Core!*", "Microsoft.AspNetCore.Http!*"] {
        let dialled = server.redial(&["dial", pattern, "count", "--json"])?;
        ensure!(matches!(dialled.code()?, 0 | 7), "{}", dialled.said());
        ensure!(dialled.json()?["accepted"].as_u64() > Some(20), "{}", dialled.said());
    }
    server.load.go_on(500)?;
    server.load.pause()?;
    // What is mapped now is a module now, or a moment later.
    let mapped = mapped(server.pid)?;
    let began = Instant::now();
    let found = loop {
        let found = server.modules()?;
        if found.is_superset(&mapped) {
            break found;
        }
        let unknown: Vec<_> = mapped.difference(&found).collect();
        ensure!(began.elapsed() < DEADLINE, "mapped, and no module: {unknown:?}");
    };
    ensure!(mapped.len() > 20, "{mapped:?}");
    let lost: Vec<_> = expected.difference(&found).collect();
    ensure!(lost.is_empty() && found.len() > 30, "not in the catalogue: {lost:?}");

    for _ in 0..rounds {
        let counts = server.counted_exactly(1_000)?;
        ensure!(KEPT.iter().all(|method| counts.get(*method).is_some_and(|one| one.calls > 0)), "{counts:?}");
        server.load.go_on(200)?;
        let off = server.redial(&["off", "--json"])?.ok()?.json()?;
        ensure!(off["reverted"].as_u64() > Some(500) && off["remaining"] == 0, "{off}");
        server.load.go_on(200)?;
        server.load.pause()?;
        let last = server.status()?;
        server.load.go_on(500)?;
        server.load.pause()?;
        ensure!(server.status()? == last, "something counts after all was turned off");
        let dialled = server.redial(&["dial", "web!*", "count", "--json"])?;
        ensure!(matches!(dialled.code()?, 0 | 7), "{}", dialled.said());
        server.redial(&["dial", "Microsoft.AspNetCore.*!*", "count"])?;
        server.load.go_on(200)?;
    }
    server.redial(&["off"])?.ok()?;
    ensure!(Controller::connect(server.pid)?.agent_status()?.guard_trips == 0);
    server.load.go_on(2_000)
}

/// Every method of every module, turned on and off while requests are answered, each answer checked.
fn everything_dialled_under_load(runtime: Runtime) -> Result<()> {
    let mut server = Server::start(runtime, true)?;
    match turn_everything(runtime, &mut server) {
        Ok(()) => server.end(),
        Err(error) => Err(server.host.failed_with(error)),
    }
}

fn turn_everything(runtime: Runtime, server: &mut Server) -> Result<()> {
    let answers = soak::scaled(2_000, 20);
    let pace = |server: &mut Server| -> Result<f64> {
        let began = Instant::now();
        server.load.go_on(answers)?;
        Ok(answers as f64 / began.elapsed().as_secs_f64())
    };
    server.load.go_on(2_000)?;
    let before = pace(server)?;
    let dialled = server.redial(&["dial", "*", "count", "--json"])?;
    ensure!(matches!(dialled.code()?, 0 | 7), "{}", dialled.said());
    let dialled = dialled.json()?;
    ensure!(dialled["accepted"].as_u64() > Some(30_000), "{dialled}");
    // They are compiled anew as they are called.
    server.load.go_on(2_000)?;
    let with = pace(server)?;
    let mut controller = Controller::connect(server.pid)?;
    let rows = controller.status(None)?;
    let live = rows.iter().filter(|row| row.state == state::State::Live).count();
    let failed: Vec<_> = rows.iter().filter(|row| row.state == state::State::Failed).collect();
    ensure!(live > 800 && failed.is_empty(), "{live} live, {failed:?}");
    let off = server.redial(&["off", "--json"])?.ok()?.json()?;
    ensure!(off["reverted"].as_u64() > Some(30_000) && off["remaining"] == 0, "{off}");
    server.load.go_on(2_000)?;
    let after = pace(server)?;
    println!(
        "ASP.NET Core on {}, everything dialled: {} accepted, {live} live, refused {}; {before:.0} answers a second \
         before, {with:.0} with, {after:.0} after",
        runtime.name(),
        dialled["accepted"],
        dialled["refused_by_reason"],
    );
    ensure!(controller.agent_status()?.guard_trips == 0);
    Ok(())
}
