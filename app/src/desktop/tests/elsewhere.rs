//! Looking at something else, alone or together: what goes along, what does not, and whom the log is about then.

use super::several::{ADD, logged, merged, told};
use super::stage::{
    SHOP, act, catalogue, choose_shops, crowd, feed, look_at_shops, nothing_counted, shop, shops, status,
    window,
};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::connection::tests::facts;
use crate::model::ids::ConnectionId;
use crate::model::list::{Filter, Key as By, Sort};
use crate::model::log::Kind;
use crate::model::selection::Mode;
use crate::model::several::Arrangement;
use crate::model::update::{Launch, Told, Update};
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::message::{AgentStatus, Event, Holder};

const BY_RATE: Sort = Sort { key: By::Rate, descending: true };

/// Two Shops whose methods are known, the first of them looked at alone.
fn two() -> Harness<'static, App> {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(shops())]);
    for (id, pid) in [(1, 4243), (2, 4242)] {
        act(&mut harness, Command::Select(shop(pid)));
        told(&mut harness, id, vec![Told::Connected(Box::new(facts()))]);
        told(&mut harness, id, catalogue());
    }
    harness
}

fn tick(harness: &mut Harness<'static, App>, pid: u32) {
    act(harness, Command::Choose(shop(pid), Mode::Toggle));
}

fn look(harness: &Harness<'static, App>) -> (Filter, Sort) {
    let connection = harness.state().model.current().expect("something is looked at");
    (connection.list.filter().clone(), connection.list.sort())
}

fn selected(harness: &Harness<'static, App>) -> usize {
    harness.state().model.current().map_or(0, |connection| connection.selection.len())
}

#[test]
fn what_is_hidden_everywhere_can_be_set_while_nothing_is_looked_at() {
    let mut harness = two();
    let before = look(&harness).0.hide_framework;
    act(&mut harness, Command::Disconnect);
    assert!(harness.state().model.current().is_none());
    act(&mut harness, Command::HideFramework);
    act(&mut harness, Command::Select(shop(4243)));
    assert_eq!(look(&harness).0.hide_framework, !before);
}

/// A key pressed by mistake turns nothing that was selected before.
#[test]
fn what_is_looked_at_again_has_nothing_selected_and_stands_at_its_top() {
    let mut harness = look_at_shops(window(Theme::Dark));
    act(&mut harness, Command::Select(SHOP));
    crowd(&mut harness, 1_500);
    let top =
        |harness: &Harness<'static, App>| harness.query_by_label("Crowd!Crowd.Type0.Method0()").is_some();
    assert!(top(&harness));
    harness.key_press(Key::End);
    harness.run_steps(3);
    assert!(!top(&harness) && selected(&harness) == 1);
    act(&mut harness, Command::SelectAll);
    assert!(selected(&harness) > 1_500);
    for elsewhere in [Command::Select(shop(4243)), Command::Choose(shop(4243), Mode::Toggle)] {
        act(&mut harness, elsewhere);
        assert_eq!(selected(&harness), 0);
        act(&mut harness, Command::Select(SHOP));
        assert_eq!(selected(&harness), 0);
        assert!(top(&harness));
        harness.key_press(Key::Space);
        harness.run_steps(3);
        assert_eq!(logged(&harness, Kind::Request), [] as [String; 0]);
        act(&mut harness, Command::SelectAll);
    }
    // It is looked at still.
    act(&mut harness, Command::Select(SHOP));
    assert!(selected(&harness) > 1_500);
}

/// Whoever turns everything off and leaves must find nothing on that this window holds.
#[test]
fn all_off_is_also_for_what_this_window_holds_elsewhere() {
    let off = |harness: &mut Harness<'static, App>| {
        let before = logged(harness, Kind::Request).len();
        act(harness, Command::AllOff);
        logged(harness, Kind::Request).len() - before
    };
    let mut harness = two();
    assert_eq!(off(&mut harness), 1, "nothing is held in the other");
    let mut holds = |pid| {
        let holder = Some(Holder { pid, program: "redial".into() });
        let account = AgentStatus { control: holder.clone(), held: 3, ..status() };
        let control = Told::Event(Event::Control(holder));
        told(&mut harness, 1, vec![control, Told::AgentStatus(Box::new(account))]);
        off(&mut harness)
    };
    assert_eq!(holds(std::process::id()), 2);
    assert_eq!(holds(9), 1, "what others hold there is theirs");
}

#[test]
fn dials_that_are_not_read_yet_are_waited_for() {
    let says = |harness: &Harness<'static, App>, text: &str| {
        harness.query_all_by_label_contains(text).next().is_some()
    };
    let mut harness = window(Theme::Dark);
    choose_shops(&mut harness);
    assert!(!harness.state().dials_on().more, "nobody answers");
    for id in 1..=3 {
        told(&mut harness, id, vec![Told::Connected(Box::new(facts()))]);
        told(&mut harness, id, vec![super::stage::rows(), nothing_counted()]);
    }
    assert!(says(&harness, "3 of 3 connected, reading dials…"), "the rows have no methods yet");
    assert!(harness.state().dials_on().more);
    for id in 1..=3 {
        told(&mut harness, id, catalogue());
    }
    assert!(says(&harness, "3 of 3 connected") && !says(&harness, "reading dials…"));
    assert!(says(&harness, "All dials off in 3 processes (9)"));
    told(&mut harness, 2, vec![Told::Paused(Some("it is paused in a debugger".into()))]);
    assert!(says(&harness, "3 of 3 connected, 1 paused"));
    told(&mut harness, 1, vec![Told::Connected(Box::new(facts()))]);
    assert!(says(&harness, "reading dials…"), "a new session tells its rows anew");
    act(&mut harness, Command::Select(SHOP));
    assert!(says(&harness, "connected, reading dials…"));
    told(&mut harness, 1, vec![nothing_counted()]);
    assert!(!says(&harness, "reading dials…"));
}

#[test]
fn all_off_says_beforehand_and_afterwards_where_it_is_for() {
    let mut harness = two();
    let says = |harness: &Harness<'static, App>, text: &str| {
        harness.query_all_by_label_contains(text).next().is_some()
    };
    assert!(!says(&harness, "All dials off in"));
    let holder = Some(Holder { pid: std::process::id(), program: "redial".into() });
    let account = AgentStatus { control: holder.clone(), held: 3, ..status() };
    let control = Told::Event(Event::Control(holder));
    told(&mut harness, 1, vec![control, Told::AgentStatus(Box::new(account)), super::stage::rows()]);
    assert!(says(&harness, "All dials off in 2 processes (3)"), "those that are not looked at, too");
    act(&mut harness, Command::AllOff);
    let asked = |harness: &Harness<'static, App>, id| {
        let turns = &harness.state().model.connections[&ConnectionId(id)].turns;
        turns.pending().last().expect("all off").ticket
    };
    let tickets = [1, 2].map(|id| asked(&harness, id));
    told(&mut harness, 1, vec![Told::AllOff(tickets[0], Ok((3, 0)))]);
    told(&mut harness, 2, vec![Told::AllOff(tickets[1], Ok((0, 0)))]);
    let said = "all off: every dial is off in Shop.dll (4243), 3 reverted to the original IL\nall off: no dial was on in Shop.dll (4242)";
    assert!(says(&harness, said));
    assert!(
        harness.state().model.connections[&ConnectionId(2)].turns.undoable().is_none(),
        "nothing was done"
    );
}

#[test]
fn side_by_side_what_is_picked_is_picked_in_each_and_stays_so_however_they_are_shown() {
    let mut harness = look_at_shops(window(Theme::Dark));
    act(&mut harness, Command::SelectAll);
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    assert_eq!(selected(&harness), 10, "what was picked in the merged list");
    harness.get_all_by_label(ADD).nth(1).expect("two panes").click();
    harness.run_steps(3);
    assert_eq!((harness.state().model.current, selected(&harness)), (Some(ConnectionId(2)), 1));
    act(&mut harness, Command::Focus(ConnectionId(1)));
    assert_eq!(selected(&harness), 1);
    for (arrangement, rows) in [
        (Arrangement::Apart, 1),
        (Arrangement::Merged, 1),
        (Arrangement::Apart, 3),
        (Arrangement::Merged, 1),
        (Arrangement::Beside, 1),
    ] {
        act(&mut harness, Command::Arrange(arrangement));
        assert_eq!(selected(&harness), rows, "{arrangement:?}");
    }
    // One that was looked at all along keeps it, another begins without.
    for (pid, rows) in [(4242, 1), (4243, 0)] {
        act(&mut harness, Command::Select(shop(pid)));
        assert_eq!(selected(&harness), rows, "{pid}");
    }
}

/// The next key meets what was picked, be it in the same frame.
#[test]
fn side_by_side_keys_are_for_what_was_picked_just_before() {
    let mut harness = look_at_shops(window(Theme::Dark));
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    harness.get_all_by_label(ADD).next().expect("two panes").click();
    harness.run_steps(3);
    let key = |key| eframe::egui::Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Default::default(),
    };
    harness.input_mut().events.extend([key(Key::ArrowDown), key(Key::Space)]);
    harness.run_steps(3);
    assert_eq!(logged(&harness, Kind::Request), ["Shop.dll (4242): count on Shop!Shop.Cart.Clear()"]);
}

#[test]
fn order_and_filter_are_the_windows_whatever_is_looked_at() {
    let mut harness = two();
    act(&mut harness, Command::Sort(BY_RATE));
    act(&mut harness, Command::Filter("cart".into()));
    let mine = look(&harness);
    assert_eq!((mine.1, mine.0.text.as_str()), (BY_RATE, "cart"));
    tick(&mut harness, 4243);
    assert!(harness.state().model.is_merged());
    assert_eq!(look(&harness), mine, "of two as of one");
    assert_eq!(merged(&harness).list.len(), 5);
    for arrangement in [Arrangement::Beside, Arrangement::Merged] {
        act(&mut harness, Command::Arrange(arrangement));
        assert_eq!(look(&harness), mine, "{arrangement:?}");
    }
    tick(&mut harness, 4242);
    assert_eq!(harness.state().model.current, Some(ConnectionId(1)), "one alone again");
    assert_eq!(look(&harness), mine);
    assert_eq!(harness.state().methods.text, "cart", "the field says so");
    // Another process has no filter of its own, and brings none back.
    act(&mut harness, Command::Select(SHOP));
    assert_eq!((look(&harness), harness.state().methods.text.as_str()), (mine, "cart"));
    act(&mut harness, Command::ClearFilter);
    act(&mut harness, Command::OnlyDialled);
    act(&mut harness, Command::HoldOrder);
    act(&mut harness, Command::Sort(Sort::default()));
    let mine = look(&harness);
    act(&mut harness, Command::Select(shop(4243)));
    assert_eq!((look(&harness), harness.state().methods.text.as_str()), (mine.clone(), ""));
    assert!(mine.0.only_dialled && harness.state().situation().switches.hold_order);
    // Nor is it gone with a connection.
    act(&mut harness, Command::OnlyDialled);
    act(&mut harness, Command::Filter("cart".into()));
    act(&mut harness, Command::Disconnect);
    assert_eq!(harness.state().model.current, None);
    act(&mut harness, Command::Select(SHOP));
    assert_eq!((look(&harness).0.text.as_str(), harness.state().methods.text.as_str()), ("cart", "cart"));
}

#[test]
fn the_log_names_the_processes_that_are_not_looked_at() {
    let mut harness = two();
    harness.get_by_label(&format!("dial of {ADD}")).click();
    harness.run_steps(3);
    let line = |harness: &Harness<'static, App>, text: &str| {
        harness.query_all_by_label_contains(text).next().is_some()
    };
    let (plain, named) =
        (format!("request: count on {ADD}"), format!("request: Shop.dll (4242): count on {ADD}"));
    assert!(line(&harness, &plain));
    act(&mut harness, Command::Select(shop(4243)));
    assert!(line(&harness, &named) && !line(&harness, &plain));
    tick(&mut harness, 4242);
    assert!(line(&harness, &named), "nor where both are merged");
    act(&mut harness, Command::Select(SHOP));
    assert!(line(&harness, &plain) && !line(&harness, &named));
    // What cannot be overlooked says it, too.
    act(&mut harness, Command::Select(shop(4243)));
    told(&mut harness, 2, vec![Told::NotAttached("no room".into())]);
    let told = harness.query_all_by_label_contains("Shop.dll (4242): the agent was not loaded: no room");
    assert_eq!(told.count(), 2, "in the log and above everything");
}

#[test]
fn a_launched_program_joins_several_and_replaces_one() {
    let launch = |harness: &mut Harness<'static, App>| {
        let now = harness.state().now();
        let ticket = harness.state_mut().model.begin_launch("dotnet Shop.dll", now);
        harness.state_mut().launching = Some(ticket);
        let news = [Launch::Started { pid: 4244 }, Launch::Loaded(shop(4244))];
        feed(harness, news.map(|one| Update::Launch(ticket, one)).into());
        let chosen = harness.state().model.chosen();
        chosen.iter().map(|key| key.pid).collect::<Vec<_>>()
    };
    let mut harness = two();
    assert_eq!(launch(&mut harness), [4244]);
    assert_eq!(logged(&harness, Kind::Notice), [] as [String; 0]);
    let mut harness = two();
    tick(&mut harness, 4243);
    assert_eq!(launch(&mut harness), [4242, 4243, 4244], "nobody who was chosen is dropped");
    let said = logged(&harness, Kind::Notice);
    assert!(
        said.len() == 1 && said[0].starts_with("Shop.dll (4244) is chosen besides the others"),
        "{said:?}"
    );
}
