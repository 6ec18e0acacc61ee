//! Fuzzy search over commands, methods, processes and columns, best match first.

use crate::commands::{UiCommand, listed};
use crate::settings::columns::ColumnLayout;
use crate::settings::layouts::{Layouts, PanelId, Side};
use crate::views::processes;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use redial_model::Model;
use redial_model::catalogue::Catalogue;
use redial_model::ids::{MethodIx, SubjectId};
use redial_model::processes::AgentState;
use redial_text::display_names::{DisplayName, StateMachine};
use redial_text::names::namespace_length;
use std::time::{Duration, Instant};

/// Most methods, and most processes, that are listed.
const METHODS: usize = 30;
const PROCESSES: usize = 12;
/// Time that a frame spends on methods. A million of them take some frames.
const SLICE: Duration = Duration::from_millis(2);
/// Methods scored between two looks at the clock.
const STEP: u32 = 256;
/// Score by which a command outranks a method that matches as well. One letter matched in a row is worth 16.
const COMMAND: u32 = 24;
/// The same for a method of the program, against one of the framework.
const OWN: u32 = 12;

/// What a hit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitKind {
    /// A command of the window.
    Command,
    /// A column of the method table.
    Column,
    /// A layout, or a panel to move.
    Layout,
    /// A method of the process or processes shown.
    Method,
    /// A process.
    Process,
}

/// A match.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// What it is.
    pub kind: HitKind,
    /// Its text.
    pub text: String,
    /// What else to know: a method's namespace, a process's id.
    pub detail: String,
    /// What it does when chosen.
    pub command: UiCommand,
    score: u32,
}

/// A search that goes on over several frames.
#[derive(Debug)]
pub struct PaletteSearch {
    matcher: Matcher,
    text: String,
    pattern: Pattern,
    /// Process and edition of the catalogue that `methods` are from, and the next method to score.
    scanned: Option<(SubjectId, u64)>,
    next: u32,
    /// The best methods, best first.
    methods: Vec<(u32, MethodIx)>,
}

impl Default for PaletteSearch {
    fn default() -> PaletteSearch {
        PaletteSearch {
            matcher: Matcher::new(Config::DEFAULT),
            text: String::new(),
            pattern: Pattern::default(),
            scanned: None,
            next: 0,
            methods: Vec::new(),
        }
    }
}

impl PaletteSearch {
    /// Returns the hits for a text, best first; for an empty one all commands in the order of the menus.
    pub fn hits(
        &mut self,
        text: &str,
        model: &Model,
        (columns, layouts): (&ColumnLayout, &Layouts),
    ) -> Vec<Hit> {
        if self.text != text {
            text.clone_into(&mut self.text);
            self.pattern = Pattern::parse(text, CaseMatching::Smart, Normalization::Smart);
            self.scanned = None;
        }
        if text.trim().is_empty() {
            return listed().map(|command| command_hit(command, 0)).collect();
        }
        let mut hits: Vec<Hit> = Vec::new();
        for command in listed() {
            hits.extend(self.score(command.name()).map(|score| command_hit(command, score + COMMAND)));
        }
        for choice in columns.columns() {
            let name = choice.column.name();
            let text = format!("{} column {name}", if choice.hidden { "Show" } else { "Hide" });
            let command = UiCommand::SetColumns(columns.with_hidden(choice.column, !choice.hidden));
            hits.extend(self.score(&text).map(|score| Hit {
                kind: HitKind::Column,
                text,
                detail: String::new(),
                command,
                score,
            }));
        }
        let chosen = layouts.named.iter().map(|layout| {
            (format!("Use layout {}", layout.name), UiCommand::ChooseLayout(layout.name.clone()))
        });
        let moved = PanelId::ALL.into_iter().flat_map(|panel| {
            Side::ALL.into_iter().map(move |side| {
                (format!("Move {} to the {}", panel.title(), side.word()), UiCommand::MovePanel(panel, side))
            })
        });
        let saved = PanelId::ALL
            .into_iter()
            .map(|panel| (format!("Save a picture of {}…", panel.title()), UiCommand::ExportPanel(panel)));
        for (text, command) in chosen.chain(moved).chain(saved) {
            hits.extend(self.score(&text).map(|score| Hit {
                kind: HitKind::Layout,
                text,
                detail: String::new(),
                command,
                score,
            }));
        }
        hits.extend(self.processes(model));
        self.scan(model);
        hits.extend(self.found_methods(model));
        // Of equal scores, the shorter text matches more of itself.
        hits.sort_by_key(|hit| (std::cmp::Reverse(hit.score), hit.text.len()));
        hits
    }

    /// Returns whether methods remain to be scored.
    pub fn is_pending(&self, model: &Model) -> bool {
        !self.text.trim().is_empty()
            && model.list().is_some_and(|table| self.next < table.catalogue.len() as u32)
    }

    fn score(&mut self, text: &str) -> Option<u32> {
        let mut letters = Vec::new();
        self.pattern.score(Utf32Str::new(text, &mut letters), &mut self.matcher)
    }

    fn processes(&mut self, model: &Model) -> Vec<Hit> {
        let mut found = Vec::new();
        let shown = model.processes.all().filter(|row| row.runtime.is_some() || row.agent.can_connect());
        for row in shown {
            let title = processes::title(row);
            let text = format!("{title} {}", row.key.pid);
            if let Some(score) = self.score(&text) {
                let state = match &row.agent {
                    AgentState::Unknown => "",
                    agent => agent.word(),
                };
                let detail = format!("pid {}  {state}", row.key.pid);
                let command = UiCommand::Select(row.key);
                found.push(Hit { kind: HitKind::Process, text: title, detail, command, score });
            }
        }
        found.sort_by_key(|hit| std::cmp::Reverse(hit.score));
        found.truncate(PROCESSES);
        found
    }

    /// Scores methods for a while.
    fn scan(&mut self, model: &Model) {
        let Some((subject, table)) = model.current.zip(model.list()) else { return };
        let catalogue = &table.catalogue;
        if self.scanned != Some((subject, catalogue.edition())) {
            self.scanned = Some((subject, catalogue.edition()));
            self.methods.clear();
            self.next = 0;
        }
        let (end, all) = (Instant::now() + SLICE, catalogue.len() as u32);
        let (mut name, mut letters) = (String::new(), Vec::new());
        while self.next < all {
            let until = all.min(self.next + STEP);
            for method in (self.next..until).map(MethodIx) {
                let owner = catalogue.type_of(method);
                name.clear();
                name.push_str(catalogue.type_own_name(owner));
                name.push('.');
                name.push_str(catalogue.method_name(method));
                let text = Utf32Str::new(&name, &mut letters);
                let Some(score) = self.pattern.score(text, &mut self.matcher) else { continue };
                let module = catalogue.module(catalogue.module_of(method));
                let own = module.is_some_and(|module| !module.framework);
                self.keep((score + if own { OWN } else { 0 }, method), catalogue);
            }
            self.next = until;
            if Instant::now() >= end {
                break;
            }
        }
    }

    /// Keeps a method if it is among the best.
    fn keep(&mut self, (score, method): (u32, MethodIx), catalogue: &Catalogue) {
        let is_full = self.methods.len() >= METHODS;
        if is_full && self.methods.last().is_some_and(|(least, _)| *least >= score)
            || catalogue.row_method(method) != method
        {
            return;
        }
        let at = self.methods.partition_point(|(better, _)| *better >= score);
        self.methods.insert(at, (score, method));
        self.methods.truncate(METHODS);
    }

    fn found_methods(&self, model: &Model) -> Vec<Hit> {
        let Some(table) = model.list() else { return Vec::new() };
        let catalogue = &table.catalogue;
        let hit = |(score, method): &(u32, MethodIx)| {
            let full = catalogue.full_name(*method);
            let name = full.part(&(full.type_name.start..full.method.end));
            let start = full.method.start - full.type_name.start;
            let display = DisplayName::of(name, start, || StateMachine::Unknown);
            let text = format!("{}{}", display.text(name), full.part(&full.signature));
            let namespace = name.get(..namespace_length(full.part(&full.type_name))).unwrap_or_default();
            let module = full.part(&full.module);
            let detail = if namespace.is_empty() { module } else { namespace }.to_owned();
            let command = UiCommand::Reveal(*method);
            Hit { kind: HitKind::Method, text, detail, command, score: *score }
        };
        let known = self.methods.iter().filter(|(_, method)| (method.0 as usize) < catalogue.len());
        known.map(hit).collect()
    }
}

fn command_hit(command: &UiCommand, score: u32) -> Hit {
    let text = command.name().to_owned();
    Hit { kind: HitKind::Command, text, detail: String::new(), command: command.clone(), score }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<String> {
        let hits = PaletteSearch::default().hits(
            text,
            &Model::default(),
            (&ColumnLayout::default(), &Layouts::default()),
        );
        hits.into_iter().map(|hit| hit.text).collect()
    }

    #[test]
    fn best_match_comes_first() {
        assert_eq!(commands("off all")[0], "All dials off");
        assert_eq!(commands("alloff")[0], "All dials off", "letters in between may be missing");
        assert_eq!(commands("dark")[0], "Dark theme");
        assert!(commands("how")[0].starts_with("Show"));
        let position = |all: &[String], text: &str| all.iter().position(|one| one == text);
        let all = commands("how");
        assert!(position(&all, "Show as tree") < position(&all, "Select all methods shown"));
        assert_eq!(commands("p90")[0], "Hide column p90");
        assert!(commands("no such thing").is_empty());
        assert_eq!(commands("").len(), listed().count());
    }
}
