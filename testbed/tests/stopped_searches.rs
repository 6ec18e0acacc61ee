//! A pattern by interface reads the classes of all modules, which takes seconds in a huge program. It ends soon when nobody
//! waits for the result: "all off", a cancelled change, the end of the session.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Refusal, Reply, Request, WireCommand};
use redial_protocol::order::Order;
use redial_protocol::packet::ControllerPacket;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::host::DEADLINE;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::sources::INHERITED_MEMBERS;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};

const WIDE: &str = "implements:Wide.IWide";
const OTHER: &str = "inheriting!Wide.Program.Main";
const REQUEST: u32 = 1_000;

/// The program, which has not searched yet, and the processor time of a whole search. Processor time depends less on what
/// else the machine does.
struct Search {
    live: LiveHost,
    whole: Duration,
}

impl Search {
    /// Measures a search in one process, and starts another.
    fn prepare() -> Result<Self> {
        let (live, mut controller) = start()?;
        let before = processor_time(live.pid)?;
        dial_wide(&mut controller)?;
        let whole = processor_time(live.pid)? - before;
        controller.all_off()?;
        end(live)?;
        Ok(Self { live: start()?.0, whole })
    }

    /// Sends a command that searches, and waits until the process has worked for a tenth of the search's time.
    fn begin(&self, controller: &mut Controller, command: WireCommand) -> Result<()> {
        let before = processor_time(self.live.pid)?;
        controller.send(&ControllerPacket::Request(Request { id: REQUEST, command }))?;
        let deadline = Instant::now() + DEADLINE;
        while processor_time(self.live.pid)? < before + self.whole / 10 {
            ensure!(Instant::now() < deadline, "the search does not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Does something, and checks that the search does not go on until it is done.
    fn soon<T>(&self, what: &str, action: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = processor_time(self.live.pid)?;
        let done = action()?;
        let took = processor_time(self.live.pid)? - before;
        ensure!(
            took < self.whole / 2,
            "{what}: the program ran for {took:?}; a search takes {:?}",
            self.whole
        );
        Ok(done)
    }

    /// Checks that a later search finds everything, and ends the program.
    fn end(self) -> Result<()> {
        let mut controller = self.live.controller()?;
        dial_wide(&mut controller)?;
        controller.all_off()?;
        end(self.live)
    }
}

fn start() -> Result<(LiveHost, Controller)> {
    under_agent::start_controlled(programs::inheriting()?.command(Runtime::V8_0)?)
}

fn end(mut live: LiveHost) -> Result<()> {
    ensure!(live.controller()?.agent_status()?.guard_trips == 0);
    live.host.close_input();
    ensure_messages(&live.host.finish()?, 0, &[])
}

fn dial_wide(controller: &mut Controller) -> Result<()> {
    let report = controller.dial(WIDE, Level::Count, Lifetime::Kept)?;
    ensure!(report.accepted == u64::from(INHERITED_MEMBERS), "{report:?}");
    Ok(())
}

fn dial(lifetime: Lifetime) -> WireCommand {
    let orders = vec![Order::new(WIDE, Level::Count)];
    WireCommand::RequestReJit { orders, later: false, take: false, lifetime }
}

/// Returns the processor time of a process.
fn processor_time(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, after_name) = stat.rsplit_once(") ").context("a name in parentheses")?;
    let ticks = |field: &str| field.parse::<u64>().context("a number of ticks");
    let fields: Vec<&str> = after_name.split(' ').collect();
    let [user, system] = fields.get(11..13).context("times")? else { unreachable!("two fields") };
    Ok(Duration::from_millis(10) * u32::try_from(ticks(user)? + ticks(system)?)?)
}

#[test]
fn all_off_does_not_wait_for_a_search() -> Result<()> {
    let search = Search::prepare()?;
    let (mut searching, mut other) = (search.live.controller()?, search.live.controller()?);
    search.begin(&mut searching, dial(Lifetime::Kept))?;
    let done = search.soon("all off", || other.all_off())?;
    ensure!(done == (0, 0), "{done:?}");
    let agent = search.live.redial("status", &["--agent", "--json"])?.ok()?.json()?;
    ensure!(other.status(None)?.is_empty() && agent["orders"] == serde_json::json!([]), "{agent}");
    search.end()
}

#[test]
fn cancelled_change_does_not_search_on() -> Result<()> {
    let search = Search::prepare()?;
    let mut searching = search.live.controller()?;
    search.begin(&mut searching, dial(Lifetime::Kept))?;
    let reply = search.soon("cancelling", || {
        searching.execute(WireCommand::Cancel { request: REQUEST })?;
        searching.wait_for("its answer", |event| match event {
            Event::Reply { id: REQUEST, reply } => Some(reply.clone()),
            _ => None,
        })
    })?;
    ensure!(matches!(reply, Reply::Refused(Refusal::Cancelled)), "answered {reply:?}");
    search.end()
}

#[test]
fn search_ends_with_its_session() -> Result<()> {
    let search = Search::prepare()?;
    let (mut searching, mut other) = (search.live.controller()?, search.live.controller()?);
    search.begin(&mut searching, dial(Lifetime::Held))?;
    drop(searching);
    let report = search.soon("another change", || other.dial(OTHER, Level::Count, Lifetime::Kept))?;
    ensure!((report.matched, other.status(None)?.len()) == (1, 1), "{report:?}");
    search.end()
}

/// The session's own thread searches for a list of methods.
#[test]
fn list_of_methods_ends_with_its_session() -> Result<()> {
    let search = Search::prepare()?;
    let mut searching = search.live.controller()?;
    let command = WireCommand::Methods { pattern: Some(WIDE.into()), limit: u64::MAX };
    search.begin(&mut searching, command)?;
    drop(searching);
    search.soon("the rest of the list", || wait_until_idle(search.live.pid))?;
    search.end()
}

/// Waits until a process has not run for a while.
fn wait_until_idle(pid: u32) -> Result<()> {
    let deadline = Instant::now() + DEADLINE;
    let (mut before, mut equal) = (processor_time(pid)?, 0);
    while equal < 5 {
        ensure!(Instant::now() < deadline, "the process stays busy");
        std::thread::sleep(Duration::from_millis(100));
        let now = processor_time(pid)?;
        equal = if now == before { equal + 1 } else { 0 };
        before = now;
    }
    Ok(())
}
