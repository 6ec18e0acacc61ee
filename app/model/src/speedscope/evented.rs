//! The calls of a thread as frames that open and close in order, as speedscope demands: the latest opened frame closes first.

use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A frame that opens or closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FrameEvent {
    /// Whether it opens or closes.
    #[serde(rename = "type")]
    pub kind: FrameEventKind,
    /// The index of the frame.
    pub frame: usize,
    /// When, in nanoseconds.
    pub at: u64,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum FrameEventKind {
    /// It opens.
    #[serde(rename = "O")]
    Open,
    /// It closes.
    #[serde(rename = "C")]
    Close,
}

/// A call on its way to a profile.
#[derive(Clone, Copy, Debug)]
pub struct ProfiledCall {
    /// Its beginning in nanoseconds.
    pub start: u64,
    /// Its duration in nanoseconds.
    pub duration_ns: u64,
    /// Number of timed calls around it on its thread.
    pub depth: u64,
    /// The index of its frame.
    pub frame: usize,
}

impl ProfiledCall {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.duration_ns)
    }
}

/// Returns the events of calls of one thread, in any order. Clocks of caller and callee may differ by some nanoseconds: a callee
/// never ends after its caller.
pub fn nested(mut calls: Vec<ProfiledCall>) -> Vec<FrameEvent> {
    calls.sort_by_key(|call| (call.start, call.depth, Reverse(call.end())));
    let mut events = Vec::with_capacity(2 * calls.len());
    let mut open: Vec<ProfiledCall> = Vec::new();
    for call in calls {
        while let Some(top) = open.pop_if(|top| top.end() <= call.start || top.depth >= call.depth) {
            close(&mut events, &top, top.end().min(call.start));
        }
        let last = open.last().map_or(u64::MAX, ProfiledCall::end);
        let duration_ns = call.end().min(last).saturating_sub(call.start);
        events.push(FrameEvent { kind: FrameEventKind::Open, frame: call.frame, at: call.start });
        open.push(ProfiledCall { duration_ns, ..call });
    }
    while let Some(top) = open.pop() {
        close(&mut events, &top, top.end());
    }
    events
}

fn close(events: &mut Vec<FrameEvent>, call: &ProfiledCall, at: u64) {
    events.push(FrameEvent { kind: FrameEventKind::Close, frame: call.frame, at: at.max(call.start) });
}

/// Distributes calls that overlap to as few lanes as possible, in each of which none overlap.
pub fn lanes(mut calls: Vec<ProfiledCall>) -> Vec<Vec<ProfiledCall>> {
    calls.sort_by_key(|call| (call.start, call.end()));
    let mut lanes: Vec<Vec<ProfiledCall>> = Vec::new();
    // The ends of the lanes, the earliest first.
    let mut ends: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for call in calls {
        let call = ProfiledCall { depth: 0, ..call };
        let free = ends.peek().filter(|Reverse((end, _))| *end <= call.start).map(|Reverse((_, lane))| *lane);
        let index = free.unwrap_or(lanes.len());
        if free.is_some() {
            ends.pop();
        }
        match lanes.get_mut(index) {
            Some(lane) => lane.push(call),
            None => lanes.push(vec![call]),
        }
        ends.push(Reverse((call.end(), index)));
    }
    lanes
}
