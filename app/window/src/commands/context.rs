//! The facts that decide which commands are available.

use super::RangeChoice;
use crate::settings::ThemeChoice;
use crate::settings::layouts::PanelId;
use redial_model::process_choice::Arrangement;
use redial_protocol::level::Level;

/// The present facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandContext {
    /// The process or processes shown; `None` if none is selected.
    pub subject: Option<SubjectFacts>,
    /// The table.
    pub list: ListFacts,
    /// The selected processes.
    pub processes: ProcessCounts,
    /// A dialog is open, which has the keyboard.
    pub dialog: bool,
    /// The demo program was found.
    pub demo: bool,
    /// A launched program can be stopped.
    pub stoppable: bool,
    /// The log has lines.
    pub has_log: bool,
    /// Launched programs have written output.
    pub has_output: bool,
    /// The current state of every switch.
    pub switches: Switches,
}

/// A process, or several in one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubjectFacts {
    /// Which of the two, with the facts that only a single process has.
    pub kind: SubjectKind,
    /// Whether its agents answer.
    pub reach: Reach,
    /// The agent can be loaded into it.
    pub attachable: bool,
    /// Number of selected methods.
    pub selected: usize,
    /// The levels its agents offer, in order.
    pub offered: [bool; Level::ALL.len()],
    /// A change can be undone.
    pub undo: bool,
    /// A change can be redone.
    pub redo: bool,
    /// An agent refused the last change because another controller has control.
    pub refused_for_control: bool,
}

/// One process or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// One process.
    Process(ProcessFacts),
    /// Several in one list, so there is no single agent to ask.
    Merged,
}

/// Facts about a single process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Another controller has control of it.
    pub controlled_elsewhere: bool,
    /// Somebody's change can be undone.
    pub undo_of_anyone: bool,
    /// A step of the budget can be undone.
    pub undo_of_budget: bool,
    /// A search for hot methods is running.
    pub finding_hot: bool,
}

/// Whether agents answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All do.
    Live,
    /// Some of several do; the others can be reconnected.
    Partly,
    /// None does; they can be reconnected.
    Unreachable,
    /// The process has ended; with several, all have.
    Ended,
}

/// Facts about the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListFacts {
    /// Number of methods shown.
    pub shown: usize,
    /// The filter has text.
    pub filtered: bool,
    /// A method was looked at before the current one.
    pub back: bool,
    /// *Back* left a method.
    pub forward: bool,
    /// A traced call is selected.
    pub call_selected: bool,
}

/// Numbers of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessCounts {
    /// Selected ones.
    pub selected: usize,
    /// Selected ones that have ended.
    pub ended: usize,
    /// Unselected ones in which this window holds dials.
    pub held_elsewhere: usize,
    /// Others have the name of the current one.
    pub namesakes: bool,
}

/// The state of every switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Only dialled methods are shown.
    pub only_dialled: bool,
    /// They include methods whose dials are off again.
    pub off_again: bool,
    /// Framework methods are hidden.
    pub hide_framework: bool,
    /// Methods that the compiler wrote are hidden.
    pub hide_generated: bool,
    /// Methods are shown as a tree.
    pub tree: bool,
    /// Copies are merged.
    pub merge_copies: bool,
    /// The order is frozen.
    pub freeze_order: bool,
    /// The calls that numbers cover.
    pub numbers: RangeChoice,
    /// The arrangement of several processes.
    pub arrangement: Arrangement,
    /// Processes that start later join.
    pub follow: bool,
    /// The agent is loaded into processes that join.
    pub follow_attach: bool,
    /// A panel of traced calls is shown.
    pub events: bool,
    /// Which panels are shown, in the order of [`PanelId::ALL`].
    pub panels: [bool; PanelId::ALL.len()],
    /// Panels are movable.
    pub movable_panels: bool,
    /// It shows no later calls.
    pub events_paused: bool,
    /// It shows the calls of all methods.
    pub events_of_all: bool,
    /// Rows are lower.
    pub compact: bool,
    /// The theme.
    pub theme: ThemeChoice,
}

impl Switches {
    /// Returns whether a panel is shown.
    pub fn shows(&self, panel: PanelId) -> bool {
        PanelId::ALL.into_iter().zip(self.panels).any(|(one, shown)| one == panel && shown)
    }
}

/// Why a command is not available while several processes are shown together.
pub(super) const SINGLE: &str = "this is for a single process: select one";

impl CommandContext {
    /// Returns the process or processes shown.
    ///
    /// # Errors
    /// When none is selected.
    pub fn shown(&self) -> Result<&SubjectFacts, &'static str> {
        self.subject.as_ref().ok_or("no process is selected")
    }

    /// Returns the process or processes shown, of which at least one agent answers.
    ///
    /// # Errors
    /// When no agent answers.
    pub fn live(&self) -> Result<&SubjectFacts, &'static str> {
        self.subject.as_ref().filter(|subject| subject.is_live()).ok_or("no agent is connected")
    }

    /// Returns the same if methods are selected there.
    ///
    /// # Errors
    /// When no agent answers, or no method is selected.
    pub fn selection(&self) -> Result<&SubjectFacts, &'static str> {
        let subject = self.live()?;
        if subject.selected == 0 {
            return Err("no method is selected: select one in the list first");
        }
        Ok(subject)
    }

    /// Returns the process shown if it is a single one and its agent answers.
    ///
    /// # Errors
    /// When several are shown together, or the agent does not answer.
    pub fn single_process(&self) -> Result<&ProcessFacts, &'static str> {
        if self.is_merged() {
            return Err(SINGLE);
        }
        match &self.live()?.kind {
            SubjectKind::Process(facts) => Ok(facts),
            SubjectKind::Merged => Err(SINGLE),
        }
    }

    /// Returns whether several processes are shown together.
    pub fn is_merged(&self) -> bool {
        self.subject.is_some_and(|subject| subject.kind == SubjectKind::Merged)
    }

    /// Returns whether an agent answers.
    pub fn is_live(&self) -> bool {
        self.live().is_ok()
    }

    /// Returns whether an agent refused the last change because another controller has control.
    pub fn is_refused_for_control(&self) -> bool {
        self.subject.is_some_and(|subject| subject.refused_for_control)
    }
}

impl SubjectFacts {
    fn is_live(&self) -> bool {
        matches!(self.reach, Reach::Live | Reach::Partly)
    }

    /// Returns whether control is known to be elsewhere.
    pub fn is_controlled_elsewhere(&self) -> bool {
        let known =
            matches!(self.kind, SubjectKind::Process(ProcessFacts { controlled_elsewhere: true, .. }));
        self.refused_for_control || known
    }
}

impl ProcessCounts {
    /// Returns the number of selected processes that have not ended.
    pub fn running(&self) -> usize {
        self.selected.saturating_sub(self.ended)
    }
}
