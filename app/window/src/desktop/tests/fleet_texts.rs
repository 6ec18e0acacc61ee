//! Tests of texts about several processes: the remaining ones, and the processes behind rows and log lines.

use super::fixture::{
    SHOP, catalogue, choose_shops, crowd, execute, feed, look_at_shop, look_at_shops, shop, shops, still,
    window, window_of,
};
use super::fleet::{ADD, copies_of_add, deliver_to, logged, merged, parts, rows, turn_add, value};
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::desktop::app::Drained;
use crate::desktop::frame_budget::{FrameBudget, OtherWork};
use eframe::egui::accesskit::Toggled;
use eframe::egui::{self, Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::fixtures::facts;
use redial_model::ids::{ConnectionId, MethodIx, Node, TypeIx};
use redial_model::log::LogKind;
use redial_model::process_choice::Arrangement;
use redial_model::processes::AgentState;
use redial_model::selection::SelectionMode;
use redial_model::subject::Subject;
use redial_model::tree::TreeRow;
use redial_model::update::{ConnectionUpdate, Retry, Update};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Holder};
use redial_protocol::report::PlanReport;
use redial_protocol::state::CopyState;
use std::time::Duration;

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn ends(harness: &mut Harness<'static, App>, id: u32, pid: u32) {
    let why = format!("process {pid} has ended");
    deliver_to(harness, id, vec![ConnectionUpdate::Lost { why, retry: Retry::Never }]);
}

/// Returns the processes shown side by side.
fn panes(harness: &Harness<'static, App>) -> Vec<String> {
    let heads = harness.query_all_by_label_contains("Show Shop.dll");
    let mut heads: Vec<_> =
        heads.map(|node| (node.rect().left(), node.accesskit_node().label().unwrap_or_default())).collect();
    heads.sort_by(|one, other| one.0.total_cmp(&other.0));
    heads.into_iter().map(|(_, label)| label).collect()
}

#[test]
fn ended_processes_are_a_number_with_details() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for (id, calls) in [(1, 100), (2, 20), (3, 3)] {
        rows(&mut harness, id, CopyState::Live, calls);
    }
    ends(&mut harness, 1, 4242);
    harness.get_by_label("2 processes");
    assert!(shows(&harness, "All dials off in 2 processes"), "only running ones");
    assert_eq!(value(&harness, ADD), "2 of 2 live, 123 calls");
    assert!(!shows(&harness, "Shop.dll (4242): it has ended"), "it takes no line above the list");
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    assert_eq!(panes(&harness), ["Show Shop.dll (4243)", "Show Shop.dll (4244)"]);
    assert_eq!(harness.state().model.current, Some(ConnectionId(2).into()), "a visible one");
    execute(&mut harness, UiCommand::Arrange(Arrangement::Separate));
    assert_eq!(
        harness.query_all_by_label_contains(&format!("{ADD} in Shop.dll")).count(),
        2 * 2,
        "row, dial"
    );
    execute(&mut harness, UiCommand::Arrange(Arrangement::Merged));
    harness.get_by_label("1 ended").click();
    harness.run_steps(3);
    harness.get_by_label("Shop.dll (4242)");
    harness.get_by_label("100 calls of 1 dialled method");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(!shows(&harness, "100 calls of"));
    execute(&mut harness, UiCommand::DropEnded);
    assert_eq!(value(&harness, ADD), "2 of 2 live, 23 calls");
    // If all have ended, their numbers are still visible.
    for (id, pid) in [(2, 4243), (3, 4244)] {
        ends(&mut harness, id, pid);
    }
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    assert_eq!(panes(&harness).len(), 2);
}

/// Numbers in one panel must add up.
#[test]
fn ended_processes_are_counted_separately() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        rows(&mut harness, id, CopyState::Live, 1_000);
    }
    execute(&mut harness, UiCommand::SelectAll);
    ends(&mut harness, 1, 4242);
    assert!(shows(&harness, "10 methods in 2 processes") && shows(&harness, "20 copies change together"));
    let labels =
        [("Set to off", "14"), ("Set to count", "2"), ("Without a body", "4"), ("In ended processes", "10")];
    for (name, number) in labels {
        let line = harness.get_by_label(name).rect();
        let mut numbers = harness.query_all_by_label(number);
        let beside =
            |rect: egui::Rect| (rect.center().y - line.center().y).abs() < 4.0 && rect.left() > line.right();
        assert!(numbers.any(|node| beside(node.rect())), "{name}: {number}");
    }
    assert!(shows(&harness, "3,000"), "the sum includes its calls");
}

#[test]
fn open_last_numbers_include_newly_ended_processes() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for (id, calls) in [(1, 100), (2, 20), (3, 3)] {
        rows(&mut harness, id, CopyState::Live, calls);
    }
    ends(&mut harness, 2, 4243);
    harness.get_by_label("1 ended").click();
    harness.run_steps(3);
    harness.get_by_label("20 calls of 1 dialled method");
    assert!(!shows(&harness, "100 calls of"));
    ends(&mut harness, 1, 4242);
    harness.get_by_label("20 calls of 1 dialled method");
    harness.get_by_label("100 calls of 1 dialled method");
}

#[test]
fn keeps_few_ended_processes_and_logs_removed_ones() {
    let mut harness = window(Theme::Dark);
    let mut found = shops();
    let base = found.changed[0].clone();
    found.changed.truncate(1);
    let pids: Vec<u32> = (5001..=5010).collect();
    found.changed.extend(pids.iter().map(|pid| {
        let mut row = base.clone();
        row.key.pid = *pid;
        row
    }));
    feed(&mut harness, vec![Update::Processes(found)]);
    execute(&mut harness, UiCommand::ChooseNamed("Shop.dll".into()));
    execute(&mut harness, UiCommand::Follow);
    for (id, pid) in (2..).zip(&pids) {
        ends(&mut harness, id, *pid);
    }
    harness.get_by_label("10 ended");
    let mut later = shops();
    later.changed.truncate(1);
    later.changed[0].key.pid = 6000;
    feed(&mut harness, vec![Update::Processes(later)]);
    harness.get_by_label("8 ended");
    let notices = logged(&harness, LogKind::Notice);
    let text =
        "Shop.dll (5001) and Shop.dll (5002) ended before others and left the list with their last numbers";
    assert!(notices.iter().any(|line| line == text), "{notices:?}");
}

/// The buttons show the arrangement, and rows of one method are adjacent.
#[test]
fn rows_of_one_method_are_adjacent_per_process() {
    let mut harness = look_at_shops(window(Theme::Dark));
    let chosen = |harness: &Harness<'static, App>| {
        let is_on =
            |name: &&str| harness.get_by_label(name).accesskit_node().toggled() == Some(Toggled::True);
        ["Merged", "Per process", "Side by side"].into_iter().filter(is_on).collect::<Vec<_>>()
    };
    assert_eq!(chosen(&harness), ["Merged"]);
    execute(&mut harness, UiCommand::MergeCopies);
    assert_eq!(chosen(&harness), ["Per process"]);
    let all = merged(&harness);
    let name = |method: MethodIx| all.catalogue.full_name(method).text;
    let shown: Vec<MethodIx> = (0..all.list.len()).filter_map(|place| all.list.at(place)).collect();
    assert_eq!(shown.len(), 30);
    for three in shown.chunks(3) {
        assert!(three.iter().all(|method| name(*method) == name(three[0])), "{}", name(three[0]));
        let modules: Vec<_> = three.iter().map(|method| all.catalogue.module_of(*method)).collect();
        assert!(modules.is_sorted() && modules[0] < modules[2], "in the order of the processes");
    }
    let places = shown.iter().map(|method| all.list.position(*method, &all.catalogue));
    assert!(places.eq((0..30).map(Some)), "each is found at its position");
    assert_eq!(all.catalogue.short_place(&all.catalogue.modules()[0]), "4242", "they all have the same name");
    harness.get_by_label("Side by side").click();
    harness.run_steps(3);
    assert_eq!(chosen(&harness), ["Side by side"]);
    harness.get_by_label("Merged").click();
    harness.run_steps(3);
    assert_eq!((chosen(&harness), merged(&harness).list.len()), (vec!["Merged"], 10));
}

#[test]
fn totals_name_their_scope() {
    let mut harness = look_at_shops(window(Theme::Dark));
    harness.get_by_label("10 of 13 methods in 3 processes");
    execute(&mut harness, UiCommand::Arrange(Arrangement::Separate));
    harness.get_by_label("30 of 39 methods in 3 processes");
    execute(&mut harness, UiCommand::HideFramework);
    harness.get_by_label("39 methods in 3 processes");
}

#[test]
fn log_lines_name_their_process() {
    let mut harness = look_at_shops(window(Theme::Dark));
    let holder = Holder { pid: 977, program: "redial dial".into() };
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::Event(Event::Control(Some(holder)))]);
    deliver_to(&mut harness, 3, vec![ConnectionUpdate::Event(Event::Goodbye { missed_deadlines: 0 })]);
    ends(&mut harness, 3, 4244);
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::Notice("mind the gap".into())]);
    let lines = logged(&harness, LogKind::Connection);
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "Shop.dll (4243): control: redial dial (pid 977)",
            "Shop.dll (4244): the process is ending; these are its last numbers",
            "Shop.dll (4244) has ended",
        ]
    );
    assert!(lines.iter().any(|line| line.starts_with("connected to Shop.dll (pid 4243), ")), "{lines:?}");
    assert_eq!(logged(&harness, LogKind::Notice), ["Shop.dll (4243): mind the gap"]);
    // Side by side, a dial and its log lines belong to one process.
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    execute(&mut harness, UiCommand::Focus(ConnectionId(2)));
    let node = harness.state().model.list().expect("rows").row_at(0).expect("a row");
    execute(&mut harness, UiCommand::Pick(node, SelectionMode::Replace));
    execute(&mut harness, UiCommand::TurnUp);
    let requests = logged(&harness, LogKind::Request);
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(request.starts_with("Shop.dll (4243): count on Shop!"), "{request}");
    // A single process needs no name.
    execute(&mut harness, UiCommand::Select(SHOP));
    deliver_to(&mut harness, 1, vec![ConnectionUpdate::Notice("mind it too".into())]);
    assert_eq!(logged(&harness, LogKind::Notice).last().map(String::as_str), Some("mind it too"));
}

#[test]
fn side_by_side_order_matches_the_process_list() {
    let mut harness = window_of(Theme::Dark, [1_000.0, 720.0]);
    feed(&mut harness, vec![Update::Processes(shops())]);
    for pid in [4244, 4242, 4243] {
        execute(&mut harness, UiCommand::Choose(shop(pid), SelectionMode::Toggle));
    }
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    assert_eq!(panes(&harness), ["Show Shop.dll (4242)", "Show Shop.dll (4243)"]);
    let current =
        |harness: &Harness<'static, App>| harness.state().model.current_process().expect("one").process.pid;
    assert_eq!(current(&harness), 4242, "4244 was selected first, but is not visible");
    harness.get_by_label("Next ▶").click();
    harness.run_steps(3);
    assert_eq!(panes(&harness), ["Show Shop.dll (4243)", "Show Shop.dll (4244)"]);
    assert_eq!(current(&harness), 4243);
}

#[test]
fn nothing_moves_when_namesakes_are_offered() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(shops())]);
    let first = "Shop.dll 4242, .NET 8.0.31 · www, agent loaded";
    let place = |harness: &Harness<'static, App>| harness.get_by_label(first).rect();
    let before = place(&harness);
    harness.get_by_label("Select all 4 processes named Shop.dll");
    harness.get_by_label(first).click();
    harness.run_steps(3);
    assert_eq!(place(&harness), before);
    harness.get_by_label("Select all 4 processes named Shop.dll").click();
    harness.run_steps(3);
    assert!(!shows(&harness, "Select all"), "all are selected");
    assert_eq!((place(&harness), harness.state().model.chosen().len()), (before, 4));
}

#[test]
fn large_change_does_not_wait_for_ended_processes() {
    let mut harness = look_at_shops(window_of(Theme::Dark, [1180.0, 900.0]));
    crowd(&mut harness, 2_000);
    execute(&mut harness, UiCommand::SelectAll);
    harness.key_press(Key::Space);
    harness.run_steps(3);
    let asked = harness.state().dialogs.confirm.as_ref().expect("a question").plan.asked.clone();
    for (id, ticket) in &asked[..2] {
        let plan = PlanReport { matched: 10, to_request: 8, ..PlanReport::default() };
        deliver_to(&mut harness, id.0, vec![ConnectionUpdate::Plan(*ticket, Ok(Box::new(plan)))]);
    }
    assert!(shows(&harness, ": 2 have answered"));
    ends(&mut harness, 3, 4244);
    assert!(shows(&harness, "The agent in Shop.dll (4244) has no further details: it has ended."));
    assert!(shows(&harness, "20 copies matched, according to 2 agents"));
}

#[test]
fn large_change_asks_every_agent() {
    let mut harness = look_at_shops(window_of(Theme::Dark, [1180.0, 900.0]));
    crowd(&mut harness, 2_000);
    execute(&mut harness, UiCommand::SelectAll);
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert!(shows(&harness, "Waiting for the plans of 3 agents: 0 have answered"));
    let asked = harness.state().dialogs.confirm.as_ref().expect("a question").plan.asked.clone();
    assert_eq!(asked.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 2, 3]);
    let plan =
        |matched, to_request| PlanReport { matched, to_request, expected_us: 1_000, ..PlanReport::default() };
    deliver_to(&mut harness, 1, vec![ConnectionUpdate::Plan(asked[0].1, Ok(Box::new(plan(2_010, 2_008))))]);
    assert!(shows(&harness, ": 1 has answered"));
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::Plan(asked[1].1, Ok(Box::new(plan(10, 8))))]);
    deliver_to(&mut harness, 3, vec![ConnectionUpdate::Plan(asked[2].1, Err("it is busy".into()))]);
    for part in [
        "2,020 copies matched, according to 2 agents",
        "2,016 will be recompiled",
        "The agent in Shop.dll (4244) has no further details: it is busy.",
    ] {
        assert!(shows(&harness, part), "{part}");
    }
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert_eq!(parts(&harness).len(), 3);
}

/// Redial loads nothing into a process unasked; it reports once that the process does not join, and what to
/// do.
#[test]
fn processes_without_agent_are_reported_once() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    execute(&mut harness, UiCommand::Follow);
    let mut later = shops();
    later.changed.truncate(1);
    later.changed[0].key.pid = 5000;
    later.changed[0].agent = AgentState::Attachable;
    feed(&mut harness, vec![Update::Processes(later.clone())]);
    assert!(!shows(&harness, "Shop.dll (5000)"), "it may only just have started");
    let pass = |harness: &mut Harness<'static, App>, seconds| {
        let now = harness.state().now();
        let later =
            redial_model::update::Now { mono: now.mono + std::time::Duration::from_secs(seconds), ..now };
        harness.state_mut().clock = crate::desktop::Clock::Stands(later);
        harness.run_steps(3);
    };
    pass(&mut harness, 4);
    pass(&mut harness, 4);
    let shown_text: Vec<String> = logged(&harness, LogKind::Notice)
        .into_iter()
        .filter(|line| line.starts_with("Shop.dll (5000) "))
        .collect();
    assert!(shown_text.len() == 1 && shown_text[0].contains("Load the agent into them"), "{shown_text:?}");
    assert!(shows(&harness, "Shop.dll (5000): started without the agent"));
    // Its own checkbox, or the one for all, makes it join.
    execute(&mut harness, UiCommand::FollowAttach);
    assert!(!shows(&harness, "Shop.dll (5000): started without the agent"));
    assert!(harness.state().model.chosen().iter().any(|key| key.pid == 5000));
}

#[test]
fn repeated_attach_failure_is_logged_once() {
    let mut harness = window(Theme::Dark);
    choose_shops(&mut harness);
    for why in ["no room", "no room", "no library"] {
        deliver_to(
            &mut harness,
            2,
            vec![ConnectionUpdate::Attaching, ConnectionUpdate::NotAttached(why.into())],
        );
    }
    assert_eq!(
        logged(&harness, LogKind::Failure),
        [
            "Shop.dll (4243): the agent was not loaded: no room",
            "Shop.dll (4243): the agent was not loaded: no library"
        ]
    );
}

#[test]
fn selection_and_expansion_survive_joining_processes() {
    let mut harness = look_at_shop(window(Theme::Dark));
    feed(&mut harness, vec![Update::Processes(shops())]);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::Tree);
    let alone = &mut harness.state_mut().model.current_process_mut().expect("a current process").table;
    let type_of = TypeIx(1);
    alone
        .tree
        .reveal(Node::Method(MethodIx(alone.catalogue.methods_of_type(type_of).start)), &alone.catalogue);
    let named = alone.catalogue.type_text(type_of).to_owned();
    execute(&mut harness, UiCommand::Choose(shop(4243), SelectionMode::Toggle));
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    deliver_to(&mut harness, 2, catalogue());
    harness.run_steps(8);
    let all = merged(&harness);
    let Some(Node::Method(picked)) = all.selection.focus() else { panic!("nothing is picked") };
    assert_eq!((all.catalogue.full_name(picked).text.as_str(), all.selection.len()), (ADD, 1));
    let is_type = |row: &TreeRow| match row.node {
        Node::Type(owner) => row.expanded && all.catalogue.type_text(owner) == named,
        _ => false,
    };
    assert!(all.tree.rows().iter().any(is_type), "{:?}", all.tree.rows());
    execute(&mut harness, UiCommand::Choose(shop(4244), SelectionMode::Toggle));
    harness.run_steps(8);
    assert_eq!(merged(&harness).selection.len(), 1, "also when a third one does");
    execute(&mut harness, UiCommand::Select(shop(4243)));
    let alone = harness.state().model.current_process().expect("a current process");
    let Some(Node::Method(picked)) = alone.table.selection.focus() else { panic!("nothing is picked") };
    assert_eq!((alone.process.pid, alone.table.catalogue.full_name(picked).text.as_str()), (4243, ADD));
}

#[test]
fn each_process_offers_its_agents_levels() {
    let mut harness = look_at_shops(window(Theme::Dark));
    let mut able = facts();
    able.levels = vec![Level::Off, Level::Count, Level::Time];
    for id in [1, 3] {
        let mut capped = facts();
        capped.levels = vec![Level::Off, Level::Count];
        deliver_to(&mut harness, id, vec![ConnectionUpdate::Connected(Box::new(capped))]);
    }
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::Connected(Box::new(able))]);
    let fleet = Subject::Fleet(harness.state().model.fleet().expect("several"));
    assert!(fleet.offered().contains(&Level::Time), "one of them does");
    let of = |copy: &MethodIx| fleet.offered_to(*copy).contains(&Level::Time);
    assert_eq!(copies_of_add(fleet.table()).iter().filter(of).count(), 1);
    execute(&mut harness, UiCommand::Arrange(Arrangement::Separate));
    let fleet = Subject::Fleet(harness.state().model.fleet().expect("several"));
    let all = fleet.table();
    let rows = (0..all.list.len()).filter_map(|place| all.list.at(place));
    let add = rows.filter(|method| all.catalogue.full_name(*method).text == ADD);
    let offers: Vec<bool> =
        add.map(|row| fleet.offered_at(Node::Method(row)).contains(&Level::Time)).collect();
    assert_eq!(offers.iter().filter(|offers| **offers).count(), 1, "{offers:?}");
    assert_eq!(offers.len(), 3);
}

#[test]
fn methods_stay_visible_after_all_off() {
    let mut harness = look_at_shops(window(Theme::Dark));
    (1..=3).for_each(|id| rows(&mut harness, id, CopyState::Live, 10));
    execute(&mut harness, UiCommand::OnlyDialled);
    assert!(!merged(&harness).list.filter().off_again);
    execute(&mut harness, UiCommand::AllOff);
    let filter = merged(&harness).list.filter().clone();
    assert!(filter.only_dialled && filter.off_again);
}

/// After a long merge a frame takes no updates; the next frame is drawn only if there are any.
#[test]
fn long_merge_redraws_only_for_updates() {
    let (sender, updates) = std::sync::mpsc::channel();
    let mut app = App::with_updates(&egui::Context::default(), still(), updates);
    let mut after_a_long_one = || {
        app.pace = FrameBudget::default();
        app.pace.begin();
        app.pace.settled(Duration::from_millis(5));
        app.drain(OtherWork::Merging)
    };
    assert_eq!(after_a_long_one(), Drained::Nothing);
    sender.send(Update::Processes(shops())).expect("the window is there");
    assert_eq!([after_a_long_one(), after_a_long_one()], [Drained::Part; 2]);
    app.pace = FrameBudget::default();
    assert_eq!(app.drain(OtherWork::Merging), Drained::All);
    assert!(app.model.processes.shown().next().is_some(), "the waiting update is applied");
}
