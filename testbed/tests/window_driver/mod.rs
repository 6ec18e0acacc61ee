//! The window without a screen, driven through AccessKit.
#![allow(dead_code, reason = "each suite uses what it needs")]

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use anyhow::{Result, ensure};
use eframe::egui::Key;
use eframe::egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial::desktop::{App, Options};
use redial_testbed::host::DEADLINE;

/// What a window is opened with, and writes its own layout to; gone with it.
pub struct Layout(PathBuf);

impl Layout {
    /// A log of twenty lines: what it said a moment ago is still in sight, however much it was told in between.
    fn with_a_long_log() -> Layout {
        let layout = Layout(std::env::temp_dir().join(format!("redial-layout-{}.json", std::process::id())));
        std::fs::write(&layout.0, r#"{ "log_height": 440.0 }"#).expect("a folder for temporary files");
        layout
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        // A test that fails for another reason must not fail for this one.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The window, and when it asks to be drawn again: what its worker threads tell makes it ask.
pub struct Window(pub Harness<'static, App>, Receiver<Instant>, Layout);

impl Window {
    /// Opens one that looks for processes.
    pub fn open() -> Window {
        let layout = Layout::with_a_long_log();
        let options = Options { scan: true, settings: Some(layout.0.clone()), ..Options::default() };
        let harness = Harness::builder()
            .with_size([1280.0, 1_200.0])
            .build_eframe(|creation| App::new(&creation.egui_ctx, options));
        let (ask, asked) = channel();
        harness.ctx.set_request_repaint_callback(move |asked| {
            // Nobody listens any more once the window is gone.
            let _ = ask.send(Instant::now() + asked.delay);
        });
        Window(harness, asked, layout)
    }

    /// Draws until it is as wanted.
    pub fn until(&mut self, what: &str, found: impl Fn(&Window) -> bool) -> Result<()> {
        let deadline = Instant::now() + DEADLINE;
        while !found(self) {
            ensure!(Instant::now() < deadline, "{what} did not come; on screen is {:#?}", self.labels());
            self.0.step();
            self.wait_to_be_drawn(deadline);
        }
        Ok(())
    }

    /// Waits as the desktop does: until the earliest moment that was asked for.
    fn wait_to_be_drawn(&self, deadline: Instant) {
        let mut next = deadline;
        while let Ok(asked) = self.1.recv_timeout(next.saturating_duration_since(Instant::now())) {
            next = next.min(asked);
        }
    }

    fn labels(&self) -> Vec<String> {
        let text = |node: &egui_kittest::Node<'_>| {
            let node = node.accesskit_node();
            match (node.label(), node.value()) {
                (Some(label), Some(value)) => Some(format!("{label}: {value}")),
                (label, value) => label.or(value),
            }
        };
        self.0.root().children_recursive().filter_map(|node| text(&node)).collect()
    }

    /// Whether something on screen has this in its name.
    pub fn says(&self, part: &str) -> bool {
        self.0.query_all_by_label_contains(part).next().is_some()
    }

    /// The value of what has that name.
    pub fn value(&self, label: &str) -> String {
        self.0.query_by_label(label).and_then(|node| node.value()).unwrap_or_default()
    }

    /// What the knob of a method says.
    pub fn dial(&self, method: &str) -> String {
        self.value(&format!("Dial of {method}"))
    }

    /// Calls, as the method's row says.
    pub fn calls(&self, method: &str) -> Option<u64> {
        // `live, 1,234 calls`
        let value = self.value(method);
        let (_, calls) = value.strip_suffix(" calls")?.split_once(", ")?;
        calls.replace(',', "").parse().ok()
    }

    /// Types into the filter.
    pub fn filter(&mut self, text: &str) {
        self.0.key_press(Key::Escape);
        self.0.run_steps(2);
        self.0.get_by_role_and_label(Role::TextInput, "Method filter").focus();
        self.0.run_steps(2);
        self.0.get_by_role_and_label(Role::TextInput, "Method filter").type_text(text);
        self.0.run_steps(3);
    }

    /// Finds the process in the list, with an agent in it, and picks it.
    pub fn pick(&mut self, pid: u32) -> Result<()> {
        self.choose(pid, "loaded")?;
        self.until("the connection", |window| window.says("Connected") && window.says("Hide framework"))
    }

    /// Clicks the process in the list once that says this word of it.
    pub fn choose(&mut self, pid: u32, word: &str) -> Result<()> {
        let row = format!(" {pid}, ");
        let end = format!("agent {word}");
        self.until("the process", |window| {
            window
                .0
                .query_all_by_label_contains(&row)
                .any(|node| node.accesskit_node().label().is_some_and(|label| label.ends_with(&end)))
        })?;
        // By its identity: where it is may change with the next process that starts or ends on this machine.
        self.0.get_by_label_contains(&row).click_accesskit();
        Ok(())
    }
}
