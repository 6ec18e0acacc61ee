//! Changes that the user requested: active ones, and those that can be undone.

use super::catalogue::bit_set::BitSet;
use super::catalogue::module_removal::Renumbering;
use super::ids::{ConnectionId, MethodIx, Node, Ticket};
use super::live::Live;
use super::log::LogKind;
use super::method_set::MethodSet;
use super::orders::ChangeScope;
use super::update::Now;
use super::wanted_level::WantedLevel;
use redial_protocol::level::Level;
use redial_protocol::order::{Order, TimeOptions};
use std::ops::Range;
use std::time::Duration;

/// A change for the worker to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialChange {
    /// The connection to send it to.
    pub connection: ConnectionId,
    /// The ticket that its answer will carry.
    pub ticket: Ticket,
    /// Its orders; the worker splits them if they exceed one request.
    pub orders: Vec<Order>,
    /// Whether to take control from its holder.
    pub take: bool,
    /// Whether to set orders that match nothing yet, because their modules may load later.
    pub later: bool,
}

/// How long an accepted change stays pending while its rows have not arrived.
const GRACE: Duration = Duration::from_secs(2);
/// The number of changes that can be undone.
const MAX_UNDO: usize = 100;

/// An active change.
#[derive(Clone, Debug)]
pub struct PendingChange {
    /// Its ticket.
    pub ticket: Ticket,
    /// Its description: `count on Shop!Shop.Cart.Add(int)`.
    pub words: String,
    /// When it was requested.
    pub since: Now,
    /// When the agent accepted it.
    pub accepted: Option<Now>,
    /// Whether it can be cancelled; "all off" cannot.
    pub can_stop: bool,
    /// Copies that the agent has requested from the runtime, and their total; absent for changes without
    /// progress.
    pub progress: Option<(u64, u64)>,
    wishes: Vec<WantedLevel>,
    /// The change that this one undoes or redoes, if any.
    again: Option<Reversal>,
}

impl PendingChange {
    /// Returns the methods it turns on.
    pub fn turned_on(&self) -> impl Iterator<Item = &MethodSet> {
        self.wishes.iter().filter(|(level, _)| *level != Level::Off).map(|(_, set)| set)
    }

    /// If it undoes "all off", returns the state that it restores.
    pub fn on_again(&self) -> Option<&[WantedLevel]> {
        let again = self.again.as_ref().filter(|again| again.change.all_off && !again.redo)?;
        Some(&again.change.before)
    }

    /// Returns the kind of the log entry for its success.
    pub fn done(&self) -> LogKind {
        if self.again.is_some() { LogKind::Undone } else { LogKind::Answer }
    }
}

/// A change that is being undone or redone.
#[derive(Clone, Debug)]
struct Reversal {
    redo: bool,
    change: ChangeRecord,
}

/// A change that can be undone.
#[derive(Clone, Debug)]
struct ChangeRecord {
    /// The ticket that made it last.
    made: Ticket,
    words: String,
    /// Whether it was "all off".
    all_off: bool,
    scope: ChangeScope,
    options: TimeOptions,
    when: Option<String>,
    before: Vec<WantedLevel>,
    after: Vec<WantedLevel>,
}

/// The inverse of a change, or its repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoRequest {
    /// Its description.
    pub words: String,
    /// The wanted levels.
    pub wishes: Vec<WantedLevel>,
    /// The scope of the change.
    pub scope: ChangeScope,
    /// The options of the change.
    pub options: TimeOptions,
    /// The condition of the change.
    pub when: Option<String>,
    /// The ticket that made the change.
    pub made: Ticket,
    /// Whether the change was "all off".
    pub all_off: bool,
}

/// Active and finished changes.
#[derive(Debug, Default)]
pub struct ChangeHistory {
    pending: Vec<PendingChange>,
    /// Oldest first.
    undo: Vec<ChangeRecord>,
    /// Newest first.
    redo: Vec<ChangeRecord>,
    edition: u64,
}

impl ChangeHistory {
    /// Records a change and its inverse, which is available at once.
    pub fn begin(
        &mut self,
        (ticket, words): (Ticket, String),
        wishes: Vec<WantedLevel>,
        scope: ChangeScope,
        live: &Live,
        now: Now,
    ) {
        let before = self.before(&wishes, live);
        self.redo.clear();
        let after = wishes.clone();
        let (all_off, options) = (false, TimeOptions::default());
        self.undo.push(ChangeRecord {
            made: ticket,
            words: words.clone(),
            all_off,
            scope,
            options,
            when: None,
            before,
            after,
        });
        if self.undo.len() > MAX_UNDO {
            self.undo.remove(0);
        }
        self.push(ticket, words, wishes, None, now);
    }

    /// Marks the last recorded change as "all off", which also affects other controllers' dials.
    pub fn is_all_off(&mut self) {
        if let (Some(made), Some(last)) = (self.undo.last_mut(), self.pending.last_mut()) {
            (made.all_off, last.can_stop) = (true, false);
        }
    }

    /// Sets the options and the condition of the last recorded change.
    pub fn has_options(&mut self, options: TimeOptions, when: Option<&str>) {
        if let Some(made) = self.undo.last_mut() {
            (made.options, made.when) = (options, when.map(str::to_owned));
        }
    }

    fn push(
        &mut self,
        ticket: Ticket,
        words: String,
        wishes: Vec<WantedLevel>,
        again: Option<Reversal>,
        since: Now,
    ) {
        let (accepted, progress, can_stop) = (None, None, true);
        self.pending.push(PendingChange {
            ticket,
            words,
            since,
            accepted,
            can_stop,
            progress,
            wishes,
            again,
        });
        self.edition += 1;
    }

    /// Returns the description of the change that would be undone next.
    pub fn undoable(&self) -> Option<&str> {
        self.undo.last().map(|change| change.words.as_str())
    }

    /// Returns the description of the change that would be redone next.
    pub fn redoable(&self) -> Option<&str> {
        self.redo.last().map(|change| change.words.as_str())
    }

    /// Begins to undo or redo the last change; returns what to send.
    pub fn begin_undo(&mut self, ticket: Ticket, redo: bool, now: Now) -> Option<UndoRequest> {
        self.begin_undo_of(self.last_made(redo)?, ticket, redo, now)
    }

    /// Returns the ticket of the change to undo or redo next.
    pub fn last_made(&self, redo: bool) -> Option<Ticket> {
        let changes = if redo { &self.redo } else { &self.undo };
        changes.last().map(|change| change.made)
    }

    /// Begins to undo or redo the change made by a certain ticket, whatever followed it.
    pub fn begin_undo_of(
        &mut self,
        made: Ticket,
        ticket: Ticket,
        redo: bool,
        now: Now,
    ) -> Option<UndoRequest> {
        let changes = if redo { &mut self.redo } else { &mut self.undo };
        let at = changes.iter().rposition(|change| change.made == made)?;
        let change = changes.remove(at);
        let wishes = if redo { change.after.clone() } else { change.before.clone() };
        let words = format!("{} {}", if redo { "redo" } else { "undo" }, change.words);
        let ChangeRecord { made, all_off, scope, options, .. } = change;
        let when = change.when.clone();
        match redo {
            // From now on, this ticket made it.
            true => self.undo.push(ChangeRecord { made: ticket, ..change.clone() }),
            false => self.redo.push(change.clone()),
        }
        self.push(ticket, words.clone(), wishes.clone(), Some(Reversal { redo, change }), now);
        Some(UndoRequest { words, wishes, scope, options, when, made, all_off })
    }

    /// Forgets the change undone last: it cannot be made again.
    pub fn forget_redo(&mut self) {
        self.redo.pop();
    }

    /// Returns whether the change made by a ticket can be undone.
    pub fn can_undo(&self, made: Ticket) -> bool {
        self.undo.iter().any(|change| change.made == made)
    }

    /// Returns whether the change made by a ticket was undone and can be redone.
    pub fn can_redo(&self, made: Ticket) -> bool {
        self.redo.iter().any(|change| change.made == made)
    }

    /// Returns the wanted levels before some wishes: the last requested ones, otherwise those the agent
    /// reported.
    fn before(&self, wishes: &[WantedLevel], live: &Live) -> Vec<WantedLevel> {
        let mut all = BitSet::default();
        for range in wishes.iter().flat_map(|(_, set)| set.ranges()) {
            all.grow(range.end as usize);
            all.set_range(range, true);
        }
        let waiting = self.pending.iter().rev().filter(|pending| pending.accepted.is_none());
        let mut before: Vec<WantedLevel> = Vec::new();
        for (level, set) in waiting.flat_map(|pending| &pending.wishes) {
            before.push((*level, take(&mut all, set)));
        }
        before.extend(said(all, live));
        before.retain(|(_, set)| !set.is_empty());
        before
    }

    /// Records that a change was accepted.
    pub fn accepted(&mut self, ticket: Ticket, now: Now) -> Option<&PendingChange> {
        let pending = self.pending.iter_mut().find(|pending| pending.ticket == ticket)?;
        pending.accepted = Some(now);
        self.edition += 1;
        Some(pending)
    }

    /// Records the progress of a change.
    pub fn progressed(&mut self, ticket: Ticket, done: u64, total: u64) {
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.ticket == ticket) {
            pending.progress = Some((done, total));
        }
    }

    /// Records that a change was refused or lost its connection; returns it.
    pub fn failed(&mut self, ticket: Ticket) -> Option<PendingChange> {
        let at = self.pending.iter().position(|pending| pending.ticket == ticket)?;
        let mut pending = self.pending.remove(at);
        match pending.again.take() {
            // A failed change needs no undo and cannot be redone.
            None => {
                self.undo.retain(|change| change.made != ticket);
                self.redo.retain(|change| change.made != ticket);
            }
            // A failed undo can be tried again.
            Some(Reversal { redo, change }) => {
                self.undo.retain(|one| one.made != change.made && one.made != ticket);
                self.redo.retain(|one| one.made != change.made);
                // Insert it in order: others may have been requested since.
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

    /// Records that a change cannot be taken back because the agent has forgotten it; returns the attempt.
    pub fn forgotten(&mut self, ticket: Ticket) -> Option<PendingChange> {
        let at = self.pending.iter().position(|pending| pending.ticket == ticket)?;
        let pending = self.pending.remove(at);
        if let Some(Reversal { change, .. }) = &pending.again {
            self.redo.retain(|one| one.made != change.made);
        }
        self.edition += 1;
        Some(pending)
    }

    /// Forgets changes whose rows have arrived or are overdue.
    pub fn forget_overdue(&mut self, now: Now) {
        let before = self.pending.len();
        self.pending.retain(|pending| {
            pending.accepted.is_none_or(|accepted| now.mono.saturating_sub(accepted.mono) < GRACE)
        });
        if self.pending.len() != before {
            self.edition += 1;
        }
    }

    /// Renumbers methods.
    pub fn renumber(&mut self, to: &Renumbering) {
        let wishes =
            |wishes: &mut Vec<WantedLevel>| wishes.iter_mut().for_each(|(_, set)| *set = to.methods(set));
        let domain = |scope: &mut ChangeScope| {
            if let ChangeScope::Domain(place) = *scope {
                // A removed domain has nothing left to dial.
                *scope = match to.node(Node::Domain(place)) {
                    Some(Node::Domain(place)) => ChangeScope::Domain(place),
                    _ => ChangeScope::Copies,
                };
            }
        };
        let change = |change: &mut ChangeRecord| {
            wishes(&mut change.before);
            wishes(&mut change.after);
            domain(&mut change.scope);
        };
        for pending in &mut self.pending {
            wishes(&mut pending.wishes);
            pending.again.iter_mut().for_each(|again| change(&mut again.change));
        }
        self.undo.iter_mut().chain(&mut self.redo).for_each(change);
        self.edition += 1;
    }

    /// Ends the session: requests will not be answered, and held dials are off.
    pub fn clear(&mut self) -> Vec<PendingChange> {
        self.edition += 1;
        self.undo.clear();
        self.redo.clear();
        std::mem::take(&mut self.pending)
    }

    /// Returns the level that a method waits for: that of the newest change to it, unless `wanted` already is
    /// that level and the change was accepted.
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

    /// Returns whether an unanswered change concerns methods in these ranges.
    pub fn touches(&self, ranges: &[Range<u32>]) -> bool {
        let waiting = self.pending.iter().filter(|pending| pending.accepted.is_none());
        let mut sets = waiting.flat_map(|pending| pending.wishes.iter().map(|(_, set)| set));
        sets.any(|set| ranges.iter().any(|range| set.touches(range)))
    }

    /// Returns the level that an unanswered change requests for all methods in these ranges.
    pub fn whole(&self, ranges: &[Range<u32>]) -> Option<Level> {
        let waiting = self.pending.iter().rev().filter(|pending| pending.accepted.is_none());
        let mut wishes = waiting.flat_map(|pending| &pending.wishes);
        wishes.find(|(_, set)| ranges.iter().all(|range| set.contains_all(range))).map(|(level, _)| *level)
    }

    /// Returns the active changes, oldest first.
    pub fn pending(&self) -> &[PendingChange] {
        &self.pending
    }

    /// Grows with every change.
    pub fn edition(&self) -> u64 {
        self.edition
    }
}

/// Moves the methods in `set` out of `all`.
fn take(all: &mut BitSet, set: &MethodSet) -> MethodSet {
    let mut these = BitSet::none(all.len());
    for range in set.ranges() {
        these.set_range(range, true);
    }
    these.intersect(all);
    all.subtract(&these);
    MethodSet::from_bits(&these)
}

/// Returns the wanted levels of methods as the agent reported them.
fn said(mut all: BitSet, live: &Live) -> Vec<WantedLevel> {
    let mut before = Vec::new();
    for level in Level::ALL.into_iter().rev() {
        let mut these = all.clone();
        match live.wanted(level).filter(|_| level != Level::Off) {
            Some(wanted) => these.intersect(wanted),
            // The remaining methods have no row, or level off is wanted.
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
#[path = "changes_tests.rs"]
mod tests;
