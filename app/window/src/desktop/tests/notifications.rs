//! Tests of notifications: loss of control, numbers of dials, and programs stopped on purpose.

use super::fixture::{
    CONNECTION, SHOP, deliver, execute, feed, processes, row, rows, second, status, window, with_shop,
};
use super::fleet::{ADD, logged};
use crate::commands::UiCommand;
use crate::desktop::App;
use crate::ui::capitalized;
use crate::ui::theme::DARK;
use eframe::egui::{Color32, Key, Modifiers, Shape, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::facts;
use redial_model::ids::Ticket;
use redial_model::log::LogKind;
use redial_model::update::{ConnectionUpdate, LaunchUpdate, Now, RefusedRequest, Retry, Update};
use redial_protocol::diagnostics::{AuditAction, AuditedChange};
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, AuditEntry, Event, Holder};
use redial_protocol::report::DialReport;
use redial_protocol::state::CopyState;

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn control(harness: &mut Harness<'static, App>, holder: Option<Holder>) {
    deliver(harness, vec![ConnectionUpdate::Event(Event::Control(holder))]);
}

/// A command line takes control for a moment, and a status of the agent may arrive in between.
#[test]
fn lost_control_is_reported_despite_older_status() {
    let mine = || Some(Holder { pid: std::process::id(), program: "redial app".into() });
    let other = || Some(Holder { pid: 977, program: "redial dial".into() });
    let mut harness = with_shop(Theme::Dark);
    control(&mut harness, mine());
    control(&mut harness, None);
    control(&mut harness, mine());
    let free = AgentStatus { control: None, ..status() };
    deliver(&mut harness, vec![ConnectionUpdate::AgentStatus(Box::new(free))]);
    assert!(shows(&harness, "Control: this window"), "the status is not newer than the control message");
    control(&mut harness, other());
    control(&mut harness, None);
    let notices = logged(&harness, LogKind::Control);
    let text = "control went from this window to redial dial (pid 977); dials set here stay on, and changing one asks for \
                control again";
    assert_eq!(notices, [text]);
    let last = logged(&harness, LogKind::Connection).pop();
    assert_eq!(last.as_deref(), Some("control is free: redial dial (pid 977) released it"));
    assert!(shows(&harness, "Control: free"));
}

/// The log explains why numbers stop.
#[test]
fn others_changes_are_logged_with_their_user() {
    let mut harness = with_shop(Theme::Dark);
    let entry = |t_unix_ms, program: &str, order: &str| AuditEntry {
        t_unix_ms,
        user: "www".into(),
        program: program.into(),
        action: AuditAction::Changed(AuditedChange::order(order)),
    };
    let before = entry(1, "redial dial", "Shop!* = count");
    let after = [before.clone(), entry(2, "redial app", "Shop!* = off"), entry(3, "redial off", "all off")];
    for audit in [vec![before], after.to_vec(), after.to_vec()] {
        let account = AgentStatus { audit, ..status() };
        deliver(&mut harness, vec![ConnectionUpdate::AgentStatus(Box::new(account))]);
    }
    assert_eq!(
        logged(&harness, LogKind::Notice),
        ["change by redial dial (www): Shop!* = count", "change by redial off (www): all off"]
    );
}

#[test]
fn refusal_stays_until_the_next_request() {
    let mut harness = with_shop(Theme::Dark);
    let refused = RefusedRequest { why: "there is nothing to undo".into(), holder: None };
    deliver(&mut harness, vec![ConnectionUpdate::Undone(Ticket(99), Err(refused))]);
    let bar = |harness: &Harness<'static, App>| harness.query_by_label("Close").is_some();
    assert!(bar(&harness));
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(bar(&harness), "showing something else does not answer it");
    harness.key_press(Key::Num1);
    harness.run_steps(3);
    assert!(!bar(&harness));
    // Nor does it come back with a request to another process.
    harness.state_mut().model.log.add(Now::default(), None, LogKind::Request, "start Shop");
    harness.run_steps(3);
    assert!(!bar(&harness));
}

#[test]
fn status_bar_counts_all_dials_on() {
    let mut harness = with_shop(Theme::Dark);
    let account =
        |held, kept| vec![ConnectionUpdate::AgentStatus(Box::new(AgentStatus { held, kept, ..status() }))];
    deliver(&mut harness, account(1, 4));
    assert!(shows(&harness, "5 on: 4 kept, 1 held"));
    deliver(&mut harness, account(0, 4));
    harness.get_by_label("4 on, kept");
    deliver(&mut harness, account(2, 0));
    harness.get_by_label("2 on, held");
}

/// Even if the changed rows are visible.
#[test]
fn undo_results_are_notified() {
    let mut harness = with_shop(Theme::Dark);
    let bar = |harness: &Harness<'static, App>| harness.query_by_label("Close").is_some();
    let answer = |harness: &mut Harness<'static, App>| {
        let pending = harness.state().model.current().map(|shop| shop.table().changes.pending().to_vec());
        let ticket =
            pending.and_then(|changes| changes.last().map(|change| change.ticket)).expect("a change");
        let report = DialReport { matched: 1, accepted: 1, ..DialReport::default() };
        deliver(harness, vec![ConnectionUpdate::Dialled(ticket, Ok(report))]);
    };
    execute(&mut harness, UiCommand::SelectAll);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    harness.key_press(Key::Num1);
    harness.run_steps(3);
    answer(&mut harness);
    assert!(!bar(&harness), "a change is visible where it was made");
    for (key, what) in [(Modifiers::COMMAND, "undo"), (Modifiers::COMMAND.plus(Modifiers::SHIFT), "redo")] {
        harness.key_press_modifiers(key, Key::Z);
        harness.run_steps(3);
        answer(&mut harness);
        assert!(bar(&harness), "{what}");
        let text = format!("{what} count on {ADD}: 1 of 1 accepted");
        assert_eq!(logged(&harness, LogKind::Undone).last(), Some(&text));
        assert_eq!(colours(&harness, &capitalized(&text))[0], DARK.text);
    }
    harness.key_press(Key::Num0);
    harness.run_steps(3);
    assert!(!bar(&harness), "a later request dismisses it");
}

/// Missing prerequisites are hints, not errors.
#[test]
fn unavailable_command_gets_a_hint() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Filter("nothing is called so".to_owned()));
    harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    harness.run_steps(3);
    harness.key_press(Key::Num1);
    harness.run_steps(3);
    assert_eq!(logged(&harness, LogKind::Refusal), [] as [String; 0]);
    let hints = [
        "Select all methods shown: the list is empty: change the filter, or the switches below it",
        "Set selected dials to count: no method is selected: select one in the list first",
    ];
    assert_eq!(logged(&harness, LogKind::Hint), hints);
    assert!(shows(&harness, "Close") && colours(&harness, hints[1])[0] == DARK.text);
}

/// The last numbers stay visible, and one click shows all methods again.
#[test]
fn all_methods_are_one_click_away_after_all_off() {
    let mut harness = with_shop(Theme::Dark);
    let button = |harness: &Harness<'static, App>| harness.query_by_label("Show all methods").is_some();
    for only_dialled in [false, true] {
        deliver(&mut harness, vec![rows()]);
        if only_dialled {
            execute(&mut harness, UiCommand::OnlyDialled);
        }
        execute(&mut harness, UiCommand::AllOff);
        let pending = harness.state().model.current().map(|shop| shop.table().changes.pending().to_vec());
        let ticket =
            pending.and_then(|changes| changes.last().map(|change| change.ticket)).expect("a change");
        let rows = [0, 1, 2, 7].map(|method| row(method, CopyState::Off, Level::Off, 9, None)).to_vec();
        let rows = ConnectionUpdate::Event(Event::Rows { id: None, rows });
        deliver(&mut harness, vec![ConnectionUpdate::AllOff(ticket, Ok((3, 0))), rows]);
        assert!(shows(&harness, "every dial is off"));
        assert_eq!(button(&harness), only_dialled);
    }
    assert!(shows(&harness, "Hide methods now off") && harness.query_by_label(ADD).is_some());
    harness.get_by_label("Show all methods").click();
    harness.run_steps(3);
    assert!(!button(&harness) && shows(&harness, "10 of 13 methods"));
}

/// Returns the colours of texts that contain `part`.
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
fn stopping_a_launched_program_is_no_failure() {
    for wanted in [true, false] {
        let mut harness = window(Theme::Dark);
        feed(&mut harness, vec![Update::Processes(processes())]);
        let now = harness.state().now();
        let ticket = harness.state_mut().model.begin_launch("dotnet Shop.dll", now);
        let launch = |one| Update::Launch(ticket, one);
        feed(
            &mut harness,
            vec![launch(LaunchUpdate::Started { pid: SHOP.pid }), launch(LaunchUpdate::Loaded(SHOP))],
        );
        execute(&mut harness, UiCommand::Select(SHOP));
        assert_eq!(harness.state().model.current, Some(CONNECTION.into()));
        deliver(&mut harness, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
        deliver(&mut harness, super::fixture::catalogue());
        deliver(&mut harness, vec![rows(), second(1, [4, 3])]);
        if wanted {
            execute(&mut harness, UiCommand::Stop);
        }
        let gone = "process 4242 has ended";
        deliver(&mut harness, vec![ConnectionUpdate::Lost { why: gone.into(), retry: Retry::Never }]);
        assert_eq!(
            colours(&harness, "Process 4242 has ended; showing its last numbers"),
            [DARK.text],
            "nobody knows how yet"
        );
        let colour = if wanted { DARK.text } else { DARK.bad };
        feed(&mut harness, vec![launch(LaunchUpdate::Ended { how: "with code 143 (SIGTERM)".into() })]);
        let (how, line) = match wanted {
            true => (
                "dotnet Shop.dll was stopped and ended with code 143 (SIGTERM)",
                "stopped, ended with code 143 (SIGTERM): dotnet Shop.dll",
            ),
            false => (
                "dotnet Shop.dll ended with code 143 (SIGTERM)",
                "ended with code 143 (SIGTERM): dotnet Shop.dll",
            ),
        };
        assert_eq!(colours(&harness, &format!("{how}; showing its last numbers")), [colour]);
        assert_eq!(logged(&harness, LogKind::Connection).last().map(String::as_str), Some(line));
        assert_eq!(logged(&harness, LogKind::Failure), [] as [String; 0]);
    }
}

#[test]
fn unmatched_launch_dial_is_reported_until_closed() {
    let mut harness = window(Theme::Dark);
    let now = harness.state().now();
    let ticket = harness.state_mut().model.begin_launch("dotnet Shop.dll", now);
    let left = |harness: &mut Harness<'static, App>, sentences: &[&str], ended| {
        let sentences = sentences.iter().map(|text| (*text).to_owned()).collect();
        feed(harness, vec![Update::Launch(ticket, LaunchUpdate::Unmatched { sentences, ended })]);
    };
    left(
        &mut harness,
        &["the dial 'A.B=count' matched nothing at startup but still applies to code that loads later"],
        false,
    );
    assert!(shows(&harness, "'A.B=count' matched nothing at startup"));
    harness.get_by_label("Close");
    left(&mut harness, &[], true);
    assert!(harness.query_by_label("Close").is_none(), "it matched in the end");
    let sentences = ["1", "2", "3", "4"].map(|number| format!("the dial 'A.{number}=count' matched nothing"));
    left(&mut harness, &sentences.each_ref().map(String::as_str), true);
    assert!(shows(&harness, "matched nothing\nand 1 more, see the log"));
    assert_eq!(logged(&harness, LogKind::Notice).len(), 5);
    harness.get_by_label("Close").click();
    harness.run_steps(3);
    assert!(harness.query_by_label("Close").is_none());
}

/// Otherwise a click would hit the rows below.
#[test]
fn notification_stays_under_the_pointer() {
    let mut harness = with_shop(Theme::Dark);
    let refused = |why: &str| {
        ConnectionUpdate::Undone(Ticket(99), Err(RefusedRequest { why: why.into(), holder: None }))
    };
    let expire = |harness: &mut Harness<'static, App>| {
        harness.state_mut().toast.expire();
        harness.run_steps(3);
    };
    let toast_text = |harness: &Harness<'static, App>| harness.state().toast.text().map(str::to_owned);
    let text = |why: &str| Some(format!("undo of the last change refused: {why}"));
    deliver(&mut harness, vec![refused("one")]);
    harness.get_by_label("Close").hover();
    harness.run_steps(3);
    expire(&mut harness);
    deliver(&mut harness, vec![refused("two")]);
    assert_eq!(toast_text(&harness), text("one"));
    harness.get_by_label(ADD).hover();
    harness.run_steps(3);
    assert_eq!(toast_text(&harness), text("two"), "now it is its turn");
    expire(&mut harness);
    assert!(toast_text(&harness).is_none() && harness.query_by_label("Close").is_none());
}

/// One click takes control back, before a change is refused for lack of it.
#[test]
fn lost_control_can_be_taken_back() {
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
    assert!(UiCommand::TakeControl.enabled(&harness.state().command_context()).is_err());
    taken(&mut harness);
    assert!(button(&harness) && shows(&harness, "Control went from this window"), "it stays");
    assert_eq!(UiCommand::TakeControl.enabled(&harness.state().command_context()), Ok(()));
    harness.get_by_label("Take control").click();
    harness.run_steps(3);
    assert!(!button(&harness), "done");
    taken(&mut harness);
    assert!(button(&harness));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(!button(&harness), "closed");
    taken(&mut harness);
    control(&mut harness, None);
    assert!(!button(&harness), "control is free now");
}

/// The agent also counts orders of methods that are off; the notification counts those on.
#[test]
fn undoing_all_off_counts_dials_on_again() {
    let mut harness = with_shop(Theme::Dark);
    let ticket = |harness: &Harness<'static, App>| {
        let pending = harness.state().model.current().map(|shop| shop.table().changes.pending().to_vec());
        pending.and_then(|changes| changes.last().map(|change| change.ticket)).expect("a change")
    };
    deliver(&mut harness, vec![rows()]);
    execute(&mut harness, UiCommand::AllOff);
    let off = [0, 1, 2].map(|method| row(method, CopyState::Off, Level::Off, 9, None)).to_vec();
    let off = ConnectionUpdate::Event(Event::Rows { id: None, rows: off });
    let answer = ConnectionUpdate::AllOff(ticket(&harness), Ok((3, 0)));
    deliver(&mut harness, vec![answer, off]);
    execute(&mut harness, UiCommand::Undo);
    let report = DialReport { matched: 5, accepted: 4, bodyless: 1, ..DialReport::default() };
    let answer = ConnectionUpdate::Dialled(ticket(&harness), Ok(report));
    deliver(&mut harness, vec![answer]);
    let text = logged(&harness, LogKind::Undone).pop();
    assert_eq!(text.as_deref(), Some("undo all dials off: 3 methods are on again"));
}
