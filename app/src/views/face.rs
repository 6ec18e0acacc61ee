//! What a knob and the words beside it say of one method, or of many.

use crate::model::connection::{Connection, Dial, GroupDial, NO_BODIES};
use crate::output::{budget, words};
use crate::ui::knob;
use crate::ui::theme::Palette;
use eframe::egui::Color32;
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;

/// A knob's face with owned words.
#[derive(Clone, Debug, PartialEq)]
pub struct Face {
    /// What is wanted; None: they differ.
    pub wanted: Option<Level>,
    /// What the runtime does; None: it differs.
    pub state: Option<State>,
    /// The level that runs.
    pub runs: Level,
    /// Not answered yet.
    pub pending: bool,
    /// The state in words, short enough for a column.
    pub says: String,
    /// Why it cannot be turned whatever the agent, as a sentence: there is no body.
    pub unable: Option<&'static str>,
    /// Some of the processes it is for refused.
    pub refused: bool,
    /// Where it is of several: how many of them are on, of how many that can be.
    pub several: Option<(u64, u64)>,
}

/// What stands in the state's column of what has no body.
const NO_BODY: &str = "no body";

/// Whether it is what it is because the budget stepped it down.
fn is_stepped(dial: &Dial<'_>) -> bool {
    budget::is_stepped(dial.row.and_then(|row| row.times_note.as_deref()))
}

/// Why levels are not offered.
pub const NOT_OFFERED: &str =
    "not offered by this agent: its program was started with a lower REDIAL_MAX_LEVEL";

impl Face {
    /// Of one method. Without a connection nobody knows what runs: what ran last is said to be past.
    pub fn of(dial: &Dial<'_>, connected: bool) -> Face {
        let known = dial.row.is_some();
        let unable = dial.bodyless.map(Reason::sentence);
        if !connected {
            let past = known && matches!(dial.state, State::Live | State::Asked | State::Reverting);
            let says = match (past || dial.state == State::Off, known) {
                (true, true) => format!("was {}", dial.state),
                _ if unable.is_some() => NO_BODY.to_owned(),
                (_, true) => dial.state.word().to_owned(),
                (_, false) => String::new(),
            };
            let state = if past { State::Lost } else { dial.state };
            return Face {
                wanted: Some(dial.wanted),
                state: Some(state),
                runs: Level::Off,
                pending: false,
                says,
                unable,
                refused: false,
                several: None,
            };
        }
        let says = match (dial.pending, dial.state) {
            (true, _) => "asking…".to_owned(),
            (_, State::Off) if unable.is_some() => NO_BODY.to_owned(),
            (_, State::Off) if dial.row.is_none() => String::new(),
            (_, state @ (State::Live | State::Asked | State::Off)) if is_stepped(dial) => {
                format!("{state}, by the budget")
            }
            (_, state) => state.word().to_owned(),
        };
        Face {
            wanted: Some(dial.wanted),
            state: Some(dial.state),
            runs: dial.actual,
            pending: dial.pending,
            says,
            unable,
            refused: false,
            several: None,
        }
    }

    /// Of a group.
    pub fn of_group(group: &GroupDial) -> Face {
        let count = |state: State| group.sums.states.get(state as usize).copied().unwrap_or(0);
        let on: u32 = group.by_level.iter().skip(1).sum();
        let state = match group.wanted {
            None => None,
            Some(Level::Off) => {
                let told = [State::Reverting, State::Off, State::Failed, State::Refused, State::Lost];
                Some(told.into_iter().find(|state| count(*state) > 0).unwrap_or(State::Off))
            }
            Some(_) if count(State::Asked) > 0 => Some(State::Asked),
            Some(_) if count(State::Live) > 0 => Some(State::Live),
            Some(_) if count(State::Refused) + count(State::Failed) > 0 => Some(State::Refused),
            Some(_) => Some(State::Off),
        };
        let live = count(State::Live);
        let says = match (group.pending, on) {
            (true, _) => "asking…".to_owned(),
            (_, 0) if group.is_bodyless() => NO_BODY.to_owned(),
            (_, 0) if group.sums.known == 0 => String::new(),
            (_, 0) => state.unwrap_or(State::Off).to_string(),
            _ => words::live_of(live.into(), on.into()),
        };
        let runs = if live > 0 { group.wanted.unwrap_or(Level::Count) } else { Level::Off };
        let unable = group.is_bodyless().then_some(NO_BODIES);
        let able = u64::from(group.methods.saturating_sub(group.bodyless));
        let several = (able > 1).then_some((u64::from(on), able));
        let (wanted, pending) = (group.wanted, group.pending);
        Face { wanted, state, runs, pending, says, unable, refused: false, several }
    }

    /// The same where nobody is connected any more, so that nobody knows what runs: what ran last is said to be past.
    pub fn seen(mut self, connected: bool) -> Face {
        if connected {
            return self;
        }
        let was = self.state;
        if matches!(was, Some(State::Live | State::Asked | State::Reverting)) {
            self.state = Some(State::Lost);
        }
        if self.unable.is_none() && !self.says.is_empty() {
            self.says = match (self.wanted, was) {
                (Some(Level::Off), Some(state @ (State::Off | State::Reverting))) => format!("were {state}"),
                (Some(Level::Off), Some(state)) => state.to_string(),
                _ => format!("were on: {}", self.says),
            };
        }
        (self.runs, self.pending) = (Level::Off, false);
        self
    }

    /// Says that it was refused in some of the processes it is for.
    pub fn refused_in(&mut self, number: usize) {
        self.says = match self.says.as_str() {
            "" | "failed" | "refused" => format!("refused in {number}"),
            says => format!("{says}, refused in {number}"),
        };
        self.refused = true;
    }

    /// Whether its knob can be turned; else why not.
    pub fn enabled<'a>(&self, connection: &'a Connection) -> Result<(), &'a str> {
        connection.obstacle().or(self.unable).map_or(Ok(()), Err)
    }

    /// For the knob. `label` is what it turns.
    pub fn knob<'a>(&'a self, connection: &'a Connection, label: &'a str) -> knob::Face<'a> {
        knob::Face {
            wanted: self.wanted,
            actual: self.state,
            runs: self.runs,
            pending: self.pending,
            offered: connection.offered(),
            not_offered: NOT_OFFERED,
            label,
            says: &self.says,
            several: self.several,
        }
    }

    /// The colour of the words.
    pub fn colour(&self, palette: &Palette) -> Color32 {
        if self.refused {
            return palette.bad;
        }
        match (self.pending, self.state) {
            (true, _) | (_, Some(State::Asked | State::Reverting)) => palette.asked,
            (_, Some(State::Live)) => palette.live,
            (_, Some(State::Refused | State::Failed)) => palette.bad,
            (_, Some(State::Off | State::Lost) | None) => palette.weak,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::live::Sums;

    fn group(wanted: Option<Level>, states: [u32; 7], on: u32) -> Face {
        grouped(wanted, states, on, 0)
    }

    fn grouped(wanted: Option<Level>, states: [u32; 7], on: u32, bodyless: u32) -> Face {
        let sums = Sums { known: states.iter().sum(), states, ..Sums::default() };
        let by_level = [0, on, 0, 0];
        Face::of_group(&GroupDial { methods: 9, wanted, pending: false, bodyless, by_level, sums })
    }

    #[test]
    fn a_group_says_what_most_needs_saying() {
        let waiting = group(Some(Level::Count), [0, 1, 3, 0, 0, 0, 0], 4);
        assert_eq!((waiting.state, waiting.says.as_str()), (Some(State::Asked), "3 of 4 live"));
        let live = group(Some(Level::Count), [0, 0, 4, 0, 1, 0, 0], 5);
        assert_eq!((live.state, live.runs), (Some(State::Live), Level::Count));
        assert_eq!(group(Some(Level::Count), [0, 0, 0, 0, 2, 0, 0], 2).state, Some(State::Refused));
        assert_eq!(group(None, [2, 0, 2, 0, 0, 0, 0], 2).state, None);
        assert_eq!(group(Some(Level::Off), [2, 0, 0, 0, 0, 0, 0], 0).says, "off", "they were on");
        assert_eq!(group(Some(Level::Off), [1, 0, 0, 1, 0, 0, 0], 0).says, "reverting");
        assert_eq!(group(Some(Level::Off), [0; 7], 0).says, "");
        assert_eq!(group(Some(Level::Off), [0, 0, 0, 0, 0, 2, 1], 0).says, "failed", "it stays withdrawn");
        assert_eq!(group(Some(Level::Off), [0, 0, 0, 0, 0, 0, 2], 0).says, "lost");
        let interface = grouped(Some(Level::Off), [0; 7], 0, 9);
        assert_eq!((interface.says.as_str(), interface.unable), ("no body", Some(NO_BODIES)));
        assert_eq!(grouped(Some(Level::Off), [0; 7], 0, 8).unable, None);
    }

    #[test]
    fn nobody_knows_what_runs_in_a_group_out_of_reach() {
        let gone = group(Some(Level::Count), [0, 0, 4, 0, 0, 0, 0], 4).seen(false);
        assert_eq!((gone.state, gone.runs), (Some(State::Lost), Level::Off));
        assert_eq!(gone.says, "were on: 4 of 4 live");
        assert_eq!(group(Some(Level::Off), [2, 0, 0, 0, 0, 0, 0], 0).seen(false).says, "were off");
        assert_eq!(group(Some(Level::Off), [0, 0, 0, 0, 0, 2, 1], 0).seen(false).says, "failed");
        assert_eq!(group(Some(Level::Off), [0; 7], 0).seen(false).says, "");
        let mut withdrawn = group(Some(Level::Off), [0, 0, 0, 0, 0, 2, 0], 0);
        withdrawn.refused_in(2);
        assert_eq!(withdrawn.says, "refused in 2", "each once");
        assert_eq!(group(Some(Level::Off), [1, 0, 0, 1, 0, 0, 0], 0).seen(false).says, "were reverting");
        assert_eq!(grouped(Some(Level::Off), [0; 7], 0, 9).seen(false).says, "no body");
    }
}
