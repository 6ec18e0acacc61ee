//! The window without a screen: input, views and tessellation as with one, and their time on this thread.

use eframe::App as _;
use eframe::egui::{
    self, Event, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, Rect, TouchPhase, pos2, vec2,
};
use redial_model::update::Update;
use redial_window::{App, Options};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use super::feed;

/// Size of the window, points.
const SCREEN: [f32; 2] = [1920.0, 1080.0];
/// Capacity for waiting updates, as between worker threads and window.
const WAITING: usize = 64;

/// The window.
pub struct Stage {
    context: egui::Context,
    app: App,
    frame: eframe::Frame,
    seconds: f64,
    triangles: usize,
}

impl Stage {
    /// Returns a window that shows the first of `processes` processes of [`feed`], without any further
    /// updates, and the sender for them.
    pub fn open(processes: u32) -> (Stage, SyncSender<Update>) {
        let (to, from): (_, Receiver<Update>) = sync_channel(WAITING);
        let context = egui::Context::default();
        let options = Options { pid: Some(feed::PROCESS.pid), ..Options::default() };
        let app = App::with_updates(&context, options, from);
        let mut stage = Stage::of(context, app);
        // The channel is empty, so this never blocks.
        to.try_send(feed::processes(processes)).expect("room");
        for _ in 0..5 {
            stage.frame(Vec::new());
        }
        (stage, to)
    }

    /// Returns a window that scans this machine's processes and shows one of them; and the time of its first
    /// frame.
    pub fn among_processes(pid: u32) -> (Stage, Vec<Duration>) {
        let context = egui::Context::default();
        let app = App::new(&context, Options { pid: Some(pid), scan: true, ..Options::default() });
        let mut stage = Stage::of(context, app);
        let first = stage.frame(Vec::new());
        (stage, vec![first])
    }

    fn of(context: egui::Context, app: App) -> Stage {
        Stage { context, app, frame: eframe::Frame::_new_kittest(), seconds: 0.0, triangles: 0 }
    }

    /// Runs one frame with these events: logic, views, tessellation. Returns its time on this thread.
    pub fn frame(&mut self, events: Vec<Event>) -> Duration {
        self.seconds += 1.0 / 60.0;
        let input = egui::RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, SCREEN.into())),
            time: Some(self.seconds),
            predicted_dt: 1.0 / 60.0,
            focused: true,
            events,
            ..egui::RawInput::default()
        };
        let Stage { context, app, frame, .. } = self;
        let began = cpu_time();
        let output = context.run_ui(input, |ui| {
            app.logic(ui.ctx(), frame);
            app.ui(ui, frame);
        });
        let primitives = context.tessellate(output.shapes, output.pixels_per_point);
        let took = cpu_time().saturating_sub(began);
        // Uses the output, so that the compiler cannot omit any of it.
        self.triangles = primitives
            .iter()
            .map(|one| match &one.primitive {
                egui::epaint::Primitive::Mesh(mesh) => mesh.indices.len() / 3,
                egui::epaint::Primitive::Callback(_) => 0,
            })
            .sum();
        took
    }

    /// Returns the number of triangles in the last frame.
    pub fn triangles(&self) -> usize {
        self.triangles
    }

    /// Returns the position of the widget with this accessible name.
    pub fn find(&mut self, name: &str) -> Pos2 {
        self.context.enable_accesskit();
        let mut found = None;
        for _ in 0..3 {
            let input = egui::RawInput {
                screen_rect: Some(Rect::from_min_size(Pos2::ZERO, SCREEN.into())),
                time: Some(self.seconds),
                ..egui::RawInput::default()
            };
            let Stage { context, app, frame, .. } = self;
            let output = context.run_ui(input, |ui| {
                app.logic(ui.ctx(), frame);
                app.ui(ui, frame);
            });
            let nodes =
                output.platform_output.accesskit_update.map(|update| update.nodes).unwrap_or_default();
            let named =
                nodes.iter().find(|(_, node)| node.label() == Some(name) || node.value() == Some(name));
            let bounds = named.and_then(|(_, node)| node.bounds());
            found = found
                .or(bounds.map(|at| pos2(((at.x0 + at.x1) / 2.0) as f32, ((at.y0 + at.y1) / 2.0) as f32)));
        }
        self.context.disable_accesskit();
        self.frame(Vec::new());
        found.unwrap_or_else(|| panic!("there is no widget {name:?}"))
    }

    /// Clicks; returns the time of the frame that executes the click.
    pub fn click(&mut self, at: Pos2) -> Duration {
        let button = |pressed| Event::PointerButton {
            pos: at,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        self.frame(vec![Event::PointerMoved(at)]);
        self.frame(vec![button(true)]);
        self.frame(vec![button(false)])
    }
}

/// Returns a wheel movement, in points.
pub fn wheel(points: f32) -> Event {
    Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, points),
        phase: TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    }
}

/// Returns a key press and release.
pub fn key(key: Key, modifiers: Modifiers) -> Vec<Event> {
    let event = |pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers };
    vec![event(true), event(false)]
}

/// Returns this thread's processor time.
#[cfg(unix)]
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call, which writes to it and keeps nothing.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "this system has no clock of a thread's processor time");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns elapsed time where no clock counts a thread's time.
#[cfg(not(unix))]
pub fn cpu_time() -> Duration {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}
