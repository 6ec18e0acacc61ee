//! What the user asked for: turns under way, and undo.

use super::catalogue::bits::Bits;
use super::catalogue::forget::Renumbering;
use super::ids::{ConnectionId, MethodIx, Node, Ticket};
use super::live::Live;
use super::log::Kind;
use super::methodset::MethodSet;
use super::orders::Reach;
use super::update::Now;
use redial_protocol::level::Level;
use redial_protocol::order::{Order, TimeOptions};
use std::ops::Range;
use std::time::Duration;

/// A turn for the worker to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The connection it goes to.
    pub connection: ConnectionId,
    /// What its answer will carry.
    pub ticket: Ticket,
    /// What to turn; more than one request's worth is split by the worker.
    pub orders: Vec<Order>,
    /// Take control from whoever has it.
    pub take: bool,
    /// Set also what matches nothing yet: its module may load later.
    pub later: bool,
}

/// Methods and the level they are to have.
pub type Wish = (Level, MethodSet);

/// How long a turn that was accepted stays pending for rows that have not arrived yet.
const GRACE: Duration = Duration::from_secs(2);
/// Changes that can be undone.
const UNDONE: usize = 100;

/// A turn that is not over.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Its ticket.
    pub ticket: Ticket,
    /// What it is in words: `count on Shop!Shop.Cart.Add(int)`.
    pub words: String,
    /// When it was asked for.
    pub since: Now,
    /// When the agent accepted it.
    pub accepted: Option<Now>,
    /// Whether it can be stopped: "all off" cannot.
    pub can_stop: bool,
    /// Copies the agent has asked the runtime for, of how many; absent for what is done at once.
    pub progress: Option<(u64, u64)>,
    wishes: Vec<Wish>,
    /// What it does again or takes back, if it is no turn of its own.
    again: Option<Again>,
}

impl Pending {
    /// The methods it turns on.
    pub fn turned_on(&self) -> impl Iterator<Item = &MethodSet> {
        self.wishes.iter().filter(|(level, _)| *level != Level::Off).map(|(_, set)| set)
    }

    /// What is as before once it is done, where it takes back that all were turned off.
    pub fn on_again(&self) -> Option<&[Wish]> {
        let again = self.again.as_ref().filter(|again| again.change.all_off && !again.redo)?;
        Some(&again.change.before)
    }

    /// What kind of thing it is that the agent did it.
    pub fn done(&self) -> Kind {
        if self.again.is_some() { Kind::Undone } else { Kind::Answer }
    }
}

/// A change that is undone, or done again.
#[derive(Clone, Debug)]
struct Again {
    redo: bool,
    change: Change,
}

/// What a turn changed.
#[derive(Clone, Debug)]
struct Change {
    /// The turn that made it last.
    made: Ticket,
    words: String,
    /// Whether that was "all off".
    all_off: bool,
    reach: Reach,
    options: TimeOptions,
    before: Vec<Wish>,
    after: Vec<Wish>,
}

/// What takes a change back, or makes it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    /// In words.
    pub words: String,
    /// What is to be.
    pub wishes: Vec<Wish>,
    /// How far the change reached.
    pub reach: Reach,
    /// What it asked for beyond times.
    pub options: TimeOptions,
    /// The turn that made it.
    pub made: Ticket,
    /// Whether that was "all off".
    pub all_off: bool,
}

/// Turns under way and turns done.
#[derive(Debug, Default)]
pub struct Turns {
    pending: Vec<Pending>,
    /// Oldest first.
    undo: Vec<Change>,
    /// Newest first.
    redo: Vec<Change>,
    edition: u64,
}

impl Turns {
    /// Notes a turn, and what undoes it: that can be asked for at once.
    pub fn begin(
        &mut self,
        (ticket, words): (Ticket, String),
        wishes: Vec<Wish>,
        reach: Reach,
        live: &Live,
        now: Now,
    ) {
        let before = self.before(&wishes, live);
        self.redo.clear();
        let after = wishes.clone();
        let (all_off, options) = (false, TimeOptions::default());
        self.undo.push(Change { made: ticket, words: words.clone(), all_off, reach, options, before, after });
        if self.undo.len() > UNDONE {
            self.undo.remove(0);
        }
        self.push(ticket, words, wishes, None, now);
    }

    /// The turn that was begun last turns everything off, whoever turned it on.
    pub fn is_all_off(&mut self) {
        if let (Some(made), Some(last)) = (self.undo.last_mut(), self.pending.last_mut()) {
            (made.all_off, last.can_stop) = (true, false);
        }
    }

    /// The turn that was begun last asks for more than times.
    pub fn has_options(&mut self, options: TimeOptions) {
        if let Some(made) = self.undo.last_mut() {
            made.options = options;
        }
    }

    fn push(&mut self, ticket: Ticket, words: String, wishes: Vec<Wish>, again: Option<Again>, since: Now) {
        let (accepted, progress, can_stop) = (None, None, true);
        self.pending.push(Pending { ticket, words, since, accepted, can_stop, progress, wishes, again });
        self.edition += 1;
    }

    /// The wishes that undo the last change, and its words; `begin_undo` notes the turn.
    pub fn undoable(&self) -> Option<&str> {
        self.undo.last().map(|change| change.words.as_str())
    }

    /// The words of the change that was undone last.
    pub fn redoable(&self) -> Option<&str> {
        self.redo.last().map(|change| change.words.as_str())
    }

    /// Begins to undo the last change (or to redo the one undone last): the wishes to send.
    pub fn begin_undo(&mut self, ticket: Ticket, redo: bool, now: Now) -> Option<Undo> {
        self.begin_undo_of(self.last_made(redo)?, ticket, redo, now)
    }

    /// The turn that made what can be undone, or done again, next.
    pub fn last_made(&self, redo: bool) -> Option<Ticket> {
        let changes = if redo { &self.redo } else { &self.undo };
        changes.last().map(|change| change.made)
    }

    /// The same of the change that a certain turn made, whatever was turned since.
    pub fn begin_undo_of(&mut self, made: Ticket, ticket: Ticket, redo: bool, now: Now) -> Option<Undo> {
        let changes = if redo { &mut self.redo } else { &mut self.undo };
        let at = changes.iter().rposition(|change| change.made == made)?;
        let change = changes.remove(at);
        let wishes = if redo { change.after.clone() } else { change.before.clone() };
        let words = format!("{} {}", if redo { "redo" } else { "undo" }, change.words);
        let Change { made, all_off, reach, options, .. } = change;
        match redo {
            // From now on it is this turn that made it.
            true => self.undo.push(Change { made: ticket, ..change.clone() }),
            false => self.redo.push(change.clone()),
        }
        self.push(ticket, words.clone(), wishes.clone(), Some(Again { redo, change }), now);
        Some(Undo { words, wishes, reach, options, made, all_off })
    }

    /// Whether the change that a turn made can be undone.
    pub fn can_undo(&self, made: Ticket) -> bool {
        self.undo.iter().any(|change| change.made == made)
    }

    /// Whether the change that a turn made was undone, and can be made again.
    pub fn can_redo(&self, made: Ticket) -> bool {
        self.redo.iter().any(|change| change.made == made)
    }

    /// What the methods of some wishes want now: what was asked for last, and of the others what the agent said.
    fn before(&self, wishes: &[Wish], live: &Live) -> Vec<Wish> {
        let mut all = Bits::default();
        for range in wishes.iter().flat_map(|(_, set)| set.ranges()) {
            all.grow(range.end as usize);
            all.set_range(range, true);
        }
        let waiting = self.pending.iter().rev().filter(|pending| pending.accepted.is_none());
        let mut before: Vec<Wish> = Vec::new();
        for (level, set) in waiting.flat_map(|pending| &pending.wishes) {
            before.push((*level, take(&mut all, set)));
        }
        before.extend(said(all, live));
        before.retain(|(_, set)| !set.is_empty());
        before
    }

    /// The turn was accepted.
    pub fn accepted(&mut self, ticket: Ticket, now: Now) -> Option<&Pending> {
        let pending = self.pending.iter_mut().find(|pending| pending.ticket == ticket)?;
        pending.accepted = Some(now);
        self.edition += 1;
        Some(pending)
    }

    /// Notes how far a turn is.
    pub fn progressed(&mut self, ticket: Ticket, done: u64, total: u64) {
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.ticket == ticket) {
            pending.progress = Some((done, total));
        }
    }

    /// The turn was refused, or its connection is gone: what it was.
    pub fn failed(&mut self, ticket: Ticket) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.ticket == ticket)?;
        let mut pending = self.pending.remove(at);
        match pending.again.take() {
            // What was not done needs no undoing, and cannot be done again.
            None => {
                self.undo.retain(|change| change.made != ticket);
                self.redo.retain(|change| change.made != ticket);
            }
            // What could not be undone can be tried again.
            Some(Again { redo, change }) => {
                self.undo.retain(|one| one.made != change.made && one.made != ticket);
                self.redo.retain(|one| one.made != change.made);
                // Each in its place: others may have been asked for since.
                if redo {
                    let at = self.redo.partition_point(|one| one.made > change.made);
                    self.redo.insert(at, change);
                } else {
                    let at = self.undo.partition_point(|one| one.made < change.made);
                    self.undo.insert(at, change);
                }
            }
        }
        self.edition += 1;
        Some(pending)
    }

    /// The turn was to take another back, which the agent does not remember any more: what it was.
    pub fn forgotten(&mut self, ticket: Ticket) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.ticket == ticket)?;
        let pending = self.pending.remove(at);
        if let Some(Again { change, .. }) = &pending.again {
            self.redo.retain(|one| one.made != change.made);
        }
        self.edition += 1;
        Some(pending)
    }

    /// Forgets turns whose rows have arrived, or will not.
    pub fn settle(&mut self, now: Now) {
        let before = self.pending.len();
        self.pending.retain(|pending| {
            pending.accepted.is_none_or(|accepted| now.mono.saturating_sub(accepted.mono) < GRACE)
        });
        if self.pending.len() != before {
            self.edition += 1;
        }
    }

    /// Follows methods that were renumbered.
    pub fn renumber(&mut self, to: &Renumbering) {
        let wishes = |wishes: &mut Vec<Wish>| wishes.iter_mut().for_each(|(_, set)| *set = to.methods(set));
        let domain = |reach: &mut Reach| {
            if let Reach::Domain(place) = *reach {
                // Of a domain that is gone nothing is left to be turned.
                *reach = match to.node(Node::Domain(place)) {
                    Some(Node::Domain(place)) => Reach::Domain(place),
                    _ => Reach::Copies,
                };
            }
        };
        let change = |change: &mut Change| {
            wishes(&mut change.before);
            wishes(&mut change.after);
            domain(&mut change.reach);
        };
        for pending in &mut self.pending {
            wishes(&mut pending.wishes);
            pending.again.iter_mut().for_each(|again| change(&mut again.change));
        }
        self.undo.iter_mut().chain(&mut self.redo).for_each(change);
        self.edition += 1;
    }

    /// The session is over: what was asked will not be answered, and what was held is off.
    pub fn clear(&mut self) -> Vec<Pending> {
        self.edition += 1;
        self.undo.clear();
        self.redo.clear();
        std::mem::take(&mut self.pending)
    }

    /// The level a method waits for: of the newest turn that concerns it, unless `wanted` is that level already and
    /// the turn was accepted.
    pub fn waits_for(&self, method: MethodIx, wanted: Level) -> Option<Level> {
        self.pending
            .iter()
            .rev()
            .find_map(|pending| {
                let level =
                    pending.wishes.iter().find(|(_, set)| set.contains(method)).map(|(level, _)| *level)?;
                Some((level, pending.accepted.is_some()))
            })
            .filter(|(level, accepted)| !(*accepted && *level == wanted))
            .map(|(level, _)| level)
    }

    /// Whether a turn that is not answered yet concerns methods of these ranges.
    pub fn touches(&self, ranges: &[Range<u32>]) -> bool {
        let waiting = self.pending.iter().filter(|pending| pending.accepted.is_none());
        let mut sets = waiting.flat_map(|pending| pending.wishes.iter().map(|(_, set)| set));
        sets.any(|set| ranges.iter().any(|range| set.touches(range)))
    }

    /// The level that a turn which is not answered yet asks for all methods of these ranges.
    pub fn whole(&self, ranges: &[Range<u32>]) -> Option<Level> {
        let waiting = self.pending.iter().rev().filter(|pending| pending.accepted.is_none());
        let mut wishes = waiting.flat_map(|pending| &pending.wishes);
        wishes.find(|(_, set)| ranges.iter().all(|range| set.contains_all(range))).map(|(level, _)| *level)
    }

    /// Turns that are not over, oldest first.
    pub fn pending(&self) -> &[Pending] {
        &self.pending
    }

    /// Grows with every change.
    pub fn edition(&self) -> u64 {
        self.edition
    }
}

/// Takes out of `all` what is in `set`.
fn take(all: &mut Bits, set: &MethodSet) -> MethodSet {
    let mut these = Bits::none(all.len());
    for range in set.ranges() {
        these.set_range(range, true);
    }
    these.intersect(all);
    all.subtract(&these);
    MethodSet::from_bits(&these)
}

/// What methods want, as the agent said.
fn said(mut all: Bits, live: &Live) -> Vec<Wish> {
    let mut before = Vec::new();
    for level in Level::ALL.into_iter().rev() {
        let mut these = all.clone();
        match live.wanted(level).filter(|_| level != Level::Off) {
            Some(wanted) => these.intersect(wanted),
            // Those that are left have no row, or want nothing.
            None if level == Level::Off => {}
            None => continue,
        }
        let set = MethodSet::from_bits(&these);
        for range in set.ranges() {
            all.set_range(range, false);
        }
        if !set.is_empty() {
            before.push((level, set));
        }
    }
    before
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
