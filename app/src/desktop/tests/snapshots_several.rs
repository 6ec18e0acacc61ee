//! Pictures of several processes together, and of the dialog that says how to start programs with the agent.

use super::snapshots::both;
use super::stage::{SHOP, act, crowd_of, feed, look_at_shops, row, second, shop, window, window_of};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::ids::ConnectionId;
use crate::model::selection::Mode;
use crate::model::several::Arrangement;
use crate::model::update::{Refused, Retry, Told, Update};
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Holder, StatusRow};
use redial_protocol::report::DialReport;
use redial_protocol::state::State;

fn told(harness: &mut Harness<'static, App>, id: u32, told: Vec<Told>) {
    feed(harness, vec![Update::Connection(ConnectionId(id), told)]);
}

fn rows(harness: &mut Harness<'static, App>, id: u32, rows: Vec<StatusRow>) {
    told(harness, id, vec![Told::Event(Event::Rows { id: None, rows })]);
}

/// Three Shops that count: `Add` in all, `get_Total` in two, `Clear` refused in one.
fn counting(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = look_at_shops(window_of(theme, size));
    for id in 1..=3 {
        let live = |index, calls| row(index, State::Live, Level::Count, calls, None);
        let mut these = vec![live(0, 1_000 * u64::from(id))];
        these.extend((id < 3).then(|| live(2, 17)));
        these.push(match id {
            3 => row(1, State::Refused, Level::Count, 0, Some("an older build without IL for it")),
            _ => live(1, 5),
        });
        rows(&mut harness, id, these);
        let minute =
            (1..60).map(|at| second(at, [(40_000 + at * 977 % 9_000) / u64::from(id), 300 + at * 31 % 200]));
        told(&mut harness, id, minute.collect());
    }
    // Chosen anew, so that the last minute is taken over, too.
    act(&mut harness, Command::Select(SHOP));
    act(&mut harness, Command::Choose(shop(4243), Mode::Toggle));
    act(&mut harness, Command::Choose(shop(4244), Mode::Toggle));
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
        act(&mut harness, Command::Follow);
        told(&mut harness, 1, vec![Told::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }]);
        harness.get_by_label("dial of Shop!Shop.Pricing.Discount(Shop.Money, int)").click();
        harness.run_steps(2);
        let ticket = |id: u32| {
            let pending = harness.state().model.connections[&ConnectionId(id)].turns.pending();
            pending.last().expect("a turn").ticket
        };
        let (second, third) = (ticket(2), ticket(3));
        let holder = Holder { pid: 977, program: "redial dial".into() };
        let why = "redial dial (pid 977) has control of it".to_owned();
        let report = DialReport { matched: 1, accepted: 1, ..DialReport::default() };
        told(&mut harness, 2, vec![Told::Dialled(second, Ok(report))]);
        told(&mut harness, 3, vec![Told::Dialled(third, Err(Refused { why, holder: Some(holder) }))]);
        rows(&mut harness, 2, vec![row(6, State::Asked, Level::Count, 0, None)]);
        harness.run_steps(3);
        harness
    });
}

#[test]
fn as_a_tree() {
    both("merged_tree", |theme| {
        let mut harness = counting(theme, WIDE);
        act(&mut harness, Command::Tree);
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
        // The first lacks what the second has.
        told(&mut harness, 2, crowd_of(2));
        act(&mut harness, Command::Arrange(Arrangement::Beside));
        harness.get_all_by_label("Shop!Shop.Cart.Add(int)").nth(1).expect("two").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn a_row_each() {
    both("apart", |theme| {
        let mut harness = counting(theme, WIDE);
        act(&mut harness, Command::Arrange(Arrangement::Apart));
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
fn how_to_start_a_program() {
    both("setup", |theme| {
        let mut harness = window(theme);
        act(&mut harness, Command::SetUp);
        if let Some(state) = &mut harness.state_mut().set_up {
            // Lines that do not name a file of this machine.
            state.choose("iis:", "ShopPool");
        }
        harness.run_steps(4);
        harness
    });
}
