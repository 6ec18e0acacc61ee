//! What the window says of several processes: which are left, what a row is of, whom a line of the log is about.

use super::several::{ADD, copies_of_add, logged, merged, parts, rows, told, turn_add, value};
use super::stage::{
    SHOP, act, catalogue, choose_shops, crowd, feed, look_at_shop, look_at_shops, shop, shops, still, window,
    window_of,
};
use crate::commands::Command;
use crate::desktop::pace::{Besides, Pace};
use crate::desktop::{App, Drained};
use crate::model::connection::Connection;
use crate::model::connection::tests::facts;
use crate::model::ids::{ConnectionId, MethodIx, Node, TypeIx};
use crate::model::log::Kind;
use crate::model::processes::AgentState;
use crate::model::selection::Mode;
use crate::model::several::Arrangement;
use crate::model::tree::TreeRow;
use crate::model::update::{Retry, Told, Update};
use eframe::egui::accesskit::Toggled;
use eframe::egui::{self, Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Holder};
use redial_protocol::report::PlanReport;
use redial_protocol::state::State;
use std::time::Duration;

fn says(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn ends(harness: &mut Harness<'static, App>, id: u32, pid: u32) {
    let why = format!("process {pid} has ended");
    told(harness, id, vec![Told::Lost { why, retry: Retry::Never }]);
}

/// Those that are shown side by side.
fn panes(harness: &Harness<'static, App>) -> Vec<String> {
    let heads = harness.query_all_by_label_contains("look at Shop.dll");
    let mut heads: Vec<_> =
        heads.map(|node| (node.rect().left(), node.accesskit_node().label().unwrap_or_default())).collect();
    heads.sort_by(|one, other| one.0.total_cmp(&other.0));
    heads.into_iter().map(|(_, label)| label).collect()
}

#[test]
fn those_that_have_ended_are_one_number_with_their_last_numbers_behind_it() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for (id, calls) in [(1, 100), (2, 20), (3, 3)] {
        rows(&mut harness, id, State::Live, calls);
    }
    ends(&mut harness, 1, 4242);
    harness.get_by_label("2 processes");
    assert!(says(&harness, "All dials off in 2 processes"), "those that run");
    assert_eq!(value(&harness, ADD), "2 of 2 live, 123 calls");
    assert!(!says(&harness, "Shop.dll (4242): it has ended"), "it takes no line above the list");
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    assert_eq!(panes(&harness), ["look at Shop.dll (4243)", "look at Shop.dll (4244)"]);
    assert_eq!(harness.state().model.current, Some(ConnectionId(2)), "one that is in sight");
    act(&mut harness, Command::Arrange(Arrangement::Apart));
    assert_eq!(
        harness.query_all_by_label_contains(&format!("{ADD} in Shop.dll")).count(),
        2 * 2,
        "row, dial"
    );
    act(&mut harness, Command::Arrange(Arrangement::Merged));
    harness.get_by_label("1 ended").click();
    harness.run_steps(3);
    harness.get_by_label("Shop.dll (4242)");
    harness.get_by_label("100 calls of 1 dialled method");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(!says(&harness, "100 calls of"));
    act(&mut harness, Command::DropEnded);
    assert_eq!(value(&harness, ADD), "2 of 2 live, 23 calls");
    // Where all have ended, what they had is still to be seen.
    for (id, pid) in [(2, 4243), (3, 4244)] {
        ends(&mut harness, id, pid);
    }
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    assert_eq!(panes(&harness).len(), 2);
}

/// Numbers of one panel that do not add up are a riddle.
#[test]
fn what_has_ended_wants_nothing_and_is_counted_apart() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        rows(&mut harness, id, State::Live, 1_000);
    }
    act(&mut harness, Command::SelectAll);
    ends(&mut harness, 1, 4242);
    assert!(says(&harness, "10 methods in 2 processes") && says(&harness, "20 copies turned together"));
    let labels =
        [("want off", "14"), ("want count", "2"), ("without a body", "4"), ("in ended processes", "10")];
    for (name, number) in labels {
        let line = harness.get_by_label(name).rect();
        let mut numbers = harness.query_all_by_label(number);
        let beside =
            |rect: egui::Rect| (rect.center().y - line.center().y).abs() < 4.0 && rect.left() > line.right();
        assert!(numbers.any(|node| beside(node.rect())), "{name}: {number}");
    }
    assert!(says(&harness, "3,000"), "its calls are in the sum");
}

#[test]
fn last_numbers_that_are_open_are_those_of_all_that_have_ended() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for (id, calls) in [(1, 100), (2, 20), (3, 3)] {
        rows(&mut harness, id, State::Live, calls);
    }
    ends(&mut harness, 2, 4243);
    harness.get_by_label("1 ended").click();
    harness.run_steps(3);
    harness.get_by_label("20 calls of 1 dialled method");
    assert!(!says(&harness, "100 calls of"));
    ends(&mut harness, 1, 4242);
    harness.get_by_label("20 calls of 1 dialled method");
    harness.get_by_label("100 calls of 1 dialled method");
}

#[test]
fn only_so_many_that_have_ended_are_kept_and_who_leaves_is_told() {
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
    act(&mut harness, Command::ChooseNamed("Shop.dll".into()));
    act(&mut harness, Command::Follow);
    for (id, pid) in (2..).zip(&pids) {
        ends(&mut harness, id, *pid);
    }
    harness.get_by_label("10 ended");
    let mut later = shops();
    later.changed.truncate(1);
    later.changed[0].key.pid = 6000;
    feed(&mut harness, vec![Update::Processes(later)]);
    harness.get_by_label("8 ended");
    let notices = logged(&harness, Kind::Notice);
    let text =
        "Shop.dll (5001) and Shop.dll (5002) ended before others and left the list, with the last numbers";
    assert!(notices.iter().any(|line| line == text), "{notices:?}");
}

/// The buttons say how the list is, and what belongs together stands together.
#[test]
fn rows_of_one_method_stand_beside_each_other_and_the_button_says_what_they_are() {
    let mut harness = look_at_shops(window(Theme::Dark));
    let chosen = |harness: &Harness<'static, App>| {
        let is_on =
            |name: &&str| harness.get_by_label(name).accesskit_node().toggled() == Some(Toggled::True);
        ["merged", "a row each", "side by side"].into_iter().filter(is_on).collect::<Vec<_>>()
    };
    assert_eq!(chosen(&harness), ["merged"]);
    act(&mut harness, Command::MergeCopies);
    assert_eq!(chosen(&harness), ["a row each"]);
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
    assert!(places.eq((0..30).map(Some)), "each is found where it stands");
    assert_eq!(
        all.catalogue.short_place(&all.catalogue.modules()[0]),
        "4242",
        "they are all called the same"
    );
    harness.get_by_label("side by side").click();
    harness.run_steps(3);
    assert_eq!(chosen(&harness), ["side by side"]);
    harness.get_by_label("merged").click();
    harness.run_steps(3);
    assert_eq!((chosen(&harness), merged(&harness).list.len()), (vec!["merged"], 10));
}

#[test]
fn the_totals_say_what_they_are_of() {
    let mut harness = look_at_shops(window(Theme::Dark));
    harness.get_by_label("10 of 13 methods in 3 processes");
    act(&mut harness, Command::Arrange(Arrangement::Apart));
    harness.get_by_label("30 of 39 methods in 3 processes");
    act(&mut harness, Command::HideFramework);
    harness.get_by_label("39 methods in 3 processes");
}

#[test]
fn each_line_of_the_log_says_which_process_it_is_about() {
    let mut harness = look_at_shops(window(Theme::Dark));
    let holder = Holder { pid: 977, program: "redial dial".into() };
    told(&mut harness, 2, vec![Told::Event(Event::Control(Some(holder)))]);
    told(&mut harness, 3, vec![Told::Event(Event::Goodbye { missed_deadlines: 0 })]);
    ends(&mut harness, 3, 4244);
    told(&mut harness, 2, vec![Told::Notice("mind the gap".into())]);
    let lines = logged(&harness, Kind::Connection);
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "Shop.dll (4243): redial dial (pid 977) has control",
            "Shop.dll (4244): the process is ending; these are its last numbers",
            "Shop.dll (4244) has ended",
        ]
    );
    assert!(lines.iter().any(|line| line.starts_with("connected to Shop.dll (pid 4243), ")), "{lines:?}");
    assert_eq!(logged(&harness, Kind::Notice), ["Shop.dll (4243): mind the gap"]);
    // Side by side a dial is one process's, and so is what is said of it.
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    act(&mut harness, Command::Focus(ConnectionId(2)));
    let node = harness.state().model.list().expect("rows").row_at(0).expect("a row");
    act(&mut harness, Command::Pick(node, Mode::Replace));
    act(&mut harness, Command::TurnUp);
    let requests = logged(&harness, Kind::Request);
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(request.starts_with("Shop.dll (4243): count on Shop!"), "{request}");
    // One alone needs no name.
    act(&mut harness, Command::Select(SHOP));
    told(&mut harness, 1, vec![Told::Notice("mind it too".into())]);
    assert_eq!(logged(&harness, Kind::Notice).last().map(String::as_str), Some("mind it too"));
}

#[test]
fn side_by_side_they_stand_as_in_the_list_and_the_strip_speaks_of_one_in_sight() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(shops())]);
    for pid in [4244, 4242, 4243] {
        act(&mut harness, Command::Choose(shop(pid), Mode::Toggle));
    }
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    assert_eq!(panes(&harness), ["look at Shop.dll (4242)", "look at Shop.dll (4243)"]);
    let current = |harness: &Harness<'static, App>| harness.state().model.current().expect("one").process.pid;
    assert_eq!(current(&harness), 4242, "4244 was chosen first, and is out of sight");
    harness.get_by_label("after ▶").click();
    harness.run_steps(3);
    assert_eq!(panes(&harness), ["look at Shop.dll (4243)", "look at Shop.dll (4244)"]);
    assert_eq!(current(&harness), 4243);
}

#[test]
fn nothing_moves_when_others_of_a_name_are_offered() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(shops())]);
    let first = "Shop.dll 4242, .NET 8.0.31 · www, agent loaded";
    let place = |harness: &Harness<'static, App>| harness.get_by_label(first).rect();
    let before = place(&harness);
    harness.get_by_label("Choose all 4 named Shop.dll");
    harness.get_by_label(first).click();
    harness.run_steps(3);
    assert_eq!(place(&harness), before);
    harness.get_by_label("Choose all 4 named Shop.dll").click();
    harness.run_steps(3);
    assert!(!says(&harness, "Choose all"), "all are");
    assert_eq!((place(&harness), harness.state().model.chosen().len()), (before, 4));
}

#[test]
fn a_large_question_waits_for_nobody_who_is_gone() {
    let mut harness = look_at_shops(window_of(Theme::Dark, [1180.0, 900.0]));
    crowd(&mut harness, 2_000);
    act(&mut harness, Command::SelectAll);
    harness.key_press(Key::Space);
    harness.run_steps(3);
    let asked = harness.state().confirm.as_ref().expect("a question").plan.asked.clone();
    for (id, ticket) in &asked[..2] {
        let plan = PlanReport { matched: 10, to_request: 8, ..PlanReport::default() };
        told(&mut harness, id.0, vec![Told::Plan(*ticket, Ok(Box::new(plan)))]);
    }
    assert!(says(&harness, ": 2 of them have answered"));
    ends(&mut harness, 3, 4244);
    assert!(says(&harness, "The agent in Shop.dll (4244) cannot say more: it has ended."));
    assert!(says(&harness, "20 copies matched, say 2 agents"));
}

#[test]
fn a_large_question_asks_every_agent() {
    let mut harness = look_at_shops(window_of(Theme::Dark, [1180.0, 900.0]));
    crowd(&mut harness, 2_000);
    act(&mut harness, Command::SelectAll);
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert!(says(&harness, "Asking 3 agents what this would do: 0 of them have answered"));
    let asked = harness.state().confirm.as_ref().expect("a question").plan.asked.clone();
    assert_eq!(asked.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 2, 3]);
    let plan =
        |matched, to_request| PlanReport { matched, to_request, expected_us: 1_000, ..PlanReport::default() };
    told(&mut harness, 1, vec![Told::Plan(asked[0].1, Ok(Box::new(plan(2_010, 2_008))))]);
    assert!(says(&harness, ": 1 of them has answered"));
    told(&mut harness, 2, vec![Told::Plan(asked[1].1, Ok(Box::new(plan(10, 8))))]);
    told(&mut harness, 3, vec![Told::Plan(asked[2].1, Err("it is busy".into()))]);
    for part in [
        "2,020 copies matched, say 2 agents",
        "2,016 to be recompiled",
        "The agent in Shop.dll (4244) cannot say more: it is busy.",
    ] {
        assert!(says(&harness, part), "{part}");
    }
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    assert_eq!(parts(&harness).len(), 3);
}

/// Without being asked for it nothing is loaded into a process; that it stays behind is told once, with what to do.
#[test]
fn who_starts_without_the_agent_is_told_of() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    act(&mut harness, Command::Follow);
    let mut later = shops();
    later.changed.truncate(1);
    later.changed[0].key.pid = 5000;
    later.changed[0].agent = AgentState::Attachable;
    feed(&mut harness, vec![Update::Processes(later.clone())]);
    assert!(!says(&harness, "Shop.dll (5000)"), "it may only just have started");
    let pass = |harness: &mut Harness<'static, App>, seconds| {
        let now = harness.state().now();
        let later =
            crate::model::update::Now { mono: now.mono + std::time::Duration::from_secs(seconds), ..now };
        harness.state_mut().clock = crate::desktop::Clock::Stands(later);
        harness.run_steps(3);
    };
    pass(&mut harness, 4);
    pass(&mut harness, 4);
    let told: Vec<String> = logged(&harness, Kind::Notice)
        .into_iter()
        .filter(|line| line.starts_with("Shop.dll (5000) "))
        .collect();
    assert!(told.len() == 1 && told[0].contains("load the agent into them"), "{told:?}");
    assert!(says(&harness, "Shop.dll (5000): started without the agent"));
    // Its own box, or the box for all, makes it join.
    act(&mut harness, Command::FollowAttach);
    assert!(!says(&harness, "Shop.dll (5000): started without the agent"));
    assert!(harness.state().model.chosen().iter().any(|key| key.pid == 5000));
}

#[test]
fn an_agent_that_cannot_be_loaded_again_and_again_is_told_of_once() {
    let mut harness = window(Theme::Dark);
    choose_shops(&mut harness);
    for why in ["no room", "no room", "no library"] {
        told(&mut harness, 2, vec![Told::Attaching, Told::NotAttached(why.into())]);
    }
    assert_eq!(
        logged(&harness, Kind::Failure),
        [
            "Shop.dll (4243): the agent was not loaded: no room",
            "Shop.dll (4243): the agent was not loaded: no library"
        ]
    );
}

#[test]
fn what_is_picked_and_unfolded_stays_so_when_another_process_joins() {
    let mut harness = look_at_shop(window(Theme::Dark));
    feed(&mut harness, vec![Update::Processes(shops())]);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    act(&mut harness, Command::Tree);
    let alone = harness.state_mut().model.current_mut().expect("one is looked at");
    let type_of = TypeIx(1);
    alone
        .tree
        .reveal(Node::Method(MethodIx(alone.catalogue.methods_of_type(type_of).start)), &alone.catalogue);
    let named = alone.catalogue.type_text(type_of).to_owned();
    act(&mut harness, Command::Choose(shop(4243), Mode::Toggle));
    told(&mut harness, 2, vec![Told::Connected(Box::new(facts()))]);
    told(&mut harness, 2, catalogue());
    harness.run_steps(8);
    let all = merged(&harness);
    let Some(Node::Method(picked)) = all.selection.focus() else { panic!("nothing is picked") };
    assert_eq!((all.catalogue.full_name(picked).text.as_str(), all.selection.len()), (ADD, 1));
    let is_type = |row: &TreeRow| match row.node {
        Node::Type(owner) => row.expanded && all.catalogue.type_text(owner) == named,
        _ => false,
    };
    assert!(all.tree.rows().iter().any(is_type), "{:?}", all.tree.rows());
    act(&mut harness, Command::Choose(shop(4244), Mode::Toggle));
    harness.run_steps(8);
    assert_eq!(merged(&harness).selection.len(), 1, "and when a third does");
    act(&mut harness, Command::Select(shop(4243)));
    let alone = harness.state().model.current().expect("one is looked at");
    let Some(Node::Method(picked)) = alone.selection.focus() else { panic!("nothing is picked") };
    assert_eq!((alone.process.pid, alone.catalogue.full_name(picked).text.as_str()), (4243, ADD));
}

#[test]
fn each_process_offers_what_its_agent_does() {
    let mut harness = look_at_shops(window(Theme::Dark));
    let mut able = facts();
    able.levels = vec![Level::Off, Level::Count, Level::Time];
    for id in [1, 3] {
        let mut capped = facts();
        capped.levels = vec![Level::Off, Level::Count];
        told(&mut harness, id, vec![Told::Connected(Box::new(capped))]);
    }
    told(&mut harness, 2, vec![Told::Connected(Box::new(able))]);
    let all = merged(&harness);
    assert!(all.offered().contains(&Level::Time), "one of them does");
    let timed = |all: &Connection| {
        let of = |copy: &MethodIx| all.offered_to(*copy).contains(&Level::Time);
        copies_of_add(all).iter().filter(of).count()
    };
    assert_eq!(timed(all), 1);
    act(&mut harness, Command::Arrange(Arrangement::Apart));
    let all = merged(&harness);
    let rows = (0..all.list.len()).filter_map(|place| all.list.at(place));
    let add = rows.filter(|method| all.catalogue.full_name(*method).text == ADD);
    let offers: Vec<bool> = add.map(|row| all.offered_at(Node::Method(row)).contains(&Level::Time)).collect();
    assert_eq!(offers.iter().filter(|offers| **offers).count(), 1, "{offers:?}");
    assert_eq!(offers.len(), 3);
}

#[test]
fn what_was_on_stays_in_sight_when_all_goes_off() {
    let mut harness = look_at_shops(window(Theme::Dark));
    (1..=3).for_each(|id| rows(&mut harness, id, State::Live, 10));
    act(&mut harness, Command::OnlyDialled);
    assert!(!merged(&harness).list.filter().off_again);
    act(&mut harness, Command::AllOff);
    let filter = merged(&harness).list.filter().clone();
    assert!(filter.only_dialled && filter.off_again);
}

/// After a long take-over a frame takes in nothing; whether the next has to is seen by what there is.
#[test]
fn a_long_take_over_draws_again_only_for_news() {
    let (tell, told) = std::sync::mpsc::channel();
    let mut app = App::fed(&egui::Context::default(), still(), told);
    let mut after_a_long_one = || {
        app.pace = Pace::default();
        app.pace.begin();
        app.pace.settled(Duration::from_millis(5));
        app.drain(Besides::Merging)
    };
    assert_eq!(after_a_long_one(), Drained::Nothing);
    tell.send(Update::Processes(shops())).expect("the window is there");
    assert_eq!([after_a_long_one(), after_a_long_one()], [Drained::Part; 2]);
    app.pace = Pace::default();
    assert_eq!(app.drain(Besides::Merging), Drained::All);
    assert!(app.model.processes.shown().next().is_some(), "what was looked for is taken in");
}
