//! Windows that together show every panel, menu and dialog, for tests of all of them.

use super::fixture::{SHOP, crowd, execute, feed, look_at_domains, look_at_shop, processes, window_of};
use super::snapshots::counting_in;
use super::traced_program::window_with_calls;
use super::{charts, code, detail_panel, events, fleet_snapshots};
use crate::commands::{MENUS, UiCommand};
use crate::desktop::App;
use crate::settings::LowerTab;
use crate::settings::layouts::PanelId;
use crate::views::saved_session::SavedTable;
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::process_choice::Arrangement;
use redial_model::update::Update;
use redial_protocol::order::TimeOptions;

/// A window with something in it.
pub struct Scene {
    /// The name.
    pub name: String,
    /// Makes the window with a theme and a size, points.
    pub build: Box<dyn Fn(Theme, [f32; 2]) -> Harness<'static, App>>,
}

fn scene(name: &str, build: impl Fn(Theme, [f32; 2]) -> Harness<'static, App> + 'static) -> Scene {
    Scene { name: name.to_owned(), build: Box::new(build) }
}

fn counting(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = counting_in(look_at_shop(window_of(theme, size)));
    harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
    harness.run_steps(3);
    harness
}

fn traced(tab: LowerTab) -> impl Fn(Theme, [f32; 2]) -> Harness<'static, App> {
    move |theme, size| {
        let mut harness = window_with_calls(theme, size);
        if tab != LowerTab::Events {
            execute(&mut harness, UiCommand::Lower(tab));
        }
        harness.run_steps(3);
        harness
    }
}

/// Returns the panels, in the standard layout and movable.
pub fn panels() -> Vec<Scene> {
    vec![
        scene("first run", |theme, size| {
            let mut harness = window_of(theme, size);
            feed(&mut harness, vec![Update::Processes(Default::default())]);
            harness
        }),
        scene("processes", |theme, size| {
            let mut harness = window_of(theme, size);
            feed(&mut harness, vec![Update::Processes(processes())]);
            harness
        }),
        scene("methods and details", counting),
        scene("tree", |theme, size| {
            let mut harness = counting(theme, size);
            execute(&mut harness, UiCommand::Tree);
            harness
        }),
        scene("no match", |theme, size| {
            let mut harness = counting(theme, size);
            execute(&mut harness, UiCommand::Filter("checkout".into()));
            harness
        }),
        scene("timed details", |theme, size| detail_panel::looked_at(theme, size, TimeOptions::default(), 3)),
        scene("events", events::panel),
        scene("timeline", traced(LowerTab::Timeline)),
        scene("call tree", traced(LowerTab::Calls)),
        scene("flame graph", |theme, size| {
            let mut harness = traced(LowerTab::Calls)(theme, size);
            harness.get_by_label("Flame graph").click();
            harness.run_steps(3);
            harness
        }),
        scene("charts", charts::charts),
        scene("source", |theme, size| code::code(theme, size, code::source())),
        scene("merged processes", fleet_snapshots::counting),
        scene("processes side by side", |theme, size| {
            let mut harness = fleet_snapshots::counting(theme, size);
            execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
            harness
        }),
        scene("movable panels", |theme, size| {
            let mut harness = window_with_calls(theme, size);
            execute(&mut harness, UiCommand::MovablePanels);
            for panel in [PanelId::Timeline, PanelId::Calls, PanelId::Charts, PanelId::Code] {
                execute(&mut harness, UiCommand::Panel(panel));
            }
            harness
        }),
    ]
}

/// Returns the menus, each open.
pub fn menus() -> Vec<Scene> {
    let open = |name: &'static str| {
        scene(&format!("menu {name}"), move |theme, size| {
            let mut harness = counting(theme, size);
            harness.get_by_label(name).click();
            harness.run_steps(3);
            harness
        })
    };
    MENUS.iter().map(|(name, _)| open(name)).collect()
}

/// Returns the dialogs.
pub fn dialogs() -> Vec<Scene> {
    let commands = [
        UiCommand::Launch,
        UiCommand::Keys,
        UiCommand::Palette,
        UiCommand::Columns,
        UiCommand::Layouts,
        UiCommand::Agent,
        UiCommand::Budget,
        UiCommand::DialSets,
        UiCommand::SaveSession,
        UiCommand::OpenSession,
        UiCommand::CompareSession,
        UiCommand::ExportSpeedscope,
        UiCommand::ExportPicture,
        UiCommand::ExportPanel(PanelId::Log),
        UiCommand::SetUp,
    ];
    let opened = commands.map(|command| {
        scene(&format!("dialog {}", command.name()), move |theme, size| {
            let mut harness = counting(theme, size);
            execute(&mut harness, command.clone());
            harness.run_steps(4);
            harness
        })
    });
    let mut all = Vec::from(opened);
    all.push(scene("dialog with a saved session", |theme, size| {
        let mut harness = counting(theme, size);
        let row = |calls: &str, name: &str| vec![calls.to_owned(), "1.20 s".to_owned(), name.to_owned()];
        harness.state_mut().dialogs.saved_table = Some(SavedTable {
            title: "Saved session, offline".to_owned(),
            lines: vec!["Shop.dll (4242) on shop-1, 2026-11-27 23:50:01Z".to_owned()],
            headers: vec!["Calls", "Self", "Method"],
            rows: (0..40).map(|_| row("1,234", "Shop!Shop.Cart.Add(int)")).collect(),
        });
        harness.run_steps(4);
        harness
    }));
    all.push(scene("question about a large change", |theme, size| {
        let mut harness = counting(theme, size);
        crowd(&mut harness, 40_000);
        execute(&mut harness, UiCommand::SelectAll);
        harness.key_press(Key::Space);
        harness.run_steps(4);
        harness
    }));
    all.push(scene("question about shared methods", |theme, size| {
        let mut harness = look_at_domains(window_of(theme, size));
        execute(&mut harness, UiCommand::Tree);
        execute(&mut harness, UiCommand::HideFramework);
        harness.get_by_label("Expand AppDomain EE Shared Assembly Repository").click();
        harness.run_steps(3);
        harness.get_by_label("Dial of AppDomain First").click();
        harness.run_steps(4);
        harness
    }));
    all
}

#[test]
fn scenes_show_what_their_names_say() {
    let size = [1_600.0, 1_000.0];
    for one in dialogs() {
        let harness = (one.build)(Theme::Dark, size);
        assert!(harness.state().dialogs.is_any_open(), "{}", one.name);
    }
    for one in menus() {
        let harness = (one.build)(Theme::Dark, size);
        assert!(eframe::egui::Popup::is_any_open(&harness.ctx), "{}", one.name);
    }
    let shown: Vec<PanelId> = PanelId::ALL
        .into_iter()
        .filter(|panel| {
            panels().iter().any(|one| {
                let harness = (one.build)(Theme::Dark, size);
                harness.state().shows(*panel) && harness.state().model.chosen().contains(&SHOP)
            })
        })
        .collect();
    assert_eq!(shown, PanelId::ALL);
}
