//! `cargo run --release -p redial-window-bench`: time on the window's thread with a million methods in 500
//! modules, 20,000 of them dialled and called: logic, views and tessellation of every frame, without a
//! screen. Prints one line per figure, followed by those of twenty merged processes.
//!
//! Options: `--tabs` for programs that read the output, `--quick` for fewer frames, `--processes` for the
//! cost of finding processes instead, `--fleet` for the merged figures only, `--events` for those of traced calls only,
//! `--timeline` for those of timeline and call tree only, `--shops NAME PID…` for real
//! processes with the agent (`cargo xtask bench window` starts twenty).

mod events;
mod feed;
mod figures;
mod fleet;
mod processes;
mod ranges;
mod shops;
mod stage;
mod timeline;

use eframe::egui::{Event, Key, Modifiers};
use feed::Size;
use figures::{Figure, Of};
use redial_model::catalogue::builder::Builder;
use redial_model::catalogue::synthetic::PseudoRandom;
use redial_model::update::Update;
use stage::{Stage, key, wheel};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// The limit for a frame, milliseconds.
const FRAME: Option<(Of, f64)> = Some((Of::P999, 8.0));
const KEYSTROKE: Option<(Of, f64)> = Some((Of::Worst, 10.0));
const SORT: Option<(Of, f64)> = Some((Of::Worst, 30.0));
const MEMORY: Option<(Of, f64)> = Some((Of::Worst, 300.0));

/// Frames between counter snapshots: the window requests one every 250 ms.
const FRAMES_PER_FOLD: usize = 15;

/// Filter texts, typed letter by letter: some match much, some little, some nothing.
const TYPED: [&str; 14] = [
    "orderservice",
    "Repository",
    "getcustomer guid",
    "cache.load",
    "contoso!",
    "zzz",
    "e",
    "a b",
    "System.",
    "async (string",
    "update",
    "int, ref",
    "Contoso.Billing1 Get",
    "(object, bool)",
];

fn main() {
    let has = |name: &str| std::env::args().any(|argument| argument == name);
    if has("--processes") {
        return processes::run(has("--tabs"), has("--quick"));
    }
    let behind = std::env::args().skip_while(|argument| argument != "--shops").skip(1);
    if has("--shops") {
        match shops::Shops::read(
            behind.filter(|argument| argument != "--tabs" && argument != "--quick"),
            has("--tabs"),
        ) {
            Ok(shops) => return shops.run(),
            Err(trouble) => {
                eprintln!("{trouble}");
                std::process::exit(2);
            }
        }
    }
    if has("--events") {
        return events::run_alone(has("--tabs"), if has("--quick") { 1_000 } else { 4_000 });
    }
    if has("--timeline") {
        return timeline::run_alone(has("--tabs"), if has("--quick") { 1_000 } else { 4_000 });
    }
    let size = Size { modules: 500, methods: 1_000_000, dialled: 20_000 };
    let frames = if has("--quick") { 1_000 } else { 4_000 };
    if !has("--fleet") {
        let mut bench = Bench { size, frames, tabs: has("--tabs"), chance: PseudoRandom::new(11), t_ms: 0 };
        bench.run();
    }
    fleet::run(has("--tabs"), frames);
}

struct Bench {
    size: Size,
    frames: usize,
    tabs: bool,
    chance: PseudoRandom,
    t_ms: u64,
}

impl Bench {
    fn run(&mut self) {
        let (mut stage, to) = Stage::open(1);
        let builder = self.load(&mut stage, &to);
        let framework = stage.find("Hide framework");
        stage.click(framework);
        stage.find(&self.all_methods());
        self.scroll(&mut stage);
        self.update(&mut stage, &to, "sorted by name");
        self.filter(&mut stage);
        self.sort(&mut stage);
        let rate = stage.find("Sort by per second");
        stage.click(rate);
        self.update(&mut stage, &to, "sorted by rate");
        self.ranges(&mut stage, &to);
        self.filter_while_updating(&mut stage, &to);
        let tree = stage.find("Tree");
        stage.click(tree);
        let domain = stage.find("Expand AppDomain clrhost");
        stage.click(domain);
        // Moves the pointer off the rows, which would otherwise keep their places.
        stage.frame(vec![Event::PointerMoved(rate)]);
        self.update(&mut stage, &to, "as a tree");
        self.memory();
        // Last, since the calls take memory, too.
        events::run(&mut stage, &to, self.tabs, self.frames);
        timeline::run(&mut stage, &to, self.tabs, self.frames);
        drop(builder);
    }

    /// Returns the text above the table when nothing is hidden.
    fn all_methods(&self) -> String {
        let number = self.size.methods.to_string();
        let thousands = number.as_bytes().rchunks(3).rev();
        let groups: Vec<_> = thousands.map(|digits| String::from_utf8_lossy(digits)).collect();
        format!("{} methods", groups.join(","))
    }

    fn print(&self, what: &str, times: &[Duration], target: Option<(Of, f64)>) {
        Figure::times(what, times, target).print(self.tabs);
    }

    /// All updates of the agent arrive as fast as the window accepts them.
    fn load(&self, stage: &mut Stage, to: &SyncSender<Update>) -> Builder {
        let (size, to) = (self.size, to.clone());
        let telling = std::thread::spawn(move || feed::connect(feed::CONNECTION, size, &to));
        let mut times = Vec::new();
        while !telling.is_finished() {
            times.push(stage.frame(Vec::new()));
            // A screen shows 60 frames a second, which leaves time for the loading thread.
            std::thread::sleep(Duration::from_millis(8));
        }
        times.extend((0..10).map(|_| stage.frame(Vec::new())));
        self.print("a frame while the methods arrive", &times, FRAME);
        telling.join().expect("no panic")
    }

    fn scroll(&mut self, stage: &mut Stage) {
        let row = stage.find("Sort by method") + eframe::egui::vec2(0.0, 300.0);
        stage.frame(vec![Event::PointerMoved(row)]);
        let mut times = Vec::new();
        for frame in 0..self.frames {
            // Slowly, then by pages; sometimes backwards.
            let points = if frame % 100 < 50 { 3.0 } else { 700.0 };
            let points = if frame % 400 < 300 { -points } else { points };
            times.push(stage.frame(vec![wheel(points)]));
        }
        assert!(stage.triangles() > 2_000, "{} triangles are no table", stage.triangles());
        self.print("a frame while scrolling", &times, FRAME);
    }

    fn fold(&mut self) -> Update {
        self.t_ms += 250;
        feed::fold(feed::CONNECTION, self.size.dialled, self.t_ms, &mut self.chance)
    }

    /// 20,000 rows change four times a second while the user scrolls.
    fn update(&mut self, stage: &mut Stage, to: &SyncSender<Update>, how: &str) {
        let mut times = Vec::new();
        let mut folds = Vec::new();
        for frame in 0..self.frames {
            let folding = frame % FRAMES_PER_FOLD == 0;
            if folding {
                let fold = self.fold();
                to.send(fold).expect("a window");
            }
            let points = if frame % 400 < 300 { -5.0 } else { 20.0 };
            let took = stage.frame(vec![wheel(points)]);
            times.push(took);
            if folding {
                folds.push(took);
            }
        }
        let what = format!("a frame while scrolling and updating, {how}");
        self.print(&what, &times, FRAME);
        self.print(&format!("of those: frames with new numbers, {how}"), &folds, None);
    }

    /// Types every word and deletes it; measures each keystroke's frame with all its effects.
    fn filter(&mut self, stage: &mut Stage) {
        let (mut typed, mut taken_back, mut shown) = (Vec::new(), Vec::new(), Vec::new());
        stage.frame(key(Key::Slash, Modifiers::NONE));
        stage.frame(Vec::new());
        for word in TYPED {
            for letter in word.chars() {
                typed.push(stage.frame(vec![Event::Text(letter.to_string())]));
                shown.push(stage.frame(Vec::new()));
            }
            for _ in word.chars() {
                taken_back.push(stage.frame(key(Key::Backspace, Modifiers::NONE)));
                shown.push(stage.frame(Vec::new()));
            }
        }
        self.print("filter: the frame of a letter typed", &typed, KEYSTROKE);
        self.print("filter: the frame of a letter deleted", &taken_back, KEYSTROKE);
        self.print("filter: the frame that shows the result", &shown, FRAME);
    }

    /// The same while numbers arrive, sorted by rate.
    fn filter_while_updating(&mut self, stage: &mut Stage, to: &SyncSender<Update>) {
        let mut typed = Vec::new();
        stage.frame(key(Key::Slash, Modifiers::NONE));
        for word in TYPED {
            for letter in word.chars() {
                to.send(self.fold()).expect("a window");
                stage.frame(Vec::new());
                typed.push(stage.frame(vec![Event::Text(letter.to_string())]));
            }
            for _ in word.chars() {
                stage.frame(key(Key::Backspace, Modifiers::NONE));
            }
        }
        self.print("filter: the frame of a letter typed, sorted by rate", &typed, KEYSTROKE);
    }

    fn sort(&mut self, stage: &mut Stage) {
        let heads = ["Sort by calls", "Sort by per second", "Sort by method"].map(|name| stage.find(name));
        let [calls, rate, name] = heads;
        let (mut by_number, mut by_name) = (Vec::new(), Vec::new());
        for _ in 0..(self.frames / 100).max(3) {
            by_number.extend([calls, rate, rate, calls].map(|head| stage.click(head)));
            by_name.push(stage.click(name));
        }
        self.print("sort by a number", &by_number, SORT);
        self.print("sort by name", &by_name, SORT);
    }

    fn memory(&self) {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
        for (field, what) in
            [("VmRSS:", "resident memory, no screen"), ("VmHWM:", "peak resident memory, no screen")]
        {
            let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
            let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number of KiB");
            let target = MEMORY.filter(|_| field == "VmRSS:");
            Figure { what: what.to_owned(), unit: "MiB", numbers: vec![kib / 1024.0], target }
                .print(self.tabs);
        }
    }
}
