//! Twenty merged processes of one program. Each has as many methods as a small server on .NET 8 with its
//! framework, a thousand of them dialled, with counters four times a second.

use super::feed::{self, Size};
use super::figures::{Figure, Of};
use super::stage::{Stage, key, wheel};
use eframe::egui::{Event, Key, Modifiers};
use redial_model::catalogue::synthetic::PseudoRandom;
use redial_model::ids::ConnectionId;
use redial_model::update::Update;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

const PROCESSES: u32 = 20;
const SIZE: Size = Size { modules: 40, methods: 37_000, dialled: 1_000 };
/// Frames in which each process sends its numbers once: four times a second.
const FRAMES_PER_FOLD: usize = 15;
/// The limit for a frame, milliseconds.
const FRAME: Option<(Of, f64)> = Some((Of::P999, 8.0));

/// Runs the benchmark.
pub fn run(tabs: bool, frames: usize) {
    let mut fleet = Fleet { tabs, frames, chance: PseudoRandom::new(5), t_ms: 0, running: PROCESSES };
    let (mut stage, to) = Stage::open(PROCESSES);
    let all = stage.find(&format!("Select all {PROCESSES} processes named Contoso.dll"));
    stage.click(all);
    fleet.load(&mut stage, &to);
    let framework = stage.find("Hide framework");
    stage.click(framework);
    fleet.update(&mut stage, &to, "sorted by name");
    let rate = stage.find("Sort by per second");
    stage.click(rate);
    fleet.update(&mut stage, &to, "sorted by rate");
    fleet.filter(&mut stage, &to);
    fleet.shrink(&mut stage, &to, [3, 12], "sorted by rate");
    let beside = stage.find("Side by side");
    stage.click(beside);
    stage.frame(vec![Event::PointerMoved(beside)]);
    fleet.update(&mut stage, &to, "side by side, sorted by rate");
    let merged = stage.find("Merged");
    stage.click(merged);
    let tree = stage.find("Tree");
    stage.click(tree);
    // Moves the pointer off the rows, which would otherwise keep their places.
    stage.frame(vec![Event::PointerMoved(rate)]);
    fleet.update(&mut stage, &to, "as a tree");
    fleet.shrink(&mut stage, &to, [1, 20], "as a tree");
}

struct Fleet {
    tabs: bool,
    frames: usize,
    chance: PseudoRandom,
    t_ms: u64,
    running: u32,
}

impl Fleet {
    fn print(&self, what: &str, times: &[Duration], target: Option<(Of, f64)>) {
        Figure::times(format!("20 processes merged: {what}"), times, target).print(self.tabs);
    }

    /// All updates of twenty agents arrive and are merged.
    fn load(&self, stage: &mut Stage, to: &SyncSender<Update>) {
        let to = to.clone();
        let telling = std::thread::spawn(move || {
            let builders = (1..=PROCESSES).map(|id| feed::connect(ConnectionId(id), SIZE, &to));
            builders.collect::<Vec<_>>()
        });
        let mut times = Vec::new();
        while !telling.is_finished() {
            times.push(stage.frame(Vec::new()));
            std::thread::sleep(Duration::from_millis(8));
        }
        times.extend((0..60).map(|_| stage.frame(Vec::new())));
        let all = PROCESSES as usize * SIZE.methods;
        stage.find(&format!("{PROCESSES} connected"));
        self.print(&format!("a frame while {} thousand methods arrive", all / 1_000), &times, FRAME);
        drop(telling.join().expect("no panic"));
    }

    /// In each frame one or two of the processes send their numbers.
    fn fold(&mut self, frame: usize, to: &SyncSender<Update>) {
        self.t_ms += u64::from(frame.is_multiple_of(FRAMES_PER_FOLD)) * 250;
        for id in (1..=PROCESSES).filter(|id| *id as usize % FRAMES_PER_FOLD == frame % FRAMES_PER_FOLD) {
            let fold =
                feed::fold(ConnectionId(id), SIZE.dialled, self.t_ms + u64::from(id), &mut self.chance);
            to.send(fold).expect("a window");
        }
    }

    fn update(&mut self, stage: &mut Stage, to: &SyncSender<Update>, how: &str) {
        let mut times = Vec::new();
        for frame in 0..self.frames {
            self.fold(frame, to);
            let points = if frame % 400 < 300 { -5.0 } else { 20.0 };
            times.push(stage.frame(vec![wheel(points)]));
        }
        assert!(stage.triangles() > 1_000, "{} triangles are no table", stage.triangles());
        self.print(&format!("a frame while scrolling and updating, {how}"), &times, FRAME);
    }

    fn filter(&mut self, stage: &mut Stage, to: &SyncSender<Update>) {
        let mut typed = Vec::new();
        stage.frame(key(Key::Slash, Modifiers::NONE));
        stage.frame(Vec::new());
        let mut frame = 0;
        for word in ["orderservice", "getcustomer guid", "contoso!", "e", "(object, bool)"] {
            for letter in word.chars() {
                (frame, _) = (frame + 1, self.fold(frame, to));
                typed.push(stage.frame(vec![Event::Text(letter.to_string())]));
            }
            for _ in word.chars() {
                typed.push(stage.frame(key(Key::Backspace, Modifiers::NONE)));
            }
        }
        self.print("the frame of a letter typed or deleted, sorted by rate", &typed, Some((Of::Worst, 10.0)));
    }

    /// Two of the processes end and are removed from the list: measures from the click until everything is
    /// done.
    fn shrink(&mut self, stage: &mut Stage, to: &SyncSender<Update>, ended: [u32; 2], how: &str) {
        for id in ended {
            to.send(feed::ended(ConnectionId(id))).expect("a window");
        }
        let mut times: Vec<Duration> = (0..20).map(|_| stage.frame(Vec::new())).collect();
        let take_out = stage.find("Remove ended processes");
        times.push(stage.click(take_out));
        times.extend((0..60).map(|_| stage.frame(Vec::new())));
        self.running -= ended.len() as u32;
        stage.find(&format!("{} connected", self.running));
        self.print(&format!("a frame while two end and are removed, {how}"), &times, Some((Of::Worst, 8.0)));
    }
}
