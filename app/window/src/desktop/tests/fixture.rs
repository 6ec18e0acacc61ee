//! Test windows with a made-up program: Shop, some framework methods, and an agent that reports them.

use crate::desktop::{App, Clock, Options};
use crate::settings::ThemeChoice;
use eframe::egui::{self, Theme};
use egui_kittest::Harness;
use redial_model::catalogue::builder::Builder;
use redial_model::fixtures::facts;
use redial_model::fixtures::{module, page, without_body};
use redial_model::ids::ConnectionId;
use redial_model::processes::{AgentState, ProcessChanges, ProcessRow, RuntimeRow};
use redial_model::update::{CataloguePart, ConnectionUpdate, Now, Update};
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::counters::CounterDelta;
use redial_protocol::diagnostics::RowNote;
use redial_protocol::ids::{CopyKey, MethodToken, ProcessKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, Event, Holder, StatusRow};
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use std::time::Duration;

/// The time in every test.
const UNIX_MS: u64 = 1_763_622_000_000;
/// Shop's process.
pub const SHOP: ProcessKey = ProcessKey { pid: 4242, start: 7 };
/// Shop's connection.
pub const CONNECTION: ConnectionId = ConnectionId(1);

const METHODS: [(&str, &str, &str, u32); 10] = [
    ("Shop.Cart", "Add", "(int)", 0x0600_0001),
    ("Shop.Cart", "Clear", "()", 0x0600_0002),
    ("Shop.Cart", "get_Total", "()", 0x0600_0003),
    ("Shop.Cart", "TryTake", "(int, out int)", 0x0600_0004),
    ("Shop.Catalog", "Find", "(string)", 0x0600_0005),
    ("Shop.Catalog+Shelf", ".ctor", "()", 0x0600_0006),
    ("Shop.Pricing", "Discount", "(Shop.Money, int)", 0x0600_0007),
    ("Shop.Pricing", "Native", "()", 0x0600_0008),
    ("Shop.Box<T>", "Map<U>", "(System.Func<T, U>)", 0x0600_0009),
    ("Shop.ICart", "Touch", "(int)", 0x0600_000a),
];
/// Shop's methods without a body.
const BODYLESS: [(u32, Reason); 2] = [(0x0600_0008, Reason::PInvoke), (0x0600_000a, Reason::NoBody)];
const FRAMEWORK: [(&str, &str, &str, u32); 3] = [
    ("System.String", "Concat", "(string, string)", 0x0600_0101),
    ("System.Collections.Generic.List<T>", "Add", "(T)", 0x0600_0102),
    ("System.Int32", "ToString", "()", 0x0600_0103),
];

/// Returns options for tests: a stopped clock, because pictures must not depend on the machine's speed.
pub fn still() -> Options {
    let now = Now { mono: Duration::from_secs(60), unix_ms: UNIX_MS };
    Options { clock: Clock::Stands(now), ..Options::default() }
}

/// Returns a window with a theme, after its first frames.
pub fn window(theme: Theme) -> Harness<'static, App> {
    window_of(theme, [1180.0, 720.0])
}

/// Returns a window with a theme and a size in points.
pub fn window_of(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .with_max_steps(20)
        .build_eframe(|creation| App::new(&creation.egui_ctx, still()));
    let choice = if theme == Theme::Dark { ThemeChoice::Dark } else { ThemeChoice::Light };
    harness.state_mut().settings.theme = choice;
    // Whether the demo exists depends on the machine.
    harness.state_mut().demo = None;
    harness.run_steps(3);
    harness
}

/// Returns a window that shows Shop, connected and with its methods loaded.
pub fn with_shop(theme: Theme) -> Harness<'static, App> {
    look_at_shop(window(theme))
}

/// Makes a window show Shop.
pub fn look_at_shop(mut harness: Harness<'static, App>) -> Harness<'static, App> {
    feed(&mut harness, vec![Update::Processes(processes())]);
    execute(&mut harness, crate::commands::UiCommand::Select(SHOP));
    deliver(&mut harness, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    deliver(&mut harness, catalogue());
    deliver(&mut harness, vec![nothing_counted()]);
    deliver(
        &mut harness,
        vec![
            ConnectionUpdate::Latency(Duration::from_micros(230)),
            ConnectionUpdate::AgentStatus(Box::new(status())),
        ],
    );
    harness
}

/// Loads another module with `methods` methods, including every method of `Crowd.Type0`.
pub fn crowd(harness: &mut Harness<'static, App>, methods: u32) {
    deliver(harness, crowd_of(methods));
}

/// Returns the updates for such a module.
pub fn crowd_of(methods: u32) -> Vec<ConnectionUpdate> {
    let row = module(9, "Crowd", "/opt/shop/Crowd.dll");
    let names: Vec<(String, String)> =
        (0..methods).map(|index| (format!("Crowd.Type{}", index / 100), format!("Method{index}"))).collect();
    let columns: Vec<(&str, &str, &str, u32)> = names
        .iter()
        .zip(0x0600_0001..)
        .map(|((owner, name), token)| (owner.as_str(), name.as_str(), "()", token))
        .collect();
    let mut builder = Builder::default();
    builder.set_modules(std::slice::from_ref(&row));
    let mut batches = builder.push(&page(row.key, &columns)).expect("whole");
    batches.extend(builder.finish());
    batches
        .into_iter()
        .map(|batch| ConnectionUpdate::Catalogue(CataloguePart::Batch(Box::new(batch))))
        .collect()
}

/// Sends updates to the window and lets it draw.
pub fn feed(harness: &mut Harness<'static, App>, updates: Vec<Update>) {
    let now = harness.state().now();
    for update in updates {
        harness.state_mut().model.apply(update, now);
    }
    harness.run_steps(2);
}

/// Sends messages of Shop's agent.
pub fn deliver(harness: &mut Harness<'static, App>, updates: Vec<ConnectionUpdate>) {
    feed(harness, vec![Update::Connection(CONNECTION, updates)]);
}

/// Executes a command.
pub fn execute(harness: &mut Harness<'static, App>, command: crate::commands::UiCommand) {
    let context: egui::Context = harness.ctx.clone();
    harness.state_mut().execute(&context, command);
    harness.run_steps(3);
}

/// Makes a window show a program with three AppDomains: a copy of Shop in each, and a shared core library.
pub fn look_at_domains(mut harness: Harness<'static, App>) -> Harness<'static, App> {
    feed(&mut harness, vec![Update::Processes(processes())]);
    execute(&mut harness, crate::commands::UiCommand::Select(SHOP));
    deliver(&mut harness, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    let own = |index: u64| {
        let mut row = module(index, "Shop", "/opt/shop/Shop.dll");
        row.key.generation = index as u32;
        ModuleRow { mvid: "6f3a9c1e-0000-0000-0000-000000000000".into(), domains: vec![index], ..row }
    };
    let core = module(9, "System.Private.CoreLib", "/usr/share/dotnet/Microsoft.NETCore.App/2.1.30/x.dll");
    let core = ModuleRow { shared: true, domains: vec![1, 2, 3], ..core };
    let domain = |id, name: &str| DomainRow { id, name: name.into(), shared: id == 99 };
    let iis = "/LM/W3SVC/1/ROOT/Shop-2-133012345678901234";
    let domains = vec![
        domain(1, "First"),
        domain(2, "Second"),
        domain(3, iis),
        domain(99, "EE Shared Assembly Repository"),
    ];
    deliver(&mut harness, loaded(domains, &[own(1), own(2), own(3), core]));
    deliver(&mut harness, vec![nothing_counted(), ConnectionUpdate::AgentStatus(Box::new(status()))]);
    harness
}

/// Returns the processes of a small server.
pub fn processes() -> ProcessChanges {
    let row = |pid, start, name: &str, agent| ProcessRow {
        key: ProcessKey { pid, start },
        name: name.into(),
        user: Some("www".into()),
        group: None,
        command: Some(format!("/usr/bin/{name} --port 80")),
        runtime: Some(RuntimeRow { kind: "coreclr".into(), version: Some("8.0.31".into()), tested: true }),
        agent,
    };
    let sentence =
        "its runtime (2.1.30) loads the agent only when the program starts; attaching needs .NET Core 3.0";
    ProcessChanges {
        changed: vec![
            row(SHOP.pid, SHOP.start, "dotnet", AgentState::Loaded(Box::new(facts()))),
            row(977, 3, "billing", AgentState::LaunchOnly(sentence.into())),
            row(31, 2, "reports", AgentState::Refused("its memory map cannot be read".into())),
        ],
        gone: Vec::new(),
        trouble: None,
    }
}

/// Returns the messages with Shop's methods.
pub fn catalogue() -> Vec<ConnectionUpdate> {
    let modules = [
        module(1, "Shop", "/opt/shop/Shop.dll"),
        module(2, "System.Private.CoreLib", "/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.31/x.dll"),
    ];
    let domain = DomainRow { id: 1, name: "clrhost".into(), shared: false };
    loaded(vec![domain], &modules)
}

/// Returns the messages with modules: Shop's methods for each Shop, the framework's for others.
fn loaded(domains: Vec<DomainRow>, modules: &[ModuleRow]) -> Vec<ConnectionUpdate> {
    let mut builder = Builder::default();
    builder.set_modules(modules);
    let mut batches = Vec::new();
    for module in modules {
        let methods = if module.name == "Shop" { &METHODS[..] } else { &FRAMEWORK[..] };
        let page = without_body(page(module.key, methods), &BODYLESS);
        batches.extend(builder.push(&page).expect("whole"));
    }
    batches.extend(builder.finish());
    let mut updates = vec![ConnectionUpdate::Catalogue(CataloguePart::Domains { domains, methods: 13 })];
    updates.extend(
        batches.into_iter().map(|batch| ConnectionUpdate::Catalogue(CataloguePart::Batch(Box::new(batch)))),
    );
    updates.push(ConnectionUpdate::Catalogue(CataloguePart::Complete(builder.name_order())));
    updates
}

/// Returns the processes of three Shops with the agent and one without.
pub fn shops() -> ProcessChanges {
    let row = |pid, agent| ProcessRow {
        key: ProcessKey { pid, start: SHOP.start },
        name: "dotnet".into(),
        user: Some("www".into()),
        group: None,
        command: Some("/usr/bin/dotnet /opt/shop/Shop.dll".into()),
        runtime: Some(RuntimeRow { kind: "coreclr".into(), version: Some("8.0.31".into()), tested: true }),
        agent,
    };
    let loaded = || AgentState::Loaded(Box::new(facts()));
    let changed = vec![
        row(SHOP.pid, loaded()),
        row(4243, loaded()),
        row(4244, loaded()),
        row(977, AgentState::Attachable),
    ];
    ProcessChanges { changed, gone: Vec::new(), trouble: None }
}

/// Returns a process of [`shops`].
pub fn shop(pid: u32) -> ProcessKey {
    ProcessKey { pid, start: SHOP.start }
}

/// Makes a window show the three Shops with the agent, merged.
pub fn look_at_shops(mut harness: Harness<'static, App>) -> Harness<'static, App> {
    choose_shops(&mut harness);
    for id in 1..=3 {
        let updates = vec![ConnectionUpdate::Connected(Box::new(facts()))];
        feed(&mut harness, vec![Update::Connection(ConnectionId(id), updates)]);
        feed(&mut harness, vec![Update::Connection(ConnectionId(id), catalogue())]);
        feed(&mut harness, vec![Update::Connection(ConnectionId(id), vec![nothing_counted()])]);
    }
    harness
}

/// Selects the three Shops with the agent, without further updates.
pub fn choose_shops(harness: &mut Harness<'static, App>) {
    feed(harness, vec![Update::Processes(shops())]);
    execute(harness, crate::commands::UiCommand::Select(SHOP));
    for pid in [4243, 4244] {
        let toggle = redial_model::selection::SelectionMode::Toggle;
        execute(harness, crate::commands::UiCommand::Choose(shop(pid), toggle));
    }
}

/// Returns the agent's status.
pub fn status() -> AgentStatus {
    AgentStatus {
        control: Some(Holder { pid: std::process::id(), program: "redial".into() }),
        held: 0,
        kept: 0,
        memory_bytes: 2_400_000,
        budgets: Vec::new(),
        clr_kept_bytes: 6_200,
        missed_deadlines: 0,
        guard_trips: 0,
        audit: Vec::new(),
        remains: Vec::new(),
        costs: Vec::new(),
        cost_budget: Default::default(),
        callers_picoseconds: None,
        exceptions_reported: false,
    }
}

/// Returns the note of a row that is refused for this reason.
pub fn not_dialled(reason: Reason) -> RowNote {
    RowNote::NotDialled { reason, hresult: 0 }
}

/// Returns the agent's row for the Shop method at this index of the table above.
pub fn row(index: u32, state: CopyState, wanted: Level, calls: u64, note: Option<RowNote>) -> StatusRow {
    let (owner, name, signature, token) = METHODS[index as usize];
    StatusRow {
        row: RowId(index),
        copy: CopyKey { module: module(1, "Shop", "").key, token: MethodToken(token) },
        method: format!("{owner}.{name}"),
        signature: signature.into(),
        module: "Shop".into(),
        domain: "clrhost".into(),
        wanted,
        state,
        version: (state == CopyState::Live).then_some(1),
        instances: Vec::new(),
        note,
        times_note: None,
        options: TimeOptions::default(),
        calls,
    }
}

/// Returns a row of the copy of `Add` in this domain.
pub fn copy_row(domain: u64, state: CopyState, calls: u64) -> StatusRow {
    let mut row = row(0, state, Level::Count, calls, None);
    let mut key = module(domain, "Shop", "").key;
    key.generation = domain as u32;
    (row.row, row.copy.module) = (RowId(domain as u32), key);
    row
}

/// Returns rows in every state a user can meet.
pub fn rows() -> ConnectionUpdate {
    let refused = not_dialled(Reason::PInvoke);
    ConnectionUpdate::Event(Event::Rows {
        id: None,
        rows: vec![
            row(0, CopyState::Live, Level::Count, 0, None),
            row(1, CopyState::Asked, Level::Count, 0, None),
            row(2, CopyState::Live, Level::Count, 17, Some(RowNote::Inlined)),
            row(4, CopyState::Off, Level::Off, 99, None),
            row(7, CopyState::Refused, Level::Count, 0, Some(refused)),
        ],
    })
}

/// Returns the message that follows the rows: the agent's clock, from which rates are measured.
pub fn nothing_counted() -> ConnectionUpdate {
    let delta = CounterDelta { t_ms: 1000, ..CounterDelta::default() };
    ConnectionUpdate::Event(Event::Counters { delta, dropped: 0 })
}

/// Returns one second of counters: calls of rows 0 and 2.
pub fn second(number: u64, calls: [u64; 2]) -> ConnectionUpdate {
    let rows = vec![RowId(0), RowId(2)];
    ConnectionUpdate::Event(Event::Counters {
        delta: CounterDelta { t_ms: number * 1000, rows, calls: calls.to_vec() },
        dropped: 0,
    })
}

/// Returns a minute of slightly varying load.
pub fn minute() -> Vec<ConnectionUpdate> {
    (1..60).map(|at| second(at, [40_000 + at * 977 % 9_000, 300 + at * 31 % 200])).collect()
}
