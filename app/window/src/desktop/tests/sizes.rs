//! Every panel, menu and dialog at the sizes of common windows, in both themes: legible, nothing outside the window,
//! nothing cut, and no control over half of another.

use super::accessibility::controls;
use super::contrast;
use super::scenes::{Scene, dialogs, menus, panels};
use crate::desktop::App;
use crate::settings::layouts::PanelId;
use eframe::egui::accesskit::Role;
use eframe::egui::epaint::ClippedShape;
use eframe::egui::{Rect, Shape, Theme};
use egui_kittest::Harness;

/// The sizes of common windows, points, from the smallest on.
pub(super) const SIZES: [[f32; 2]; 3] = [[1_024.0, 700.0], [1_600.0, 1_000.0], [2_560.0, 1_440.0]];
/// Rounding, points.
const SLACK: f32 = 1.5;

/// Returns controls of one layer that cover each other in part.
fn overlaps(harness: &Harness<'static, App>) -> Vec<String> {
    let window = harness.ctx.content_rect();
    let ignored = [Role::ScrollBar, Role::Splitter, Role::GenericContainer, Role::Unknown];
    let mut controls = controls(harness);
    controls.retain(|control| control.takes_clicks && !ignored.contains(&control.role));
    // What a panel scrolls out of view lies behind the next one.
    let areas: Vec<Rect> =
        PanelId::ALL.into_iter().filter_map(|panel| harness.state().panel_areas.of(panel)).collect();
    for control in &mut controls {
        if let Some(area) = areas.iter().find(|area| area.contains(control.place.left_top())) {
            control.place = control.place.intersect(*area);
        }
    }
    let mut faults = Vec::new();
    for (at, one) in controls.iter().enumerate() {
        if one.place.left() < window.left() - SLACK || one.place.right() > window.right() + SLACK {
            faults.push(format!("{one} is outside the window"));
        }
        for other in controls.iter().skip(at + 1).filter(|other| other.layer == one.layer) {
            let common = one.place.intersect(other.place);
            let within = |inner: Rect, outer: Rect| outer.expand(SLACK).contains_rect(inner);
            let is_partial = common.width() > SLACK && common.height() > SLACK;
            // The levels stand around the large knob's ring.
            let is_knob = one.role == Role::Slider && other.role == Role::RadioButton;
            if is_partial && !is_knob && !within(one.place, other.place) && !within(other.place, one.place) {
                faults.push(format!("{one} covers a part of {other}"));
            }
        }
    }
    faults
}

/// Returns texts whose right end is cut off without an ellipsis.
fn cut(harness: &Harness<'static, App>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fields = controls(harness);
    // A long text scrolls within its field.
    fields.retain(|field| matches!(field.role, Role::TextInput | Role::MultilineTextInput));
    let mut read = |clip: Rect, shape: &Shape| {
        let Shape::Text(text) = shape else { return };
        let place = text.galley.rect.translate(text.pos.to_vec2());
        let is_seen = place.intersect(clip).width() > SLACK && place.intersect(clip).height() > SLACK;
        let is_field = || fields.iter().any(|field| field.place.contains(place.intersect(clip).center()));
        if is_seen
            && !is_field()
            && (place.right() > clip.right() + SLACK || place.left() < clip.left() - SLACK)
        {
            faults.push(format!("{:?} at {place} is cut at {clip}", text.galley.text()));
        }
    };
    for ClippedShape { clip_rect, shape, .. } in &harness.output().shapes {
        each(*clip_rect, shape, &mut read);
    }
    faults
}

fn each(clip: Rect, shape: &Shape, read: &mut impl FnMut(Rect, &Shape)) {
    match shape {
        Shape::Vec(shapes) => shapes.iter().for_each(|shape| each(clip, shape, read)),
        shape => read(clip, shape),
    }
}

/// Returns the themes to check at a size: both at the smallest, one of them at the others, and both at all in the soak.
fn themes(size: [f32; 2]) -> Vec<Theme> {
    let is_soak = std::env::var_os("REDIAL_SOAK").is_some_and(|value| !value.is_empty());
    match SIZES.iter().position(|one| *one == size) {
        Some(1) if !is_soak => vec![Theme::Light],
        Some(2) if !is_soak => vec![Theme::Dark],
        _ => vec![Theme::Dark, Theme::Light],
    }
}

fn check(scenes: &[Scene]) {
    let mut faults = Vec::new();
    for scene in scenes {
        for size in SIZES {
            for theme in themes(size) {
                let mut harness = (scene.build)(theme, size);
                harness.remove_cursor();
                harness.run_steps(2);
                let what = format!("{} at {}×{}", scene.name, size[0], size[1]);
                contrast::check(harness.output(), theme, &what);
                let here = overlaps(&harness).into_iter().chain(cut(&harness));
                faults.extend(here.map(|fault| format!("{what}: {fault}")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn panels_fit_every_size() {
    check(&panels());
}

#[test]
fn menus_fit_every_size() {
    check(&menus());
}

#[test]
fn dialogs_fit_every_size() {
    check(&dialogs());
}
