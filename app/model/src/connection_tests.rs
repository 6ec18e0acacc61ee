//! Connections after updates of their worker.

use super::*;
use crate::catalogue::Catalogue;
use crate::catalogue::tests::{method, small};
use crate::fixtures::{facts, now, transition};
use crate::ids::{MethodIx, Node};
use crate::list::{Filter, Sort};
use crate::log::{Log, LogKind};
use crate::method_table::Shape;
use crate::selection::SelectionMode;
use crate::update::{CataloguePart, ConnectionUpdate};
use redial_protocol::counters::CounterDelta;
use redial_protocol::diagnostics::RowNote;
use redial_protocol::ids::RowId;
use redial_protocol::message::{Event, Holder, StatusRow};
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, RefusedMethod};
use redial_protocol::state::CopyState;

/// A live connection with the small catalogue.
pub(super) fn connected() -> (Connection, Log) {
    connected_to(small())
}

/// A live connection with a catalogue.
pub fn connected_to(catalogue: Catalogue) -> (Connection, Log) {
    let mut connection = Connection::new(ConnectionId(3), ProcessKey { pid: 7, start: 1 }, "shop");
    let mut log = Log::default();
    assert!(connection.obstacle().is_some());
    connection.apply(
        vec![ConnectionUpdate::Connecting, ConnectionUpdate::Connected(Box::new(facts()))],
        &mut log,
        now(0),
    );
    connection.table.catalogue = catalogue;
    connection.table.live.place(&connection.table.catalogue);
    connection.refresh(now(0));
    assert_eq!(connection.obstacle(), None);
    (connection, log)
}

/// The log lines of a kind.
pub(super) fn texts(log: &Log, kind: LogKind) -> Vec<&str> {
    log.entries().iter().filter(|entry| entry.kind == kind).map(|entry| entry.text.as_str()).collect()
}

/// A row of the agent.
pub fn row(connection: &Connection, id: u32, method: MethodIx, state: CopyState) -> StatusRow {
    let full = connection.table.catalogue.full_name(method);
    StatusRow {
        row: RowId(id),
        copy: connection.table.catalogue.copy_of(method).expect("a copy"),
        method: format!("{}.{}", full.part(&full.type_name), full.part(&full.method)),
        signature: full.part(&full.signature).into(),
        module: full.part(&full.module).into(),
        domain: "clrhost".into(),
        wanted: Level::Count,
        state,
        version: None,
        instances: vec![],
        note: (state == CopyState::Refused)
            .then_some(RowNote::NotDialled { reason: Reason::NoBody, hresult: 0 }),
        times_note: None,
        options: TimeOptions::default(),
        calls: 0,
    }
}

#[test]
fn change_is_pending_then_asked_then_live() {
    let (mut connection, mut log) = connected();
    let add = method(&connection.table.catalogue, "Shop!Shop.Cart.Add(int)");
    let change = connection
        .set_level(&connection.table.targets_for(&MethodSet::one(add)), Level::Count, false, &mut log, now(1))
        .expect("possible");
    assert_eq!((change.orders.len(), change.orders[0].pattern.as_str()), (1, "Shop!0x06000002"));
    let dial = connection.table.dial(add);
    assert_eq!(
        (dial.wanted, dial.pending, dial.actual, dial.state),
        (Level::Count, true, Level::Off, CopyState::Off)
    );
    let report = DialReport { matched: 1, accepted: 1, ..DialReport::default() };
    let asked = row(&connection, 0, add, CopyState::Asked);
    let updates = vec![
        ConnectionUpdate::Dialled(change.ticket, Ok(report)),
        ConnectionUpdate::Event(Event::Rows { id: None, rows: vec![asked] }),
    ];
    connection.apply(updates, &mut log, now(2));
    let dial = connection.table.dial(add);
    assert_eq!((dial.pending, dial.actual, dial.state), (false, Level::Off, CopyState::Asked));
    connection.apply(vec![transition(0, CopyState::Live)], &mut log, now(3));
    let dial = connection.table.dial(add);
    assert_eq!(
        (dial.actual, dial.state, dial.row.and_then(|row| row.version)),
        (Level::Count, CopyState::Live, Some(1))
    );
    assert_eq!(texts(&log, LogKind::Request), ["count on Shop!Shop.Cart.Add(int)"]);
    assert_eq!(texts(&log, LogKind::Answer), ["count on Shop!Shop.Cart.Add(int): 1 of 1 accepted"]);
    assert_eq!(texts(&log, LogKind::Transition), ["Shop!Shop.Cart.Add(int): pending → live"]);
}

#[test]
fn refusals_say_why() {
    let (mut connection, mut log) = connected();
    let add = method(&connection.table.catalogue, "Shop!Shop.Cart.Add(int)");
    let set = MethodSet::one(add);
    let why = connection
        .set_level(&connection.table.targets_for(&set), Level::Trace, false, &mut log, now(1))
        .expect_err("not offered");
    assert_eq!(why, "this agent offers levels up to count (see REDIAL_MAX_LEVEL)");
    connection.session.facts.as_mut().expect("connected").levels = vec![Level::Off];
    let why = connection
        .set_level(&connection.table.targets_for(&set), Level::Count, false, &mut log, now(1))
        .expect_err("capped");
    assert!(why.contains("up to off (see REDIAL_MAX_LEVEL)"), "{why}");
    connection.session.facts.as_mut().expect("connected").levels = vec![Level::Off, Level::Count];
    let why = connection
        .set_level(
            &connection.table.targets_for(&MethodSet::default()),
            Level::Count,
            false,
            &mut log,
            now(1),
        )
        .expect_err("nothing");
    assert_eq!(why, "no method is selected");
    let change = connection
        .set_level(&connection.table.targets_for(&set), Level::Count, false, &mut log, now(1))
        .expect("possible");
    let holder = Holder { pid: 5, program: "redial dial".into() };
    let refused = RefusedRequest { why: "the dials are controlled by another".into(), holder: Some(holder) };
    connection.apply(vec![ConnectionUpdate::Dialled(change.ticket, Err(refused.clone()))], &mut log, now(2));
    assert_eq!(connection.last_refusal(), Some(&(change.ticket, refused)));
    assert!(!connection.table.dial(add).pending, "the ring goes back");
    let change = connection
        .set_level(&connection.table.targets_for(&set), Level::Count, false, &mut log, now(3))
        .expect("possible");
    let report = DialReport {
        matched: 1,
        refused_by_reason: vec![(Reason::NoBody, 1)],
        refused: vec![RefusedMethod {
            method: "Shop!A.B()".into(),
            reason: Reason::NoBody,
            hresult: 0,
            condition: None,
        }],
        ..DialReport::default()
    };
    let rows = vec![row(&connection, 0, add, CopyState::Refused)];
    let updates = vec![
        ConnectionUpdate::Dialled(change.ticket, Ok(report)),
        ConnectionUpdate::Event(Event::Rows { id: None, rows }),
    ];
    connection.apply(updates, &mut log, now(4));
    assert!(
        texts(&log, LogKind::Refusal)
            .iter()
            .any(|text| text.starts_with("refused: Shop!A.B(): it has no IL"))
    );
    assert!(texts(&log, LogKind::Transition).iter().any(|text| text.contains("off → refused: it has no IL")));
    assert!(connection.undo(true, &mut log, now(5)).is_err_and(|why| why.contains("nothing to redo")));
}

#[test]
fn loss_ends_requests_and_says_when_it_retries() {
    let (mut connection, mut log) = connected();
    let add = method(&connection.table.catalogue, "Shop!Shop.Cart.Add(int)");
    connection
        .set_level(&connection.table.targets_for(&MethodSet::one(add)), Level::Count, false, &mut log, now(1))
        .expect("possible");
    connection.apply(vec![ConnectionUpdate::Latency(Duration::from_micros(80))], &mut log, now(1));
    let lost = |retry| ConnectionUpdate::Lost { why: "the agent closed the connection".into(), retry };
    connection.apply(vec![lost(Retry::After(Duration::from_secs(2)))], &mut log, now(1_000));
    let expected = Status::Lost {
        why: "the agent closed the connection".into(),
        retry: Retry::After(Duration::from_secs(2)),
        since: Duration::from_secs(1),
    };
    assert_eq!((&connection.session.status, connection.session.latency), (&expected, None));
    assert_eq!(connection.session.status.retry_at(), Some(Duration::from_secs(3)));
    assert!(!connection.table.dial(add).pending);
    assert!(texts(&log, LogKind::NoAnswer)[0].contains("was not answered"));
    let why = connection
        .set_level(&connection.table.targets_for(&MethodSet::one(add)), Level::Count, false, &mut log, now(2))
        .expect_err("lost");
    assert_eq!(why, "the agent closed the connection");
    let said = texts(&log, LogKind::Connection).len();
    connection.apply(vec![ConnectionUpdate::Connecting, lost(Retry::Asked)], &mut log, now(3_000));
    connection.apply(vec![lost(Retry::Asked)], &mut log, now(3_000));
    assert!(texts(&log, LogKind::Connection).len() <= said + 1, "not the same again and again");
    assert_eq!(connection.table.catalogue.len(), 8, "what was seen stays to look at");
}

#[test]
fn groups_show_mixed_levels_and_only_visible_methods() {
    let (mut connection, mut log) = connected();
    let (add, clear) = (
        method(&connection.table.catalogue, "Shop!Shop.Cart.Add(int)"),
        method(&connection.table.catalogue, "Shop!Shop.Cart.Clear()"),
    );
    let cart = Node::Type(connection.table.catalogue.type_of(add));
    let group = connection.table.group(cart);
    assert_eq!((group.methods, group.wanted, group.pending), (2, Some(Level::Off), false));
    let rows = vec![row(&connection, 0, add, CopyState::Live)];
    connection.apply(vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })], &mut log, now(1));
    let counters = |t_ms, calls| {
        let delta = CounterDelta { t_ms, rows: vec![RowId(0)], calls: vec![calls] };
        ConnectionUpdate::Event(Event::Counters { delta, dropped: 0 })
    };
    connection.apply(vec![counters(1_000, 5), counters(2_000, 7)], &mut log, now(1));
    let group = connection.table.group(cart);
    assert_eq!((group.wanted, group.by_level), (None, [1, 1, 0, 0]));
    assert_eq!((group.sums.calls, group.sums.rate), (12, 7.0));
    connection.table.set_filter(Filter { text: "cart.add".into(), ..Filter::default() });
    connection.refresh(now(1));
    let group = connection.table.group(cart);
    assert_eq!((group.methods, group.wanted), (1, Some(Level::Count)));
    assert_eq!(connection.table.targets_of(cart), MethodSet::one(add), "a knob turns what is seen");
    connection.table.set_filter(Filter::default());
    connection.refresh(now(1));
    let change =
        connection.set_level(&connection.table.turned_by(cart), Level::Count, false, &mut log, now(2));
    assert_eq!(change.expect("possible").orders[0].pattern, "Shop!Shop.Cart.*");
    let group = connection.table.group(cart);
    assert_eq!((group.wanted, group.pending), (Some(Level::Count), true));
    assert!(connection.table.dial(clear).pending);
    assert!(connection.update_rate() > 0.0);
    connection.refresh(now(60_000));
    assert_eq!(connection.update_rate(), 0.0);
}

#[test]
fn paused_process_has_no_rate_and_a_quiet_one_stays_quiet() {
    let (mut connection, mut log) = connected();
    let add = method(&connection.table.catalogue, "Shop!Shop.Cart.Add(int)");
    let cart = Node::Type(connection.table.catalogue.type_of(add));
    let rows = vec![row(&connection, 0, add, CopyState::Live)];
    let counters = |t_ms, calls: &[u64]| {
        let rows = calls.iter().map(|_| RowId(0)).collect();
        let delta = CounterDelta { t_ms, rows, calls: calls.to_vec() };
        ConnectionUpdate::Event(Event::Counters { delta, dropped: 0 })
    };
    let updates = vec![
        ConnectionUpdate::Event(Event::Rows { id: None, rows }),
        counters(1_000, &[5]),
        counters(2_000, &[7]),
    ];
    connection.apply(updates, &mut log, now(1));
    assert_eq!(connection.table.group(cart).sums.rate, 7.0);
    let paused = || vec![ConnectionUpdate::Paused(Some("it is stopped by a signal".into()))];
    connection.apply(paused(), &mut log, now(2_000));
    assert_eq!((connection.table.group(cart).sums.rate, connection.table.group(cart).sums.calls), (0.0, 12));
    connection.apply(vec![ConnectionUpdate::Paused(None), counters(6_000, &[8])], &mut log, now(6_000));
    assert_eq!(connection.table.group(cart).sums.rate, 2.0, "in the four seconds since");
    // Nothing is called for a minute, which the agent reports once. Then the process is stopped.
    connection.apply(vec![counters(7_000, &[])], &mut log, now(7_000));
    connection.table.live.pass_to(now(67_000).mono);
    let tick = connection.table.live.tick();
    connection.apply(paused(), &mut log, now(67_000));
    assert_eq!(connection.table.live.tick(), tick, "its curves go on from where they are");
}

#[test]
fn selection_survives_filters_sorting_and_updates() {
    let (mut connection, mut log) = connected();
    let add = method(&connection.table.catalogue, "Shop!Shop.Cart.Add(int)");
    connection.table.click(Node::Method(add), SelectionMode::Replace);
    for text in ["zzz", "plugin", ""] {
        connection.table.set_filter(Filter { text: text.into(), ..Filter::default() });
        connection.refresh(now(1));
        assert_eq!(connection.table.selection.focus(), Some(Node::Method(add)));
        assert_eq!(connection.table.focus_place().is_some(), text.is_empty());
        assert_eq!(
            connection.table.targets().is_empty(),
            !text.is_empty(),
            "nobody turns what he does not see"
        );
    }
    for key in [super::super::list::SortKey::Calls, super::super::list::SortKey::Name] {
        connection.table.set_sort(Sort { key, descending: true });
        let rows = vec![row(&connection, 0, add, CopyState::Live)];
        connection.apply(vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })], &mut log, now(1));
        connection.refresh(now(1));
        let place = connection.table.focus_place().expect("it is shown");
        assert_eq!(connection.table.row_at(place), Some(Node::Method(add)));
    }
    connection.table.shape = Shape::Tree;
    connection.table.tree.reveal(Node::Method(add), &connection.table.catalogue);
    connection.refresh(now(1));
    let place = connection.table.focus_place().expect("it is shown");
    assert_eq!(connection.table.row_at(place), Some(Node::Method(add)));
    connection.table.select_all();
    assert_eq!(connection.table.targets().len(), 8);
    connection.table.step(-1, false);
    assert_eq!(connection.table.row_count(), connection.table.tree.rows().len());
}

#[test]
fn summarizes_a_flood_of_transitions() {
    let (mut connection, mut log) = connected();
    let rows: Vec<StatusRow> =
        (0..8).map(|id| row(&connection, id, MethodIx(id), CopyState::Asked)).collect();
    connection.apply(vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })], &mut log, now(1));
    let states = [CopyState::Live, CopyState::Asked];
    let flood = (0..40).map(|index| transition(index % 8, states[(index / 8) as usize % 2])).collect();
    connection.apply(flood, &mut log, now(2));
    assert_eq!(texts(&log, LogKind::Transition).len(), 12);
    // More messages in the same second add no lines; after it there is one line per state.
    connection.apply(
        vec![transition(3, CopyState::Asked), transition(4, CopyState::Live)],
        &mut log,
        now(900),
    );
    assert_eq!(connection.summary_due(), Some(Duration::from_millis(1_002)));
    connection.summarize_transitions(&mut log, now(1_001));
    assert_eq!(texts(&log, LogKind::Transition).len(), 12);
    connection.summarize_transitions(&mut log, now(1_002));
    let lines = texts(&log, LogKind::Transition);
    assert_eq!(lines[12..], ["… and 1 more method: pending now", "… and 7 more methods: live now"]);
    assert_eq!(connection.summary_due(), None);
    connection.apply(vec![transition(3, CopyState::Live)], &mut log, now(1_500));
    assert_eq!(texts(&log, LogKind::Transition).len(), 15, "and so on");
}

/// A few names, with the number of the others a second later, would look like all of them.
#[test]
fn counts_many_methods_with_the_same_transition() {
    let mut catalogue = Catalogue::default();
    let (batches, _) = crate::catalogue::synthetic::batches(1, 100);
    batches.into_iter().for_each(|batch| assert!(catalogue.append(batch)));
    let (mut connection, mut log) = connected_to(catalogue);
    let rows = (0..80).map(|id| row(&connection, id, MethodIx(id), CopyState::Live)).collect();
    connection.apply(vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })], &mut log, now(1));
    connection.summarize_transitions(&mut log, now(1_001));
    let before = texts(&log, LogKind::Transition).len();
    let off = (0..13).map(|id| transition(id, CopyState::Off)).chain([transition(79, CopyState::Failed)]);
    connection.apply(off.collect(), &mut log, now(2_000));
    for more in [13..33, 33..60] {
        let off = more.map(|id| transition(id, CopyState::Off));
        connection.apply(off.collect(), &mut log, now(2_100));
    }
    // They go on again: the lines are in order, and none is counted twice.
    connection.apply((30..60).map(|id| transition(id, CopyState::Live)).collect(), &mut log, now(2_200));
    let lines = |log: &Log| -> Vec<String> {
        texts(log, LogKind::Transition).iter().skip(before).map(|text| (*text).to_owned()).collect()
    };
    let first = lines(&log);
    assert_eq!([&first[0], &first[2]], ["13 methods: live → off", "30 methods: off → live"]);
    assert!(first.len() == 3 && first[1].contains("live → failed"), "{first:?}");
    connection.summarize_transitions(&mut log, now(3_001));
    assert_eq!(lines(&log)[3..], ["… and 17 more methods: off now"]);
}

#[test]
fn logs_a_batch_that_does_not_fit() {
    let (mut connection, mut log) = connected();
    let (mut batches, _) = crate::catalogue::synthetic::batches(1, 20);
    let mut torn = batches.remove(0);
    torn.tokens.clear();
    let updates = vec![ConnectionUpdate::Catalogue(CataloguePart::Batch(Box::new(torn)))];
    connection.apply(updates, &mut log, now(1));
    assert_eq!(texts(&log, LogKind::Notice).len(), 1);
}

/// A plugin is loaded, dialled and unloaded, again and again, while something else is dialled and selected.
#[test]
fn repeated_loads_and_unloads_do_not_fill_the_window() {
    use crate::catalogue::builder::Builder;
    use crate::fixtures::{module, page};
    let (mut connection, mut log) = connected();
    let catalogue = |part| ConnectionUpdate::Catalogue(part);
    let mut builder = Builder::default();
    let mut load = |connection: &mut Connection, log: &mut Log, index: u64| {
        let row = module(index, "Plugin", "/opt/shop/Plugin.dll");
        builder.set_modules(std::slice::from_ref(&row));
        let names: Vec<String> = (0..50).map(|method| format!("Method{method}")).collect();
        let methods: Vec<(&str, &str, &str, u32)> = names
            .iter()
            .zip(0x0600_0001..)
            .map(|(name, token)| ("N.A", name.as_str(), "()", token))
            .collect();
        builder.push(&page(row.key, &methods)).expect("whole");
        let batch = builder.finish().expect("a batch");
        connection.apply(vec![catalogue(CataloguePart::Batch(Box::new(batch)))], log, now(1));
        row.key
    };
    load(&mut connection, &mut log, 100);
    // It is behind the forgotten modules and moves up each time.
    load(&mut connection, &mut log, 1_000);
    let last = connection.table.catalogue.modules().len() - 1;
    let first_of = |connection: &Connection, module: usize| {
        MethodIx(connection.table.catalogue.modules()[module].methods.start)
    };
    let kept = connection.table.catalogue.copy_of(first_of(&connection, last)).expect("there");
    let mut id = 0;
    let mut rows_of = |connection: &mut Connection, log: &mut Log, method: MethodIx| {
        id += 1;
        let rows = vec![row(connection, id, method, CopyState::Live)];
        connection.apply(vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })], log, now(1));
    };
    let method = connection.table.catalogue.find(kept).expect("there");
    rows_of(&mut connection, &mut log, method);
    connection.refresh(now(1));
    connection.table.click(Node::Method(method), SelectionMode::Replace);
    let scope = connection.table.targets_for(&MethodSet::one(method));
    let change = connection.set_level(&scope, Level::Off, false, &mut log, now(1)).expect("possible");
    connection.apply(
        vec![ConnectionUpdate::Dialled(change.ticket, Ok(DialReport::default()))],
        &mut log,
        now(1),
    );
    let mut unloaded = vec![connection.table.catalogue.modules()[last - 1].key];
    let mut sizes = Vec::new();
    for round in 0..200 {
        let key = load(&mut connection, &mut log, 2_000 + round);
        let module = connection.table.catalogue.modules().len() - 1;
        let method = first_of(&connection, module);
        rows_of(&mut connection, &mut log, method);
        unloaded.push(key);
        connection.apply(vec![catalogue(CataloguePart::Unloaded(vec![key]))], &mut log, now(1));
        if unloaded.len() > 32 {
            let old: Vec<_> = unloaded.drain(..unloaded.len() - 16).collect();
            connection.apply(vec![catalogue(CataloguePart::Forgotten(old))], &mut log, now(1));
            connection.refresh(now(1));
            sizes.push((connection.table.catalogue.len(), connection.table.live.rows().count()));
        }
        let method = connection.table.catalogue.find(kept).expect("it stays");
        assert_eq!(connection.table.live.of_method(method).map(|row| row.copy), Some(kept));
        assert_eq!(connection.table.targets(), MethodSet::one(method), "the selection follows");
    }
    assert!(sizes.len() > 5 && sizes.iter().all(|size| size == sizes.last().expect("some")), "{sizes:?}");
    let method = connection.table.catalogue.find(kept).expect("it stays");
    let undo = connection.undo(false, &mut log, now(9)).expect("to be undone");
    assert!(connection.table.changes.touches(&[method.0..method.0 + 1]), "{undo:?}");
}
