//! Tests rows that several processes share, and their selection in every arrangement.

use super::*;
use crate::catalogue::copies::tests::{Row, copy, made};
use crate::fixtures::{facts, now};
use crate::ids::{ConnectionId, MethodIx};
use crate::list::{Filter, Sort, SortKey};
use crate::process_choice::Arrangement;
use crate::selection::SelectionMode;
use crate::update::{ConnectionUpdate, Update};
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::order::TimeOptions;
use redial_protocol::state::CopyState;

const SHOP: [Row; 2] =
    [("Shop.Cart", "Add", "(int)", 0x0600_0001), ("Shop.Cart", "Clear", "()", 0x0600_0002)];
const EXTRA: [Row; 1] = [("Alpha.One", "Go", "()", 0x0600_0001)];
const LATER: [Row; 1] = [("Zeta.Two", "Run", "()", 0x0600_0001)];
const NAMES: [&str; 4] =
    ["Extra!Alpha.One.Go()", "Shop!Shop.Cart.Add(int)", "Shop!Shop.Cart.Clear()", "Later!Zeta.Two.Run()"];

const FIRST: ConnectionId = ConnectionId(1);
const SECOND: ConnectionId = ConnectionId(2);

fn refresh(model: &mut Model) {
    // Modules are imported in one frame and sorted in another.
    (0..8).for_each(|frame| drop(model.refresh(now(1_000 + frame * 200))));
}

/// Two processes with `Shop`, each with a module that the other lacks, before and after it in name order.
fn two(arrangement: Arrangement) -> Model {
    let first = [(copy(1, "Extra", "extra", &[1]), &EXTRA[..]), (copy(2, "Shop", "shop", &[1]), &SHOP[..])];
    let second = [(copy(3, "Shop", "shop", &[1]), &SHOP[..]), (copy(4, "Later", "later", &[1]), &LATER[..])];
    let mut model = Model::default();
    model.choose_more([1, 2].map(|pid| ProcessKey { pid, start: 1 }));
    model.arrange(arrangement);
    drop(model.look_at_chosen(|_, _| "shop".to_owned(), now(0)));
    for (id, modules) in [(FIRST, &first), (SECOND, &second)] {
        model.apply(Update::Connection(id, vec![ConnectionUpdate::Connected(Box::new(facts()))]), now(0));
        let connection = model.connections.get_mut(&id).expect("it was chosen");
        connection.table.catalogue = made(&["clrhost"], modules);
        connection.table.live.place(&connection.table.catalogue);
    }
    model.show_beside(&[FIRST, SECOND]);
    refresh(&mut model);
    model
}

fn arrange(model: &mut Model, arrangement: Arrangement) {
    model.arrange(arrangement);
    drop(model.look_at_chosen(|_, _| "shop".to_owned(), now(1_000)));
    model.forget_selections();
    refresh(model);
}

/// A process's entry in each row, by name.
fn pane(model: &Model, id: ConnectionId) -> Vec<Option<String>> {
    let lines = model.lines(id.into()).expect("it is there");
    let name = |node| match node {
        Node::Method(method) => lines.own.table().catalogue.full_name(method).text,
        group => lines.own.table().catalogue.label(group).to_owned(),
    };
    (0..lines.len()).map(|place| lines.at(place).expect("a row").node.map(name)).collect()
}

fn names(pane: &[Option<String>]) -> Vec<&str> {
    pane.iter().map(|name| name.as_deref().unwrap_or("-")).collect()
}

/// The method with a name in the list on screen.
fn row(model: &Model, name: &str) -> Node {
    let catalogue = &model.list().expect("a list").catalogue;
    let all = (0..catalogue.len() as u32).map(MethodIx);
    let found = all.filter(|method| catalogue.row_method(*method) == *method);
    Node::Method(found.into_iter().find(|method| catalogue.full_name(*method).text == name).expect(name))
}

fn pick(model: &mut Model, name: &str, mode: SelectionMode) {
    let node = row(model, name);
    model.change_list(|list| list.click(node, mode));
}

/// The methods of a process that a change would concern, by name.
fn selected(model: &Model, id: impl Into<SubjectId>) -> Vec<String> {
    let table = model.subject(id.into()).expect("it is there").table();
    let copy = |method| {
        let place = table.catalogue.place(table.catalogue.module_of(method));
        let place = place.filter(|_| !table.catalogue.is_merged());
        table.catalogue.full_name(method).text + &place.map_or(String::new(), |place| format!(" {place}"))
    };
    table.targets().iter().map(copy).collect()
}

#[test]
fn columns_share_rows_and_have_blanks() {
    let mut model = two(Arrangement::SideBySide);
    let [go, add, clear, run] = NAMES;
    assert_eq!(names(&pane(&model, FIRST)), [go, add, clear, "-"]);
    assert_eq!(names(&pane(&model, SECOND)), ["-", add, clear, run]);
    model.change_list(|list| list.set_sort(Sort { key: SortKey::Name, descending: true }));
    refresh(&mut model);
    assert_eq!(names(&pane(&model, SECOND)), [run, clear, add, "-"]);
    let filter = Filter { text: "cart".into(), ..Filter::default() };
    model.change_list(|list| list.set_filter(filter.clone()));
    refresh(&mut model);
    for id in [FIRST, SECOND] {
        assert_eq!(names(&pane(&model, id)), [clear, add]);
        let own = &model.connections[&id].table.list;
        assert_eq!((own.filter(), own.shown()), (&filter, 2), "knobs and names use the filter, too");
    }
}

#[test]
fn blanks_have_reasons() {
    let mut model = two(Arrangement::SideBySide);
    let lack = |model: &Model, id: ConnectionId| model.lines(id.into()).expect("it is there").lack();
    assert_eq!([FIRST, SECOND].map(|id| lack(&model, id)), [MissingReason::Unloaded; 2]);
    let connection = model.connections.get_mut(&FIRST).expect("it was chosen");
    connection.table.catalogue.unload(&[copy(1, "Extra", "extra", &[1]).key]);
    assert_eq!([FIRST, SECOND].map(|id| lack(&model, id)), [MissingReason::Unread, MissingReason::Unloaded]);
    refresh(&mut model);
    assert_eq!(lack(&model, FIRST), MissingReason::Unloaded);
    let connection = model.connections.get_mut(&FIRST).expect("it was chosen");
    connection.table.catalogue = Default::default();
    refresh(&mut model);
    assert_eq!(lack(&model, FIRST), MissingReason::Unread, "its catalogue is still loading");
    assert_eq!(
        MissingReason::Unread.sentence("shop", "A.B"),
        "shop may have A.B; its methods are still loading"
    );
}

#[test]
fn shared_rows_sort_by_sums() {
    let mut model = two(Arrangement::SideBySide);
    let calls = |model: &mut Model, id, name: &str, number, calls| {
        let catalogue = &model.connections[&id].table.catalogue;
        let mut methods = (0..catalogue.len() as u32).map(MethodIx);
        let method = methods.find(|method| catalogue.full_name(*method).text == name).expect("a method");
        let row = StatusRow {
            row: RowId(number),
            copy: catalogue.copy_of(method).expect("a copy"),
            method: name.to_owned(),
            signature: String::new(),
            module: "Shop".into(),
            domain: "clrhost".into(),
            wanted: Level::Count,
            state: CopyState::Live,
            version: Some(1),
            instances: Vec::new(),
            note: None,
            times_note: None,
            options: TimeOptions::default(),
            calls,
        };
        let rows = ConnectionUpdate::Event(Event::Rows { id: None, rows: vec![row] });
        model.apply(Update::Connection(id, vec![rows]), now(1_000));
    };
    let [go, add, clear, run] = NAMES;
    calls(&mut model, FIRST, add, 1, 50);
    calls(&mut model, FIRST, clear, 2, 40);
    calls(&mut model, SECOND, clear, 1, 20);
    model.change_list(|list| list.set_sort(Sort { key: SortKey::Calls, descending: true }));
    refresh(&mut model);
    assert_eq!(names(&pane(&model, FIRST)), [clear, add, go, "-"], "60 and 50");
    assert_eq!(names(&pane(&model, SECOND)), [clear, add, "-", run]);
}

#[test]
fn trees_are_aligned_too() {
    let mut model = two(Arrangement::SideBySide);
    model.change_list(|list| list.shape = Shape::Tree);
    refresh(&mut model);
    for _ in 0..4 {
        let list = model.list().expect("a list");
        let closed = list.tree.rows().iter().filter(|row| !row.expanded);
        let closed: Vec<Node> = closed.map(|row| row.node).collect();
        model.change_list(|list| closed.into_iter().for_each(|node| list.tree.set_expanded(node, true)));
        refresh(&mut model);
    }
    let [go, add, clear, run] = NAMES;
    let shop = ["Shop", "Shop", "Cart", add, clear];
    let first = pane(&model, FIRST);
    assert_eq!(names(&first)[..5], ["clrhost", "Extra", "Alpha", "One", go]);
    assert_eq!(names(&first)[5..], [&["-"; 4][..], &shop].concat());
    let second = pane(&model, SECOND);
    assert_eq!(names(&second), [&["clrhost"][..], &["-"; 4], &["Later", "Zeta", "Two", run], &shop].concat());
    let root = model.lines(SECOND.into()).and_then(|lines| lines.at(0)).expect("the root");
    assert_eq!((root.methods, root.depth, root.expanded), (3, 0, true), "only its own methods");
}

#[test]
fn a_selection_applies_to_each_process_at_once() {
    let mut model = two(Arrangement::SideBySide);
    let [go, add, clear, run] = NAMES;
    pick(&mut model, add, SelectionMode::Replace);
    assert_eq!((selected(&model, FIRST), selected(&model, SECOND)), (vec![add.into()], vec![add.into()]));
    pick(&mut model, go, SelectionMode::Replace);
    assert_eq!((selected(&model, FIRST), selected(&model, SECOND)), (vec![go.to_owned()], vec![]));
    let lacks = |model: &Model, id: ConnectionId| model.lines(id.into()).expect("a pane").lacks_selection();
    assert_eq!((lacks(&model, FIRST), lacks(&model, SECOND)), (false, true));
    // A step continues from a blank like from any other row.
    model.focus(SECOND);
    model.change_list(|list| list.step(1, true));
    assert_eq!(
        (selected(&model, FIRST), selected(&model, SECOND)),
        (vec![go.into(), add.into()], vec![add.into()])
    );
    model.change_list(MethodTable::select_all);
    assert_eq!(selected(&model, SECOND), [add, clear, run]);
    model.change_list(|list| list.selection.clear());
    assert_eq!(selected(&model, SECOND), [] as [String; 0]);
}

#[test]
fn rows_stay_aligned_when_modules_come_and_go() {
    let mut model = two(Arrangement::SideBySide);
    let [go, add, clear, run] = NAMES;
    pick(&mut model, add, SelectionMode::Replace);
    let first = model.connections.get_mut(&FIRST).expect("a process");
    let extra = first.table.catalogue.modules()[0].key;
    drop(first.table.forget(&[extra]));
    refresh(&mut model);
    assert_eq!(names(&pane(&model, FIRST)), [add, clear, "-"]);
    assert_eq!(names(&pane(&model, SECOND)), [add, clear, run]);
    assert_eq!(selected(&model, FIRST), [add], "although its number has changed");
    // A file that only the other process had before.
    let later = [(copy(7, "Shop", "shop", &[1]), &SHOP[..]), (copy(8, "Later", "later", &[1]), &LATER[..])];
    let first = model.connections.get_mut(&FIRST).expect("a process");
    first.table.catalogue = made(&["clrhost"], &later);
    first.table.numbering += 1;
    refresh(&mut model);
    assert_eq!(names(&pane(&model, FIRST)), [add, clear, run]);
    assert!(!pane(&model, SECOND).contains(&Some(go.to_owned())));
}

#[test]
fn copies_in_one_process_are_one_row_there() {
    let mut model = two(Arrangement::SideBySide);
    let own = |index, domain| (copy(index, "Shop", "shop", &[domain]), &SHOP[..]);
    let first = model.connections.get_mut(&FIRST).expect("a process");
    first.table.catalogue = made(&["One", "Two"], &[own(5, 1), own(6, 2)]);
    first.table.numbering += 1;
    refresh(&mut model);
    let [_, add, clear, _] = NAMES;
    assert_eq!(names(&pane(&model, FIRST)), [add, clear, "-"]);
    pick(&mut model, add, SelectionMode::Replace);
    let first = &model.connections[&FIRST];
    assert_eq!(first.table.turned_by_selection().methods.len(), 2, "its dial applies to both");
}

#[test]
fn the_selection_survives_every_arrangement() {
    let [go, add, ..] = NAMES;
    let both = [format!("{add} in shop (1)"), format!("{add} in shop (2)")];
    let mut model = two(Arrangement::Merged);
    pick(&mut model, add, SelectionMode::Replace);
    arrange(&mut model, Arrangement::Separate);
    assert_eq!(selected(&model, SubjectId::Fleet), both, "a merged row represents all of them");
    arrange(&mut model, Arrangement::Merged);
    assert_eq!(selected(&model, SubjectId::Fleet), [add]);
    assert_eq!(model.list().and_then(MethodTable::focus_place), Some(1), "keys continue from there");
    arrange(&mut model, Arrangement::SideBySide);
    assert_eq!((selected(&model, FIRST), selected(&model, SECOND)), (vec![add.into()], vec![add.into()]));
    // Side by side, keys act on one of them.
    model.focus(SECOND);
    arrange(&mut model, Arrangement::Separate);
    assert_eq!(selected(&model, SubjectId::Fleet), both[1..]);
    arrange(&mut model, Arrangement::SideBySide);
    assert_eq!((model.current, selected(&model, SECOND)), (Some(SECOND.into()), vec![add.to_owned()]));
    // A selected row that is blank in the focused process is selected where it exists.
    pick(&mut model, go, SelectionMode::Replace);
    arrange(&mut model, Arrangement::Separate);
    assert_eq!(selected(&model, SubjectId::Fleet), [go]);
    arrange(&mut model, Arrangement::SideBySide);
    assert_eq!(model.current, Some(FIRST.into()), "a process that has it is shown");
    arrange(&mut model, Arrangement::Merged);
    assert_eq!(selected(&model, SubjectId::Fleet), [go]);
    assert_eq!(selected(&model, FIRST), [] as [String; 0], "keys act on what is shown");
}

#[test]
fn selected_groups_survive_every_arrangement() {
    let mut model = two(Arrangement::Merged);
    model.change_list(|list| list.shape = Shape::Tree);
    refresh(&mut model);
    let root = model.list().and_then(|list| list.row_at(0)).expect("a root");
    model.change_list(|list| list.click(root, SelectionMode::Replace));
    let all = selected(&model, SubjectId::Fleet);
    assert_eq!(all.len(), 4);
    arrange(&mut model, Arrangement::Separate);
    let selection = &model.fleet().expect("several").table.selection;
    assert!(selection.contains(Node::Domain(0)) && selection.contains(Node::Domain(1)));
    assert_eq!(selected(&model, SubjectId::Fleet).len(), 6, "one per process");
    arrange(&mut model, Arrangement::SideBySide);
    assert_eq!((selected(&model, FIRST).len(), selected(&model, SECOND).len()), (3, 3));
    arrange(&mut model, Arrangement::Merged);
    assert_eq!(selected(&model, SubjectId::Fleet), all);
}

#[test]
fn a_leaving_process_without_modules_leaves_no_work() {
    let mut model = two(Arrangement::Merged);
    let silent = ProcessKey { pid: 3, start: 1 };
    model.choose_more([silent]);
    drop(model.look_at_chosen(|_, _| "silent".to_owned(), now(3_000)));
    refresh(&mut model);
    let there = |model: &Model| model.list().expect("a list").catalogue.running_domains();
    assert_eq!(there(&model), 3);
    model.choose(silent, SelectionMode::Toggle);
    drop(model.look_at_chosen(|_, _| "silent".to_owned(), now(4_000)));
    (0..3).for_each(|_| drop(model.refresh(now(9_000))));
    let edition = model.list().expect("a list").catalogue.edition();
    assert!(!model.refresh(now(9_000)).more, "frames are requested although nothing happens");
    assert_eq!((there(&model), model.list().expect("a list").catalogue.edition()), (2, edition));
}
