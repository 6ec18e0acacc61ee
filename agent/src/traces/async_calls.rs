//! Joins starts of async calls with their completions.

use super::call::{Completion, TracedRow};
use crate::probes::trace::EndedCall;
use crate::probes::trace::async_calls::{self, is_given_up};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Calls that wait for their completion at most; later ones are not followed.
const MAX_STARTED: usize = 16_384;
/// Bytes of all of them at most.
const MAX_BYTES: usize = 16 << 20;
/// Completions that wait for their starts at most. A start comes soon, unless its thread had no room for it.
const MAX_COMPLETED: usize = 4096;
/// Bytes of a call besides its captured ones.
const OVERHEAD: usize = 160;

/// Async calls of which only one half was collected so far.
#[derive(Default)]
pub(super) struct AsyncCalls {
    started: HashMap<u32, (Arc<TracedRow>, EndedCall)>,
    bytes: usize,
    completed: HashMap<u32, Completion>,
    /// Numbers of `completed`, the oldest first.
    order: VecDeque<u32>,
}

/// A start that was collected.
pub(super) enum Started {
    /// Its completion, too.
    Completed(EndedCall, Completion),
    /// It waits.
    Waits,
    /// It cannot be followed any more.
    Alone(EndedCall),
}

impl AsyncCalls {
    /// Adds the start of a call.
    pub(super) fn start(&mut self, row: &Arc<TracedRow>, call: EndedCall) -> Started {
        let number = call.async_call.number;
        if let Some(completion) = self.completed.remove(&number) {
            return Started::Completed(call, joined(completion));
        }
        let bytes = OVERHEAD + call.bytes.len();
        if self.started.len() >= MAX_STARTED || self.bytes + bytes > MAX_BYTES || is_given_up(number) {
            async_calls::end(number);
            return Started::Alone(call);
        }
        self.bytes += bytes;
        self.started.insert(number, (Arc::clone(row), call));
        Started::Waits
    }

    /// Adds the completion of a call; returns it with its start, if that was collected.
    pub(super) fn complete(
        &mut self,
        completion: Completion,
    ) -> Option<(Arc<TracedRow>, EndedCall, Completion)> {
        let number = completion.call.async_call.number;
        if let Some((row, call)) = self.started.remove(&number) {
            self.bytes = self.bytes.saturating_sub(OVERHEAD + call.bytes.len());
            return Some((row, call, joined(completion)));
        }
        if is_given_up(number) {
            async_calls::end(number);
            return None;
        }
        while self.order.len() >= MAX_COMPLETED
            && let Some(oldest) = self.order.pop_front()
        {
            if self.completed.remove(&oldest).is_some() {
                async_calls::end(oldest);
            }
        }
        self.order.push_back(number);
        self.completed.insert(number, completion);
        None
    }

    /// Returns the calls that wait.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&Arc<TracedRow>, &EndedCall)> {
        self.started.values().map(|(row, call)| (row, call))
    }

    /// Returns the bytes of the calls that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets the calls of plans.
    pub(super) fn remove(&mut self, plans: &HashSet<u32>) {
        let mut gone = 0;
        self.started.retain(|number, (_, call)| {
            let stays = !plans.contains(&call.plan);
            if !stays {
                gone += OVERHEAD + call.bytes.len();
                async_calls::end(*number);
            }
            stays
        });
        self.bytes = self.bytes.saturating_sub(gone);
        self.completed.retain(|number, completion| {
            let stays = !plans.contains(&completion.call.plan);
            if !stays {
                async_calls::end(*number);
            }
            stays
        });
    }
}

/// Adds the steps of its call to a completion.
fn joined(completion: Completion) -> Completion {
    let number = completion.call.async_call.number;
    let (steps, running) = async_calls::steps_of(number);
    async_calls::end(number);
    Completion { steps, running: running.saturating_add(completion.running), ..completion }
}
