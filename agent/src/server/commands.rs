//! Carries out each command of a session and answers it.
#![forbid(unsafe_code)]

use super::changes::{off, too_many_pending};
use super::session::Session;
use super::session::reply_frame;
use super::subscription::{StopSignal, Subscription};
use super::{method_pages, rows, times};
use crate::context::Context;
use crate::inbox::HANG_THRESHOLD;
use crate::inbox::{OrderChange, WorkTimer};
use crate::known_bad;
use crate::ledger::row_filter::RowFilter;
use crate::ledger::state::Totals;
use crate::platform::heap_bytes;
use crate::probes::{TIMING_BUDGET, blocks, call_cost, stack_pages, timing_bytes};
use redial_protocol::diagnostics::{Remainder, Resource, Unavailable};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_DOMAINS, MAX_MODULES, MAX_SESSIONS, MAX_STANDING_ORDERS};
use redial_protocol::message::{AgentStatus, Event, Refusal, Reply, ResourceUsage, WireCommand};
use redial_protocol::order::Lifetime;
use redial_protocol::pattern::{Pattern, types_pattern};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Shortest interval between counter snapshots.
const MIN_INTERVAL_MS: u32 = 10;
/// Memory of the CLR that is worth a line of its own although nothing was recompiled.
const MIN_REPORTED_BYTES: u64 = 64 << 10;

impl Session {
    /// Carries out a command, in turn with other sessions. False ends the session.
    pub(super) fn execute(&mut self, id: u32, command: WireCommand) -> bool {
        if !takes_turns(&command) {
            return self.execute_now(id, command);
        }
        // The ReJIT thread makes a plan in one piece, so only its beginning can wait for a turn.
        let whole = matches!(command, WireCommand::Plan { .. });
        let has_turn = self.begin_work();
        if self.closer.is_hung_up() {
            return false;
        }
        if !has_turn && whole {
            return self.send(Event::Reply { id, reply: Reply::Refused(too_many_pending()) });
        }
        let open = self.execute_now(id, command);
        self.end_work();
        open
    }

    fn execute_now(&mut self, id: u32, command: WireCommand) -> bool {
        self.has_worked = true;
        if let Some(refusal) = self.refuses(&command) {
            return self.send(Event::Reply { id, reply: Reply::Refused(refusal) });
        }
        let reply = match command {
            WireCommand::Modules => {
                let (mut domains, mut modules) = self.context.modules.rows(&self.context.info);
                domains.truncate(MAX_DOMAINS);
                modules.truncate(MAX_MODULES);
                Reply::Modules { domains, modules }
            }
            WireCommand::Methods { pattern, limit } => match self.methods(id, pattern.as_deref(), limit) {
                Ok(reply) => reply,
                Err(refusal) => Reply::Refused(refusal),
            },
            WireCommand::RequestReJit { orders, later, take, lifetime } => {
                return self.change(id, OrderChange::Add { orders, lifetime, later }, take);
            }
            WireCommand::RequestRevert { patterns, take } => {
                let change =
                    OrderChange::Add { orders: off(patterns), lifetime: Lifetime::Kept, later: false };
                return self.change(id, change, take);
            }
            WireCommand::Undo { take } => return self.change(id, OrderChange::Undo, take),
            WireCommand::UndoChange { change, take } => {
                return self.change(id, OrderChange::TakeBack(change), take);
            }
            WireCommand::Plan { orders, lifetime } => return self.plan(id, orders, lifetime),
            WireCommand::Orders => self.orders(),
            WireCommand::Cancel { request } => {
                self.changes.cancel(request);
                Reply::Done
            }
            WireCommand::Status { pattern } => match self.filter(pattern.as_deref()) {
                Ok(filter) => self.status(id, filter),
                Err(refusal) => Reply::Refused(refusal),
            },
            WireCommand::AgentStatus => Reply::AgentStatus(self.agent_status()),
            WireCommand::Subscribe { pattern, interval_ms } => match self.filter(pattern.as_deref()) {
                Ok(filter) => self.subscribe(filter, interval_ms),
                Err(refusal) => Reply::Refused(refusal),
            },
            WireCommand::Unsubscribe => {
                self.unsubscribe();
                Reply::Done
            }
            WireCommand::ReleaseControl => {
                self.context.control.release(self.id);
                self.context.ledger.wake();
                Reply::Done
            }
            WireCommand::Ping => Reply::Done,
            WireCommand::ReleaseHeld => return self.release_held(id),
            WireCommand::Il { copy, instrumented } => self.il(id, copy, instrumented),
            WireCommand::Histogram { row } => self.histogram(row),
            WireCommand::SetBudget { limit, take } => {
                // Measure here at the latest, and not on the ReJIT thread, which others wait for.
                drop(call_cost::per_call(self.context.settings.highest_level()));
                return self.change(id, OrderChange::Budget(limit), take);
            }
            WireCommand::SlowestCalls { rows } => self.slowest_calls(&rows),
            WireCommand::Callers { row } => self.callers(row),
            WireCommand::Calls { pattern, in_flight } => match self.filter(pattern.as_deref()) {
                Ok(filter) => self.calls(id, filter, in_flight),
                Err(refusal) => Reply::Refused(refusal),
            },
            WireCommand::StreamCalls { pattern } => match self.filter(pattern.as_deref()) {
                Ok(filter) => self.stream_calls(filter),
                Err(refusal) => Reply::Refused(refusal),
            },
            WireCommand::StopCalls => {
                self.stop_calls();
                Reply::Done
            }
            WireCommand::StreamExceptions { types, rate } => match parse_types(types.as_deref()) {
                Ok(types) => self.stream_exceptions(types, rate),
                Err(refusal) => Reply::Refused(refusal),
            },
            WireCommand::StopExceptions => {
                self.stop_exceptions(true);
                Reply::Done
            }
        };
        self.outbox.put(reply_frame(id, reply))
    }

    /// Returns why a command is refused outright, if it is.
    fn refuses(&mut self, command: &WireCommand) -> Option<Refusal> {
        if !self.has_place() {
            return Some(Refusal::AgentOff(Unavailable::TooManyControllers { limit: MAX_SESSIONS as u64 }));
        }
        let changes = matches!(
            command,
            WireCommand::RequestReJit { .. }
                | WireCommand::RequestRevert { .. }
                | WireCommand::Undo { .. }
                | WireCommand::UndoChange { .. }
                | WireCommand::SetBudget { .. }
                | WireCommand::StreamExceptions { .. }
        );
        (changes && crate::guard::killed()).then_some(Refusal::AgentOff(Unavailable::SwitchedOff))
    }

    fn methods(&self, id: u32, text: Option<&str>, limit: u64) -> Result<Reply, Refusal> {
        let pattern = match parse(text)? {
            Some(pattern) => pattern,
            None => Pattern::parse("*").map_err(|e| Refusal::BadPattern(e.into()))?,
        };
        let matched = method_pages::methods(self.context, &pattern, limit, &|| self.is_over(), |page| {
            self.send_page(Event::Methods { id, page })
        });
        let suggestions = match matched {
            0 => crate::catalogue::suggestions::nearest(&self.context.info, &self.context.modules, &pattern),
            _ => Vec::new(),
        };
        Ok(Reply::Methods { matched, suggestions })
    }

    /// Returns the filter for the rows that a pattern matches; without a pattern, none.
    fn filter(&self, text: Option<&str>) -> Result<Option<RowFilter>, Refusal> {
        let Context { info, modules, .. } = self.context;
        Ok(parse(text)?.map(|pattern| RowFilter::new(pattern, info, modules)))
    }

    fn status(&self, id: u32, filter: Option<RowFilter>) -> Reply {
        let mut sent = Vec::new();
        let rows = rows::send_rows(self.context, RowId(0)..RowId(u32::MAX), filter.as_ref(), |page| {
            sent.extend(page.rows.iter().map(|row| row.row));
            self.send_page(Event::Rows { id: Some(id), rows: page.rows })
        });
        times::send_times(self.context, &sent, |times| self.send_page(Event::Times { id: Some(id), times }));
        Reply::Status { rows }
    }

    fn orders(&self) -> Reply {
        let (now, published) = (Instant::now(), self.context.orders.published());
        let orders = published.orders.iter().take(MAX_STANDING_ORDERS);
        Reply::Orders {
            orders: orders.map(|standing| standing.message(now)).collect(),
            undoable: published.undoable as u32,
        }
    }

    fn agent_status(&self) -> AgentStatus {
        let context = self.context;
        let (totals, compilations, (recompiled, cancelled), slots, rows) = {
            let ledger = context.ledger.lock();
            let callers = &ledger.recompiled_callers;
            let recompiled = (callers.count(), callers.cancelled());
            (ledger.totals(), ledger.compilations(), recompiled, ledger.slots.used(), ledger.rows().present())
        };
        let Totals { kept, held, awaiting_revert, .. } = totals;
        let mut remains = Vec::new();
        let clr_kept_bytes = context.info.kept.bytes(compilations);
        if compilations > 0 || clr_kept_bytes >= MIN_REPORTED_BYTES {
            remains.push(Remainder::KeptByRuntime { bytes: clr_kept_bytes, recompilations: compilations });
        }
        if context.inlining.waits_for() >= HANG_THRESHOLD {
            remains.push(Remainder::WaitsForCompilation);
        } else if context.worker.busy_for() >= HANG_THRESHOLD {
            remains.push(Remainder::RuntimeSilent { seconds: context.worker.busy_for().as_secs() });
        }
        if awaiting_revert > 0 {
            remains.push(Remainder::AwaitedReverts { methods: awaiting_revert });
        }
        if kept + held + awaiting_revert > 0 {
            let defects = known_bad::warnings(context.runtime.major, context.runtime.patch);
            remains.extend(defects.map(Remainder::RuntimeDefect));
        }
        if recompiled > 0 {
            remains.push(Remainder::RecompiledCallers { methods: recompiled as u64 });
        }
        if cancelled > 0 {
            remains.push(Remainder::CancelledRequests { methods: cancelled as u64 });
        }
        let restrained = context.inlining.restrained();
        if restrained > 0 {
            remains.push(Remainder::RestrainedInlining { methods: restrained });
        }
        let unfinished_reads = context.modules.unfinished_reads();
        if unfinished_reads > 0 {
            remains.push(Remainder::UnfinishedReads { unloads: unfinished_reads });
        }
        // What is reported is what stays.
        crate::platform::release_kept_blocks();
        // Before the memory is read: the first measurement takes some.
        let costs = call_cost::per_call(context.settings.highest_level());
        let callers_picoseconds =
            (context.settings.highest_level() >= Level::Time).then(call_cost::per_caller).flatten();
        AgentStatus {
            control: context.control.holder(),
            held,
            kept,
            memory_bytes: (heap_bytes()
                + blocks::touched_bytes()
                + stack_pages::touched_bytes()
                + timing_bytes()
                + crate::probes::trace::touched_bytes()
                + context.thrown_exceptions.bytes()) as u64,
            budgets: vec![
                usage(Resource::DialledMethods, slots, u64::from(blocks::capacity() - 1)),
                usage(Resource::KnownMethods, rows as u64, crate::ledger::row_table::MAX_ROWS as u64),
                usage(Resource::TimesBytes, timing_bytes() as u64, TIMING_BUDGET as u64),
            ],
            clr_kept_bytes,
            missed_deadlines: context.missed_deadlines.load(Ordering::Relaxed),
            guard_trips: crate::guard::trips(),
            audit: context.audit.entries(),
            remains,
            costs,
            cost_budget: context.cost_budget.get(),
            callers_picoseconds,
            exceptions_reported: context.info.reports_exceptions(),
        }
    }

    fn subscribe(&mut self, filter: Option<RowFilter>, interval_ms: u32) -> Reply {
        self.unsubscribe();
        let stop = Arc::new(StopSignal::default());
        let interval = Duration::from_millis(u64::from(interval_ms.max(MIN_INTERVAL_MS)));
        let mut subscription = Subscription::new(
            self.context,
            self.server,
            Arc::clone(&self.outbox),
            (Arc::clone(&self.calls), Arc::clone(&self.exceptions)),
            Arc::clone(&stop),
            filter,
            interval,
        );
        if !subscription.begin() || !crate::platform::spawn(c"redial-watch", move || subscription.run()) {
            return Reply::Refused(Refusal::AgentOff(Unavailable::NoThread));
        }
        self.watching = Some(stop);
        Reply::Done
    }
}

impl Session {
    /// Waits for a turn, and begins to measure. False if none came within seconds.
    pub(super) fn begin_work(&self) -> bool {
        let mut used = self.work.used.get();
        let turn = self.context.inbox.session_work.wait_for_turn(self.id, &mut used, || self.is_over());
        self.work.used.set(used);
        self.work.timer.set(WorkTimer::start());
        self.work.waited.set(self.outbox.waited());
        turn
    }

    /// Whether nobody waits for this session's answers any more.
    fn is_over(&self) -> bool {
        self.outbox.is_closed() || self.context.is_stopped() || self.closer.is_hung_up()
    }

    /// Charges the work since [`Session::begin_work`].
    pub(super) fn end_work(&self) {
        let waited = self.outbox.waited().saturating_sub(self.work.waited.get());
        let took = self.work.timer.get().contended(waited);
        self.add_work(took);
        self.context.inbox.session_work.charge(took);
    }

    /// Adds processor time that this session's commands took, on any thread.
    pub(super) fn add_work(&self, time: Duration) {
        self.work.used.set(self.work.used.get().saturating_add(time));
    }

    /// Sends a page of an answer, and waits for a turn to make the next. False ends the session.
    pub(super) fn send_page(&self, event: Event) -> bool {
        let sent = self.send(event);
        self.end_work();
        self.begin_work();
        sent && !self.closer.is_hung_up()
    }
}

/// Whether a command takes turns with those of other sessions. Those that turn dials off or end something do not.
pub(super) fn takes_turns(command: &WireCommand) -> bool {
    match command {
        WireCommand::Modules
        | WireCommand::Methods { .. }
        | WireCommand::Plan { .. }
        | WireCommand::Orders
        | WireCommand::Status { .. }
        | WireCommand::AgentStatus
        | WireCommand::Subscribe { .. }
        | WireCommand::Il { .. }
        | WireCommand::Histogram { .. }
        | WireCommand::SlowestCalls { .. }
        | WireCommand::Callers { .. }
        | WireCommand::Calls { .. }
        | WireCommand::StreamCalls { .. }
        | WireCommand::StreamExceptions { .. } => true,
        WireCommand::RequestReJit { .. }
        | WireCommand::RequestRevert { .. }
        | WireCommand::Undo { .. }
        | WireCommand::UndoChange { .. }
        | WireCommand::SetBudget { .. }
        | WireCommand::Cancel { .. }
        | WireCommand::Unsubscribe
        | WireCommand::StopCalls
        | WireCommand::StopExceptions
        | WireCommand::ReleaseControl
        | WireCommand::ReleaseHeld
        | WireCommand::Ping => false,
    }
}

fn usage(resource: Resource, used: u64, limit: u64) -> ResourceUsage {
    ResourceUsage { resource, used, limit }
}

fn parse(text: Option<&str>) -> Result<Option<Pattern>, Refusal> {
    text.map(|text| Pattern::parse(text).map_err(|e| Refusal::BadPattern(e.into()))).transpose()
}

/// Parses `[ASSEMBLY!]TYPE` as the pattern of all methods of that type.
fn parse_types(text: Option<&str>) -> Result<Option<Pattern>, Refusal> {
    parse(text.map(types_pattern).as_deref())
}
