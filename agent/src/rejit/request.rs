//! Brings rows whose actual differs from what is wanted in line: `RequestReJIT` here, `RequestRevert` in `revert`.
#![forbid(unsafe_code)]

use super::apart::apart;
use super::asynchronous::{self, Asynchronous, Begins};
use super::conditions;
use super::inbox::Progress;
use super::inliners;
use super::ledger::PutOff;
use super::passengers::{self, Found};
use super::revert::revert;
use super::row::{Identity, Row};
use crate::agent::Agent;
use crate::catalogue::Module;
use crate::catalogue::names::ModuleNames;
use crate::clr::hresult::CORPROF_E_REJIT_NOT_ENABLED;
use crate::inlining::{Inlined, Method};
use crate::planner::Orders;
use crate::planner::plan::{Due, due};
use crate::probes::timing::{self, Timing, Untimed};
use crate::probes::{callers, clock, stacks, timers, tokens};
use crate::signature::Type;
use crate::sync::lock;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A token that no module has: the CLR answers it with a `ReJITError` inside the request.
const NO_SUCH_METHOD: u32 = 0x06FF_FF00;

/// Copies asked for at once: a turn of more is told how far it is, and can be cancelled, between two requests.
const AT_ONCE: usize = 8192;

/// What became of bringing rows in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Copies the CLR was asked for.
    pub asked: usize,
    /// False when it was given up half-way.
    pub complete: bool,
}

/// Brings these rows in line with the orders, unless `progress` is cancelled or "all off" waits meanwhile.
pub fn apply(agent: &Agent, orders: &Orders, rows: &BTreeSet<RowId>, progress: &Progress) -> Applied {
    let (mut up, mut down, mut adjusted) = (Vec::new(), Vec::new(), Vec::new());
    if rows.is_empty() {
        return Applied { asked: 0, complete: true };
    }
    agent.ledger.change(|book, now| {
        for id in rows {
            let Some(row) = book.row_mut(*id) else { continue };
            row.decides = row.decides.filter(|seq| orders.stands(*seq));
            let (wanted, owner) = orders.wanted(row.decides);
            row.owner = owner;
            row.stepped = row.decides.and_then(|seq| orders.get(seq)).and_then(|standing| standing.stepped);
            // What it was stepped down to before stands for it again where a person took back a later step, or all off.
            row.spared &= row.stepped.is_none() || wanted == Level::Off || wanted >= row.wanted;
            let quarantined = row.reason.is_some_and(|(reason, _)| reason == Reason::Quarantined);
            if matches!(row.state, State::Refused | State::Failed) && wanted == Level::Off && !quarantined {
                // It answered a wish that no longer stands; a new one may fare better.
                row.state = State::Off;
                row.reason = None;
            }
            let options = orders.options(row.decides);
            let changed = (row.wanted, row.options) != (wanted, options);
            if row.options != options {
                let kept = if row.is_dialable() { options } else { TimeOptions::default() };
                adjusted.extend(row.slot.map(|slot| (*id, slot, kept)));
            }
            (row.wanted, row.options) = (wanted, options);
            let due = due(wanted, row.is_dialable(), row.runs(), row.fits());
            let is_put_off = row.reason.is_some_and(|(reason, _)| reason == Reason::BeingCompiled);
            if is_put_off && (wanted == Level::Off || due == Due::Nothing) {
                row.reason = None;
                // The body it has is what it is to have, whatever was prepared for it.
                (row.timing, row.untimed) = row.asked_times;
                if !row.probe().is_noted() {
                    book.close_account(*id, now);
                }
                book.put_off.rows.remove(id);
            }
            match due {
                Due::Request => up.push(*id),
                Due::Revert => down.push(*id),
                Due::Nothing if changed => book.announce(*id, now),
                Due::Nothing => {}
            }
        }
    });
    conditions::set(agent, &adjusted);
    revert(agent, &down);
    let asked = up.len() + down.len();
    for (part, rows) in up.chunks(AT_ONCE).enumerate() {
        if part > 0 {
            if progress.is_cancelled() || agent.inbox.off_waits() {
                return Applied { asked, complete: false };
            }
            progress.tell(down.len() + part * AT_ONCE, asked);
        }
        // Parts that have gone may have been compiled with what goes now in them.
        let going = methods_of(agent, up.get(part * AT_ONCE..).unwrap_or_default());
        request(agent, rows.to_vec(), &going);
    }
    Applied { asked, complete: true }
}

/// What one request asks for: a row, or a passenger.
#[derive(Clone, Copy)]
struct Item {
    method: Method,
    row: Option<RowId>,
}

fn methods_of(agent: &Agent, rows: &[RowId]) -> HashSet<Method> {
    let book = agent.ledger.book();
    rows.iter().filter_map(|id| book.row(*id)).map(Row::method).collect()
}

/// Asks the CLR to recompile these rows with our body, and whatever holds them inlined and is not among `going` without
/// them.
fn request(agent: &Agent, rows: Vec<RowId>, going: &HashSet<Method>) {
    let Ready { rows: mut items, by_runtime, passengers } = prepare(agent, rows, going);
    items.extend(passengers.into_iter().map(|method| Item { method, row: None }));
    ask(agent, &by_runtime, Inliners::FoundByRuntime);
    ask(agent, &items, Inliners::FoundByUs);
}

/// Who finds those that hold the copies of a request inlined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inliners {
    FoundByUs,
    FoundByRuntime,
}

/// One bad copy fails a batch as a whole: halves find it, so that the others are turned all the same.
fn ask(agent: &Agent, items: &[Item], inliners: Inliners) {
    if items.is_empty() {
        return;
    }
    let (mut modules, mut tokens): (Vec<usize>, Vec<u32>) = items.iter().map(|item| item.method).unzip();
    if cfg!(debug_assertions) && agent.settings.provoke_rejit_error {
        modules.extend(modules.first().copied());
        tokens.push(NO_SUCH_METHOD);
    }
    if let Some(file) = agent.settings.provoke_hang.as_ref().filter(|_| cfg!(debug_assertions)) {
        while file.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let methods: Vec<Method> = items.iter().map(|item| item.method).collect();
    let answer = apart(agent, &methods, inliners == Inliners::FoundByRuntime, || match inliners {
        Inliners::FoundByUs => agent.info.request_rejit(&modules, &tokens),
        Inliners::FoundByRuntime => agent.info.request_rejit_with_inliners(&modules, &tokens),
    });
    let answer = match answer {
        Ok(answer) => answer,
        Err(held) => {
            let (busy, free): (Vec<Item>, Vec<Item>) =
                items.iter().copied().partition(|item| held.contains(&item.method));
            put_off(agent, &busy);
            // Where none is named, all may go the next time.
            return if busy.is_empty() { put_off(agent, items) } else { ask(agent, &free, inliners) };
        }
    };
    match answer {
        Ok(()) => accepted(agent, items),
        Err(_) if items.len() == 1 && inliners == Inliners::FoundByRuntime => {
            give_up_inliners(agent, items);
            ask(agent, items, Inliners::FoundByUs);
        }
        Err(e) if items.len() == 1 || e.hresult == CORPROF_E_REJIT_NOT_ENABLED => {
            items.iter().for_each(|item| unable(agent, item, e.hresult.0 as u32));
        }
        Err(_) => {
            let (first, second) = items.split_at(items.len() / 2);
            ask(agent, first, inliners);
            ask(agent, second, inliners);
        }
    }
}

/// These rows' inliners are not to be had from the runtime.
fn give_up_inliners(agent: &Agent, items: &[Item]) {
    let mut book = agent.ledger.book();
    for id in items.iter().filter_map(|item| item.row) {
        if let Some(row) = book.row_mut(id) {
            row.by_runtime = false;
            row.inlined = Inlined::Perhaps;
        }
    }
}

/// These cannot be asked for now: they are as soon as the thread looks after them.
fn put_off(agent: &Agent, items: &[Item]) {
    agent.ledger.change(|book, now| {
        for item in items {
            let Some(id) = item.row else {
                book.put_off.passengers.insert(item.method);
                continue;
            };
            let Some(row) = book.row_mut(id) else { continue };
            row.requesting = false;
            row.reason = Some((Reason::BeingCompiled, 0));
            book.put_off.rows.insert(id);
            book.announce(id, now);
        }
    });
}

/// What could not be asked for before.
pub fn ask_again(agent: &Agent, orders: &Orders) {
    let PutOff { rows, passengers } = std::mem::take(&mut agent.ledger.book().put_off);
    let again: Vec<Item> = {
        let book = agent.ledger.book();
        let still = passengers.into_iter().filter(|method| book.passengers.has(*method));
        still.map(|method| Item { method, row: None }).collect()
    };
    ask(agent, &again, Inliners::FoundByUs);
    apply(agent, orders, &rows, &Progress::silent());
}

/// The CLR did not take this.
fn unable(agent: &Agent, item: &Item, hresult: u32) {
    match item.row {
        Some(id) => refused(agent, id, Reason::Hresult, hresult),
        None => passengers::cannot_ride(&mut agent.ledger.book(), &HashSet::from([item.method])),
    }
}

/// A row that is to be asked for, with what of it is looked at several times. Ten thousand of them are read once: their
/// memory is cold.
pub(super) struct Wish {
    id: RowId,
    pub(super) module: Arc<Module>,
    pub(super) token: u32,
    local_sig: u32,
    pub(super) inlinable: bool,
    timing: Wanted,
    asynchronous: Option<Asynchronous>,
    callers: bool,
}

/// Whether a row is to be timed.
enum Wanted {
    /// Not wanted.
    No,
    /// Wanted; what it returns, or why it cannot be.
    Yes(Result<Option<Type>, Untimed>),
}

impl Wish {
    fn of(row: &Row) -> Wish {
        let what: &Identity = &row.what;
        let timing = match row.wanted >= Level::Time {
            // What it returns is read later, without the ledger's lock.
            true => Wanted::Yes(what.untimed.map_or(Ok(None), Err)),
            false => Wanted::No,
        };
        Wish {
            id: row.id,
            module: Arc::clone(&what.module),
            token: what.token,
            local_sig: what.local_sig,
            inlinable: what.inlinable,
            timing,
            asynchronous: None,
            callers: row.options.callers && callers::KNOWN,
        }
    }

    /// The variables it got, or why it is only counted; `has_room`: whether the agent has memory for its times.
    fn timing(&self, has_room: bool) -> (Option<Timing>, Option<Untimed>) {
        let result = match &self.timing {
            Wanted::No => return (None, None),
            Wanted::Yes(Err(untimed)) => return (None, Some(*untimed)),
            Wanted::Yes(Ok(_)) if !has_room => return (None, Some(Untimed::NoMemory)),
            Wanted::Yes(Ok(result)) => result,
        };
        match lock(&self.module.local_sigs).get(&(self.local_sig, result.clone())) {
            Some(with) => {
                let returns = result.is_some();
                let (local_sig, local, callers) = (with.token, with.local, self.callers);
                (Some(Timing { local_sig, local, returns, noted_at: None, callers }), None)
            }
            None => (None, Some(Untimed::NoRoom)),
        }
    }

    /// The copy as callbacks name it.
    pub(super) fn method(&self) -> Method {
        (self.module.id(), self.token)
    }
}

/// What is asked for next.
#[derive(Default)]
struct Ready {
    /// Rows.
    rows: Vec<Item>,
    /// Rows whose inliners the runtime is to find, too.
    by_runtime: Vec<Item>,
    /// Who holds any of them inlined.
    passengers: HashSet<Method>,
}

/// Everything a body needs before the CLR may ask for it: the call site's token, the inlining veto, counters.
/// Answers the rows that have it, and their inliners; the other rows are refused.
fn prepare(agent: &Agent, rows: Vec<RowId>, going: &HashSet<Method>) -> Ready {
    let copies: Vec<Wish> = {
        let book = agent.ledger.book();
        rows.into_iter()
            .filter_map(|id| book.row(id).map(Wish::of))
            .filter(|wish| !wish.module.is_gone())
            .collect()
    };
    // What gets no body can still be recompiled for the sake of others.
    let mut left_out = HashSet::new();
    // A module's token is made outside the lock: that is a call into the CLR.
    let with_site = copies.into_iter().filter(|wish| match tokens::call_sites(agent, &wish.module) {
        Ok(_) => true,
        Err(e) => {
            refused(agent, wish.id, Reason::Metadata, e.hresult.0 as u32);
            left_out.insert(wish.method());
            false
        }
    });
    let mut copies: Vec<_> = with_site.collect();
    add_local_sigs(agent, &mut copies);
    let holders = agent.inlining.veto(copies.iter().map(Wish::method));
    let inliners = inliners::find(agent, &copies, holders, going);
    let has_room = has_room_for_times(agent, &copies);
    let mut ready = Ready::default();
    let mut accounts: Vec<Begins> = Vec::new();
    let mut conditioned = Vec::new();
    let no_room: Vec<RowId> = agent.ledger.change(|book, now| {
        let (mut no_room, mut held_by) = (Vec::new(), HashSet::<Method>::new());
        let mut newly_timed = false;
        for (wish, found) in copies.iter().zip(inliners) {
            let item = Item { method: wish.method(), row: Some(wish.id) };
            let is_new = book.row(wish.id).is_some_and(|row| row.slot.is_none());
            let has_slot = book.give_slot(wish.id);
            if !has_slot || book.row(wish.id).is_none() {
                no_room.push(wish.id);
                left_out.insert(wish.method());
                continue;
            }
            let was = book.passengers.remove(wish.method());
            let Some(row) = book.row_mut(wish.id) else { continue };
            row.inlined = found.missed;
            held_by.extend(found.inliners.iter().filter(|method| going.contains(method)));
            row.inliners = found.inliners.into();
            row.by_runtime = found.by_runtime;
            row.reason = None;
            row.handed = false;
            row.passed_over = None;
            row.again = false;
            row.stray |= was == Some(Found::ByRuntime);
            row.early = false;
            row.requesting = true;
            if row.is_on() {
                row.begin_anew();
            }
            (row.timing, row.untimed) = wish.timing(has_room);
            newly_timed |= row.timing.is_some() && !row.was_timed;
            row.was_timed |= row.timing.is_some();
            let options = if row.timing.is_some() { row.options } else { TimeOptions::default() };
            conditioned.extend(row.slot.filter(|_| is_new).map(|slot| (wish.id, slot, options)));
            row.had_callers |= row.timing.is_some_and(|timing| timing.callers);
            accounts.extend(book.give_account(wish.id, wish.asynchronous.clone(), now));
            ready.passengers.extend(found.passengers);
            if found.by_runtime { ready.by_runtime.push(item) } else { ready.rows.push(item) }
        }
        if newly_timed {
            book.note_timed();
        }
        ready.passengers.extend(left_out.intersection(&held_by));
        passengers::board(book, &ready.passengers, !ready.by_runtime.is_empty());
        no_room
    });
    accounts.into_iter().for_each(|(account, slots)| account.begin(slots));
    conditions::set(agent, &conditioned);
    no_room.into_iter().for_each(|id| refused(agent, id, Reason::Budget, 0));
    ready
}

/// Whether the agent has memory for the times of those that are to be timed, whatever slots they get.
fn has_room_for_times(agent: &Agent, copies: &[Wish]) -> bool {
    let is_timed = |wish: &Wish| matches!(wish.timing, Wanted::Yes(Ok(_)));
    if !copies.iter().any(is_timed) {
        return true;
    }
    let ever = agent.ledger.book().slots.ever();
    timers::make_room(ever.saturating_add(copies.len() as u32))
}

/// Makes the signatures that bodies with variables of ours need, module by module.
fn add_local_sigs(agent: &Agent, copies: &mut [Wish]) {
    // Made here, not by a thread of the host that asks for a body.
    let counts_inline = stacks::table().is_some();
    for of_module in copies.chunk_by_mut(|a, b| Arc::ptr_eq(&a.module, &b.module)) {
        read_results(agent, of_module);
        let (mut counting, mut timed) = (BTreeSet::new(), HashSet::new());
        for wish in of_module.iter() {
            match &wish.timing {
                Wanted::Yes(Ok(result)) => {
                    timed.insert((wish.local_sig, result.clone()));
                }
                _ if counts_inline => {
                    counting.insert(wish.local_sig);
                }
                _ => {}
            }
        }
        if let Some(first) = of_module.first() {
            tokens::add_local_sigs(agent, &first.module, counting, timed);
        }
    }
}

/// Reads what the methods that are to be timed return; they are of one module.
fn read_results(agent: &Agent, of_module: &mut [Wish]) {
    let is_timed = |wish: &Wish| matches!(wish.timing, Wanted::Yes(Ok(_)));
    let Some(module) = of_module.iter().find(|wish| is_timed(wish)).map(|wish| Arc::clone(&wish.module))
    else {
        return;
    };
    clock::begin();
    let read = module.with_metadata(&agent.info, |import| {
        let names = ModuleNames::default();
        for wish in of_module.iter_mut().filter(|wish| is_timed(wish)) {
            let method = import.method(wish.token).map_err(|_| Untimed::Signature);
            if let Ok(method) = &method {
                wish.asynchronous =
                    asynchronous::recognise(agent, &module, (import, &names), wish.token, method);
            }
            wish.timing = Wanted::Yes(method.and_then(|method| timing::result_variable(&method.signature)));
        }
    });
    if read.is_none() {
        // What was not read must not pass for a method without a result.
        for wish in of_module.iter_mut().filter(|wish| is_timed(wish)) {
            wish.timing = Wanted::Yes(Err(Untimed::Signature));
        }
    }
}

fn accepted(agent: &Agent, items: &[Item]) {
    agent.ledger.change(|book, now| {
        for item in items {
            let Some(row) = item.row.and_then(|id| book.row_mut(id)) else { continue };
            row.requesting = false;
            row.turned = Some(Instant::now());
            // ReJITError may have come inside the request.
            if !row.is_dialable() {
                continue;
            }
            row.state = State::Asked;
            row.asked = row.wanted;
            row.asked_times = (row.timing, row.untimed);
            let (id, early, noted) = (row.id, row.early, row.probe().is_noted());
            if !noted {
                book.close_account(id, now);
            }
            book.announce(id, now);
            if early {
                book.go_live(id, now);
            }
        }
    });
}

fn refused(agent: &Agent, id: RowId, reason: Reason, hresult: u32) {
    let stands = agent.ledger.book().row(id).is_some_and(Row::is_on);
    if stands {
        // It was asked for another level; what it runs goes as well.
        revert(agent, &[id]);
    }
    let state = if reason == Reason::Hresult { State::Failed } else { State::Refused };
    let copy = agent.ledger.change(|book, now| {
        book.fail(id, state, reason, hresult, now);
        let row = book.row_mut(id)?;
        row.requesting = false;
        Some(row.method())
    });
    agent.inlining.allow(copy);
    agent.passengers_changed();
}
