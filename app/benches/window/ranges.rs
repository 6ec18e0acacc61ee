//! Numbers since a mark and of the last ten seconds, for 20,000 rows that change four times a second.

use super::figures::Figure;
use super::stage::Stage;
use super::{Bench, SORT};
use eframe::egui::Event;
use redial_model::update::Update;
use std::sync::mpsc::SyncSender;

impl Bench {
    /// Measures both ranges in a table sorted by rate, then shows totals again.
    pub fn ranges(&mut self, stage: &mut Stage, to: &SyncSender<Update>) {
        // The button names the present range; the menu's entries name what a click begins.
        let ranges = [("Totals", "Since now", "since now"), ("Since mark", "Last 10 s", "last 10 s")];
        let mut choices = Vec::new();
        for (present, next, how) in ranges {
            choices.push(choose(stage, present, next));
            self.update(stage, to, &format!("{how}, sorted by rate"));
        }
        choices.push(choose(stage, "Last 10 s", "Totals"));
        Figure::times("a frame that begins another range", &choices, SORT).print(self.tabs);
    }
}

/// Chooses a range from the menu; returns the time of the frame that begins it.
fn choose(stage: &mut Stage, present: &str, next: &str) -> std::time::Duration {
    let button = stage.find(&format!("Numbers: {present}"));
    stage.click(button);
    let entry = stage.find(next);
    let took = stage.click(entry);
    // The pointer must not keep rows in their places.
    let head = stage.find("Sort by per second");
    stage.frame(vec![Event::PointerMoved(head)]);
    took
}
