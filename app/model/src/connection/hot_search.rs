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
    /// Number of dials kept by this window's searches; zero once all dials are off.
    kept: u64,
    /// The number of kept dials before the present search, if the agent has reported any.
    kept_before: Option<u64>,
    /// Whether the agent has yet to report the dials that a search kept.
    awaits_kept: bool,
}

impl HotSearchState {
    /// Returns whether a search goes on.
    pub fn is_on(&self) -> bool {
        self.step.is_some()
    }

    /// Returns how many of the process's kept dials are from this window's searches.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Notes the number of kept dials that the agent reports.
    pub(super) fn agent_keeps(&mut self, kept: u64) {
        let before = self.kept_before.unwrap_or(0);
        if self.awaits_kept && kept > before {
            self.awaits_kept = false;
            self.kept += kept - before;
        }
        self.kept = self.kept.min(kept);
    }

    /// Notes that all dials are off.
    pub(super) fn all_off(&mut self) {
        (self.kept, self.awaits_kept) = (0, false);
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
        self.hot_search.kept_before = self.agent.as_ref().map(|agent| agent.kept);
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
                self.hot_search.awaits_kept = !report.methods.is_empty();
                for sentence in report.sentences() {
                    self.log_line(log, now, LogKind::Notice, sentence);
                }
                self.log_line(log, now, LogKind::Done, summary(&report));
            }
            HotUpdate::Cancelled => {
                let text = "the search was stopped; its dials are off again".to_owned();
                self.log_line(log, now, LogKind::Done, text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_dials_of_searches_are_this_windows() {
        let mut search =
            HotSearchState { kept_before: Some(3), awaits_kept: true, ..HotSearchState::default() };
        search.agent_keeps(3);
        assert_eq!(search.kept(), 0, "that report is older than the result");
        search.agent_keeps(53);
        assert_eq!(search.kept(), 50);
        (search.kept_before, search.awaits_kept) = (Some(53), true);
        search.agent_keeps(60);
        assert_eq!(search.kept(), 57, "a second search adds its own");
        search.agent_keeps(40);
        assert_eq!(search.kept(), 40, "some were turned off");
        search.all_off();
        search.agent_keeps(9);
        assert_eq!(search.kept(), 0, "these are others'");
    }
}
