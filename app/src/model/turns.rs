//! What the user asked for: turns under way, the patterns a turn is made of, and undo.

use super::catalogue::Catalogue;
use super::catalogue::bits::Bits;
use super::ids::{ConnectionId, MethodIx, ModuleIx, Ticket, TypeIx};
use super::live::Live;
use super::methodset::MethodSet;
use super::update::Now;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_STANDING_ORDERS;
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
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
    wishes: Vec<Wish>,
    /// What it does again or takes back, if it is no turn of its own.
    again: Option<Again>,
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
    /// The turn that made it first.
    made: Ticket,
    words: String,
    before: Vec<Wish>,
    after: Vec<Wish>,
}

/// Turns under way and turns done.
#[derive(Debug, Default)]
pub struct Turns {
    pending: Vec<Pending>,
    /// Oldest first.
    undo: Vec<Change>,
    /// Newest first.
    redo: Vec<Change>,
    /// Methods that turns which were accepted asked to be on.
    tried: Bits,
    edition: u64,
}

impl Turns {
    /// Notes a turn, and what undoes it: that can be asked for at once.
    pub fn begin(&mut self, ticket: Ticket, words: String, wishes: Vec<Wish>, live: &Live, now: Now) {
        let before = self.before(&wishes, live);
        self.redo.clear();
        self.undo.push(Change { made: ticket, words: words.clone(), before, after: wishes.clone() });
        if self.undo.len() > UNDONE {
            self.undo.remove(0);
        }
        self.push(ticket, words, wishes, None, now);
    }

    fn push(&mut self, ticket: Ticket, words: String, wishes: Vec<Wish>, again: Option<Again>, since: Now) {
        self.pending.push(Pending { ticket, words, since, accepted: None, wishes, again });
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
    pub fn begin_undo(&mut self, ticket: Ticket, redo: bool, now: Now) -> Option<(String, Vec<Wish>)> {
        let change = if redo { self.redo.pop() } else { self.undo.pop() }?;
        let wishes = if redo { change.after.clone() } else { change.before.clone() };
        let words = format!("{} {}", if redo { "redo" } else { "undo" }, change.words);
        let into = if redo { &mut self.undo } else { &mut self.redo };
        into.push(change.clone());
        self.push(ticket, words.clone(), wishes.clone(), Some(Again { redo, change }), now);
        Some((words, wishes))
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
        let on = pending.wishes.iter().filter(|(level, _)| *level != Level::Off);
        for range in on.flat_map(|(_, set)| set.ranges()) {
            self.tried.grow(range.end as usize);
            self.tried.set_range(range, true);
        }
        self.edition += 1;
        Some(pending)
    }

    /// The turn was refused, or its connection is gone: what it was.
    pub fn failed(&mut self, ticket: Ticket) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.ticket == ticket)?;
        let mut pending = self.pending.remove(at);
        match pending.again.take() {
            // What was not done needs no undoing.
            None => self.undo.retain(|change| change.made != ticket),
            // What could not be undone can be tried again.
            Some(Again { redo, change }) => {
                self.undo.retain(|one| one.made != change.made);
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

    /// The session is over: what was asked will not be answered, and what was held is off.
    pub fn clear(&mut self) -> Vec<Pending> {
        self.edition += 1;
        self.undo.clear();
        self.redo.clear();
        self.tried = Bits::default();
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

    /// Methods that were asked to be on in this session, by turns the agent has accepted, whatever became of them.
    pub fn tried(&self) -> &Bits {
        &self.tried
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

/// The orders that turn exactly the methods of some wishes: a whole module by one pattern, a whole type by one, the
/// rest one by one. (Copies that share an assembly's name share its patterns: the agent does not tell them apart.)
///
/// # Errors
/// A sentence when that takes more orders than an agent keeps.
pub fn orders(catalogue: &Catalogue, wishes: &[Wish]) -> Result<Vec<Order>, String> {
    let mut orders = Vec::new();
    for (level, set) in wishes {
        for pattern in cover(catalogue, set, MAX_STANDING_ORDERS + 1 - orders.len()) {
            orders.push(Order::new(pattern, *level));
        }
        if orders.len() > MAX_STANDING_ORDERS {
            return Err(format!(
                "this takes more than {MAX_STANDING_ORDERS} orders, which is all an agent keeps; turn whole types or \
                 modules, or fewer methods"
            ));
        }
    }
    Ok(orders)
}

fn cover(catalogue: &Catalogue, set: &MethodSet, most: usize) -> Vec<String> {
    let mut patterns = Vec::new();
    for range in set.ranges() {
        let mut at = range.start;
        while at < range.end && patterns.len() < most {
            let method = MethodIx(at);
            let Some(module) = catalogue.module(catalogue.module_of(method)) else { break };
            let owner = catalogue.type_of(method);
            let of_type = catalogue.methods_of_type(owner);
            let covers = |whole: &Range<u32>| whole.start == at && whole.end <= range.end;
            let (pattern, next) = if covers(&module.methods) && !whole_module(&module.name).is_empty() {
                (whole_module(&module.name), module.methods.end)
            } else if covers(&of_type) && of_type.len() > 1 && !whole_type(catalogue, owner).is_empty() {
                (whole_type(catalogue, owner), of_type.end)
            } else {
                (one_method(catalogue, method), at + 1)
            };
            patterns.push(pattern);
            at = next;
        }
    }
    patterns
}

/// Empty when no pattern names this assembly.
fn whole_module(name: &str) -> String {
    let pattern = format!("{name}!*");
    if names_assembly(&pattern, name) { pattern } else { String::new() }
}

fn whole_type(catalogue: &Catalogue, owner: TypeIx) -> String {
    let pattern = format!("{}*", catalogue.type_text(owner));
    let name = catalogue.module(catalogue.module_of_type(owner)).map_or("", |module| &module.name);
    if names_assembly(&pattern, name) { pattern } else { String::new() }
}

fn names_assembly(pattern: &str, name: &str) -> bool {
    !name.contains('*') && Pattern::parse(pattern).is_ok_and(|parsed| parsed.matches_assembly(name))
}

/// The pattern of exactly one method: by its token, unless another loaded assembly of that name is another build, in
/// which the token may be another method's.
pub fn one_method(catalogue: &Catalogue, method: MethodIx) -> String {
    let index = catalogue.module_of(method);
    let named = catalogue.pattern(method);
    let Some(module) = catalogue.module(index) else { return named };
    let by_token = format!("{}!{:#010x}", module.name, catalogue.token(method).0);
    if has_other_build(catalogue, index) || !names_assembly(&by_token, &module.name) {
        // An assembly whose name no pattern can say is left out: the method's name still is its own.
        let fits = Pattern::parse(&named).is_ok_and(|parsed| parsed.matches_assembly(&module.name));
        let without_assembly = module.name.len() + 1;
        return if fits { named } else { named.get(without_assembly..).unwrap_or_default().to_owned() };
    }
    by_token
}

fn has_other_build(catalogue: &Catalogue, index: ModuleIx) -> bool {
    let Some(module) = catalogue.module(index) else { return false };
    catalogue.modules().iter().any(|other| other.name == module.name && other.mvid != module.mvid)
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
