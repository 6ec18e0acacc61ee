//! One agent and everything known of its process: catalogue, rows, table, tree, selection, turns.

use super::catalogue::Catalogue;
use super::ids::{ConnectionId, MethodIx, Node, Ticket};
use super::list::{Filter, List, ListRows, Sort};
use super::live::{Live, LiveRow, Sums};
use super::log::{Kind, Log};
use super::methodset::MethodSet;
use super::selection::{Mode, Selection};
use super::tree::{Tree, TreeRows};
use super::turns::{self, Turn, Turns};
use super::update::{CataloguePart, Now, Refused, Told};
use crate::model::live::TICK_MS;
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, DialReport, Event, Holder};
use redial_protocol::state::State;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// Transitions told one by one of one message; more are summed up.
const TOLD_SINGLY: usize = 12;
/// The time over which updates are counted.
const RATE_WINDOW: Duration = Duration::from_secs(2);

/// Where a connection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// On the way to the first hello.
    Connecting,
    /// The agent answers.
    Live,
    /// The session ended.
    Lost {
        /// Why, as a sentence.
        why: String,
        /// When the next attempt begins, on `Now::mono`'s clock; absent: there will be none.
        retry_at: Option<Duration>,
    },
}

/// Which form the methods have on screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A flat table.
    #[default]
    List,
    /// A tree.
    Tree,
}

/// What a knob shows of one method.
#[derive(Clone, Copy, Debug)]
pub struct Dial<'a> {
    /// What the user wants: the ring.
    pub wanted: Level,
    /// Whether that is not answered yet.
    pub pending: bool,
    /// What runs: the needle. The level wanted while the body for it is live, else off.
    pub actual: Level,
    /// What the runtime does.
    pub state: State,
    /// The agent's row, if the method is or was dialled.
    pub row: Option<&'a LiveRow>,
}

/// What a knob shows of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupDial {
    /// Methods of the group that are shown.
    pub methods: u32,
    /// What all of them want; absent: they differ.
    pub wanted: Option<Level>,
    /// Whether a turn that concerns some of them is not answered yet.
    pub pending: bool,
    /// Methods by wanted level; those never dialled count as off.
    pub by_level: [u32; Level::ALL.len()],
    /// Numbers of those that are or were dialled.
    pub sums: Sums,
}

/// One agent.
#[derive(Debug)]
pub struct Connection {
    /// Its id.
    pub id: ConnectionId,
    /// The process, as this machine sees it.
    pub process: ProcessKey,
    /// What the process is called.
    pub name: String,
    /// Where it stands.
    pub status: Status,
    /// What the agent said of itself in its last hello.
    pub facts: Option<Box<AgentFacts>>,
    /// The agent's last account of itself: memory, budgets, audit.
    pub agent: Option<Box<AgentStatus>>,
    /// Who has control.
    pub holder: Option<Holder>,
    /// The last round trip.
    pub latency: Option<Duration>,
    /// What is loaded.
    pub catalogue: Catalogue,
    /// The agent's rows.
    pub live: Live,
    /// The table.
    pub list: List,
    /// The tree.
    pub tree: Tree,
    /// Which of the two is shown.
    pub shape: Shape,
    /// What is selected.
    pub selection: Selection,
    /// Turns under way, and undo.
    pub turns: Turns,
    /// When updates arrived of late.
    arrivals: VecDeque<(Duration, u64)>,
    tickets: u32,
    refused: Option<(Ticket, Refused)>,
}

impl Connection {
    /// A connection that is about to be made.
    pub fn new(id: ConnectionId, process: ProcessKey, name: impl Into<String>) -> Connection {
        Connection {
            id,
            process,
            name: name.into(),
            status: Status::Connecting,
            facts: None,
            agent: None,
            holder: None,
            latency: None,
            catalogue: Catalogue::default(),
            live: Live::default(),
            list: List::default(),
            tree: Tree::default(),
            shape: Shape::default(),
            selection: Selection::default(),
            turns: Turns::default(),
            arrivals: VecDeque::new(),
            tickets: 0,
            refused: None,
        }
    }

    /// Takes in what the worker told.
    pub fn apply(&mut self, told: Vec<Told>, log: &mut Log, now: Now) {
        let updates = self.live.updates();
        let mut transitions = Transitions::default();
        for one in told {
            self.take(one, &mut transitions, log, now);
        }
        transitions.tell(&self.live, |text| log.add(now, Some(self.id), Kind::Transition, text));
        self.arrivals.push_back((now.mono, self.live.updates() - updates));
        self.forget_arrivals(now);
    }

    fn take(&mut self, told: Told, transitions: &mut Transitions, log: &mut Log, now: Now) {
        match told {
            Told::Connecting => self.status = Status::Connecting,
            Told::Connected(facts) => self.connected(facts, log, now),
            Told::Lost { why, retry } => self.lost(why, retry, log, now),
            Told::Catalogue(part) => self.grow(part, log, now),
            Told::Event(event) => self.event(event, transitions, log, now),
            Told::Dialled(ticket, Ok(report)) => self.dialled(ticket, &report, log, now),
            Told::Dialled(ticket, Err(refused)) => {
                let words = self.turns.failed(ticket).map_or("turn".to_owned(), |pending| pending.words);
                log.add(now, Some(self.id), Kind::Refusal, format!("{words} refused: {}", refused.why));
                self.refused = Some((ticket, refused));
            }
            Told::AllOff(ticket, result) => self.all_off_done(ticket, result, log, now),
            Told::Latency(latency) => self.latency = Some(latency),
            Told::AgentStatus(status) => {
                self.holder.clone_from(&status.control);
                self.agent = Some(status);
            }
            Told::Notice(text) => log.add(now, Some(self.id), Kind::Notice, text),
        }
    }

    fn connected(&mut self, facts: Box<AgentFacts>, log: &mut Log, now: Now) {
        self.status = Status::Live;
        self.holder.clone_from(&facts.holder);
        self.live.begin_session();
        let what = format!(
            "connected to {} (pid {}), {} {}, agent {}",
            self.name,
            self.process.pid,
            facts.runtime_kind.word(),
            facts.runtime_version,
            facts.agent_version
        );
        log.add(now, Some(self.id), Kind::Connection, what);
        self.facts = Some(facts);
    }

    fn lost(&mut self, why: String, retry: Option<Duration>, log: &mut Log, now: Now) {
        for pending in self.turns.clear() {
            if pending.accepted.is_none() {
                let text = format!("{} was not answered: {why}", pending.words);
                log.add(now, Some(self.id), Kind::Refusal, text);
            }
        }
        let was_lost = matches!(&self.status, Status::Lost { why: before, .. } if *before == why);
        if !was_lost {
            log.add(now, Some(self.id), Kind::Connection, why.clone());
        }
        self.latency = None;
        self.holder = None;
        self.status = Status::Lost { why, retry_at: retry.map(|wait| now.mono + wait) };
    }

    fn grow(&mut self, part: CataloguePart, log: &mut Log, now: Now) {
        match part {
            CataloguePart::Domains { domains, methods } => self.catalogue.set_domains(domains, methods),
            CataloguePart::Batch(batch) => {
                let name = batch.module.name.clone();
                if !self.catalogue.append(*batch) {
                    let text = format!("the methods of {name} do not fit into the list and are left out");
                    log.add(now, Some(self.id), Kind::Notice, text);
                }
                self.live.place(&self.catalogue);
            }
            CataloguePart::Unloaded(keys) => self.catalogue.unload(&keys),
            CataloguePart::Complete(order) => self.catalogue.complete(order),
        }
    }

    fn event(&mut self, event: Event, transitions: &mut Transitions, log: &mut Log, now: Now) {
        match event {
            Event::Rows { rows, .. } => {
                for row in &rows {
                    // A row that appears refused or failed has no transition to tell of it.
                    if self.live.row(row.row).is_none() && matches!(row.state, State::Refused | State::Failed)
                    {
                        transitions.add(row.row, State::Off, row.state);
                    }
                }
                self.live.take_rows(rows, &self.catalogue);
            }
            Event::Transition(transition) => {
                let (id, state) = (transition.row, transition.state);
                if let Some((_, before)) = self.live.take_transition(transition).filter(|was| was.1 != state)
                {
                    transitions.add(id, before, state);
                }
            }
            Event::Counters { delta, dropped } => self.live.take_counters(&delta, dropped),
            Event::Control(holder) => {
                let text = match &holder {
                    Some(holder) => format!("{} (pid {}) has control", holder.program, holder.pid),
                    None => "control is free".to_owned(),
                };
                if self.holder != holder {
                    log.add(now, Some(self.id), Kind::Connection, text);
                }
                self.holder = holder;
            }
            Event::Goodbye => {
                self.live.end();
                let text = "the process is ending; these are its last numbers";
                log.add(now, Some(self.id), Kind::Connection, text);
            }
            Event::Reply { .. } | Event::Methods { .. } => {}
        }
    }

    fn dialled(&mut self, ticket: Ticket, report: &DialReport, log: &mut Log, now: Now) {
        let Some(pending) = self.turns.accepted(ticket, now) else { return };
        let refused: u64 = report.refused_by_reason.iter().map(|(_, number)| number).sum();
        let text = format!("{}: {} of {} accepted", pending.words, report.accepted, report.matched);
        let kind = if report.accepted == 0 && refused > 0 { Kind::Refusal } else { Kind::Answer };
        log.add(now, Some(self.id), kind, text);
        for (reason, number) in &report.refused_by_reason {
            let named = report.refused.iter().filter(|one| one.reason == *reason);
            let first: Vec<&str> = named.take(3).map(|one| one.method.as_str()).collect();
            let rest = number.saturating_sub(first.len() as u64);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let text = format!("refused: {}{more}: {}", first.join(", "), reason.sentence());
            log.add(now, Some(self.id), Kind::Refusal, text);
        }
        for warning in &report.warnings {
            log.add(now, Some(self.id), Kind::Notice, warning.clone());
        }
    }

    fn all_off_done(&mut self, ticket: Ticket, result: Result<(u64, u64), String>, log: &mut Log, now: Now) {
        let (kind, text) = match result {
            Ok((reverted, remaining)) => {
                self.turns.accepted(ticket, now);
                match (reverted, remaining) {
                    (0, 0) => (Kind::Answer, "all off: no dial was on".to_owned()),
                    (reverted, 0) => (
                        Kind::Answer,
                        format!("all off: every dial is off, {reverted} reverted to the original IL"),
                    ),
                    (reverted, remaining) => (
                        Kind::Refusal,
                        format!("all off: {reverted} reverted to the original IL, {remaining} not"),
                    ),
                }
            }
            Err(why) => {
                self.turns.failed(ticket);
                (Kind::Refusal, format!("all off failed: {why}"))
            }
        };
        log.add(now, Some(self.id), kind, text);
    }

    /// Brings table, tree and turns up to date; to be called once a frame, after the last `apply`.
    pub fn settle(&mut self, now: Now) {
        self.turns.settle(now);
        self.forget_arrivals(now);
        self.list.settle(&self.catalogue, &self.live);
        if self.shape == Shape::Tree {
            let text = &self.list.filter().text;
            self.tree.settle(&self.catalogue, self.list.visible(), self.list.edition(), text);
        }
    }

    fn forget_arrivals(&mut self, now: Now) {
        let old = |at: &Duration| now.mono.saturating_sub(*at) > RATE_WINDOW;
        while self.arrivals.front().is_some_and(|(at, _)| old(at)) {
            self.arrivals.pop_front();
        }
    }

    /// Messages a second that arrived of late.
    pub fn update_rate(&self) -> f32 {
        let all: u64 = self.arrivals.iter().map(|(_, updates)| updates).sum();
        all as f32 / RATE_WINDOW.as_secs_f32()
    }

    /// Sets the filter.
    pub fn set_filter(&mut self, filter: Filter) {
        self.list.set_filter(filter);
    }

    /// Sets the order of the table.
    pub fn set_sort(&mut self, sort: Sort) {
        self.list.set_sort(sort);
    }

    /// A click on a row.
    pub fn click(&mut self, node: Node, mode: Mode) {
        match self.shape {
            Shape::List => self.selection.click(&list_rows(&self.list, &self.catalogue), node, mode),
            Shape::Tree => self.selection.click(&tree_rows(&self.tree, &self.catalogue), node, mode),
        }
    }

    /// Moves the focus by so many rows.
    pub fn step(&mut self, by: isize, extend: bool) {
        match self.shape {
            Shape::List => self.selection.step(&list_rows(&self.list, &self.catalogue), by, extend),
            Shape::Tree => self.selection.step(&tree_rows(&self.tree, &self.catalogue), by, extend),
        }
    }

    /// Moves the focus to a place; past the end is the last row.
    pub fn go(&mut self, place: usize, extend: bool) {
        match self.shape {
            Shape::List => self.selection.go(&list_rows(&self.list, &self.catalogue), place, extend),
            Shape::Tree => self.selection.go(&tree_rows(&self.tree, &self.catalogue), place, extend),
        }
    }

    /// Selects every row shown.
    pub fn select_all(&mut self) {
        match self.shape {
            Shape::List => self.selection.select_all(&list_rows(&self.list, &self.catalogue)),
            Shape::Tree => self.selection.select_all(&tree_rows(&self.tree, &self.catalogue)),
        }
    }

    /// Where the focus stands among the rows shown.
    pub fn focus_place(&self) -> Option<usize> {
        match self.shape {
            Shape::List => self.selection.focus_place(&list_rows(&self.list, &self.catalogue)),
            Shape::Tree => self.selection.focus_place(&tree_rows(&self.tree, &self.catalogue)),
        }
    }

    /// Rows shown.
    pub fn row_count(&self) -> usize {
        match self.shape {
            Shape::List => self.list.len(),
            Shape::Tree => self.tree.rows().len(),
        }
    }

    /// The row at a place.
    pub fn row_at(&self, place: usize) -> Option<Node> {
        match self.shape {
            Shape::List => self.list.at(place).map(Node::Method),
            Shape::Tree => self.tree.rows().get(place).map(|row| row.node),
        }
    }

    /// What a knob shows of a method.
    pub fn dial(&self, method: MethodIx) -> Dial<'_> {
        let row = self.live.of_method(method);
        let (said, state) = row.map_or((Level::Off, State::Off), |row| (row.wanted, row.state));
        let waits = self.turns.waits_for(method, said);
        let runs = matches!(state, State::Live | State::Reverting);
        Dial {
            wanted: waits.unwrap_or(said),
            pending: waits.is_some(),
            actual: if runs { said } else { Level::Off },
            state,
            row,
        }
    }

    /// What a knob shows of a group: of its methods that are shown.
    pub fn group(&self, node: Node) -> GroupDial {
        self.group_of(&self.catalogue.methods_below(node))
    }

    fn group_of(&self, ranges: &[Range<u32>]) -> GroupDial {
        let visible = self.list.visible();
        let methods = ranges.iter().map(|range| visible.count_in(range.clone())).sum();
        let sums = self.live.sums(ranges, Some(visible));
        let mut by_level = sums.wanted;
        by_level[Level::Off as usize] += methods - sums.known;
        let mut levels = Level::ALL.into_iter().filter(|level| by_level[*level as usize] > 0);
        let wanted = levels.next().filter(|_| levels.next().is_none());
        let pending = self.turns.touches(ranges);
        let wanted = match self.turns.whole(ranges) {
            Some(level) if pending => Some(level),
            _ => wanted,
        };
        GroupDial { methods, wanted, pending, by_level, sums }
    }

    /// Levels this agent offers, lowest first; those above its cap are not among them.
    pub fn offered(&self) -> &[Level] {
        self.facts.as_ref().map_or(&[Level::Off], |facts| facts.levels.as_slice())
    }

    /// Why dials cannot be turned right now, as a sentence; None when they can.
    pub fn obstacle(&self) -> Option<&str> {
        match &self.status {
            Status::Live => None,
            Status::Connecting => Some("the agent has not answered yet"),
            Status::Lost { why, .. } => Some(why),
        }
    }

    /// The methods a turn of the selection would concern.
    pub fn targets(&self) -> MethodSet {
        self.selection.targets(&self.catalogue, self.list.visible())
    }

    /// The methods below a row, as far as they are shown: what its knob turns.
    pub fn targets_of(&self, node: Node) -> MethodSet {
        if let Node::Method(method) = node {
            return MethodSet::one(method);
        }
        let visible = self.list.visible();
        let mut bits = super::catalogue::bits::Bits::none(visible.len());
        for range in self.catalogue.methods_below(node) {
            bits.set_range(range, true);
        }
        bits.intersect(visible);
        MethodSet::from_bits(&bits)
    }

    /// Turns methods to a level: marks them pending, and answers what to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn turn(
        &mut self,
        targets: &MethodSet,
        level: Level,
        take: bool,
        log: &mut Log,
        now: Now,
    ) -> Result<Turn, String> {
        let words = format!("{level} on {}", self.name_of(targets));
        let possible = self.possible(targets, level);
        let wishes = vec![(level, targets.clone())];
        let orders = possible.and_then(|()| turns::orders(&self.catalogue, &wishes));
        let orders = self.refuse(&words, orders, log, now)?;
        let ticket = self.ticket();
        log.add(now, Some(self.id), Kind::Request, words.clone());
        self.turns.begin(ticket, words, wishes, &self.live, now);
        Ok(Turn { connection: self.id, ticket, orders, take })
    }

    fn possible(&self, targets: &MethodSet, level: Level) -> Result<(), String> {
        if let Some(obstacle) = self.obstacle() {
            return Err(obstacle.to_owned());
        }
        if targets.is_empty() {
            return Err("no method is selected".to_owned());
        }
        if level != Level::Off && !self.offered().contains(&level) {
            let top = self.offered().last().copied().unwrap_or(Level::Off);
            return Err(format!("this agent offers levels up to {top} (see REDIAL_MAX_LEVEL)"));
        }
        Ok(())
    }

    fn refuse<T>(
        &self,
        words: &str,
        result: Result<T, String>,
        log: &mut Log,
        now: Now,
    ) -> Result<T, String> {
        result.inspect_err(|why| {
            log.add(now, Some(self.id), Kind::Refusal, format!("{words} refused: {why}"));
        })
    }

    /// Undoes the last turn, or redoes the one undone last: marks its methods pending, and answers what to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo(&mut self, redo: bool, log: &mut Log, now: Now) -> Result<Turn, String> {
        let what = if redo { "redo" } else { "undo" };
        if let Some(obstacle) = self.obstacle().map(str::to_owned) {
            return self.refuse(what, Err(obstacle), log, now);
        }
        let ticket = self.ticket();
        let Some((words, wishes)) = self.turns.begin_undo(ticket, redo, now) else {
            return self.refuse(what, Err(format!("there is nothing to {what}")), log, now);
        };
        match turns::orders(&self.catalogue, &wishes) {
            Ok(orders) => {
                log.add(now, Some(self.id), Kind::Request, words);
                Ok(Turn { connection: self.id, ticket, orders, take: false })
            }
            Err(why) => {
                self.turns.failed(ticket);
                self.refuse(&words, Err(why), log, now)
            }
        }
    }

    /// Turns everything off, whatever the state of the connection: marks what is on pending; the ticket to send.
    pub fn all_off(&mut self, log: &mut Log, now: Now) -> Ticket {
        let ticket = self.ticket();
        let on = self.live.rows().filter(|row| row.wanted != Level::Off).filter_map(|row| row.method);
        let wishes = vec![(Level::Off, on.collect())];
        log.add(now, Some(self.id), Kind::Request, "all dials off");
        self.turns.begin(ticket, "all dials off".to_owned(), wishes, &self.live, now);
        ticket
    }

    /// The last turn that was refused as a whole; a view that offers to take control looks here.
    pub fn last_refused(&self) -> Option<&(Ticket, Refused)> {
        self.refused.as_ref()
    }

    /// Methods in a few words.
    pub fn name_of(&self, set: &MethodSet) -> String {
        let mut methods = set.iter();
        match (methods.next(), set.len()) {
            (None, _) => "nothing".to_owned(),
            (Some(only), 1) => self.catalogue.full_name(only).text,
            (Some(first), number) => {
                format!("{number} methods ({} and so on)", self.catalogue.full_name(first).text)
            }
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(u64::from(self.id.0) << 32 | u64::from(self.tickets))
    }

    /// Milliseconds a sparkline's tick covers.
    pub fn tick_ms(&self) -> u64 {
        TICK_MS
    }
}

fn list_rows<'a>(list: &'a List, catalogue: &'a Catalogue) -> ListRows<'a> {
    ListRows { list, catalogue }
}

fn tree_rows<'a>(tree: &'a Tree, catalogue: &'a Catalogue) -> TreeRows<'a> {
    TreeRows { tree, catalogue }
}

/// Transitions of one message, to be told.
#[derive(Default)]
struct Transitions(Vec<(RowId, State, State)>);

impl Transitions {
    fn add(&mut self, row: RowId, before: State, after: State) {
        self.0.push((row, before, after));
    }

    fn tell(self, live: &Live, mut say: impl FnMut(String)) {
        for (row, before, after) in self.0.iter().take(TOLD_SINGLY) {
            let Some(row) = live.row(*row) else { continue };
            let version = row.version.filter(|_| *after == State::Live);
            let version = version.map(|version| format!(" (version {version})")).unwrap_or_default();
            let note = row.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            say(format!("{}: {before} → {after}{version}{note}", row.name));
        }
        let mut rest: Vec<(State, u64)> = Vec::new();
        for (_, _, after) in self.0.iter().skip(TOLD_SINGLY) {
            match rest.iter_mut().find(|(state, _)| state == after) {
                Some((_, number)) => *number += 1,
                None => rest.push((*after, 1)),
            }
        }
        for (state, number) in rest {
            say(format!("… and {number} more methods are {state}"));
        }
    }
}

#[cfg(test)]
#[path = "connection_tests.rs"]
pub mod tests;
