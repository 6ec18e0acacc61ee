//! One message of every kind. Each field has a value that differs from its neighbours'.
#![allow(dead_code)] // each test program uses a part of it

mod numbers;
mod packets;

pub use packets::{agent_packets, controller_packets};

use numbers::{callers, counters, histogram, slowest_calls, times};
use redial_protocol::catalogue::{DomainRow, MethodPage, ModuleRow, StringColumn};
use redial_protocol::cost::{BudgetStep, Cost, CostBudget, Share};
use redial_protocol::diagnostics::{
    AuditAction, AuditedChange, BudgetProblem, ChangeWarning, Limit, Remainder, Resource, RowNote, TimesNote,
    Unavailable, Unsupported,
};
use redial_protocol::frozen::{AgentFacts, ClientHello, RuntimeKind};
use redial_protocol::ids::{CopyKey, InstanceId, MethodToken, ModuleKey, ProcessKey, RowId};
use redial_protocol::il::{IlBody, IlClause, IlClauseKind, IlLine, IlPage, IlSource};
use redial_protocol::level::Level;
use redial_protocol::message::{
    AgentStatus, AuditEntry, Event, Holder, Instance, Refusal, Reply, Request, ResourceUsage, StatusRow,
    Transition, WireCommand,
};
use redial_protocol::order::{Lifetime, Order, StandingOrder, TimeOptions};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::pattern::PatternError;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport, RefusedMethod, SharedModule};
use redial_protocol::state::CopyState;
use traces::{calls, exceptions};

/// Lists the variant names of a closed enum; the compiler ensures that the list is complete.
macro_rules! variants {
    ($names:ident, $name_of:ident, $enum:ident { $($variant:ident),* $(,)? }) => {
        pub const $names: &[&str] = &[$(stringify!($variant)),*];
        pub fn $name_of(value: &$enum) -> &'static str {
            match value {
                $($enum::$variant { .. } => stringify!($variant),)*
            }
        }
    };
}

// Below the macro, which it uses.
pub mod traces;

variants!(CONTROLLER_PACKETS, controller_packet_name, ControllerPacket { Hello, Status, AllOff, Request });
variants!(AGENT_PACKETS, agent_packet_name, AgentPacket { Hello, Status, AllOffDone, VersionRefused, Event });
variants!(
    COMMANDS,
    command_name,
    WireCommand {
        Modules,
        Methods,
        RequestReJit,
        RequestRevert,
        Plan,
        Undo,
        Cancel,
        Orders,
        Status,
        AgentStatus,
        Subscribe,
        Unsubscribe,
        ReleaseControl,
        Ping,
        ReleaseHeld,
        UndoChange,
        Il,
        Histogram,
        SetBudget,
        SlowestCalls,
        Callers,
        Calls,
        StreamCalls,
        StopCalls,
        StreamExceptions,
        StopExceptions,
    }
);
variants!(
    EVENTS,
    event_name,
    Event {
        Reply,
        Methods,
        Rows,
        Transition,
        Counters,
        Control,
        Progress,
        Catalogue,
        Goodbye,
        Il,
        Times,
        Budget,
        Calls,
        Exceptions,
    }
);
variants!(
    REPLIES,
    reply_name,
    Reply {
        Done,
        Modules,
        Methods,
        Dialled,
        Plan,
        Undone,
        Orders,
        Status,
        AgentStatus,
        Refused,
        ReleaseHeld,
        Il,
        Histogram,
        Budget,
        SlowestCalls,
        Callers,
        Calls,
    }
);
variants!(
    REFUSALS,
    refusal_name,
    Refusal {
        BadPattern,
        ControlHeld,
        NothingMatched,
        OverLimit,
        NothingToUndo,
        Cancelled,
        AgentOff,
        Unsupported
    }
);
variants!(STATES, state_name, CopyState { Off, Asked, Live, Reverting, Refused, Failed, Lost });

pub fn client_hello() -> ClientHello {
    ClientHello { protocol: 1, program: "redial dial".into(), version: "0.1.0".into(), pid: 0x0102_0304 }
}

pub fn agent_facts() -> AgentFacts {
    AgentFacts {
        protocol: 1,
        agent_version: "0.1.0".into(),
        process: ProcessKey { pid: 4711, start: 0x0102_0304_0506_0708 },
        runtime_kind: RuntimeKind::CoreClr,
        runtime_version: "8.0.31".into(),
        levels: Level::ALL.to_vec(),
        holder: Some(holder()),
        live: 1,
        kept: 2,
        held: 3,
        clr_kept_bytes: 4096,
    }
}

fn holder() -> Holder {
    Holder { pid: 815, program: "redial app".into() }
}

fn module_key() -> ModuleKey {
    ModuleKey { module_id: 0x7f31_c0a8_4000, generation: 2 }
}

fn copy_key() -> CopyKey {
    CopyKey { module: module_key(), token: MethodToken(0x0600_0012) }
}

fn il_page() -> IlPage {
    let call = IlLine {
        offset: 0x10,
        opcode: "call".into(),
        operand: Some("void Shop.Cart.Größe(int)".into()),
        token: Some(0x0600_0013),
        targets: vec![],
        inserted: true,
    };
    let switch =
        IlLine { offset: 0x15, opcode: "switch".into(), targets: vec![0x10, 300], ..IlLine::default() };
    IlPage { lines: vec![call, switch] }
}

fn il_body() -> IlBody {
    let kinds = [
        IlClauseKind::Catch { class: "System.Exception".into(), token: 0x0100_0004 },
        IlClauseKind::Filter { start: 5 },
        IlClauseKind::Finally,
        IlClauseKind::Fault,
    ];
    let clause =
        |kind| IlClause { kind, try_start: 1, try_end: 2, handler_start: 300, handler_end: 0x1_0000 };
    IlBody {
        source: IlSource::Preview,
        max_stack: 8,
        init_locals: true,
        local_sig: 0x1100_0002,
        locals: vec!["int".into(), "Shop.Item[]".into()],
        more_locals: 3,
        code_size: 0x1_0001,
        clauses: kinds.map(clause).to_vec(),
        more_clauses: 4,
        lines: 5,
    }
}

fn column(strings: &[&str]) -> StringColumn {
    let mut column = StringColumn::default();
    for string in strings {
        assert!(column.push(string));
    }
    column
}

fn method_page() -> MethodPage {
    MethodPage {
        modules: vec![module_key()],
        module: vec![0, 0],
        token: vec![0x0600_0001, 0x0600_0002],
        type_index: vec![0, 0],
        type_names: column(&["Shop.Box<T>"]),
        name: column(&["Put", "größe"]),
        signature: column(&["(T)", "()"]),
        bodyless: vec![1],
        bodyless_reason: vec![Reason::PInvoke],
    }
}

pub fn orders() -> Vec<Order> {
    let mut orders: Vec<Order> =
        Level::ALL.into_iter().map(|level| Order::new("Shop!Shop.Cart.*", level)).collect();
    orders.push(Order {
        domain: Some("/LM/W3SVC/1".into()),
        copy: Some(0x7f31_c0a8_4000),
        all_domains: true,
        ..Order::new("Shop!*", Level::Count)
    });
    orders.push(Order { options: time_options(), ..Order::new("Shop!*", Level::Time) });
    orders
}

fn time_options() -> TimeOptions {
    TimeOptions {
        slower_than_ns: Some(10_000_000),
        failed_only: true,
        callers: true,
        rate: Some(5_000),
        depth: Some(3),
        stack: true,
    }
}

fn instance(state: CopyState) -> Instance {
    Instance { id: InstanceId { function_id: 0x7f31_c0a8_5000, rejit_id: 1 }, state }
}

fn status_row(index: u32, state: CopyState) -> StatusRow {
    StatusRow {
        row: RowId(index),
        copy: copy_key(),
        method: "Shop.Cart.Add".into(),
        signature: "(Item)".into(),
        module: "Shop".into(),
        domain: "clrhost".into(),
        wanted: Level::Count,
        state,
        version: Some(1),
        instances: vec![instance(state)],
        note: Some(RowNote::Inlined),
        times_note: Some(TimesNote { spared: true, ..TimesNote::default() }),
        options: TimeOptions::default(),
        calls: 1 << 40,
    }
}

fn transition() -> Transition {
    Transition {
        row: RowId(7),
        t_ms: 1234,
        wanted: Level::Time,
        state: CopyState::Asked,
        version: None,
        instances: vec![instance(CopyState::Asked)],
        note: None,
        times_note: None,
        options: TimeOptions::default(),
    }
}

fn dial_report() -> DialReport {
    DialReport {
        matched: 20,
        accepted: 4,
        bodyless: 1,
        refused_by_reason: Reason::ALL.into_iter().map(|reason| (reason, 1)).collect(),
        refused: vec![RefusedMethod {
            method: "Shop!Shop.Cart.Add(Item)".into(),
            reason: Reason::Hresult,
            hresult: 0x8013_1354,
            condition: None,
        }],
        shared: vec![shared()],
        warnings: vec![ChangeWarning::CallsInlined { copies: 21 }],
        unmatched: vec![3, 300],
        change: 17,
    }
}

fn shared() -> SharedModule {
    SharedModule {
        module: "System.Private.CoreLib".into(),
        methods: 2,
        domains: vec!["First".into(), "Second".into()],
        more_domains: 3,
        accepted: true,
    }
}

fn cost_budget() -> CostBudget {
    let costliest = (RowId(7), Level::Count, Share(700));
    CostBudget {
        limit: Some(Share(500)),
        cost: Some(Share(130)),
        spared_cost: Share(20),
        spared: 3,
        stepped: 4,
        problem: Some(BudgetProblem::NoRoomForOrder { limit: 4096 }),
        last: Some(BudgetStep { change: 5, copies: 6, cost: Share(720), limit: Share(500), costliest }),
    }
}

fn audit_entry() -> AuditEntry {
    AuditEntry {
        t_unix_ms: 1_763_600_000_000,
        user: "1000".into(),
        program: "redial dial".into(),
        action: AuditAction::Changed(AuditedChange::order("Shop.Cart.* = count")),
    }
}

/// Returns every command, one for each variant.
pub fn commands() -> Vec<WireCommand> {
    let pattern = || Some("Shop.*.*".to_owned());
    vec![
        WireCommand::Modules,
        WireCommand::Methods { pattern: pattern(), limit: 1000 },
        WireCommand::RequestReJit {
            orders: orders(),
            later: true,
            take: false,
            lifetime: Lifetime::KeptFor { ms: 60_000 },
        },
        WireCommand::RequestRevert { patterns: vec!["*".into(), "Shop!*".into()], take: true },
        WireCommand::Plan { orders: orders(), lifetime: Lifetime::Held },
        WireCommand::Undo { take: true },
        WireCommand::Cancel { request: 0x0a0b },
        WireCommand::Orders,
        WireCommand::Status { pattern: None },
        WireCommand::AgentStatus,
        WireCommand::Subscribe { pattern: pattern(), interval_ms: 100 },
        WireCommand::Unsubscribe,
        WireCommand::ReleaseControl,
        WireCommand::Ping,
        WireCommand::ReleaseHeld,
        WireCommand::UndoChange { change: 0x0c0d, take: true },
        WireCommand::Il { copy: copy_key(), instrumented: true },
        WireCommand::Histogram { row: RowId(0x0e0f) },
        WireCommand::SetBudget { limit: Some(Share(0x0201)), take: true },
        WireCommand::SlowestCalls { rows: vec![RowId(1), RowId(0x0e0f)] },
        WireCommand::Callers { row: RowId(0x1011) },
        WireCommand::Calls { pattern: pattern(), in_flight: true },
        WireCommand::StreamCalls { pattern: pattern() },
        WireCommand::StopCalls,
        WireCommand::StreamExceptions { types: Some("Shop.*Exception".into()), rate: Some(0x0304) },
        WireCommand::StopExceptions,
    ]
}

/// Returns every refusal, one for each variant.
pub fn refusals() -> Vec<Refusal> {
    vec![
        Refusal::BadPattern(PatternError::Empty.into()),
        Refusal::ControlHeld(holder()),
        Refusal::NothingMatched { suggestions: vec!["*.Add".into()] },
        Refusal::OverLimit(Limit::Orders { orders: 4097, limit: 4096 }),
        Refusal::NothingToUndo,
        Refusal::Cancelled,
        Refusal::AgentOff(Unavailable::RuntimeSilent { seconds: 30 }),
        Refusal::Unsupported(Unsupported::NoIl(Reason::PInvoke)),
    ]
}

/// Returns every reply except `Refused`, one for each variant.
pub fn replies() -> Vec<Reply> {
    vec![
        Reply::Done,
        Reply::Modules {
            domains: vec![DomainRow { id: 0x7f31_c0a8_3000, name: "clrhost".into(), shared: false }],
            modules: vec![ModuleRow {
                key: module_key(),
                name: "Shop".into(),
                path: "/srv/shop/Shop.dll".into(),
                mvid: "5A0D91E4-7C3B-4E62-9F18-52D1A17E0B6C".into(),
                assembly: 0x7f31_c0a8_2000,
                domains: vec![0x7f31_c0a8_3000],
                shared: true,
                dynamic: false,
                collectible: true,
                methods: 321,
            }],
        },
        Reply::Methods { matched: 2, suggestions: vec![] },
        Reply::Dialled(dial_report()),
        Reply::Plan(PlanReport {
            per_order: vec![12, 300],
            matched: 11,
            to_request: 5,
            to_revert: 2,
            to_adjust: 1,
            unchanged: 1,
            bodyless: 3,
            refused_by_reason: vec![(Reason::Shared, 4)],
            refused: dial_report().refused,
            shared: vec![shared()],
            generic: 6,
            expected_us: 7,
            expected_clr_bytes: 8,
            expected_agent_bytes: 9,
            warnings: vec![ChangeWarning::PausesProgram],
            unmatched: vec![1],
        }),
        Reply::Undone { entry: audit_entry(), report: dial_report() },
        Reply::Orders {
            orders: [Lifetime::Held, Lifetime::Kept, Lifetime::KeptFor { ms: 1_000 }]
                .into_iter()
                .zip(orders())
                .map(|(lifetime, order)| StandingOrder { order, lifetime, user: "1000".into(), by: holder() })
                .collect(),
            undoable: 2,
        },
        Reply::ReleaseHeld { reverted: 12, stay: 3, remaining: 1 },
        Reply::Il(il_body()),
        Reply::Histogram(histogram()),
        Reply::Budget(CostBudget { last: None, problem: None, ..cost_budget() }),
        Reply::SlowestCalls(vec![slowest_calls()]),
        Reply::Callers(callers()),
        Reply::Calls { calls: 0x0102_0304 },
        Reply::Status { rows: 3 },
        Reply::AgentStatus(AgentStatus {
            control: Some(holder()),
            held: 1,
            kept: 2,
            memory_bytes: 3,
            budgets: vec![ResourceUsage { resource: Resource::TimesBytes, used: 4, limit: 5 }],
            clr_kept_bytes: 6,
            missed_deadlines: 7,
            guard_trips: 8,
            audit: vec![audit_entry()],
            remains: vec![Remainder::RecompiledCallers { methods: 11 }],
            costs: vec![Cost { level: Level::Count, picoseconds: 9 }],
            cost_budget: CostBudget::default(),
            callers_picoseconds: Some(10),
            exceptions_reported: true,
        }),
    ]
}

/// Returns every event except `Reply`, one for each variant.
pub fn events() -> Vec<Event> {
    let states = [
        CopyState::Off,
        CopyState::Asked,
        CopyState::Live,
        CopyState::Reverting,
        CopyState::Refused,
        CopyState::Failed,
        CopyState::Lost,
    ];
    let rows = states.into_iter().zip(0..).map(|(state, index)| status_row(index, state)).collect();
    vec![
        Event::Methods { id: 7, page: method_page() },
        Event::Rows { id: Some(8), rows },
        Event::Transition(transition()),
        Event::Counters { delta: counters(), dropped: 9 },
        Event::Control(Some(holder())),
        Event::Progress { id: 10, done: 11, total: 12 },
        Event::Catalogue { revision: 13 },
        Event::Goodbye { missed_deadlines: 2 },
        Event::Il { id: 14, page: il_page() },
        Event::Times { id: Some(15), times: times() },
        Event::Budget(cost_budget()),
        calls(),
        exceptions(),
    ]
}
