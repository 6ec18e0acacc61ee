//! Updates that agent and worker threads would send about a process with a million methods.

use redial_link::worker::in_parts;
use redial_model::catalogue::builder::Builder;
use redial_model::catalogue::synthetic::{PseudoRandom, SyntheticModules};
use redial_model::ids::ConnectionId;
use redial_model::processes::{AgentState, ProcessChanges, ProcessRow, RuntimeRow};
use redial_model::update::{CataloguePart, ConnectionUpdate, Retry, Update};
use redial_protocol::catalogue::{DomainRow, MethodPage, ModuleRow};
use redial_protocol::counters::CounterDelta;
use redial_protocol::frozen::{AgentFacts, RuntimeKind};
use redial_protocol::ids::{CopyKey, MethodToken, ProcessKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::limits::ROWS_PER_PAGE;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::order::TimeOptions;
use redial_protocol::state::CopyState;
use std::sync::mpsc::SyncSender;

/// The process shown.
pub const PROCESS: ProcessKey = ProcessKey { pid: 4242, start: 7 };
/// The window's first connection.
pub const CONNECTION: ConnectionId = ConnectionId(1);

/// The amount of data.
#[derive(Clone, Copy)]
pub struct Size {
    /// Modules.
    pub modules: usize,
    /// All methods.
    pub methods: usize,
    /// Dialled methods.
    pub dialled: usize,
}

fn about(connection: ConnectionId, update: ConnectionUpdate) -> Update {
    Update::Connection(connection, vec![update])
}

/// Returns the update with the process list, starting with the process shown.
pub fn processes(number: u32) -> Update {
    let row = |index: u32| ProcessRow {
        key: ProcessKey { pid: PROCESS.pid + index, ..PROCESS },
        name: "dotnet".into(),
        user: Some("www".into()),
        group: None,
        command: Some("dotnet Contoso.dll".into()),
        runtime: Some(RuntimeRow { kind: "coreclr".into(), version: Some("8.0.31".into()), tested: true }),
        agent: AgentState::Loaded(Box::new(facts())),
    };
    let changed = (0..number).map(row).collect();
    Update::Processes(ProcessChanges { changed, gone: Vec::new(), trouble: None })
}

fn facts() -> AgentFacts {
    AgentFacts {
        protocol: redial_protocol::PROTOCOL_VERSION,
        agent_version: env!("CARGO_PKG_VERSION").into(),
        process: PROCESS,
        runtime_kind: RuntimeKind::CoreClr,
        runtime_version: "8.0.31".into(),
        levels: vec![Level::Off, Level::Count],
        holder: None,
        live: 0,
        kept: 0,
        held: 0,
        clr_kept_bytes: 0,
    }
}

/// Sends all updates after connecting as fast as they are accepted; returns the builder, which stays on the
/// loading thread. Call it on a thread of its own.
pub fn connect(connection: ConnectionId, size: Size, to: &SyncSender<Update>) -> Builder {
    let tell = |one: ConnectionUpdate| {
        for part in in_parts(vec![one]) {
            // A closed window needs no more updates.
            let _ = to.send(Update::Connection(connection, part));
        }
    };
    tell(ConnectionUpdate::Connected(Box::new(facts())));
    let domain = DomainRow { id: 1, name: "clrhost".into(), shared: false };
    let domains = CataloguePart::Domains { domains: vec![domain], methods: size.methods as u64 };
    tell(ConnectionUpdate::Catalogue(domains));
    let mut builder = Builder::default();
    let mut rows = Vec::new();
    let mut seen = 0;
    for (module, pages) in SyntheticModules::new(size.modules, size.methods) {
        builder.set_modules(std::slice::from_ref(&module));
        for page in &pages {
            seen = dial(&mut rows, seen, size, &module, page);
            for batch in builder.push(page).expect("whole") {
                tell(ConnectionUpdate::Catalogue(CataloguePart::Batch(Box::new(batch))));
            }
        }
        if let Some(batch) = builder.finish() {
            tell(ConnectionUpdate::Catalogue(CataloguePart::Batch(Box::new(batch))));
        }
        while rows.len() >= ROWS_PER_PAGE {
            let rest = rows.split_off(ROWS_PER_PAGE);
            tell(ConnectionUpdate::Event(Event::Rows { id: None, rows: std::mem::replace(&mut rows, rest) }));
        }
    }
    tell(ConnectionUpdate::Event(Event::Rows { id: None, rows }));
    tell(ConnectionUpdate::Catalogue(CataloguePart::Complete(builder.name_order())));
    builder
}

/// Adds rows for some of a page's methods, evenly spread; returns the number of methods seen so far.
fn dial(rows: &mut Vec<StatusRow>, seen: usize, size: Size, module: &ModuleRow, page: &MethodPage) -> usize {
    let every = size.methods / size.dialled;
    for at in (0..page.token.len()).filter(|at| (seen + at).is_multiple_of(every)) {
        let id = ((seen + at) / every) as u32;
        let owner = page.type_names.get(page.type_index[at] as usize).unwrap_or_default();
        rows.push(StatusRow {
            row: RowId(id),
            copy: CopyKey { module: module.key, token: MethodToken(page.token[at]) },
            method: format!("{owner}.{}", page.name.get(at).unwrap_or_default()),
            signature: page.signature.get(at).unwrap_or_default().to_owned(),
            module: module.name.clone(),
            domain: "clrhost".to_owned(),
            wanted: Level::Count,
            state: if id.is_multiple_of(5) { CopyState::Asked } else { CopyState::Live },
            version: Some(1),
            instances: Vec::new(),
            note: None,
            times_note: None,
            options: TimeOptions::default(),
            calls: u64::from(id) * 37 % 1_009,
        });
    }
    seen + page.token.len()
}

/// Returns a counter snapshot at `t_ms` in which every dialled method was called.
pub fn fold(connection: ConnectionId, dialled: usize, t_ms: u64, chance: &mut PseudoRandom) -> Update {
    let delta = CounterDelta {
        t_ms,
        rows: (0..dialled as u32).map(RowId).collect(),
        calls: (0..dialled).map(|_| chance.below(1_000) as u64).collect(),
    };
    about(connection, ConnectionUpdate::Event(Event::Counters { delta, dropped: 0 }))
}

/// Returns the update about an ended process.
pub fn ended(connection: ConnectionId) -> Update {
    about(connection, ConnectionUpdate::Lost { why: "it has ended".into(), retry: Retry::Never })
}
