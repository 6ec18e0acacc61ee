//! `RequestRevert`: rows that are turned off run their original code again, and so do the passengers that came with
//! them.
#![forbid(unsafe_code)]

use super::apart::apart;
use super::passengers::{self, Found, Leaving};
use super::reverting::in_flight;
use super::row::Row;
use crate::agent::Agent;
use crate::clr::hresult::CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND;
use crate::inlining::Method;
use redial_protocol::ids::RowId;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;
use std::collections::HashSet;
use std::time::Instant;
use windows_core::HRESULT;

/// Brings back the original IL of these rows; lost ones have none.
pub fn revert(agent: &Agent, rows: &[RowId]) {
    let (leaving, methods) = {
        let book = agent.ledger.book();
        let stands = |id: &RowId| book.row(*id).is_some_and(|row| !row.what.module.is_gone());
        let rows: Vec<RowId> = rows.iter().copied().filter(stands).collect();
        let methods: Vec<Method> = rows.iter().filter_map(|id| book.row(*id)).map(Row::method).collect();
        (passengers::leaving(&book, &rows), methods)
    };
    let Leaving { off, stay, dismissed, anew } = leaving;
    turn_off(agent, &off, &dismissed);
    agent.inlining.allow(methods);
    let stay = board(agent, stay);
    compile_anew(agent, stay, anew);
}

/// Reverts the passengers that no row needs any more.
pub fn dismiss_unneeded(agent: &Agent) {
    revert(agent, &[]);
}

fn turn_off(agent: &Agent, rows: &[RowId], dismissed: &[Method]) {
    let mut methods: Vec<Method> = {
        let book = agent.ledger.book();
        rows.iter().filter_map(|id| book.row(*id)).map(Row::method).collect()
    };
    methods.extend(dismissed.iter().filter(|(module, _)| agent.modules.get(*module).is_some()));
    if methods.is_empty() || agent.ends() {
        return;
    }
    let (modules, tokens): (Vec<usize>, Vec<u32>) = methods.iter().copied().unzip();
    let (whole, each) = agent.info.request_revert(&modules, &tokens);
    let in_flight = in_flight(agent, rows);
    agent.ledger.change(|book, now| {
        for (id, status) in rows.iter().zip(&each) {
            let Some(row) = book.row_mut(*id).filter(|row| row.state != State::Lost) else { continue };
            row.turned = Some(Instant::now());
            if (whole.is_ok() && status.is_ok()) || nothing_stood(*status) {
                book.off_again(*id, in_flight.contains(id), now);
            } else {
                let hresult = whole.err().map_or(*status, |e| e.hresult);
                row.reason = Some((Reason::Hresult, hresult.0 as u32));
                book.announce(*id, now);
            }
        }
        for (method, status) in methods.iter().zip(&each) {
            if (whole.is_ok() && status.is_ok()) || nothing_stood(*status) {
                book.passengers.remove(*method);
            }
        }
    });
}

fn nothing_stood(status: HRESULT) -> bool {
    status == CORPROF_E_ACTIVE_REJIT_REQUEST_NOT_FOUND
}

/// Rows that others need recompiled become passengers.
fn board(agent: &Agent, stay: Vec<(RowId, Method, Found)>) -> Vec<(RowId, Method)> {
    let mut book = agent.ledger.book();
    stay.into_iter()
        .map(|(id, method, found)| {
            book.passengers.add(method, found);
            (id, method)
        })
        .collect()
}

/// Asks for versions with the original IL: of rows that stay as passengers, and of passengers that can have inlined again
/// what was turned off.
fn compile_anew(agent: &Agent, stay: Vec<(RowId, Method)>, anew: Vec<Method>) {
    let mut methods: Vec<Method> = stay.iter().map(|(_, method)| *method).collect();
    methods.extend(anew);
    if methods.is_empty() {
        return;
    }
    let (modules, tokens): (Vec<usize>, Vec<u32>) = methods.iter().copied().unzip();
    match apart(agent, &methods, false, || agent.info.request_rejit(&modules, &tokens)) {
        Ok(Ok(())) => {
            let rows: Vec<RowId> = stay.into_iter().map(|(id, _)| id).collect();
            let in_flight = in_flight(agent, &rows);
            agent.ledger.change(|book, now| {
                for id in rows {
                    if let Some(row) = book.row_mut(id).filter(|row| row.state != State::Lost) {
                        row.turned = Some(Instant::now());
                        book.off_again(id, in_flight.contains(&id), now);
                    }
                }
            });
        }
        // They keep what they run, and are turned a moment later.
        Err(_) => {
            let mut book = agent.ledger.book();
            book.put_off.rows.extend(stay.iter().map(|(id, _)| *id));
            let rows: HashSet<Method> = stay.iter().map(|(_, method)| *method).collect();
            book.put_off.passengers.extend(methods.iter().filter(|method| !rows.contains(method)));
            for method in rows {
                book.passengers.remove(method);
            }
        }
        Ok(Err(_)) => {
            // Better off, and a call less counted where it is inlined, than on.
            let (rows, methods): (Vec<RowId>, Vec<Method>) = stay.into_iter().unzip();
            turn_off(agent, &rows, &[]);
            let mut book = agent.ledger.book();
            passengers::cannot_ride(&mut book, &methods.iter().copied().collect());
        }
    }
}
