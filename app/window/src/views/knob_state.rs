//! The state of one method or of many, as a knob and the text beside it show it.

use crate::commands::NOT_OFFERED;
use crate::ui::knob;
use crate::ui::theme::Palette;
use eframe::egui::Color32;
use redial_model::method_table::{Dial, GroupDial, NO_BODIES};
use redial_model::subject::Subject;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_text::budget;
use redial_text::diagnostics::{Reader, reasons};
use redial_text::words;

/// The state that a knob shows, with owned texts.
#[derive(Clone, Debug, PartialEq)]
pub struct KnobState {
    /// The level wanted; `None` if the methods differ.
    pub wanted: Option<Level>,
    /// The actual state; `None` if the methods differ.
    pub state: Option<CopyState>,
    /// The level that runs.
    pub runs: Level,
    /// The agent has not answered yet.
    pub pending: bool,
    /// The state as text, short enough for a column.
    pub state_text: String,
    /// Why no agent can turn it: the method has no body.
    pub unable: Option<&'static str>,
    /// Some of the processes refused the change, or some of the methods could not be turned on.
    pub refused: bool,
    /// For several methods: how many are on, and how many can be.
    pub several: Option<(u64, u64)>,
}

/// The state column's text for methods without a body.
const NO_BODY: &str = "no body";

/// Returns whether the budget turned the method down.
fn is_stepped(dial: &Dial<'_>) -> bool {
    budget::is_stepped(dial.row.and_then(|row| row.times_note.as_deref()))
}

/// Returns a sentence that explains a state.
pub fn state_hint(state: CopyState, level: Option<Level>) -> String {
    words::sentence(words::state_means(state, level))
}

impl KnobState {
    /// Returns the state of one method. Without a connection the actual state is unknown, so the last one is
    /// marked as past.
    pub fn of(dial: &Dial<'_>, connected: bool) -> KnobState {
        let known = dial.row.is_some();
        let unable = dial.bodyless.map(|reason| reasons::sentence(reason, Reader::Window));
        if !connected {
            let past =
                known && matches!(dial.state, CopyState::Live | CopyState::Asked | CopyState::Reverting);
            let state_text = match (past || dial.state == CopyState::Off, known) {
                (true, true) => format!("was {}", words::state_word(dial.state)),
                _ if unable.is_some() => NO_BODY.to_owned(),
                (_, true) => words::state_word(dial.state).to_owned(),
                (_, false) => String::new(),
            };
            let state = if past { CopyState::Lost } else { dial.state };
            return KnobState {
                wanted: Some(dial.wanted),
                state: Some(state),
                runs: Level::Off,
                pending: false,
                state_text,
                unable,
                refused: false,
                several: None,
            };
        }
        let state_text = match (dial.pending, dial.state) {
            (true, _) => "requesting…".to_owned(),
            (_, CopyState::Off) if unable.is_some() => NO_BODY.to_owned(),
            (_, CopyState::Off) if dial.row.is_none() => String::new(),
            (_, state @ (CopyState::Live | CopyState::Asked | CopyState::Off)) if is_stepped(dial) => {
                format!("{} (budget)", words::state_word(state))
            }
            (_, state) => words::state_word(state).to_owned(),
        };
        KnobState {
            wanted: Some(dial.wanted),
            state: Some(dial.state),
            runs: dial.actual,
            pending: dial.pending,
            state_text,
            unable,
            refused: false,
            several: None,
        }
    }

    /// Returns the state of a group.
    pub fn of_group(group: &GroupDial) -> KnobState {
        let count = |state: CopyState| group.sums.states.get(state as usize).copied().unwrap_or(0);
        let on: u32 = group.by_level.iter().skip(1).sum();
        let state = match group.wanted {
            None => None,
            Some(Level::Off) => {
                let by_importance = [
                    CopyState::Reverting,
                    CopyState::Off,
                    CopyState::Failed,
                    CopyState::Refused,
                    CopyState::Lost,
                ];
                Some(by_importance.into_iter().find(|state| count(*state) > 0).unwrap_or(CopyState::Off))
            }
            Some(_) if count(CopyState::Asked) > 0 => Some(CopyState::Asked),
            Some(_) if count(CopyState::Live) > 0 => Some(CopyState::Live),
            Some(_) if count(CopyState::Refused) + count(CopyState::Failed) > 0 => Some(CopyState::Refused),
            Some(_) => Some(CopyState::Off),
        };
        let live = count(CopyState::Live);
        let problems = [CopyState::Refused, CopyState::Failed].map(|state| (count(state), state));
        let problem = problems.into_iter().find(|(number, _)| *number > 0 && on > 0);
        let state_text = match (group.pending, on) {
            (true, _) => "requesting…".to_owned(),
            (_, 0) if group.is_bodyless() => NO_BODY.to_owned(),
            (_, 0) if group.sums.known == 0 => String::new(),
            (_, 0) => words::state_word(state.unwrap_or(CopyState::Off)).to_owned(),
            _ => match (problem, live) {
                (None, _) => words::live_of(live.into(), on.into()),
                (Some((number, state)), 0) => format!("{number} of {on} {}", words::state_word(state)),
                (Some((number, state)), _) => format!("{live} live, {number} {}", words::state_word(state)),
            },
        };
        let runs = if live > 0 { group.wanted.unwrap_or(Level::Count) } else { Level::Off };
        let unable = group.is_bodyless().then_some(NO_BODIES);
        let able = u64::from(group.methods.saturating_sub(group.bodyless));
        let several = (able > 1).then_some((u64::from(on), able));
        let (wanted, pending) = (group.wanted, group.pending);
        let refused = problem.is_some() && !pending;
        KnobState { wanted, state, runs, pending, state_text, unable, refused, several }
    }

    /// Marks the state as past unless connected, because without a connection the actual state is unknown.
    pub fn seen(mut self, connected: bool) -> KnobState {
        if connected {
            return self;
        }
        let was = self.state;
        if matches!(was, Some(CopyState::Live | CopyState::Asked | CopyState::Reverting)) {
            self.state = Some(CopyState::Lost);
        }
        if self.unable.is_none() && !self.state_text.is_empty() {
            self.state_text = match (self.wanted, was) {
                (Some(Level::Off), Some(state @ (CopyState::Off | CopyState::Reverting))) => {
                    format!("were {state}")
                }
                (Some(Level::Off), Some(state)) => state.to_string(),
                _ => format!("were on: {}", self.state_text),
            };
        }
        (self.runs, self.pending) = (Level::Off, false);
        self
    }

    /// Adds that `number` processes refused the change.
    pub fn refused_in(&mut self, number: usize) {
        self.state_text = match self.state_text.as_str() {
            "" | "failed" | "refused" => format!("refused in {number}"),
            state_text => format!("{state_text}, refused in {number}"),
        };
        self.refused = true;
    }

    /// Returns whether the knob can be turned, or the reason why not.
    pub fn enabled<'a>(&self, subject: Subject<'a>) -> Result<(), &'a str> {
        subject.obstacle().or(self.unable).map_or(Ok(()), Err)
    }

    /// Returns the knob's appearance. `label` names the target of the knob.
    pub fn knob<'a>(&'a self, subject: Subject<'a>, label: &'a str) -> knob::KnobFace<'a> {
        knob::KnobFace {
            wanted: self.wanted,
            actual: self.state,
            runs: self.runs,
            pending: self.pending,
            offered: subject.offered(),
            not_offered: NOT_OFFERED,
            label,
            state_text: &self.state_text,
            several: self.several,
        }
    }

    /// Returns the text colour.
    pub fn colour(&self, palette: &Palette) -> Color32 {
        if self.refused {
            return palette.bad;
        }
        match (self.pending, self.state) {
            (true, _) | (_, Some(CopyState::Asked | CopyState::Reverting)) => palette.waiting,
            (_, Some(CopyState::Live)) => palette.live,
            (_, Some(CopyState::Refused | CopyState::Failed)) => palette.bad,
            (_, Some(CopyState::Off | CopyState::Lost) | None) => palette.weak,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::live::RowTotals;

    fn group(wanted: Option<Level>, states: [u32; 7], on: u32) -> KnobState {
        grouped(wanted, states, on, 0)
    }

    fn grouped(wanted: Option<Level>, states: [u32; 7], on: u32, bodyless: u32) -> KnobState {
        let sums = RowTotals { known: states.iter().sum(), states, ..RowTotals::default() };
        let by_level = [0, on, 0, 0];
        KnobState::of_group(&GroupDial { methods: 9, wanted, pending: false, bodyless, by_level, sums })
    }

    #[test]
    fn group_shows_its_most_important_state() {
        let waiting = group(Some(Level::Count), [0, 1, 3, 0, 0, 0, 0], 4);
        assert_eq!((waiting.state, waiting.state_text.as_str()), (Some(CopyState::Asked), "3 of 4 live"));
        let live = group(Some(Level::Count), [0, 0, 4, 0, 1, 0, 0], 5);
        assert_eq!((live.state, live.runs), (Some(CopyState::Live), Level::Count));
        assert_eq!((live.state_text.as_str(), live.refused), ("4 live, 1 refused", true));
        assert_eq!(group(Some(Level::Count), [0, 0, 0, 0, 2, 0, 0], 2).state, Some(CopyState::Refused));
        let mixed = group(None, [5, 0, 0, 0, 1, 0, 0], 1);
        assert_eq!((mixed.state_text.as_str(), mixed.refused), ("1 of 1 refused", true));
        assert_eq!(group(None, [2, 0, 2, 0, 0, 0, 0], 2).state, None);
        assert_eq!(group(Some(Level::Off), [2, 0, 0, 0, 0, 0, 0], 0).state_text, "off", "they were on");
        assert_eq!(group(Some(Level::Off), [1, 0, 0, 1, 0, 0, 0], 0).state_text, "reverting");
        assert_eq!(group(Some(Level::Off), [0; 7], 0).state_text, "");
        assert_eq!(
            group(Some(Level::Off), [0, 0, 0, 0, 0, 2, 1], 0).state_text,
            "failed",
            "it stays withdrawn"
        );
        assert_eq!(group(Some(Level::Off), [0, 0, 0, 0, 0, 0, 2], 0).state_text, "lost");
        let interface = grouped(Some(Level::Off), [0; 7], 0, 9);
        assert_eq!((interface.state_text.as_str(), interface.unable), ("no body", Some(NO_BODIES)));
        assert_eq!(grouped(Some(Level::Off), [0; 7], 0, 8).unable, None);
    }

    #[test]
    fn unreachable_group_shows_past_states() {
        let gone = group(Some(Level::Count), [0, 0, 4, 0, 0, 0, 0], 4).seen(false);
        assert_eq!((gone.state, gone.runs), (Some(CopyState::Lost), Level::Off));
        assert_eq!(gone.state_text, "were on: 4 of 4 live");
        assert_eq!(group(Some(Level::Off), [2, 0, 0, 0, 0, 0, 0], 0).seen(false).state_text, "were off");
        assert_eq!(group(Some(Level::Off), [0, 0, 0, 0, 0, 2, 1], 0).seen(false).state_text, "failed");
        assert_eq!(group(Some(Level::Off), [0; 7], 0).seen(false).state_text, "");
        let mut withdrawn = group(Some(Level::Off), [0, 0, 0, 0, 0, 2, 0], 0);
        withdrawn.refused_in(2);
        assert_eq!(withdrawn.state_text, "refused in 2", "the state appears once");
        assert_eq!(
            group(Some(Level::Off), [1, 0, 0, 1, 0, 0, 0], 0).seen(false).state_text,
            "were reverting"
        );
        assert_eq!(grouped(Some(Level::Off), [0; 7], 0, 9).seen(false).state_text, "no body");
    }
}
