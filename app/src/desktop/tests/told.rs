//! What the window tells: of control that goes elsewhere, of numbers of dials, of programs that end as was wanted.

use super::several::{ADD, logged};
use super::stage::{
    CONNECTION, SHOP, act, feed, processes, row, rows, second, status, tell, window, with_shop,
};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::connection::PROGRAM;
use crate::model::connection::tests::facts;
use crate::model::ids::Ticket;
use crate::model::log::Kind;
use crate::model::update::{Launch, Now, Refused, Retry, Told, Update};
use crate::ui::theme::DARK;
use eframe::egui::{Color32, Key, Modifiers, Shape, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, AuditEntry, Event, Holder};
use redial_protocol::report::DialReport;
use redial_protocol::state::State;

fn says(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn control(harness: &mut Harness<'static, App>, holder: Option<Holder>) {
    tell(harness, vec![Told::Event(Event::Control(holder))]);
}

/// A command line takes control for a moment; an account of the agent's may come between.
#[test]
fn control_that_is_taken_away_is_told_whatever_the_agent_says_meanwhile() {
    let mine = || Some(Holder { pid: std::process::id(), program: "redial app".into() });
    let other = || Some(Holder { pid: 977, program: "redial dial".into() });
    let mut harness = with_shop(Theme::Dark);
    control(&mut harness, mine());
    control(&mut harness, None);
    control(&mut harness, mine());
    let free = AgentStatus { control: None, ..status() };
    tell(&mut harness, vec![Told::AgentStatus(Box::new(free))]);
    assert!(
        says(&harness, "control: this window"),
        "the account is older than what was told last, or as old"
    );
    control(&mut harness, other());
    control(&mut harness, None);
    let notices = logged(&harness, Kind::Control);
    let text = "redial dial (pid 977) took control from this window; what was turned here stays on, and turning a dial \
                here asks for control again";
    assert_eq!(notices, [text]);
    let last = logged(&harness, Kind::Connection).pop();
    assert_eq!(last.as_deref(), Some("control is free: redial dial (pid 977) let it go"));
    assert!(says(&harness, "control: free"));
}

/// Numbers that stop by themselves would be a riddle.
#[test]
fn what_others_turned_is_told_with_who_it_was() {
    let mut harness = with_shop(Theme::Dark);
    let entry = |t_unix_ms, program: &str, order: &str| AuditEntry {
        t_unix_ms,
        user: "www".into(),
        program: program.into(),
        order: order.into(),
    };
    let before = entry(1, "redial dial", "Shop!* = count");
    let after = [before.clone(), entry(2, PROGRAM, "Shop!* = off"), entry(3, "redial off", "all off")];
    for audit in [vec![before], after.to_vec(), after.to_vec()] {
        let account = AgentStatus { audit, ..status() };
        tell(&mut harness, vec![Told::AgentStatus(Box::new(account))]);
    }
    assert_eq!(
        logged(&harness, Kind::Notice),
        ["redial dial (by www): Shop!* = count", "redial off (by www): all off"]
    );
}

#[test]
fn a_refusal_stays_until_something_else_is_asked_for() {
    let mut harness = with_shop(Theme::Dark);
    let refused = Refused { why: "there is nothing to undo".into(), holder: None };
    tell(&mut harness, vec![Told::Undone(Ticket(99), Err(refused))]);
    let bar = |harness: &Harness<'static, App>| harness.query_by_label("Close").is_some();
    assert!(bar(&harness));
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(bar(&harness), "looking at something else answers nothing");
    harness.key_press(Key::Num1);
    harness.run_steps(3);
    assert!(!bar(&harness));
    // Nor does it come back with a request to somebody else.
    harness.state_mut().model.log.add(Now::default(), None, Kind::Request, "start Shop");
    harness.run_steps(3);
    assert!(!bar(&harness));
}

#[test]
fn the_strip_counts_what_all_off_turns_off() {
    let mut harness = with_shop(Theme::Dark);
    let account = |held, kept| vec![Told::AgentStatus(Box::new(AgentStatus { held, kept, ..status() }))];
    tell(&mut harness, account(1, 4));
    assert!(says(&harness, "5 on: 4 kept, 1 held"));
    tell(&mut harness, account(0, 4));
    harness.get_by_label("4 on, kept");
    tell(&mut harness, account(2, 0));
    harness.get_by_label("2 on, held");
}

/// It is seen in the rows that are in view, if they are.
#[test]
fn what_was_undone_is_told_where_one_looks() {
    let mut harness = with_shop(Theme::Dark);
    let bar = |harness: &Harness<'static, App>| harness.query_by_label("Close").is_some();
    let answer = |harness: &mut Harness<'static, App>| {
        let pending = harness.state().model.current().map(|shop| shop.turns.pending().to_vec());
        let ticket = pending.and_then(|turns| turns.last().map(|turn| turn.ticket)).expect("a turn");
        let report = DialReport { matched: 1, accepted: 1, ..DialReport::default() };
        tell(harness, vec![Told::Dialled(ticket, Ok(report))]);
    };
    act(&mut harness, Command::SelectAll);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.key_press(Key::Num1);
    harness.run_steps(3);
    answer(&mut harness);
    assert!(!bar(&harness), "a turn is seen where it was made");
    for (key, what) in [(Modifiers::COMMAND, "undo"), (Modifiers::COMMAND.plus(Modifiers::SHIFT), "redo")] {
        harness.key_press_modifiers(key, Key::Z);
        harness.run_steps(3);
        answer(&mut harness);
        assert!(bar(&harness), "{what}");
        let text = format!("{what} count on {ADD}: 1 of 1 accepted");
        assert_eq!(logged(&harness, Kind::Undone).last(), Some(&text));
        assert_eq!(colours(&harness, &text)[0], DARK.text);
    }
    harness.key_press(Key::Num0);
    harness.run_steps(3);
    assert!(!bar(&harness), "something else was asked for");
}

/// Nothing went wrong where something else is to be done first.
#[test]
fn what_is_asked_for_too_early_gets_a_hint() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::Filter("nothing is called so".to_owned()));
    harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    harness.run_steps(3);
    harness.key_press(Key::Num1);
    harness.run_steps(3);
    assert_eq!(logged(&harness, Kind::Refusal), [] as [String; 0]);
    let hints = [
        "Select every method shown: the list shows no method: change the filter, or the switches below it",
        "Turn the selected dials to count: no method is selected: pick one in the list first",
    ];
    assert_eq!(logged(&harness, Kind::Hint), hints);
    assert!(says(&harness, "Close") && colours(&harness, hints[1])[0] == DARK.text);
}

/// The numbers that were looked at stay with them; who is done with those is one click from all.
#[test]
fn after_all_off_every_method_is_a_click_away() {
    let mut harness = with_shop(Theme::Dark);
    let button = |harness: &Harness<'static, App>| harness.query_by_label("Show all methods").is_some();
    for only_dialled in [false, true] {
        tell(&mut harness, vec![rows()]);
        if only_dialled {
            act(&mut harness, Command::OnlyDialled);
        }
        act(&mut harness, Command::AllOff);
        let pending = harness.state().model.current().map(|shop| shop.turns.pending().to_vec());
        let ticket = pending.and_then(|turns| turns.last().map(|turn| turn.ticket)).expect("a turn");
        let rows = [0, 1, 2, 7].map(|method| row(method, State::Off, Level::Off, 9, None)).to_vec();
        let rows = Told::Event(Event::Rows { id: None, rows });
        tell(&mut harness, vec![Told::AllOff(ticket, Ok((3, 0))), rows]);
        assert!(says(&harness, "every dial is off"));
        assert_eq!(button(&harness), only_dialled);
    }
    assert!(says(&harness, "hide those that are off again") && harness.query_by_label(ADD).is_some());
    harness.get_by_label("Show all methods").click();
    harness.run_steps(3);
    assert!(!button(&harness) && says(&harness, "10 of 13 methods"));
}

/// The colours of texts with this in them.
pub(super) fn colours(harness: &Harness<'static, App>, part: &str) -> Vec<Color32> {
    let shapes = harness.output().shapes.iter();
    let texts = shapes.filter_map(|clipped| match &clipped.shape {
        Shape::Text(text) if text.galley.text().contains(part) => {
            let own = text.galley.job.sections.first().map(|section| section.format.color);
            let own = own.filter(|colour| *colour != Color32::PLACEHOLDER);
            Some(text.override_text_color.or(own).unwrap_or(text.fallback_color))
        }
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_program_that_was_stopped_from_here_is_no_failure() {
    for wanted in [true, false] {
        let mut harness = window(Theme::Dark);
        feed(&mut harness, vec![Update::Processes(processes())]);
        let now = harness.state().now();
        let ticket = harness.state_mut().model.begin_launch("dotnet Shop.dll", now);
        let launch = |one| Update::Launch(ticket, one);
        feed(&mut harness, vec![launch(Launch::Started { pid: SHOP.pid }), launch(Launch::Loaded(SHOP))]);
        act(&mut harness, Command::Select(SHOP));
        assert_eq!(harness.state().model.current, Some(CONNECTION));
        tell(&mut harness, vec![Told::Connected(Box::new(facts()))]);
        tell(&mut harness, super::stage::catalogue());
        tell(&mut harness, vec![rows(), second(1, [4, 3])]);
        if wanted {
            act(&mut harness, Command::Stop);
        }
        let gone = "process 4242 has ended";
        tell(&mut harness, vec![Told::Lost { why: gone.into(), retry: Retry::Never }]);
        let colour = if wanted { DARK.text } else { DARK.bad };
        assert_eq!(colours(&harness, "process 4242 has ended; these are its last numbers"), [colour]);
        feed(&mut harness, vec![launch(Launch::Ended { how: "with code 143 (SIGTERM)".into() })]);
        let how = match wanted {
            true => "dotnet Shop.dll was stopped from here and ended with code 143 (SIGTERM)",
            false => "dotnet Shop.dll ended with code 143 (SIGTERM)",
        };
        assert_eq!(colours(&harness, &format!("{how}; these are its last numbers")), [colour]);
        assert_eq!(logged(&harness, Kind::Connection).last().map(String::as_str), Some(how));
        assert_eq!(logged(&harness, Kind::Failure), [] as [String; 0]);
    }
}

#[test]
fn a_dial_of_a_launch_that_matches_nothing_is_told_until_it_was_seen() {
    let mut harness = window(Theme::Dark);
    let now = harness.state().now();
    let ticket = harness.state_mut().model.begin_launch("dotnet Shop.dll", now);
    let left = |harness: &mut Harness<'static, App>, sentences: &[&str], ended| {
        let sentences = sentences.iter().map(|text| (*text).to_owned()).collect();
        feed(harness, vec![Update::Launch(ticket, Launch::Unmatched { sentences, ended })]);
    };
    left(
        &mut harness,
        &["the dial 'A.B=count' matched nothing at the start, and stands for what loads later"],
        false,
    );
    assert!(says(&harness, "'A.B=count' matched nothing at the start"));
    harness.get_by_label("Close");
    left(&mut harness, &[], true);
    assert!(harness.query_by_label("Close").is_none(), "it matched in the end");
    let sentences = ["1", "2", "3", "4"].map(|number| format!("the dial 'A.{number}=count' matched nothing"));
    left(&mut harness, &sentences.each_ref().map(String::as_str), true);
    assert!(says(&harness, "matched nothing\nand 1 more, which the log names"));
    assert_eq!(logged(&harness, Kind::Notice).len(), 5);
    harness.get_by_label("Close").click();
    harness.run_steps(3);
    assert!(harness.query_by_label("Close").is_none());
}

/// What lies below would be clicked in its place.
#[test]
fn nothing_goes_from_under_the_pointer() {
    let mut harness = with_shop(Theme::Dark);
    let refused = |why: &str| Told::Undone(Ticket(99), Err(Refused { why: why.into(), holder: None }));
    let expire = |harness: &mut Harness<'static, App>| {
        harness.state_mut().toast.expire();
        harness.run_steps(3);
    };
    let told = |harness: &Harness<'static, App>| harness.state().toast.says().map(str::to_owned);
    let text = |why: &str| Some(format!("undo of the last change refused: {why}"));
    tell(&mut harness, vec![refused("one")]);
    harness.get_by_label("Close").hover();
    harness.run_steps(3);
    expire(&mut harness);
    tell(&mut harness, vec![refused("two")]);
    assert_eq!(told(&harness), text("one"));
    harness.get_by_label(ADD).hover();
    harness.run_steps(3);
    assert_eq!(told(&harness), text("two"), "now it is its turn");
    expire(&mut harness);
    assert!(told(&harness).is_none() && harness.query_by_label("Close").is_none());
}

/// Control that another has is taken back by a click, before a turn is refused for want of it.
#[test]
fn control_that_is_taken_away_can_be_taken_back_as_long_as_another_has_it() {
    let mine = || Some(Holder { pid: std::process::id(), program: "redial app".into() });
    let other = || Some(Holder { pid: 977, program: "redial dial".into() });
    let mut harness = with_shop(Theme::Dark);
    let button = |harness: &Harness<'static, App>| harness.query_by_label("Take control").is_some();
    let taken = |harness: &mut Harness<'static, App>| {
        control(harness, mine());
        control(harness, other());
        harness.state_mut().toast.expire();
        harness.run_steps(3);
    };
    assert!(Command::TakeControl.enabled(&harness.state().situation()).is_err());
    taken(&mut harness);
    assert!(button(&harness) && says(&harness, "took control from this window"), "it stays");
    assert_eq!(Command::TakeControl.enabled(&harness.state().situation()), Ok(()));
    harness.get_by_label("Take control").click();
    harness.run_steps(3);
    assert!(!button(&harness), "it is done");
    taken(&mut harness);
    assert!(button(&harness));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(!button(&harness), "closed");
    taken(&mut harness);
    control(&mut harness, None);
    assert!(!button(&harness), "nobody has it any more");
}

/// The agent counts orders for what is off, too, and the bar says how many are on.
#[test]
fn what_all_off_turned_off_is_told_as_on_again() {
    let mut harness = with_shop(Theme::Dark);
    let ticket = |harness: &Harness<'static, App>| {
        let pending = harness.state().model.current().map(|shop| shop.turns.pending().to_vec());
        pending.and_then(|turns| turns.last().map(|turn| turn.ticket)).expect("a turn")
    };
    tell(&mut harness, vec![rows()]);
    act(&mut harness, Command::AllOff);
    let off = [0, 1, 2].map(|method| row(method, State::Off, Level::Off, 9, None)).to_vec();
    let off = Told::Event(Event::Rows { id: None, rows: off });
    let answer = Told::AllOff(ticket(&harness), Ok((3, 0)));
    tell(&mut harness, vec![answer, off]);
    act(&mut harness, Command::Undo);
    let report = DialReport { matched: 5, accepted: 4, bodyless: 1, ..DialReport::default() };
    let answer = Told::Dialled(ticket(&harness), Ok(report));
    tell(&mut harness, vec![answer]);
    let text = logged(&harness, Kind::Undone).pop();
    assert_eq!(text.as_deref(), Some("undo all dials off: 3 methods are on again"));
}
