//! Processes that leave a merged list: the rows on screen meanwhile, and the rows that remain.

use super::*;
use crate::catalogue::synthetic::batches;
use crate::fixtures::{facts, now};
use crate::ids::{MethodIx, Node};
use crate::list::{Sort, SortKey};
use crate::process_choice::Arrangement;
use crate::selection::SelectionMode;
use crate::state::Model;
use crate::update::{CataloguePart, ConnectionUpdate, Update};
use redial_protocol::catalogue::DomainRow;
use redial_protocol::ids::{CopyKey, MethodToken, ProcessKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::order::TimeOptions;
use redial_protocol::state::CopyState;

const METHODS: usize = 3_000;
/// The rows of merged copies stand for the copies of the first one.
const PIDS: [u32; 3] = [1, 2, 3];

fn key(pid: u32) -> ProcessKey {
    ProcessKey { pid, start: 1 }
}

/// Some of three processes of one program, every second method of each dialled.
fn fleet(pids: &[u32], by: SortKey) -> Model {
    let mut model = Model::default();
    model.choose_more(pids.iter().map(|pid| key(*pid)));
    drop(model.look_at_chosen(|_, _| "shop".to_owned(), now(0)));
    for pid in pids {
        let id = model.connection_to(key(*pid)).expect("it was chosen").id;
        let (modules, order) = batches(6, METHODS);
        let copies = modules.iter().flat_map(|batch| {
            let tokens = batch.tokens.iter().step_by(2);
            tokens.map(|token| CopyKey { module: batch.module.key, token: MethodToken(*token) })
        });
        let rows = (1..).zip(copies).map(|(number, copy)| row(number, *pid, copy)).collect();
        let domain = DomainRow { id: 1, name: "clrhost".into(), shared: false };
        let domains = CataloguePart::Domains { domains: vec![domain], methods: METHODS as u64 };
        let parts = modules.into_iter().map(|batch| CataloguePart::Batch(Box::new(batch)));
        let parts = std::iter::once(domains).chain(parts).chain([CataloguePart::Complete(order)]);
        let updates = [ConnectionUpdate::Connected(Box::new(facts()))]
            .into_iter()
            .chain(parts.map(ConnectionUpdate::Catalogue));
        let rows = ConnectionUpdate::Event(Event::Rows { id: None, rows });
        model.apply(Update::Connection(id, updates.chain([rows]).collect()), now(0));
    }
    model.change_list(|list| list.set_sort(Sort { key: by, descending: true }));
    refresh(&mut model);
    model
}

fn row(number: u32, pid: u32, copy: CopyKey) -> StatusRow {
    StatusRow {
        row: RowId(number),
        copy,
        method: format!("M{number}"),
        signature: String::new(),
        module: "Shop".into(),
        domain: "clrhost".into(),
        wanted: Level::Count,
        state: if number.is_multiple_of(5) { CopyState::Asked } else { CopyState::Live },
        version: Some(1),
        instances: Vec::new(),
        note: None,
        times_note: None,
        options: TimeOptions::default(),
        calls: u64::from(number * 7_919 % 1_000 * pid),
    }
}

/// Refreshes frames until nothing is left to do; returns what `look` sees after each.
fn frames<T>(model: &mut Model, look: impl Fn(&Model) -> T) -> Vec<T> {
    let mut seen = Vec::new();
    while model.refresh(now(1_000 + 200 * seen.len() as u64)).more {
        seen.push(look(model));
        assert!(seen.len() < 100, "there is always more");
    }
    seen
}

fn refresh(model: &mut Model) {
    frames(model, |_| ());
}

fn list(model: &Model) -> &MethodTable {
    model.list().expect("a list")
}

/// The names of the rows, first to last.
fn names(model: &Model) -> Vec<String> {
    let list = list(model);
    let method = |place| match list.row_at(place) {
        Some(Node::Method(method)) => list.catalogue.full_name(method).text,
        other => panic!("{other:?} at {place}"),
    };
    (0..list.list.len()).map(method).collect()
}

/// The contents of the rows: name, calls of all processes, and copies by state.
fn contents(model: &Model) -> Vec<(String, u64, [u32; 7])> {
    let list = list(model);
    let place = |place| {
        let Some(Node::Method(method)) = list.row_at(place) else { panic!("no row at {place}") };
        let sums = list.group_of_set(&list.merged(method).expect("it has copies")).sums;
        (list.catalogue.full_name(method).text, sums.calls, sums.states)
    };
    (0..list.list.len()).map(place).collect()
}

fn leave(model: &mut Model, pid: u32) {
    model.choose(key(pid), SelectionMode::Toggle);
    drop(model.look_at_chosen(|_, _| "shop".to_owned(), now(1_000)));
}

/// Checks that catalogue and rows of the fleet's table are consistent.
fn check(model: &Model) {
    let all = list(model);
    for row in all.live.rows() {
        assert_eq!(row.method, all.catalogue.find(row.copy));
        let of_method = row.method.and_then(|method| all.live.of_method(method));
        assert_eq!(of_method.map(|row| row.id), Some(row.id));
    }
    let rows = all.live.rows().count();
    assert_eq!(all.live.known().count(), rows);
    assert_eq!(all.live.count(CopyState::Live) + all.live.count(CopyState::Asked), rows);
}

#[test]
fn rows_stay_on_screen_while_a_process_leaves() {
    for (by, pid) in [(SortKey::Name, 1), (SortKey::Name, 2), (SortKey::Wanted, 1), (SortKey::Wanted, 3)] {
        let mut model = fleet(&PIDS, by);
        let before = names(&model);
        assert_eq!(before.len(), METHODS);
        leave(&mut model, pid);
        let seen = frames(&mut model, |model| (names(model), list(model).catalogue.len()));
        assert!(seen.iter().all(|(names, _)| *names == before), "process {pid}, {by:?}");
        let with_all = seen.iter().filter(|(_, methods)| *methods == 3 * METHODS).count();
        assert!(with_all >= 3, "its rows leave in two frames, and its methods are hidden in a third");
        assert_eq!((names(&model), list(&model).catalogue.len()), (before, 2 * METHODS));
        check(&model);
    }
}

#[test]
fn rows_of_the_others_are_as_if_it_had_never_joined() {
    for pid in PIDS {
        let mut model = fleet(&PIDS, SortKey::Calls);
        leave(&mut model, pid);
        refresh(&mut model);
        let others: Vec<u32> = PIDS.into_iter().filter(|other| *other != pid).collect();
        assert_eq!(contents(&model), contents(&fleet(&others, SortKey::Calls)), "without process {pid}");
        check(&model);
    }
}

/// The frame in which methods move up leaves nothing to filter or to order.
#[test]
fn renumbered_rows_stay_in_order() {
    for by in [SortKey::Name, SortKey::Calls, SortKey::Wanted, SortKey::State, SortKey::Rate] {
        let mut model = fleet(&PIDS, by);
        leave(&mut model, 2);
        while list(&model).catalogue.len() == 3 * METHODS {
            assert!(model.refresh(now(2_000)).more, "there is more");
        }
        let all = &mut model.fleet_mut().expect("several are merged").table;
        assert!(!all.list.is_behind(&all.live), "{by:?}");
        let edition = all.list.edition();
        all.complete();
        let moved = all.list.refresh(&all.catalogue, &all.live);
        assert_eq!(
            (moved, all.list.edition()),
            (false, edition),
            "{by:?}: nothing is filtered or sorted anew"
        );
    }
}

#[test]
fn row_counts_are_right_in_every_arrangement() {
    for arrangement in [Arrangement::Merged, Arrangement::Separate, Arrangement::SideBySide] {
        for pid in PIDS {
            let arranged = |pids: &[u32]| {
                let mut model = fleet(pids, SortKey::Name);
                model.arrange(arrangement);
                drop(model.look_at_chosen(|_, _| "shop".to_owned(), now(1_000)));
                refresh(&mut model);
                model
            };
            let numbers = |model: &Model| {
                let rows = list(model);
                (rows.list.all(), rows.list.shown(), rows.list.len(), rows.catalogue.len())
            };
            let mut model = arranged(&PIDS);
            leave(&mut model, pid);
            refresh(&mut model);
            let others: Vec<u32> = PIDS.into_iter().filter(|other| *other != pid).collect();
            assert_eq!(numbers(&model), numbers(&arranged(&others)), "{arrangement:?}, without {pid}");
            check(&model);
        }
    }
}

/// The selected row stays selected, of whichever process it is, even when one process after another leaves.
#[test]
fn selected_row_stays_selected_and_can_be_turned() {
    for leaving in [&[1][..], &[1, 2], &[2, 1], &[3, 1]] {
        let mut model = fleet(&[1, 2, 3, 4], SortKey::Name);
        let row = list(&model).row_at(7).expect("a row");
        model.change_list(|list| list.click(row, SelectionMode::Replace));
        let selected = |model: &Model| {
            let targets: Vec<_> = list(model).targets().iter().collect();
            let name = |method: &MethodIx| list(model).catalogue.full_name(*method).text;
            (
                targets.iter().map(name).collect::<Vec<_>>(),
                list(model).row_at(7).map(|row| name_of(model, row)),
            )
        };
        let before = selected(&model);
        assert_eq!(before.0.len(), 1);
        for pid in leaving {
            leave(&mut model, *pid);
            assert_eq!(selected(&model), before, "{leaving:?}");
            drop(model.refresh(now(2_000)));
            assert_eq!(selected(&model), before, "{leaving:?}");
        }
        let later = frames(&mut model, |model| selected(model));
        assert!(later.into_iter().all(|now| now == before), "{leaving:?}");
        check(&model);
    }
}

fn name_of(model: &Model, row: Node) -> String {
    match row {
        Node::Method(method) => list(model).catalogue.full_name(method).text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn answers_a_gesture_while_a_process_leaves() {
    let by_name = |model: &mut Model| {
        model.change_list(|list| list.set_sort(Sort { key: SortKey::Name, descending: false }));
    };
    let mut still = fleet(&PIDS, SortKey::Calls);
    by_name(&mut still);
    refresh(&mut still);
    let mut model = fleet(&PIDS, SortKey::Calls);
    leave(&mut model, 1);
    drop(model.refresh(now(2_000)));
    by_name(&mut model);
    drop(model.refresh_after_gesture(now(2_001)));
    assert_eq!(names(&model), names(&still));
    refresh(&mut model);
    check(&model);
}

#[test]
fn process_chosen_again_while_it_leaves_is_back() {
    let mut model = fleet(&PIDS, SortKey::Calls);
    let before = contents(&model);
    leave(&mut model, 1);
    drop(model.refresh(now(2_000)));
    leave(&mut model, 1);
    refresh(&mut model);
    assert_eq!(contents(&model), before);
    assert_eq!(list(&model).catalogue.len(), 3 * METHODS);
    check(&model);
}
