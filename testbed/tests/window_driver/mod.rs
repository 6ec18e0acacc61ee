//! The window without a screen, driven through AccessKit.
#![allow(dead_code, reason = "each suite uses what it needs")]

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use anyhow::{Result, ensure};
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, OutputCommand};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_testbed::host::DEADLINE;
use redial_window::{App, Options};

/// The settings file of a window. Dropping it removes the file.
pub struct LayoutFile(PathBuf);

impl LayoutFile {
    /// Sets a log of twenty lines, so that a recent line stays in sight whatever follows.
    fn with_a_long_log() -> LayoutFile {
        let layout =
            LayoutFile(std::env::temp_dir().join(format!("redial-layout-{}.json", std::process::id())));
        std::fs::write(&layout.0, r#"{ "log_height": 440.0 }"#).expect("a folder for temporary files");
        layout
    }
}

impl Drop for LayoutFile {
    fn drop(&mut self) {
        // A test that fails for another reason must not fail for this one.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The window, and its requests for repaints, which updates of worker threads cause.
pub struct Window(pub Harness<'static, App>, Receiver<Instant>, LayoutFile);

impl Window {
    /// Opens a window that looks for processes.
    pub fn open() -> Window {
        Window::with(LayoutFile::with_a_long_log())
    }

    /// Closes the window and opens another with the same settings.
    pub fn reopen(self) -> Window {
        let Window(harness, _, layout) = self;
        drop(harness);
        Window::with(layout)
    }

    fn with(layout: LayoutFile) -> Window {
        let options = Options { scan: true, settings: Some(layout.0.clone()), ..Options::default() };
        let harness = Harness::builder()
            .with_size([1280.0, 1_200.0])
            .build_eframe(|creation| App::new(&creation.egui_ctx, options));
        let (ask, asked) = channel();
        harness.ctx.set_request_repaint_callback(move |asked| {
            // After the window is gone nobody receives this.
            let _ = ask.send(Instant::now() + asked.delay);
        });
        Window(harness, asked, layout)
    }

    /// Draws frames until `found` returns true.
    pub fn until(&mut self, what: &str, found: impl Fn(&Window) -> bool) -> Result<()> {
        let deadline = Instant::now() + DEADLINE;
        while !found(self) {
            ensure!(Instant::now() < deadline, "{what} did not come; on screen is {:#?}", self.labels());
            self.0.step();
            self.wait_for_repaint(deadline);
        }
        Ok(())
    }

    /// Waits like the desktop until the earliest requested repaint.
    fn wait_for_repaint(&self, deadline: Instant) {
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

    /// Returns whether the name of any widget contains `part`.
    pub fn shows(&self, part: &str) -> bool {
        self.0.query_all_by_label_contains(part).next().is_some()
    }

    /// Returns the value of the widget with that name.
    pub fn value(&self, label: &str) -> String {
        self.0.query_by_label(label).and_then(|node| node.value()).unwrap_or_default()
    }

    /// Returns the value of a method's knob.
    pub fn dial(&self, method: &str) -> String {
        self.value(&format!("Dial of {method}"))
    }

    /// Returns the calls in the method's row.
    pub fn calls(&self, method: &str) -> Option<u64> {
        // `live, 1,234 calls`
        let value = self.value(method);
        let (_, calls) = value.strip_suffix(" calls")?.split_once(", ")?;
        calls.replace(',', "").parse().ok()
    }

    /// Draws frames until the window copies a text, and returns it.
    pub fn copied(&mut self) -> Option<String> {
        (0..10).find_map(|_| {
            self.0.step();
            let commands = &self.0.output().platform_output.commands;
            commands.iter().find_map(|command| match command {
                OutputCommand::CopyText(text) => Some(text.clone()),
                _ => None,
            })
        })
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

    /// Selects the process in the list once its agent is loaded.
    pub fn select(&mut self, pid: u32) -> Result<()> {
        self.click_process(pid, "loaded")?;
        self.until("the connection", |window| window.shows("Connected") && window.shows("Hide framework"))
    }

    /// Clicks the process in the list once its row contains `word`.
    pub fn click_process(&mut self, pid: u32, word: &str) -> Result<()> {
        let row = format!(" {pid}, ");
        let end = format!("agent {word}");
        self.until("the process", |window| {
            window
                .0
                .query_all_by_label_contains(&row)
                .any(|node| node.accesskit_node().label().is_some_and(|label| label.ends_with(&end)))
        })?;
        // By its name, since its position may change with any process that starts or ends on this machine.
        self.0.get_by_label_contains(&row).click_accesskit();
        Ok(())
    }
}
