//! Answers that are as large as the limits allow, or larger: `redial` takes them in at most 256 MiB.

use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::catalogue::{DomainRow, MethodPage, ModuleRow};
use redial_protocol::counters::CounterDelta;
use redial_protocol::frozen::{AgentFacts, RuntimeKind};
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey, ProcessKey, RowId};
use redial_protocol::il::{IlBody, IlLine, IlPage, IlSource};
use redial_protocol::level::Level;
use redial_protocol::limits::{
    IL_LINES_PER_PAGE, MAX_COUNTER_ROWS, MAX_DOMAINS, MAX_SLOWEST_CALLS, MAX_TRACED_CALLS, METHODS_PER_PAGE,
    ROWS_PER_PAGE, TIMES_PER_PAGE, TRACED_CALLS_PER_PAGE,
};
use redial_protocol::message::{AgentStatus, Event, Reply, Request, StatusRow, WireCommand};
use redial_protocol::order::TimeOptions;
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::report::DialReport;
use redial_protocol::slowest_calls::{RowSlowestCalls, SlowCall};
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_protocol::trace::{Outcome, TracedCall, TracedMethod, Value};

use crate::lie::Liar;
use crate::server::{PacketSender, Script};

/// More pages than any limit allows.
const ENDLESS: u32 = 20_000;
/// Longer than a text that a decoder keeps.
const LONG: usize = 17 << 10;

/// A part of the protocol that floods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// Ledger rows as small as possible.
    SmallRows,
    /// Ledger rows with long texts.
    LongRows,
    /// Rows whose slowest calls fill a frame for each request.
    SlowestCalls,
    /// Pages with one method each.
    SmallMethods,
    /// Methods with long names.
    LongMethods,
    /// Instructions as small as possible.
    SmallLines,
    /// One long instruction among many small ones.
    LongLine,
    /// One module with a long name among many.
    LongModule,
    /// Modules shared by many domains with long names.
    SharedModules,
    /// Traced calls as small as possible.
    SmallCalls,
    /// Traced calls with as many small values as possible.
    SmallValues,
    /// Traced methods with long names.
    TracedMethods,
    /// Counters and times of more rows than exist.
    Counters,
    /// More progress than there are methods. (Progress without end ends with the command's time-out of 15 minutes; a
    /// unit test has that.)
    Progress,
}

/// The size of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloodSize {
    /// Just within the limits.
    Within,
    /// Over them.
    Beyond,
}

/// Answers with a flood, and otherwise as little as possible.
pub struct Flooding(pub Flood, pub FloodSize);

impl Script for Flooding {
    fn answer(&mut self, packet: &ControllerPacket, to: &mut PacketSender) -> bool {
        match packet {
            ControllerPacket::Hello(_) => to.send(&AgentPacket::Hello(facts())),
            ControllerPacket::Status => to.send(&AgentPacket::Status(facts())),
            ControllerPacket::AllOff => self.progress(1, to) && to.send(&all_off_done()),
            ControllerPacket::Request(Request { id, command }) => self.request(*id, command, to),
        }
    }
}

impl Flooding {
    fn request(&self, id: u32, command: &WireCommand, to: &mut PacketSender) -> bool {
        let reply = match command {
            WireCommand::Modules => self.modules(),
            WireCommand::Methods { .. } => {
                let mut matched = 0;
                for page in (0..ENDLESS).map_while(|number| self.methods(number)) {
                    matched += page.token.len() as u64;
                    if !to.send(&AgentPacket::Event(Event::Methods { id, page })) {
                        return false;
                    }
                }
                Reply::Methods { matched, suggestions: Vec::new() }
            }
            WireCommand::Status { .. } => {
                if !self.send_rows(Some(id), to) {
                    return false;
                }
                Reply::Status { rows: 0 }
            }
            WireCommand::SlowestCalls { rows } => Reply::SlowestCalls(slowest_calls(rows)),
            WireCommand::AgentStatus => Reply::AgentStatus(agent_status()),
            WireCommand::Il { .. } => match self.send_lines(id, to) {
                Some(lines) => Reply::Il(IlBody { lines, ..il_body() }),
                None => return false,
            },
            WireCommand::Subscribe { .. } => {
                return self.send_rows(None, to)
                    && to.send(&AgentPacket::Event(Event::Reply { id, reply: Reply::Done }))
                    && self.send_numbers(to);
            }
            WireCommand::Calls { .. } => match self.send_calls(Some(id), to) {
                Some(calls) => Reply::Calls { calls },
                None => return false,
            },
            WireCommand::StreamCalls { .. } if self.send_calls(None, to).is_none() => return false,
            WireCommand::RequestReJit { .. } if self.has_calls() => {
                Reply::Dialled(DialReport { matched: 1, accepted: 1, ..DialReport::default() })
            }
            WireCommand::ReleaseHeld => Reply::ReleaseHeld { reverted: 1, stay: 0, remaining: 0 },
            WireCommand::RequestReJit { .. } if !self.progress(id, to) => return false,
            _ => Reply::Done,
        };
        to.send(&AgentPacket::Event(Event::Reply { id, reply }))
    }

    /// Returns the number of pages, given the most that fit.
    fn pages(&self, fitting: u32) -> u32 {
        if self.1 == FloodSize::Within { fitting } else { ENDLESS }
    }

    fn modules(&self) -> Reply {
        let row = |number: u32| module(number, "A");
        let (mut domains, mut modules) = (Vec::new(), vec![row(0)]);
        match self.0 {
            Flood::LongModule => {
                modules = (0..28_000).map(row).collect();
                modules[7].name = "x".repeat(LONG);
            }
            Flood::SharedModules => {
                let name = |id: u64| if id < 100 { "d".repeat(LONG) } else { "d".to_owned() };
                let domain = |id| DomainRow { id, name: name(id), shared: false };
                domains = (0..MAX_DOMAINS as u64).map(domain).collect();
                let ids = |number: u32| (0..1_000).map(|id| (id + u64::from(number)) % 200).collect();
                let shared = |number| ModuleRow { domains: ids(number), shared: true, ..row(number) };
                modules = (0..1_500).map(shared).collect();
            }
            _ => {}
        }
        Reply::Modules { domains, modules }
    }

    fn methods(&self, number: u32) -> Option<MethodPage> {
        let mut page = MethodPage { modules: vec![module(0, "").key], ..MethodPage::default() };
        let (pages, count, length) = match self.0 {
            Flood::SmallMethods => (self.pages(488), METHODS_PER_PAGE as u32, 1),
            Flood::LongMethods => (self.pages(36), 60, LONG),
            _ => (1, 1, 1),
        };
        page.type_names.push(&"t".repeat(length));
        for index in 0..count {
            page.module.push(0);
            page.type_index.push(0);
            page.token.push(0x0600_0001 + number * count + index);
            page.name.push(&"n".repeat(length));
            page.signature.push(&"s".repeat(length));
        }
        (number < pages).then_some(page)
    }

    /// Sends rows. Returns false after the client has gone.
    fn send_rows(&self, id: Option<u32>, to: &mut PacketSender) -> bool {
        let (pages, per_page, text) = match self.0 {
            Flood::SmallRows | Flood::Counters => (self.pages(150), ROWS_PER_PAGE as u32, String::new()),
            Flood::LongRows => (self.pages(18), 50, "r".repeat(LONG)),
            Flood::SlowestCalls => (self.pages(1).min(20), ROWS_PER_PAGE as u32, "Slow".to_owned()),
            _ => return true,
        };
        let options = TimeOptions { failed_only: self.0 == Flood::SlowestCalls, ..TimeOptions::default() };
        let send = |page: u32| {
            let row = |index| StatusRow { options, ..status_row(page * per_page + index, &text) };
            let rows = (0..per_page).map(row).collect();
            to.send(&AgentPacket::Event(Event::Rows { id, rows }))
        };
        (0..pages).all(send)
    }

    fn send_numbers(&self, to: &mut PacketSender) -> bool {
        for number in 0..40 {
            let from = number * MAX_COUNTER_ROWS as u32;
            let rows: Vec<RowId> = (from..from + MAX_COUNTER_ROWS as u32).map(RowId).collect();
            let calls = vec![1; rows.len()];
            let delta = CounterDelta { t_ms: u64::from(number), rows, calls };
            let times = (from..from + TIMES_PER_PAGE as u32).map(|row| times(RowId(row))).collect();
            let sent = to.send(&AgentPacket::Event(Event::Times { id: None, times }))
                && to.send(&AgentPacket::Event(Event::Counters { delta, dropped: 0 }));
            if !sent {
                return false;
            }
        }
        true
    }

    /// Sends lines of IL and returns their number; `None` after the client has gone.
    fn send_lines(&self, id: u32, to: &mut PacketSender) -> Option<u64> {
        let pages = if matches!(self.0, Flood::SmallLines | Flood::LongLine) { self.pages(80) } else { 1 };
        let mut sent = 0;
        for number in 0..pages {
            let line = IlLine { opcode: "a".into(), operand: Some("b".into()), ..IlLine::default() };
            let mut lines = vec![line; IL_LINES_PER_PAGE];
            if number == 1 && self.0 == Flood::LongLine {
                lines[0].opcode = "o".repeat(LONG);
            }
            sent += lines.len() as u64;
            to.send(&AgentPacket::Event(Event::Il { id, page: IlPage { lines } })).then_some(())?;
        }
        Some(sent)
    }

    fn has_calls(&self) -> bool {
        matches!(self.0, Flood::SmallCalls | Flood::SmallValues | Flood::TracedMethods)
    }

    /// Sends traced calls and returns their number; `None` after the client has gone.
    fn send_calls(&self, id: Option<u32>, to: &mut PacketSender) -> Option<u64> {
        let items = vec![Value::Null; 1_023];
        let nulls = Value::Collection { type_name: String::new(), length: 0, items };
        let (pages, per_page, arguments, long) = match self.0 {
            Flood::SmallCalls => {
                let most = MAX_TRACED_CALLS / TRACED_CALLS_PER_PAGE;
                (self.pages(most as u32), TRACED_CALLS_PER_PAGE, vec![], 0)
            }
            Flood::SmallValues => (self.pages(8), 2, vec![nulls; 63], 0),
            Flood::TracedMethods => (self.pages(40), 20, vec![], LONG),
            _ => (0, 0, vec![], 0),
        };
        let mut sent = 0;
        for page in 0..pages {
            let call = traced_call(arguments.clone());
            let calls: Vec<TracedCall> = (0..per_page as u32)
                .map(|index| TracedCall { plan: page * per_page as u32 + index, ..call.clone() })
                .collect();
            let methods = if long == 0 {
                Vec::new()
            } else {
                calls.iter().map(|call| traced_method(call.plan, long)).collect()
            };
            sent += calls.len() as u64;
            let event = Event::Calls { id, methods, calls, dropped: vec![], unread: 0 };
            to.send(&AgentPacket::Event(event)).then_some(())?;
        }
        Some(sent)
    }

    /// Sends progress, if that is the flood. Returns false after the client has gone.
    fn progress(&self, id: u32, to: &mut PacketSender) -> bool {
        const MANY: u64 = 300_000;
        let many = if self.0 == Flood::Progress { MANY } else { 0 };
        let total = if self.1 == FloodSize::Within { MANY } else { 1 };
        (0..many).all(|done| to.send(&AgentPacket::Event(Event::Progress { id, done, total })))
    }
}

fn all_off_done() -> AgentPacket {
    AgentPacket::AllOffDone { reverted: 0, remaining: 0, change: 1 }
}

fn facts() -> AgentFacts {
    AgentFacts {
        protocol: PROTOCOL_VERSION,
        agent_version: "9.8.7".into(),
        process: ProcessKey { pid: 1, start: 1 },
        runtime_kind: RuntimeKind::CoreClr,
        runtime_version: "8.0.0".into(),
        levels: Level::ALL.to_vec(),
        holder: None,
        live: 0,
        kept: 0,
        held: 0,
        clr_kept_bytes: 0,
    }
}

fn module(number: u32, name: &str) -> ModuleRow {
    ModuleRow {
        key: ModuleKey { module_id: u64::from(number), generation: number },
        name: name.into(),
        path: String::new(),
        mvid: String::new(),
        assembly: 0,
        domains: vec![1],
        shared: false,
        dynamic: false,
        collectible: false,
        methods: 1,
    }
}

fn status_row(index: u32, text: &str) -> StatusRow {
    StatusRow {
        row: RowId(index),
        copy: CopyKey { module: module(0, "").key, token: MethodToken(index) },
        method: format!("M{index}{text}"),
        signature: text.to_owned(),
        module: text.to_owned(),
        domain: text.to_owned(),
        wanted: Level::Count,
        options: TimeOptions::default(),
        state: CopyState::Live,
        version: None,
        instances: Vec::new(),
        note: None,
        times_note: None,
        calls: 1,
    }
}

fn times(row: RowId) -> Times {
    Times {
        row,
        in_flight: 1,
        exits: 1,
        exceptions: 1,
        total_ns: 1,
        self_ns: 1,
        max_ns: 1,
        percentiles: None,
        completions: None,
        move_next: None,
    }
}

fn traced_call(arguments: Vec<Value>) -> TracedCall {
    TracedCall {
        plan: 1,
        number: 1,
        start_unix_ns: 1,
        duration_ns: None,
        thread: 0,
        depth: 0,
        arguments,
        arguments_after: vec![],
        outcome: Outcome::InFlight,
        course: None,
        stack: vec![],
    }
}

fn traced_method(plan: u32, length: usize) -> TracedMethod {
    TracedMethod {
        plan,
        row: RowId(plan),
        method: "m".repeat(length),
        signature: String::new(),
        module: String::new(),
        domain: String::new(),
        parameters: vec![],
        result: None,
    }
}

/// The slowest calls of some rows, almost a frame long.
fn slowest_calls(rows: &[RowId]) -> Vec<RowSlowestCalls> {
    let call = SlowCall {
        ended_unix_ms: 1,
        took_ns: 1,
        thread: 1,
        failed: true,
        exception: Some("E".repeat(900)),
        stack: vec![],
    };
    let of_row = |row: &RowId| RowSlowestCalls {
        row: *row,
        calls: vec![call.clone(); MAX_SLOWEST_CALLS],
        met: 1,
        missed: 0,
    };
    rows.iter().map(of_row).collect()
}

/// The least that an agent can say of itself.
fn agent_status() -> AgentStatus {
    let mut status: AgentStatus = Liar::new(1).lie();
    (status.audit, status.remains) = (Vec::new(), Vec::new());
    status
}

fn il_body() -> IlBody {
    IlBody {
        source: IlSource::Original,
        max_stack: 8,
        init_locals: false,
        local_sig: 0,
        locals: Vec::new(),
        more_locals: 0,
        code_size: 1,
        clauses: Vec::new(),
        more_clauses: 0,
        lines: 0,
    }
}
