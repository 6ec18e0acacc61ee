//! The window's position and size: recorded while it is open, restored when it opens again.

use super::App;
use super::icon::icon;
use crate::settings::Settings;
use eframe::egui::{self, ViewportBuilder, ViewportCommand, ViewportInfo, pos2, vec2};

/// Initial size, points of the desktop.
const FIRST: [f32; 2] = [1280.0, 800.0];
/// Smallest readable size, points of the desktop.
const LEAST: [f32; 2] = [720.0, 420.0];
/// Screen area taken by window frame and desktop bars, points of the desktop.
const FRAME: [f32; 2] = [8.0, 72.0];
/// Part of the title bar that must be on a screen for the user to grab the window, physical pixels.
const HOLD: (i32, i32) = (80, 10);

impl App {
    /// Records the window's current geometry.
    pub(super) fn note_geometry(&mut self, context: &egui::Context) {
        let zoom = context.zoom_factor();
        context.input(|input| note(&mut self.settings, input.viewport(), zoom));
    }
}

/// Records sizes in points of the desktop, because the zoom is a setting of its own and applies later than
/// the window's size.
fn note(settings: &mut Settings, now: &ViewportInfo, zoom: f32) {
    if now.minimized == Some(true) {
        return;
    }
    settings.maximized = now.maximized == Some(true) || now.fullscreen == Some(true);
    if settings.maximized {
        // The size to return to stays as it was.
        return;
    }
    if let Some(inner) = now.inner_rect.filter(|inner| inner.is_finite() && inner.is_positive()) {
        settings.window = Some([(inner.width() * zoom).round(), (inner.height() * zoom).round()]);
    }
    if let Some(outer) = now.outer_rect.filter(egui::Rect::is_finite) {
        settings.position = Some([(outer.left() * zoom).round(), (outer.top() * zoom).round()]);
    }
}

/// Returns the window with its earlier geometry.
pub fn restored(settings: &Settings) -> ViewportBuilder {
    let mut builder = ViewportBuilder::default()
        .with_app_id("redial")
        .with_icon(icon())
        .with_inner_size(settings.window.unwrap_or(FIRST))
        .with_min_inner_size(vec2(LEAST[0], LEAST[1]))
        .with_maximized(settings.maximized);
    if let Some([x, y]) = settings.position {
        builder = builder.with_position(pos2(x, y));
    }
    builder
}

/// Moves a window back that is outside of all screens, and shrinks one that is larger than its screen.
pub fn onto_a_screen(creation: &eframe::CreationContext<'_>) {
    let Some(window) = creation.winit_window() else { return };
    if let Some(screen) = window.current_monitor().filter(|_| !window.is_maximized()) {
        let scale = screen.scale_factor();
        let (has, room) =
            (window.inner_size().to_logical::<f32>(scale), screen.size().to_logical::<f32>(scale));
        if let Some([width, height]) = fitting([has.width, has.height], [room.width, room.height]) {
            creation.egui_ctx.send_viewport_cmd(ViewportCommand::InnerSize(vec2(width, height)));
        }
    }
    let Ok(at) = window.outer_position() else { return };
    let width = i32::try_from(window.outer_size().width).unwrap_or(i32::MAX);
    let mut screens = window.available_monitors().peekable();
    // Without a known screen there is nothing to check.
    if screens.peek().is_none() {
        return;
    }
    let seen = screens.any(|screen| {
        let (corner, size) = (screen.position(), screen.size());
        let size = (i32::try_from(size.width), i32::try_from(size.height));
        let (Ok(screen_width), Ok(screen_height)) = size else { return true };
        can_be_held((at.x, at.y, width), (corner.x, corner.y, screen_width, screen_height))
    });
    if !seen {
        creation.egui_ctx.send_viewport_cmd(ViewportCommand::OuterPosition(pos2(40.0, 40.0)));
    }
}

/// Returns the size that fits the screen beside title bar and desktop bars, in points of the desktop; `None`
/// if the window fits as it is.
fn fitting(window: [f32; 2], screen: [f32; 2]) -> Option<[f32; 2]> {
    let room = [(screen[0] - FRAME[0]).max(LEAST[0]), (screen[1] - FRAME[1]).max(LEAST[1])];
    let fits = [window[0].min(room[0]), window[1].min(room[1])];
    (fits != window).then_some(fits)
}

/// Returns whether enough of a window's upper edge (left, top, width) is on a screen (left, top, width,
/// height).
fn can_be_held(window: (i32, i32, i32), screen: (i32, i32, i32, i32)) -> bool {
    let (left, right) = (window.0.max(screen.0), window.0.saturating_add(window.2).min(screen.0 + screen.2));
    let height = screen.1 + screen.3;
    right.saturating_sub(left) >= HOLD.0 && window.1 >= screen.1 - HOLD.1 && window.1 + HOLD.1 <= height
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::Rect;

    fn info(left: f32, top: f32, width: f32, height: f32) -> ViewportInfo {
        let rect = Rect::from_min_size(pos2(left, top), vec2(width, height));
        ViewportInfo { inner_rect: Some(rect), outer_rect: Some(rect), ..ViewportInfo::default() }
    }

    #[test]
    fn zoomed_window_keeps_its_size() {
        let mut settings = Settings::default();
        note(&mut settings, &info(100.0, 50.0, 800.0, 500.0), 1.5);
        assert_eq!((settings.window, settings.position), (Some([1200.0, 750.0]), Some([150.0, 75.0])));
        let built = restored(&settings);
        assert_eq!((built.inner_size, built.position), (Some(vec2(1200.0, 750.0)), Some(pos2(150.0, 75.0))));
    }

    #[test]
    fn maximized_window_keeps_its_restored_size() {
        let mut settings = Settings::default();
        note(&mut settings, &info(10.0, 10.0, 900.0, 600.0), 1.0);
        let large = ViewportInfo { maximized: Some(true), ..info(0.0, 0.0, 1920.0, 1080.0) };
        note(&mut settings, &large, 1.0);
        assert_eq!((settings.window, settings.maximized), (Some([900.0, 600.0]), true));
        let gone = ViewportInfo { minimized: Some(true), ..info(-32_000.0, -32_000.0, 0.0, 0.0) };
        let before = settings.clone();
        note(&mut settings, &gone, 1.0);
        assert_eq!(settings, before);
        assert_eq!(restored(&settings).maximized, Some(true));
    }

    #[test]
    fn a_window_is_no_larger_than_its_screen() {
        assert_eq!(fitting(FIRST, [1920.0, 1080.0]), None);
        assert_eq!(fitting(FIRST, [1280.0, 800.0]), Some([1272.0, 728.0]));
        assert_eq!(fitting([1000.0, 1400.0], [2560.0, 1440.0]), Some([1000.0, 1368.0]));
        assert_eq!(fitting(FIRST, [640.0, 400.0]), Some(LEAST), "smaller would be unreadable");
    }

    #[test]
    fn window_is_reachable_if_its_title_bar_is() {
        let screen = (0, 0, 1920, 1080);
        assert!(can_be_held((1800, 500, 1280), screen));
        assert!(can_be_held((-1190, 0, 1280), screen));
        for gone in [(1900, 500, 1280), (-1280, 0, 1280), (100, 1080, 800), (100, -500, 800)] {
            assert!(!can_be_held(gone, screen), "{gone:?}");
        }
        assert!(can_be_held((2000, 10, 800), (1920, 0, 1920, 1080)), "on the second screen");
    }
}
