//! What each command does and answers.
#![forbid(unsafe_code)]

use super::session::Session;
use super::subscription::{Stop, Subscription};
use super::turns::{off, reply_frame};
use super::{pages, rows, times};
use crate::agent::HANGS;
use crate::known_bad;
use crate::planner::SessionId;
use crate::probes::{TIMING_BUDGET, blocks, cost, stacks, timing_bytes};
use crate::rejit::{CLR_BYTES_PER_COMPILATION, Job, Wish};
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_DOMAINS, MAX_MODULES, MAX_SESSIONS, MAX_STANDING_ORDERS};
use redial_protocol::message::{AgentStatus, Budget, Command, Event, Refusal, Reply};
use redial_protocol::order::Stand;
use redial_protocol::pattern::Pattern;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Shortest interval between folds.
const MIN_INTERVAL_MS: u32 = 10;

impl Session {
    /// Carries out a command. False ends the session.
    pub(super) fn obey(&mut self, id: u32, command: Command) -> bool {
        if let Some(refusal) = self.refuses(&command) {
            return self.send(Event::Reply { id, reply: Reply::Refused(refusal) });
        }
        let reply = match command {
            Command::Modules => {
                let (mut domains, mut modules) = self.agent.modules.rows(&self.agent.info);
                domains.truncate(MAX_DOMAINS);
                modules.truncate(MAX_MODULES);
                Reply::Modules { domains, modules }
            }
            Command::Methods { pattern, limit } => match self.methods(id, pattern.as_deref(), limit) {
                Ok(reply) => reply,
                Err(refusal) => Reply::Refused(refusal),
            },
            Command::RequestReJit { orders, later, take, stand } => {
                return self.turn(id, Wish::Add { orders, stand, later }, take);
            }
            Command::RequestRevert { patterns, take } => {
                let wish = Wish::Add { orders: off(patterns), stand: Stand::Kept, later: false };
                return self.turn(id, wish, take);
            }
            Command::Undo { take } => return self.turn(id, Wish::Undo, take),
            Command::TakeBack { change, take } => return self.turn(id, Wish::TakeBack(change), take),
            Command::Plan { orders, stand } => return self.plan(id, orders, stand),
            Command::Orders => self.orders(),
            Command::Cancel { request } => {
                self.turns.cancel(request);
                Reply::Done
            }
            Command::Status { pattern } => match parse(pattern.as_deref()) {
                Ok(pattern) => self.status(id, pattern),
                Err(refusal) => Reply::Refused(refusal),
            },
            Command::AgentStatus => Reply::AgentStatus(self.agent_status()),
            Command::Subscribe { pattern, interval_ms } => match parse(pattern.as_deref()) {
                Ok(pattern) => self.subscribe(pattern, interval_ms),
                Err(refusal) => Reply::Refused(refusal),
            },
            Command::Unsubscribe => {
                self.unsubscribe();
                Reply::Done
            }
            Command::ReleaseControl => {
                self.agent.server.control.release(self.id);
                self.agent.ledger.wake();
                Reply::Done
            }
            Command::Ping => Reply::Done,
            Command::LetGo => return self.let_go(id),
            Command::Il { copy, instrumented } => self.il(id, copy, instrumented),
            Command::Histogram { row } => self.histogram(row),
            Command::SetBudget { limit, take } => {
                // Measured here at the latest, and not by the ReJIT thread, for which others wait.
                drop(cost::of_a_call(self.agent.max_level()));
                return self.turn(id, Wish::Budget(limit), take);
            }
            Command::KeptCalls { rows } => self.kept_calls(&rows),
            Command::Callers { row } => self.callers(row),
        };
        self.outbox.put(reply_frame(id, reply))
    }

    /// Why a command is not looked at, if so.
    fn refuses(&mut self, command: &Command) -> Option<Refusal> {
        if !self.has_place() {
            return Some(Refusal::AgentOff(format!(
                "this agent serves {MAX_SESSIONS} controllers already; only hello, status and all off are left for more"
            )));
        }
        let turns = matches!(
            command,
            Command::RequestReJit { .. }
                | Command::RequestRevert { .. }
                | Command::Undo { .. }
                | Command::TakeBack { .. }
                | Command::SetBudget { .. }
        );
        (turns && crate::guard::killed()).then(|| {
            Refusal::AgentOff(
                "the agent switched itself off after three faults of its own; every dial is off".into(),
            )
        })
    }

    fn methods(&self, id: u32, text: Option<&str>, limit: u64) -> Result<Reply, Refusal> {
        let pattern = match parse(text)? {
            Some(pattern) => pattern,
            None => Pattern::parse("*").map_err(|e| Refusal::BadPattern(e.to_string()))?,
        };
        let matched =
            pages::methods(self.agent, &pattern, limit, |page| self.send(Event::Methods { id, page }));
        let suggestions = match matched {
            0 => crate::catalogue::suggest::nearest(self.agent, &pattern),
            _ => Vec::new(),
        };
        Ok(Reply::Methods { matched, suggestions })
    }

    fn status(&self, id: u32, pattern: Option<Pattern>) -> Reply {
        let mut sent = Vec::new();
        let rows = rows::send_rows(self.agent, 0..usize::MAX, pattern.as_ref(), |page| {
            sent.extend(page.rows.iter().map(|row| row.row));
            self.send(Event::Rows { id: Some(id), rows: page.rows })
        });
        times::send_times(self.agent, &sent, |times| self.send(Event::Times { id: Some(id), times }));
        Reply::Status { rows }
    }

    fn orders(&self) -> Reply {
        let (now, published) = (Instant::now(), self.agent.published());
        let orders = published.orders.iter().take(MAX_STANDING_ORDERS);
        Reply::Orders {
            orders: orders.map(|standing| standing.told(now)).collect(),
            undoable: published.undoable as u32,
        }
    }

    fn agent_status(&self) -> AgentStatus {
        let agent = self.agent;
        let (kept, held, compilations, passengers, ledger_bytes, slots, rows) = {
            let book = agent.ledger.book();
            let (_, kept, held) = book.totals();
            let (passengers, bytes) = (book.passengers.count(), book.bytes());
            (kept, held, book.compilations(), passengers, bytes, book.slots.used(), book.rows().present())
        };
        let mut remains = Vec::new();
        if compilations > 0 {
            remains.push(format!(
                "the runtime keeps about {} KiB for {compilations} recompilation{} until their AppDomain unloads",
                (compilations * CLR_BYTES_PER_COMPILATION).div_ceil(1024),
                if compilations == 1 { "" } else { "s" },
            ));
        }
        if agent.inlining.waits_for() >= HANGS {
            remains
                .push("a turn waits for a compilation to end that may be inlining what it asks for".into());
        } else if agent.worker_busy_for() >= HANGS {
            remains.push(format!(
                "the runtime has not answered our request for {} s; dials do not turn meanwhile",
                agent.worker_busy_for().as_secs()
            ));
        }
        if kept + held > 0 {
            remains.extend(known_bad::warnings(agent.runtime.major, agent.runtime.patch).map(str::to_owned));
        }
        if passengers > 0 {
            remains.push(format!(
                "{passengers} undialled method{} recompiled, because dialled ones were inlined there; {} original code \
                 comes back with the dials turned off",
                if passengers == 1 { " is" } else { "s are" },
                if passengers == 1 { "its" } else { "their" },
            ));
        }
        let restrained = agent.inlining.restrained();
        if restrained > 0 {
            remains.push(format!(
                "{restrained} method{} compiled while dials were on: calls of dialled methods there stay calls and are \
                 not inlined, which is harmless; there is nothing to be done",
                if restrained == 1 { " was" } else { "s were" },
            ));
        }
        // Before memory is looked at: measuring takes some, the first time.
        let costs = cost::of_a_call(agent.max_level());
        let callers_picoseconds = (agent.max_level() >= Level::Time).then(cost::of_a_caller).flatten();
        AgentStatus {
            control: agent.server.control.holder(),
            held,
            kept,
            memory_bytes: (ledger_bytes
                + agent.inlining.bytes()
                + blocks::touched_bytes(slots)
                + stacks::touched_bytes()
                + agent.callers.bytes()
                + timing_bytes()) as u64,
            budgets: vec![
                budget("dialled methods", slots, u64::from(blocks::OWN.0)),
                budget("methods that are or were dialled", rows as u64, crate::rejit::table::MAX_ROWS as u64),
                budget("bytes of times", timing_bytes() as u64, TIMING_BUDGET as u64),
            ],
            clr_kept_bytes: compilations * CLR_BYTES_PER_COMPILATION,
            missed_deadlines: agent.missed_deadlines.load(Ordering::Relaxed),
            guard_trips: crate::guard::trips(),
            audit: agent.server.audit.entries(),
            remains,
            costs,
            cost_budget: agent.server.budget.get(),
            callers_picoseconds,
        }
    }

    fn subscribe(&mut self, pattern: Option<Pattern>, interval_ms: u32) -> Reply {
        self.unsubscribe();
        let stop = Arc::new(Stop::default());
        let interval = Duration::from_millis(u64::from(interval_ms.max(MIN_INTERVAL_MS)));
        let mut subscription =
            Subscription::new(self.agent, Arc::clone(&self.outbox), Arc::clone(&stop), pattern, interval);
        if !subscription.begin() || !crate::platform::spawn("redial-watch", move || subscription.run()) {
            return Reply::Refused(Refusal::AgentOff("the watching thread could not be started".into()));
        }
        self.watching = Some(stop);
        Reply::Done
    }
}

/// Facts for Hello and Status.
pub(super) fn clr_kept_bytes(compilations: u64) -> u64 {
    compilations * CLR_BYTES_PER_COMPILATION
}

fn budget(name: &str, used: u64, limit: u64) -> Budget {
    Budget { name: name.into(), used, limit }
}

fn parse(text: Option<&str>) -> Result<Option<Pattern>, Refusal> {
    text.map(|text| Pattern::parse(text).map_err(|e| Refusal::BadPattern(e.to_string()))).transpose()
}

/// A session's end, for the orders it held.
pub(super) fn forget(agent: &'static crate::agent::Agent, session: SessionId) {
    // Control first: whoever sees the dials go off finds it free.
    agent.server.control.release(session);
    agent.ledger.wake();
    agent.inbox.put(Job::SessionEnded(session));
}
