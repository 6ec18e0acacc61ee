//! The search for hot methods, as its worker reports it.

use super::Connection;
use crate::hot::{HotReport, HotStep, HotUpdate};
use crate::log::{Log, LogKind};
use crate::update::Now;
use redial_text::words;

/// The state of a search.
#[derive(Debug, Default)]
pub struct HotSearchState {
    /// The present step; `None` unless a search goes on.
    step: Option<Option<HotStep>>,
    /// Whether a search was completed and nobody has taken note of it yet.
    found: bool,
    /// The number of dials that the last search kept, until all are off.
    kept: u64,
}

impl HotSearchState {
    /// Returns whether a search goes on.
    pub fn is_on(&self) -> bool {
        self.step.is_some()
    }

    /// Returns how many of the process's kept dials are from this window's search.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Notes that all dials are off.
    pub(super) fn all_off(&mut self) {
        self.kept = 0;
    }

    /// Returns the text for the status bar while a search goes on.
    pub fn text(&self) -> Option<String> {
        let step = self.step.as_ref()?;
        let text = step.as_ref().map_or_else(|| "looking for hot methods".to_owned(), HotStep::sentence);
        Some(words::sentence_case(&text).into_owned() + "…")
    }
}

impl Connection {
    /// Notes that a search begins.
    pub fn hot_search_began(&mut self, log: &mut Log, now: Now) {
        self.hot_search.step = Some(None);
        let text = "find hot methods: count, time what is called, keep the hottest".to_owned();
        self.log_line(log, now, LogKind::Request, text);
    }

    /// Returns whether a search was completed since the last call.
    pub fn take_hot_found(&mut self) -> bool {
        std::mem::take(&mut self.hot_search.found)
    }

    pub(super) fn take_hot(&mut self, update: HotUpdate, log: &mut Log, now: Now) {
        match update {
            HotUpdate::Step(step) => {
                if !matches!(step, HotStep::Turning { .. }) {
                    self.log_line(log, now, LogKind::Notice, step.sentence());
                }
                self.hot_search.step = Some(Some(step));
                return;
            }
            HotUpdate::Found(report) => {
                self.hot_search.found = true;
                self.hot_search.kept = report.methods.len() as u64;
                for sentence in report.sentences() {
                    self.log_line(log, now, LogKind::Notice, sentence);
                }
                self.log_line(log, now, LogKind::Answer, summary(&report));
            }
            HotUpdate::Cancelled => {
                let text = "the search was stopped; its dials are off again".to_owned();
                self.log_line(log, now, LogKind::Answer, text);
            }
            HotUpdate::Failed(why) => {
                self.log_line(log, now, LogKind::Failure, format!("hot methods were not found: {why}"));
            }
        }
        self.hot_search.step = None;
    }
}

fn summary(report: &HotReport) -> String {
    let Some(first) = report.methods.first() else { return "no hot method; nothing stays on".to_owned() };
    let kept = report.methods.len() as u64;
    format!(
        "{} has the most self time, {} of all; {} at time until turned off, also after this window closes; everything else \
         is off again",
        first.method.name(),
        words::percent(report.share(first)),
        words::count(kept, "method stays", "methods stay"),
    )
}
