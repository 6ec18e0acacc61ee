//! Pictures of several processes together, and of the setup dialog.

use super::fixture::{
    SHOP, crowd_of, execute, feed, look_at_shops, not_dialled, row, second, shop, window, window_of,
};
use super::snapshots::both;
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::ids::ConnectionId;
use redial_model::process_choice::Arrangement;
use redial_model::selection::SelectionMode;
use redial_model::update::{ConnectionUpdate, RefusedRequest, Retry, Update};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Holder, StatusRow};
use redial_protocol::reason::Reason;
use redial_protocol::report::DialReport;
use redial_protocol::state::CopyState;

fn deliver_to(harness: &mut Harness<'static, App>, id: u32, updates: Vec<ConnectionUpdate>) {
    feed(harness, vec![Update::Connection(ConnectionId(id), updates)]);
}

fn rows(harness: &mut Harness<'static, App>, id: u32, rows: Vec<StatusRow>) {
    deliver_to(harness, id, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
}

/// Returns a window with three counting Shops: `Add` in all, `get_Total` in two, `Clear` refused in one.
pub(super) fn counting(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = look_at_shops(window_of(theme, size));
    for id in 1..=3 {
        let live = |index, calls| row(index, CopyState::Live, Level::Count, calls, None);
        let mut these = vec![live(0, 1_000 * u64::from(id))];
        these.extend((id < 3).then(|| live(2, 17)));
        these.push(match id {
            3 => row(1, CopyState::Refused, Level::Count, 0, Some(not_dialled(Reason::NoBody))),
            _ => live(1, 5),
        });
        rows(&mut harness, id, these);
        let minute =
            (1..60).map(|at| second(at, [(40_000 + at * 977 % 9_000) / u64::from(id), 300 + at * 31 % 200]));
        deliver_to(&mut harness, id, minute.collect());
    }
    // Selected again, so that the last minute is taken over, too.
    execute(&mut harness, UiCommand::Select(SHOP));
    execute(&mut harness, UiCommand::Choose(shop(4243), SelectionMode::Toggle));
    execute(&mut harness, UiCommand::Choose(shop(4244), SelectionMode::Toggle));
    harness
}

const WIDE: [f32; 2] = [1180.0, 720.0];

#[test]
fn merged() {
    both("merged", |theme| {
        let mut harness = counting(theme, WIDE);
        harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn merged_with_troubles() {
    both("merged_troubles", |theme| {
        let mut harness = counting(theme, WIDE);
        execute(&mut harness, UiCommand::Follow);
        deliver_to(
            &mut harness,
            1,
            vec![ConnectionUpdate::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }],
        );
        harness.get_by_label("Dial of Shop!Shop.Pricing.Discount(Shop.Money, int)").click();
        harness.run_steps(2);
        let ticket = |id: u32| {
            let pending = harness.state().model.connections[&ConnectionId(id)].table.changes.pending();
            pending.last().expect("a change").ticket
        };
        let (second, third) = (ticket(2), ticket(3));
        let holder = Holder { pid: 977, program: "redial dial".into() };
        let why = "redial dial (pid 977) has control of it".to_owned();
        let report = DialReport { matched: 1, accepted: 1, ..DialReport::default() };
        deliver_to(&mut harness, 2, vec![ConnectionUpdate::Dialled(second, Ok(report))]);
        deliver_to(
            &mut harness,
            3,
            vec![ConnectionUpdate::Dialled(third, Err(RefusedRequest { why, holder: Some(holder) }))],
        );
        rows(&mut harness, 2, vec![row(6, CopyState::Asked, Level::Count, 0, None)]);
        harness.run_steps(3);
        harness
    });
}

#[test]
fn merged_tree() {
    both("merged_tree", |theme| {
        let mut harness = counting(theme, WIDE);
        execute(&mut harness, UiCommand::Tree);
        harness.run_steps(3);
        harness.get_by_label("module Shop").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn side_by_side() {
    both("beside", |theme| {
        let mut harness = counting(theme, WIDE);
        // The first lacks a method that the second has.
        deliver_to(&mut harness, 2, crowd_of(2));
        execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
        harness.get_all_by_label("Shop!Shop.Cart.Add(int)").nth(1).expect("two").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn row_per_process() {
    both("apart", |theme| {
        let mut harness = counting(theme, WIDE);
        execute(&mut harness, UiCommand::Arrange(Arrangement::Separate));
        harness.get_by_label("Shop!Shop.Cart.Add(int) in Shop.dll (4243)").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn little_room_for_several() {
    both("smallest_merged", |theme| {
        let mut harness = counting(theme, [600.0, 400.0]);
        harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn setup_dialog() {
    both("setup", |theme| {
        let mut harness = window(theme);
        execute(&mut harness, UiCommand::SetUp);
        if let Some(state) = &mut harness.state_mut().dialogs.set_up {
            // Lines that name no file of this machine.
            state.choose("iis:", "ShopPool");
        }
        harness.run_steps(4);
        harness
    });
}
