//! Lists traced calls, and turns captured bytes into messages.
#![forbid(unsafe_code)]

use super::exception_types::ExceptionTypes;
use super::session::Session;
use crate::capture::{CapturedCall, message, value, value_after};
use crate::context::Context;
use crate::ledger::row_filter::RowFilter;
use crate::probes::exception_stack::ExceptionClass;
use crate::probes::trace::{CallEnd, EndedCall, PLACES, inner_class, return_addresses};
use crate::traces::{AsyncCourse, Call, TracedRow, page_length};
use redial_protocol::callers::CallOrigin;
use redial_protocol::ids::RowId;
use redial_protocol::limits::TRACED_CALLS_PER_PAGE;
use redial_protocol::message::{Event, Reply};
use redial_protocol::trace::{
    AsyncCall, DroppedCalls, InnerException, OmittedReason, Outcome, TracedCall, TracedMethod,
    TracedParameter, Value,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Calls in a page: with at most 1 KiB of values each, in their longest form, they fit into a frame.
pub(super) const CALLS_PER_PAGE: usize = 256;

impl Session {
    /// Sends the latest calls of each method that matches, or the calls in flight.
    pub(super) fn calls(&self, id: u32, filter: Option<RowFilter>, in_flight: bool) -> Reply {
        let traces = &self.context.traces;
        // The filter may read metadata, so it gets the rows before they are locked.
        let is_meant = |row: &TracedRow| filter.as_ref().is_none_or(|filter| filter.matches(&row.identity));
        let rows = traces.rows();
        let plans: HashSet<u32> =
            rows.iter().filter(|row| is_meant(row)).map(|row| row.body.method.plan).collect();
        let matches = |row: &TracedRow| filter.is_none() || plans.contains(&row.body.method.plan);
        let calls = if in_flight { traces.in_flight(matches) } else { traces.kept(matches) };
        let mut pages = CallPages::new(self.context);
        let mut sent = 0;
        let mut rest = calls.as_slice();
        while !rest.is_empty() {
            let (part, later) = rest.split_at(page_length(rest, CALLS_PER_PAGE).max(1));
            rest = later;
            let (methods, calls) = pages.page(part);
            sent += calls.len() as u64;
            let page = Event::Calls { id: Some(id), methods, calls, dropped: Vec::new(), unread: 0 };
            if !self.send_page(page) {
                return Reply::Calls { calls: sent };
            }
        }
        let dropped: Vec<DroppedCalls> = pages.dropped_of(plans.iter().copied().collect()).collect();
        for part in dropped.chunks(TRACED_CALLS_PER_PAGE) {
            let (methods, calls, dropped) = (Vec::new(), Vec::new(), part.to_vec());
            if !self.send_page(Event::Calls { id: Some(id), methods, calls, dropped, unread: 0 }) {
                break;
            }
        }
        Reply::Calls { calls: sent }
    }
}

/// Makes the pages of one answer or stream. Each method is described once, before its first call.
pub(super) struct CallPages {
    context: &'static Context,
    described: HashSet<u32>,
    dropped: HashMap<RowId, DroppedCalls>,
    types: ExceptionTypes,
}

impl CallPages {
    pub(super) fn new(context: &'static Context) -> CallPages {
        let types = ExceptionTypes::new(context);
        CallPages { context, described: HashSet::new(), dropped: HashMap::new(), types }
    }

    /// Returns calls as messages, with those methods that were not described before.
    pub(super) fn page(&mut self, calls: &[Arc<Call>]) -> (Vec<TracedMethod>, Vec<TracedCall>) {
        let mut methods = Vec::new();
        for call in calls {
            if self.described.insert(call.row.body.method.plan) {
                methods.push(self.method(&call.row));
            }
        }
        (methods, calls.iter().map(|call| self.call(call)).collect())
    }

    /// Returns the dropped calls of these methods and of those described so far, where their number changed since the last
    /// time, and the methods among them that were not described before. Those that do not fit a page come the next time.
    pub(super) fn dropped(&mut self, rows: &[Arc<TracedRow>]) -> (Vec<TracedMethod>, Vec<DroppedCalls>) {
        let mut plans = self.described.clone();
        plans.extend(rows.iter().map(|row| row.body.method.plan));
        let dropped: Vec<_> =
            self.dropped_of(plans.into_iter().collect()).take(TRACED_CALLS_PER_PAGE).collect();
        let is_dropped = |row: &&Arc<TracedRow>| dropped.iter().any(|one| one.row == row.row);
        let mut methods = Vec::new();
        for row in rows.iter().filter(is_dropped) {
            if self.described.insert(row.body.method.plan) {
                methods.push(self.method(row));
            }
        }
        (methods, dropped)
    }

    fn dropped_of(&mut self, plans: Vec<u32>) -> impl Iterator<Item = DroppedCalls> {
        let sums = self.context.traces.dropped(plans).into_iter();
        let all = sums.map(|(row, sum)| DroppedCalls {
            row,
            over_rate: sum.over_rate,
            no_room: sum.no_room,
            undecided: sum.undecided,
        });
        all.filter(|one| self.dropped.insert(one.row, *one) != Some(*one))
    }

    fn method(&self, row: &TracedRow) -> TracedMethod {
        let identity = &row.identity;
        let parameters = row.body.plan.parameters.iter().map(|planned| TracedParameter {
            name: planned.name.clone(),
            type_name: planned.type_name.clone(),
        });
        TracedMethod {
            plan: row.body.method.plan,
            row: row.row,
            method: identity.names.method.clone(),
            signature: identity.names.signature.clone(),
            module: identity.module.name.clone(),
            domain: self.context.modules.domain_of(&identity.module),
            parameters: parameters.collect(),
            result: row.body.plan.result.as_ref().map(|planned| planned.type_name.clone()),
        }
    }

    fn call(&mut self, call: &Call) -> TracedCall {
        let plan = &call.row.body.plan;
        let captured = CapturedCall { bytes: &call.call.bytes, places: PLACES };
        let classes = |number| self.context.classes.shape(number);
        let is_unseen = matches!(call.course, AsyncCourse::Unseen(..));
        let value = |place, planned: &_| match is_unseen {
            true => Value::Omitted(OmittedReason::Unseen),
            false => value(captured, place, planned, &classes),
        };
        let arguments = plan.parameters.iter().enumerate();
        let arguments = arguments.map(|(place, planned)| value(place, planned)).collect();
        let after = |(index, place): (usize, usize)| {
            let planned = plan.parameters.get(index)?;
            Some((index as u16, value_after(captured, place, planned, &classes)))
        };
        let returned = call.call.end == CallEnd::Returned && matches!(call.course, AsyncCourse::None);
        let arguments_after = plan.after_places().filter(|_| returned).filter_map(after).collect();
        let outcome = match &call.course {
            AsyncCourse::None => self.outcome(&call.row, &call.call),
            AsyncCourse::Waits(..) => Outcome::InFlight,
            AsyncCourse::Completed(completion, _) | AsyncCourse::Unseen(completion, _) => {
                self.outcome(&completion.row, &completion.call)
            }
        };
        TracedCall {
            plan: call.row.body.method.plan,
            number: call.number,
            start_unix_ns: call.start_unix_ns,
            duration_ns: call.duration_ns,
            thread: call.call.thread,
            depth: call.call.depth,
            arguments,
            arguments_after,
            outcome,
            stack: self.stack(call),
            course: course(&call.course),
        }
    }

    /// Returns how a call ended, or the async call that it completed.
    fn outcome(&mut self, row: &TracedRow, call: &EndedCall) -> Outcome {
        let plan = &row.body.plan;
        let captured = CapturedCall { bytes: &call.bytes, places: PLACES };
        let classes = |number| self.context.classes.shape(number);
        match call.end {
            CallEnd::InFlight => Outcome::InFlight,
            CallEnd::Returned => {
                let place = plan.result_place();
                let result = plan.result.as_ref();
                Outcome::Returned(result.map(|planned| value(captured, place, planned, &classes)))
            }
            CallEnd::Thrown(class) => self.thrown(call, captured, class),
        }
    }

    fn stack(&self, call: &Call) -> Vec<CallOrigin> {
        let Context { callers, info, modules, .. } = self.context;
        callers.stack(info, modules, return_addresses(&call.call.bytes, call.call.stack))
    }

    fn thrown(&mut self, call: &EndedCall, captured: CapturedCall<'_>, class: ExceptionClass) -> Outcome {
        let mut type_name = |class| {
            let known = Some(class).filter(|class| *class != ExceptionClass::default());
            known.and_then(|class| self.types.name(class))
        };
        let mut at = call.message.unwrap_or_default() as usize;
        let outermost = call.message.and_then(|_| message(captured, &mut at));
        let inner = (0..call.inner).map_while(|_| {
            let class = inner_class(captured.bytes, &mut at)?;
            Some(InnerException { type_name: type_name(class), message: message(captured, &mut at) })
        });
        let inner = inner.collect();
        Outcome::Thrown { type_name: type_name(class), message: outermost, inner }
    }
}

fn course(course: &AsyncCourse) -> Option<AsyncCall> {
    match course {
        AsyncCourse::None => None,
        AsyncCourse::Waits(steps, running_ns) => {
            Some(AsyncCall { began: true, completed_on: 0, steps: *steps, running_ns: *running_ns })
        }
        AsyncCourse::Completed(completion, running_ns) | AsyncCourse::Unseen(completion, running_ns) => {
            Some(AsyncCall {
                began: matches!(course, AsyncCourse::Completed(..)),
                completed_on: completion.call.thread,
                steps: completion.steps,
                running_ns: *running_ns,
            })
        }
    }
}
