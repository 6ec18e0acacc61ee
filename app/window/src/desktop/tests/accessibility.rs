//! Walks the AccessKit tree of every panel, menu and dialog: each control has a name for screen readers and takes the
//! focus by keyboard.

use super::scenes::{Scene, dialogs, menus, panels};
use crate::desktop::App;
use eframe::egui::accesskit::{Action, NodeId, Role};
use eframe::egui::{Key, Rect, Theme, pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::NodeT;
use std::collections::BTreeSet;
use std::fmt::{Display, Formatter, Result};

const SIZE: [f32; 2] = [1_600.0, 1_000.0];

/// A control in the tree.
pub(super) struct Control {
    id: NodeId,
    /// What it is.
    pub role: Role,
    /// Its name.
    pub name: String,
    /// Its place in the window.
    pub place: Rect,
    /// Whether a click does something.
    pub takes_clicks: bool,
    takes_focus: bool,
    /// The innermost menu or dialog around it.
    pub layer: Option<NodeId>,
}

impl Display for Control {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{:?} {:?} at {}", self.role, self.name, self.place)
    }
}

/// Returns the enabled controls of a frame.
pub(super) fn controls(harness: &Harness<'static, App>) -> Vec<Control> {
    let nodes = harness.root().children_recursive().filter_map(|node| {
        let node = node.accesskit_node();
        let takes_focus = node.data().supports_action(Action::Focus);
        let takes_clicks = node.data().supports_action(Action::Click);
        // A dialog itself is no control.
        let is_control = node.role() != Role::Window && (takes_focus || takes_clicks);
        if node.is_disabled() || !is_control {
            return None;
        }
        let bounds = node.bounding_box()?;
        let corner = |x: f64, y: f64| pos2(x as f32, y as f32);
        let mut above = node.parent();
        let mut layer = None;
        while let Some(one) = above {
            let opens = matches!(one.role(), Role::Dialog | Role::Menu | Role::Window) && !one.is_root();
            layer = layer.or(opens.then(|| one.locate().0));
            above = one.parent();
        }
        Some(Control {
            id: node.locate().0,
            role: node.role(),
            name: node.label().unwrap_or_default(),
            place: Rect::from_min_max(corner(bounds.x0, bounds.y0), corner(bounds.x1, bounds.y1)),
            takes_clicks,
            takes_focus,
            layer,
        })
    });
    nodes.collect()
}

/// Presses Tab until it has reached all of these controls, or this often; returns those it missed.
fn missed_by_tab(
    harness: &mut Harness<'static, App>,
    mut wanted: BTreeSet<NodeId>,
    most: usize,
) -> BTreeSet<NodeId> {
    for _ in 0..most {
        if wanted.is_empty() {
            break;
        }
        harness.key_press(Key::Tab);
        harness.run_steps(2);
        if let Some(focused) = harness.ctx.memory(|memory| memory.focused()) {
            wanted.remove(&focused.accesskit_id());
        }
    }
    wanted
}

/// Presses Tab around a dialog; returns the controls outside it that got the focus.
fn left_by_tab(scene: &Scene) -> Vec<String> {
    let mut harness = (scene.build)(Theme::Dark, SIZE);
    let before = controls(&harness);
    let dialog = before.iter().filter_map(|control| control.layer).next_back();
    assert!(dialog.is_some(), "{}", scene.name);
    let inside = before.iter().filter(|control| control.takes_focus && control.layer == dialog).count();
    let mut left = Vec::new();
    for _ in 0..inside + 3 {
        harness.key_press(Key::Tab);
        harness.run_steps(2);
        let focused = harness.ctx.memory(|memory| memory.focused()).map(|id| id.accesskit_id());
        let outside = |control: &&Control| Some(control.id) == focused && control.layer != dialog;
        let found =
            controls(&harness).iter().find(outside).map(|control| format!("{}: {control}", scene.name));
        left.extend(found);
    }
    left
}

/// Returns the faults of a scene's controls.
fn faults(scene: &Scene) -> Vec<String> {
    let mut harness = (scene.build)(Theme::Dark, SIZE);
    let controls = controls(&harness);
    assert!(!controls.is_empty(), "{}", scene.name);
    // The layer on top comes last. The layers behind it are checked without it.
    let top = controls.iter().filter_map(|control| control.layer).next_back();
    let is_open = |control: &Control| top.is_none() || control.layer == top;
    let wanted = controls.iter().filter(|control| control.takes_focus && is_open(control));
    let wanted = wanted.map(|control| control.id).collect();
    // Once around, with what a scrolling panel brings into view.
    let missed = missed_by_tab(&mut harness, wanted, controls.len() + 30);
    let movable = harness.state().dock.is_some();
    let fault = |control: &Control| {
        if has_another_way(control, &controls, movable) {
            return None;
        }
        let what = match () {
            () if control.name.trim().is_empty() => "has no name",
            () if !control.takes_focus => "is only for the pointer",
            () if missed.contains(&control.id) => "is not reached by Tab",
            () => return None,
        };
        Some(format!("{}: {control} {what}", scene.name))
    };
    controls.iter().filter_map(fault).collect()
}

/// Returns whether keys do the same elsewhere. `movable`: panels have tabs by which they are moved.
fn has_another_way(control: &Control, all: &[Control], movable: bool) -> bool {
    match control.role {
        // *View → Columns…* sets widths, and arrow keys scroll.
        Role::Splitter => control.name.starts_with("Left edge of"),
        Role::ScrollBar => true,
        // Text is for reading. Rows and bars are painted on a canvas, which takes the focus and moves among them; the events
        // panel leads to bars of the timeline.
        Role::TextRun => true,
        Role::ListItem | Role::TreeItem => all.iter().any(|canvas| {
            canvas.takes_focus && canvas.id != control.id && canvas.place.contains_rect(control.place)
        }),
        // The library of movable panels names neither its splitters nor the empty part of a tab bar. The palette moves panels.
        Role::Unknown => movable,
        _ => false,
    }
}

fn check(scenes: &[Scene]) {
    let faults: Vec<String> = scenes.iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn controls_of_panels_have_names_and_take_the_focus() {
    check(&panels());
}

#[test]
fn controls_of_menus_have_names_and_take_the_focus() {
    check(&menus());
}

#[test]
fn controls_of_dialogs_have_names_and_take_the_focus() {
    check(&dialogs());
}

#[test]
fn dialogs_keep_tab_to_themselves() {
    let left: Vec<String> = dialogs().iter().flat_map(left_by_tab).collect();
    assert!(left.is_empty(), "{}", left.join("\n"));
}
