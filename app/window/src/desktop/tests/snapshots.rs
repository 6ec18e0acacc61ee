//! Pictures of the window in both themes, compared with the committed ones. `UPDATE_SNAPSHOTS=1` renews them;
//! look at each before committing it.

use super::fixture::{
    SHOP, copy_row, crowd, deliver, execute, feed, look_at_domains, look_at_shop, minute, processes, rows,
    second, window, window_of, with_shop,
};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::{Key as Button, Modifiers, Theme};
use egui_kittest::kittest::Queryable;
use egui_kittest::{Harness, SnapshotOptions, SnapshotResults};
use redial_model::ids::{MethodIx, Node};
use redial_model::list::{Filter, Sort, SortKey};
use redial_model::processes::{AgentState, ProcessRow};
use redial_model::selection::SelectionMode;
use redial_model::update::{ConnectionUpdate, LaunchUpdate, ProgramLine, Retry, Update};
use redial_protocol::ids::ProcessKey;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;

/// Drivers differ in the last bit of a colour and at edges; a misplaced widget differs in thousands of
/// pixels.
const DIFFERENT_PIXELS: usize = 400;

pub(super) fn both(name: &str, build: impl Fn(Theme) -> Harness<'static, App>) {
    compare(&mut SnapshotResults::new(), name, build);
}

/// Adds the comparison of both themes to `results`.
pub(super) fn compare(
    results: &mut SnapshotResults,
    name: &str,
    build: impl Fn(Theme) -> Harness<'static, App>,
) {
    for (theme, word) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
        let mut harness = build(theme);
        harness.remove_cursor();
        harness.run_steps(3);
        super::contrast::check(harness.output(), theme, name);
        let options = SnapshotOptions::new().threshold(1.2).max_failed_pixels(DIFFERENT_PIXELS);
        harness.snapshot_options(format!("{name}_{word}"), &options);
        results.extend_harness(&mut harness);
    }
}

fn counting(theme: Theme) -> Harness<'static, App> {
    counting_in(with_shop(theme))
}

pub(super) fn counting_in(mut harness: Harness<'static, App>) -> Harness<'static, App> {
    deliver(&mut harness, vec![rows()]);
    deliver(&mut harness, minute());
    harness
}

#[test]
fn first_run() {
    both("first_run", |theme| {
        let mut harness = window(theme);
        let launch = crate::settings::SavedLaunch { program: "dotnet".into(), ..Default::default() };
        harness.state_mut().demo = crate::views::launch_dialog::plan(&launch).ok();
        feed(&mut harness, vec![Update::Processes(Default::default())]);
        harness
    });
}

#[test]
fn process_list() {
    both("processes", |theme| {
        let mut harness = window(theme);
        feed(&mut harness, vec![Update::Processes(processes())]);
        harness
    });
}

#[test]
fn dials_in_every_state() {
    both("dials", |theme| {
        let mut harness = counting(theme);
        harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn a_filter_with_its_matches() {
    both("filter", |theme| {
        let mut harness = counting(theme);
        harness.state_mut().methods.text = "cart t".into();
        execute(&mut harness, UiCommand::Filter("cart t".into()));
        harness
    });
}

#[test]
fn nothing_matches() {
    both("no_match", |theme| {
        let mut harness = with_shop(theme);
        harness.state_mut().methods.text = "checkout".into();
        execute(&mut harness, UiCommand::Filter("checkout".into()));
        harness
    });
}

#[test]
fn a_tree_with_mixed_groups() {
    both("tree", |theme| {
        let mut harness = counting(theme);
        execute(&mut harness, UiCommand::Tree);
        harness.state_mut().methods.text = "shop".into();
        execute(&mut harness, UiCommand::Filter("shop".into()));
        harness.get_by_label("type Cart").click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn the_process_is_gone() {
    both("gone", |theme| {
        let mut harness = counting(theme);
        deliver(
            &mut harness,
            vec![ConnectionUpdate::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }],
        );
        harness
    });
}

#[test]
fn a_launched_program_has_ended() {
    both("ended", |theme| {
        let mut harness = window(theme);
        let ticket = harness.state_mut().model.begin_launch("dotnet Shop.dll --exact", Default::default());
        harness.state_mut().pending.launch = Some(ticket);
        let written = |text: &str| ProgramLine { error: true, text: text.into() };
        let lines = vec![written("Shop cannot use --exact"), written("usage: Shop [--forever]")];
        let news = [
            LaunchUpdate::Started { pid: SHOP.pid },
            LaunchUpdate::Loaded(SHOP),
            LaunchUpdate::Output { lines, left_out: 0 },
            LaunchUpdate::Ended { how: "with code 2".into() },
        ];
        feed(&mut harness, news.map(|one| Update::Launch(ticket, one)).into());
        let lost = ConnectionUpdate::Lost { why: "process 4242 has ended".into(), retry: Retry::Never };
        deliver(&mut harness, vec![rows(), second(1, [40_000, 300]), lost]);
        harness
    });
}

#[test]
fn palette_with_reasons() {
    both("palette", |theme| {
        let mut harness = window(theme);
        harness.key_press_modifiers(Modifiers::COMMAND.plus(Modifiers::SHIFT), Button::P);
        harness.run_steps(6);
        harness
    });
}

#[test]
fn the_launch_dialog() {
    both("launch", |theme| {
        let mut harness = window(theme);
        let settings = &mut harness.state_mut().settings;
        settings.launch.program = "dotnet".into();
        settings.launch.arguments = "Shop.dll".into();
        settings.launched();
        settings.launch.dials = "Shop!*=loud".into();
        execute(&mut harness, UiCommand::Launch);
        harness.run_steps(4);
        harness
    });
}

#[test]
fn the_sheet_of_keys() {
    both("keys", |theme| {
        let mut harness = window(theme);
        execute(&mut harness, UiCommand::Keys);
        harness.run_steps(4);
        harness
    });
}

#[test]
fn several_selected_sorted_by_rate() {
    both("several", |theme| {
        let mut harness = counting(theme);
        execute(&mut harness, UiCommand::Sort(Sort { key: SortKey::Rate, descending: true }));
        let filter = Filter { only_dialled: true, ..Filter::default() };
        harness.state_mut().model.current_process_mut().expect("Shop").table.set_filter(filter);
        execute(&mut harness, UiCommand::SelectAll);
        harness
    });
}

fn little_room(name: &str, size: [f32; 2]) {
    both(name, |theme| {
        let mut harness = counting_in(look_at_shop(window_of(theme, size)));
        harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
        harness.run_steps(3);
        harness
    });
}

/// 1280×800 at a zoom of 1.5.
const ZOOMED: [f32; 2] = [853.0, 533.0];
/// 900×600 at a zoom of 1.5.
const SMALLEST: [f32; 2] = [600.0, 400.0];

#[test]
fn little_room_when_zoomed() {
    little_room("zoomed", ZOOMED);
}

#[test]
fn little_room_in_a_small_window() {
    little_room("small", [900.0, 600.0]);
}

#[test]
fn little_room_in_a_small_window_when_zoomed() {
    little_room("smallest", SMALLEST);
}

#[test]
fn little_room_for_the_keys() {
    both("smallest_keys", |theme| {
        let mut harness = window_of(theme, SMALLEST);
        execute(&mut harness, UiCommand::Keys);
        harness.run_steps(4);
        harness
    });
}

#[test]
fn little_room_for_a_launch() {
    both("smallest_launch", |theme| {
        let mut harness = window_of(theme, SMALLEST);
        execute(&mut harness, UiCommand::Launch);
        harness.run_steps(4);
        harness
    });
}

#[test]
fn little_room_for_the_first_run() {
    both("smallest_first_run", |theme| {
        let mut harness = window_of(theme, SMALLEST);
        feed(&mut harness, vec![Update::Processes(Default::default())]);
        harness
    });
}

/// The process is running, but its agent does not answer.
#[test]
fn agent_out_of_reach() {
    let lost = |theme, size| {
        let mut harness = counting_in(look_at_shop(window_of(theme, size)));
        let why = "the agent in process 4242 did not answer within 10 s".into();
        deliver(
            &mut harness,
            vec![ConnectionUpdate::Lost { why, retry: Retry::Asked }, ConnectionUpdate::Connecting],
        );
        harness
    };
    both("out_of_reach", |theme| lost(theme, ZOOMED));
}

/// A process into which the agent can be loaded, after a failed attempt.
#[test]
fn the_agent_can_be_loaded() {
    both("attach", |theme| {
        let mut harness = window(theme);
        let mut all = processes();
        let mailer = ProcessRow {
            key: ProcessKey { pid: 1204, start: 4 },
            name: "mailer".into(),
            command: Some("/usr/bin/mailer".into()),
            agent: AgentState::Attachable,
            ..all.changed[1].clone()
        };
        all.changed.push(mailer);
        feed(&mut harness, vec![Update::Processes(all)]);
        harness.get_by_label_contains("mailer 1204,").click_accesskit();
        harness.run_steps(3);
        let why = "its runtime did not answer within 10 s; it may be stopped";
        deliver(&mut harness, vec![ConnectionUpdate::Attaching, ConnectionUpdate::NotAttached(why.into())]);
        harness
    });
}

#[test]
fn large_change() {
    both("large_turn", |theme| {
        let mut harness = counting(theme);
        crowd(&mut harness, 40_000);
        execute(&mut harness, UiCommand::SelectAll);
        harness.key_press(Button::Space);
        harness.run_steps(4);
        harness
    });
}

#[test]
fn domains_as_the_first_level() {
    both("domains", |theme| {
        let mut harness = look_at_domains(window_of(theme, [1280.0, 1000.0]));
        execute(&mut harness, UiCommand::Tree);
        execute(&mut harness, UiCommand::HideFramework);
        let event = Event::Rows {
            id: None,
            rows: vec![copy_row(2, CopyState::Live, 1_234), copy_row(3, CopyState::Asked, 0)],
        };
        deliver(&mut harness, vec![ConnectionUpdate::Event(event)]);
        for group in ["AppDomain Second", "module Shop in Second", "AppDomain EE Shared Assembly Repository"]
        {
            harness.get_by_label(&format!("Expand {group}")).click();
            harness.run_steps(3);
        }
        let method = harness.state().model.current().and_then(|shop| {
            let all = (0..shop.table().catalogue.len() as u32).map(MethodIx);
            let place = |method| shop.table().catalogue.place(shop.table().catalogue.module_of(method));
            let mut adds = all.filter(|method| shop.table().catalogue.method_name(*method) == "Add");
            adds.find(|method| place(*method).as_deref() == Some("in Second"))
        });
        execute(&mut harness, UiCommand::Pick(Node::Method(method.expect("there")), SelectionMode::Replace));
        harness
    });
}

#[test]
fn shared_methods_question() {
    both("shared", |theme| {
        let mut harness = look_at_domains(window(theme));
        execute(&mut harness, UiCommand::Tree);
        execute(&mut harness, UiCommand::HideFramework);
        harness.get_by_label("Expand AppDomain EE Shared Assembly Repository").click();
        harness.run_steps(3);
        harness.get_by_label("Dial of AppDomain First").click();
        harness.run_steps(4);
        harness
    });
}

#[test]
fn control_orders_and_history() {
    both("orders", |theme| {
        let mut harness = counting(theme);
        super::domains::tell_orders(&mut harness);
        execute(&mut harness, UiCommand::Agent);
        harness
    });
}

#[test]
fn the_menu_of_a_knob() {
    both("knob_menu", |theme| {
        let mut harness = counting(theme);
        harness.get_by_label("Dial of Shop!Shop.Catalog.Find(string)").click_secondary();
        harness.run_steps(4);
        harness
    });
}
