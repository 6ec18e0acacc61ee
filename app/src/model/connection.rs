//! One agent and everything known of its process: catalogue, rows, table, tree, selection, turns.

mod delegated;
mod dials;
mod feed;
mod grouped;
mod offered;
mod others;
pub(super) mod transitions;
mod turning;

pub use delegated::Outcome;
use dials::Unable;
pub use dials::{Dial, GroupDial};
use grouped::{Copies, Grouped};
pub use others::PROGRAM;
use transitions::Untold;
pub use turning::{NO_BODIES, Sharing, Step, Targets};

use super::callers::Callers;
use super::catalogue::Catalogue;
use super::catalogue::bits::Bits;
use super::fleet::Untaken;
use super::histograms::Histograms;
use super::ids::{ConnectionId, FLEET, MethodIx, Node, Ticket};
use super::list::{Filter, List, ListRows, Sort};
use super::live::Live;
use super::methodset::MethodSet;
use super::orders::Reach;
use super::selection::{Mode, Selection};
use super::tree::{Tree, TreeRows};
use super::turns::Turns;
use super::update::{Now, Refused, Retry};
use crate::model::live::TICK_MS;
use crate::output::words;
use redial_protocol::frozen::AgentFacts;
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, Holder};
use redial_protocol::order::StandingOrder;
use redial_protocol::report::PlanReport;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

/// Methods without a body that are named where some are told of.
const NAMED: usize = 5;

/// Where a connection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// On the way to the first hello.
    Connecting,
    /// The agent is being loaded into the process.
    Attaching,
    /// The agent answers.
    Live,
    /// The session ended.
    Lost {
        /// Why, as a sentence.
        why: String,
        /// What comes next.
        retry: Retry,
        /// When it ended, on `Now::mono`'s clock.
        since: Duration,
    },
}

impl Status {
    /// When the next attempt begins by itself, on `Now::mono`'s clock; None: none is planned.
    pub fn retry_at(&self) -> Option<Duration> {
        match self {
            Status::Lost { retry: Retry::After(wait), since, .. } => Some(*since + *wait),
            Status::Lost { .. } | Status::Connecting | Status::Attaching | Status::Live => None,
        }
    }

    /// What follows a loss; None while there is a session, or one is tried.
    pub fn retry(&self) -> Option<Retry> {
        match self {
            Status::Lost { retry, .. } => Some(*retry),
            Status::Connecting | Status::Attaching | Status::Live => None,
        }
    }
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

/// The agent's standing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// Oldest first: of two that mean the same copy the later one wins.
    pub standing: Vec<StandingOrder>,
    /// Changes, of anybody, that can be taken back.
    pub undoable: u32,
    /// When the agent said so.
    pub at: Now,
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
    /// Why the agent says nothing at the moment, as a sentence: its process is stopped.
    pub paused: Option<String>,
    /// Why the last session ended, as long as there is no other: also while the next one is tried.
    pub loss: Option<String>,
    /// Why the agent could not be loaded into the process, when that was tried last.
    pub not_attached: Option<String>,
    /// What of that was told already.
    told_not_attached: Option<String>,
    /// What the agent said of itself in its last hello.
    pub facts: Option<Box<AgentFacts>>,
    /// The agent's last account of itself: memory, budgets, audit.
    pub agent: Option<Box<AgentStatus>>,
    /// The last change that the budget made, of which was told; None before anything is known.
    pub(super) stepped: Option<Option<u64>>,
    /// Who has control.
    pub holder: Option<Holder>,
    /// Whether the agent told of this session's changes of control: its account of itself, which may be older, is not
    /// asked then.
    control_told: bool,
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
    /// Orders that stand, oldest first, and the changes that anybody can take back; absent until the agent said.
    pub orders: Option<Orders>,
    /// What the agent said that the last turn asked about would do.
    pub plan: Option<(Ticket, Result<Box<PlanReport>, String>)>,
    /// What is selected.
    pub selection: Selection,
    /// Turns under way, and undo.
    pub turns: Turns,
    /// Of several processes merged, what some of them were not turned in.
    pub untaken: Vec<Untaken>,
    /// Histograms of single methods.
    pub histograms: Histograms,
    /// Who calls the method that is looked at.
    pub callers: Callers,
    /// Grows when methods are renumbered, so that numbers held elsewhere are void.
    pub numbering: u64,
    /// When updates arrived of late.
    arrivals: VecDeque<(Duration, u64)>,
    unable: Unable,
    grouped: Grouped,
    copies: Copies,
    untold: Untold,
    tickets: u32,
    refused: Option<(Ticket, Refused)>,
    /// Turns that are parts of one for several processes.
    parts: BTreeMap<Ticket, Outcome>,
    /// Of several processes merged: numbers were taken over in this frame, which has enough to do.
    pub(super) numbers_are_new: bool,
    /// The same of modules, which came behind all others.
    pub(super) modules_are_new: bool,
    /// The levels offered in each process of those merged, by its domain.
    pub(super) offered_in: BTreeMap<u64, Vec<Level>>,
    /// Whether it is looked at together with others: what it tells of single methods would be told many times.
    pub is_one_of_many: bool,
}

impl Connection {
    /// A connection that is about to be made.
    pub fn new(id: ConnectionId, process: ProcessKey, name: impl Into<String>) -> Connection {
        Connection {
            id,
            process,
            name: name.into(),
            status: Status::Connecting,
            paused: None,
            loss: None,
            not_attached: None,
            told_not_attached: None,
            facts: None,
            agent: None,
            stepped: None,
            holder: None,
            control_told: false,
            latency: None,
            catalogue: Catalogue::default(),
            live: Live::default(),
            list: List::default(),
            tree: Tree::default(),
            shape: Shape::default(),
            orders: None,
            plan: None,
            untaken: Vec::new(),
            histograms: Histograms::default(),
            callers: Callers::default(),
            numbering: 0,
            selection: Selection::default(),
            turns: Turns::default(),
            arrivals: VecDeque::new(),
            unable: Unable::default(),
            grouped: Grouped::default(),
            copies: Copies::default(),
            untold: Untold::default(),
            tickets: 0,
            refused: None,
            parts: BTreeMap::new(),
            numbers_are_new: false,
            modules_are_new: false,
            offered_in: BTreeMap::new(),
            is_one_of_many: false,
        }
    }

    /// Brings table, tree and turns up to date; to be called once a frame, after the last `apply`.
    pub fn settle(&mut self, now: Now) {
        self.settle_dials(now);
        if self.modules_are_new {
            return;
        }
        self.list.set_in_parts(self.selection.is_empty() && self.selection.focus().is_none());
        if self.shape == Shape::List {
            self.list.settle(&self.catalogue, &self.live);
        } else {
            self.list.settle_filter(&self.catalogue, &self.live);
            let (visible, edition) = (self.list.visible(), self.list.edition());
            let order = (self.list.sort(), self.list.is_held() || self.numbers_are_new);
            self.tree.arrange(order, (visible, edition), &self.catalogue, &self.live, now.mono);
            self.tree.settle(&self.catalogue, visible, edition, &self.list.filter().text);
        }
    }

    /// As much of [`Connection::settle`] as turns need: enough where nothing of it is shown.
    pub fn settle_dials(&mut self, now: Now) {
        self.turns.settle(now);
        if self.status == Status::Live && self.id != FLEET {
            self.live.pass_to(now.mono);
        }
        self.forget_arrivals(now);
        self.unable.settle(&self.catalogue, &self.live);
    }

    /// Whether this window holds dials in the process, as far as its agent said.
    pub fn holds_here(&self) -> bool {
        let ours = self.holder.as_ref().is_some_and(|holder| holder.pid == std::process::id());
        ours && self.status == Status::Live && self.agent.as_ref().is_some_and(|agent| agent.held > 0)
    }

    /// Whether another controller has control of the process.
    pub fn is_others(&self) -> bool {
        let other = self.holder.as_ref().is_some_and(|holder| holder.pid != std::process::id());
        other && self.status == Status::Live
    }

    /// Messages a second that arrived of late.
    pub fn update_rate(&self) -> f32 {
        let all: u64 = self.arrivals.iter().map(|(_, updates)| updates).sum();
        all as f32 / feed::RATE_WINDOW.as_secs_f32()
    }

    /// What it is called: `Shop.dll (4242)`.
    pub fn title(&self) -> String {
        if self.id == FLEET {
            return self.name.clone();
        }
        format!("{} ({})", self.name, self.process.pid)
    }

    /// Sets the filter.
    pub fn set_filter(&mut self, filter: Filter) {
        self.list.set_filter(filter);
    }

    /// Sets the order: of the table, and of siblings in the tree.
    pub fn set_sort(&mut self, sort: Sort) {
        self.list.set_sort(sort);
    }

    /// Whether the order is held, and is that of earlier numbers.
    pub fn is_order_behind(&self) -> bool {
        match self.shape {
            Shape::List => self.list.is_behind(&self.live),
            Shape::Tree => self.list.is_held() && self.tree.is_behind(&self.live),
        }
    }

    /// Puts the rows in the order of the numbers that there are now, though the order is held.
    pub fn sort_again(&mut self) {
        self.list.sort_again();
        self.tree.sort_again();
    }

    /// Finds the rows at all places of the table, before something is done with them.
    pub fn complete(&mut self) {
        self.list.complete(&self.catalogue);
    }

    /// A click on a row.
    pub fn click(&mut self, node: Node, mode: Mode) {
        self.complete();
        match self.shape {
            Shape::List => {
                if mode == Mode::Toggle {
                    self.selection.dissolve_groups(&self.catalogue);
                }
                self.selection.click(&list_rows(&self.list, &self.catalogue), node, mode);
            }
            Shape::Tree => self.selection.click(&tree_rows(&self.tree, &self.catalogue), node, mode),
        }
    }

    /// Moves the focus by so many rows.
    pub fn step(&mut self, by: isize, extend: bool) {
        self.complete();
        match self.shape {
            Shape::List => self.selection.step(&list_rows(&self.list, &self.catalogue), by, extend),
            Shape::Tree => self.selection.step(&tree_rows(&self.tree, &self.catalogue), by, extend),
        }
    }

    /// Moves the focus to a place; past the end is the last row.
    pub fn go(&mut self, place: usize, extend: bool) {
        self.complete();
        match self.shape {
            Shape::List => self.selection.go(&list_rows(&self.list, &self.catalogue), place, extend),
            Shape::Tree => self.selection.go(&tree_rows(&self.tree, &self.catalogue), place, extend),
        }
    }

    /// Selects every row shown.
    pub fn select_all(&mut self) {
        self.complete();
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

    /// Whether any dial is meant to be on.
    pub fn wants_some(&self) -> bool {
        let on = Level::ALL.into_iter().filter(|level| *level != Level::Off);
        on.filter_map(|level| self.live.wanted(level)).any(|methods| methods.count() > 0)
    }

    /// Why dials cannot be turned right now, as a sentence; None when they can.
    pub fn obstacle(&self) -> Option<&str> {
        match &self.status {
            Status::Live => None,
            Status::Connecting | Status::Attaching => {
                Some(self.loss.as_deref().unwrap_or("the agent has not answered yet"))
            }
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
        self.shown_in(&self.catalogue.methods_below(node))
    }

    /// What the knob of a row turns: where copies are merged, all of them; an AppDomain's, what is in that domain.
    pub fn turned_by(&self, node: Node) -> Targets {
        match node {
            Node::Domain(domain) if self.turns_domain(domain) => {
                Targets::new(self.targets_of(node), Reach::Domain(domain))
            }
            _ => self.reaching(&self.targets_of(node)),
        }
    }

    /// What a turn of the selection concerns.
    pub fn turned_by_selection(&self) -> Targets {
        match self.selection.only_group().filter(|_| self.shape == Shape::Tree) {
            Some(group) => self.turned_by(group),
            None => self.reaching(&self.targets()),
        }
    }

    fn turns_domain(&self, domain: u32) -> bool {
        let one = self.catalogue.domains().get(domain as usize);
        one.is_some_and(|one| !one.shared) && self.catalogue.has_domains()
    }

    fn shown_in(&self, ranges: &[Range<u32>]) -> MethodSet {
        let visible = self.list.visible();
        let mut bits = Bits::none(visible.len());
        for range in ranges {
            bits.set_range(range.clone(), true);
        }
        bits.intersect(visible);
        MethodSet::from_bits(&bits)
    }

    /// The last turn that was refused as a whole; a view that offers to take control looks here.
    pub fn last_refused(&self) -> Option<&(Ticket, Refused)> {
        self.refused.as_ref()
    }

    /// Notes a turn that was refused because somebody else has control.
    pub(in crate::model) fn set_refused(&mut self, ticket: Ticket, refused: Refused) {
        self.refused = Some((ticket, refused));
    }

    /// Methods in a few words.
    pub fn name_of(&self, set: &MethodSet) -> String {
        let mut methods = set.iter();
        match (methods.next(), set.len()) {
            (None, _) => "nothing".to_owned(),
            (Some(only), 1) => self.catalogue.full_name(only).text,
            (Some(first), number) => {
                let number = words::grouped(number);
                format!("{number} methods ({} and so on)", self.catalogue.full_name(first).text)
            }
        }
    }

    /// Those of some methods that have no body, by their names, a line each; of many the first.
    pub fn bodyless_named(&self, set: &MethodSet) -> String {
        let mut without = set.ranges().flat_map(|range| self.catalogue.bodyless().iter_in(range));
        let name = |method| self.catalogue.full_name(MethodIx(method)).text;
        let first: Vec<String> = without.by_ref().take(NAMED).map(name).collect();
        let mut named = first.join("\n");
        let more = without.count() as u64;
        if more > 0 {
            named.push_str(&format!("\nand {} more", words::grouped(more)));
        }
        named
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

#[cfg(test)]
#[path = "connection_tests.rs"]
pub mod tests;
