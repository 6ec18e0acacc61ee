//! `RequestReJIT` and `RequestRevert` for rows whose actual differs from what is wanted, one batch each.
#![forbid(unsafe_code)]

use super::inbox::Progress;
use super::row::Identity;
use crate::agent::Agent;
use crate::catalogue::Module;
use crate::clr::hresult::{CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND, CORPROF_E_REJIT_NOT_ENABLED};
use crate::inlining::Inlined;
use crate::planner::Orders;
use crate::planner::plan::{Due, due};
use crate::probes::{stacks, tokens};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

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
    let (mut up, mut down) = (Vec::new(), Vec::new());
    if rows.is_empty() {
        return Applied { asked: 0, complete: true };
    }
    agent.ledger.change(|book, now| {
        for id in rows {
            let Some(row) = book.row_mut(*id) else { continue };
            row.decides = row.decides.filter(|seq| orders.stands(*seq));
            let (wanted, owner) = orders.wanted(row.decides);
            row.owner = owner;
            let quarantined = row.reason.is_some_and(|(reason, _)| reason == Reason::Quarantined);
            if matches!(row.state, State::Refused | State::Failed) && wanted == Level::Off && !quarantined {
                // It answered a wish that no longer stands; a new one may fare better.
                row.state = State::Off;
                row.reason = None;
            }
            let changed = std::mem::replace(&mut row.wanted, wanted) != wanted;
            match due(wanted, row.is_dialable(), row.is_on()) {
                Due::Request => up.push(*id),
                Due::Revert => down.push(*id),
                Due::Nothing if changed => book.announce(*id, now),
                Due::Nothing => {}
            }
        }
    });
    revert(agent, &down);
    let asked = up.len() + down.len();
    for (part, rows) in up.chunks(AT_ONCE).enumerate() {
        if part > 0 {
            if progress.is_cancelled() || agent.inbox.off_waits() {
                return Applied { asked, complete: false };
            }
            progress.tell(down.len() + part * AT_ONCE, asked);
        }
        request(agent, rows.to_vec());
    }
    Applied { asked, complete: true }
}

/// Asks the CLR to recompile these rows with our body.
fn request(agent: &Agent, rows: Vec<RowId>) {
    let rows = prepare(agent, rows);
    if !rows.is_empty() {
        request_batch(agent, &rows);
    }
}

/// One bad copy fails a batch as a whole: halves find it, so that the others are turned all the same.
fn request_batch(agent: &Agent, rows: &[RowId]) {
    let (mut modules, mut tokens) = ids(agent, rows);
    if cfg!(debug_assertions) && agent.settings.provoke_rejit_error {
        modules.extend(modules.first().copied());
        tokens.push(NO_SUCH_METHOD);
    }
    match agent.info.request_rejit(&modules, &tokens) {
        Ok(()) => accepted(agent, rows),
        Err(e) if rows.len() == 1 || e.hresult == CORPROF_E_REJIT_NOT_ENABLED => {
            rows.iter().for_each(|id| refused(agent, *id, Reason::Hresult, e.hresult.0 as u32));
        }
        Err(_) => {
            let (first, second) = rows.split_at(rows.len() / 2);
            request_batch(agent, first);
            request_batch(agent, second);
        }
    }
}

/// A row that is to be asked for, with what of it is looked at several times. Ten thousand of them are read once: their
/// memory is cold.
struct Wish {
    id: RowId,
    module: Arc<Module>,
    token: u32,
    local_sig: u32,
    inlinable: bool,
}

impl Wish {
    fn of(id: RowId, what: &Identity) -> Wish {
        Wish {
            id,
            module: Arc::clone(&what.module),
            token: what.token,
            local_sig: what.local_sig,
            inlinable: what.inlinable,
        }
    }
}

/// Everything a body needs before the CLR may ask for it: the call site's token, the inlining veto, counters.
/// Answers the rows that have it; the others are refused.
fn prepare(agent: &Agent, rows: Vec<RowId>) -> Vec<RowId> {
    let copies: Vec<Wish> = {
        let book = agent.ledger.book();
        rows.into_iter()
            .filter_map(|id| book.row(id).map(|row| Wish::of(id, &row.what)))
            .filter(|wish| !wish.module.is_gone())
            .collect()
    };
    // A module's token is made outside the lock: that is a call into the CLR.
    let with_site = copies.into_iter().filter(|wish| match agent.call_sites(&wish.module) {
        Ok(_) => true,
        Err(e) => {
            refused(agent, wish.id, Reason::Metadata, e.hresult.0 as u32);
            false
        }
    });
    let copies: Vec<_> = with_site.collect();
    add_local_sigs(agent, &copies);
    let seen = agent.inlining.veto(copies.iter().map(|wish| (wish.module.id(), wish.token)));
    let inlined = copies.iter().zip(seen).map(|(wish, seen)| {
        if seen || agent.info.has_precompiled_inliners(wish.module.id(), wish.token) {
            Inlined::Yes
        } else if wish.module.before_attach && wish.inlinable {
            Inlined::Perhaps
        } else {
            Inlined::No
        }
    });
    let inlined: Vec<Inlined> = inlined.collect();
    let (ready, no_room): (Vec<RowId>, Vec<RowId>) = agent.ledger.change(|book, _| {
        let each = copies.iter().zip(inlined);
        let (ready, no_room): (Vec<_>, Vec<_>) = each.partition(|(wish, inlined)| {
            let has_slot = book.give_slot(wish.id);
            if let (true, Some(row)) = (has_slot, book.row_mut(wish.id)) {
                row.inlined = *inlined;
                row.reason = None;
                row.handed = false;
                row.early = false;
                row.requesting = true;
            }
            has_slot
        });
        let id_of = |(wish, _): (&Wish, Inlined)| wish.id;
        (ready.into_iter().map(id_of).collect(), no_room.into_iter().map(id_of).collect())
    });
    no_room.into_iter().for_each(|id| refused(agent, id, Reason::Budget, 0));
    ready
}

/// Makes the signatures that bodies with a variable of ours need, module by module.
fn add_local_sigs(agent: &Agent, copies: &[Wish]) {
    // Made here, not by a thread of the host that asks for a body.
    if stacks::table().is_none() {
        return;
    }
    for of_module in copies.chunk_by(|a, b| Arc::ptr_eq(&a.module, &b.module)) {
        let Some(first) = of_module.first() else { continue };
        let originals = of_module.iter().map(|wish| wish.local_sig).collect();
        tokens::add_local_sigs(agent, &first.module, originals);
    }
}

fn accepted(agent: &Agent, rows: &[RowId]) {
    agent.ledger.change(|book, now| {
        for id in rows {
            let Some(row) = book.row_mut(*id) else { continue };
            row.requesting = false;
            row.turned = Some(Instant::now());
            // ReJITError may have come inside the request.
            if !row.is_dialable() {
                continue;
            }
            row.state = State::Asked;
            let early = row.early;
            book.announce(*id, now);
            if early {
                book.go_live(*id, now);
            }
        }
    });
}

fn refused(agent: &Agent, id: RowId, reason: Reason, hresult: u32) {
    let state = if reason == Reason::Hresult { State::Failed } else { State::Refused };
    let copy = agent.ledger.change(|book, now| {
        book.fail(id, state, reason, hresult, now);
        let row = book.row_mut(id)?;
        row.requesting = false;
        Some((row.what.module.id(), row.what.token))
    });
    agent.inlining.allow(copy);
}

/// Brings back the original IL of these rows; lost ones have none.
pub fn revert(agent: &Agent, rows: &[RowId]) {
    let rows: Vec<RowId> = {
        let book = agent.ledger.book();
        let stands = |id: &RowId| book.row(*id).is_some_and(|row| !row.what.module.is_gone());
        rows.iter().copied().filter(stands).collect()
    };
    if rows.is_empty() {
        return;
    }
    let (modules, tokens) = ids(agent, &rows);
    let (whole, each) = agent.info.request_revert(&modules, &tokens);
    agent.ledger.change(|book, now| {
        for (id, status) in rows.iter().zip(each) {
            let Some(row) = book.row_mut(*id).filter(|row| row.state != State::Lost) else { continue };
            row.turned = Some(Instant::now());
            let nothing_stood = status == CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND;
            if (whole.is_ok() && status.is_ok()) || nothing_stood {
                row.state = State::Off;
                row.live_version = None;
                row.handed = false;
                row.retire_instances();
                book.announce(*id, now);
            } else {
                let hresult = whole.err().map_or(status, |e| e.hresult);
                row.reason = Some((Reason::Hresult, hresult.0 as u32));
                book.announce(*id, now);
            }
        }
    });
    agent.inlining.allow(modules.into_iter().zip(tokens));
}

fn ids(agent: &Agent, rows: &[RowId]) -> (Vec<usize>, Vec<u32>) {
    let book = agent.ledger.book();
    rows.iter().filter_map(|id| book.row(*id)).map(|row| (row.what.module.id(), row.what.token)).unzip()
}
