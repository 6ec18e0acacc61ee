//! The order of the events of one thread in the file.
//!
//! Perfetto sorts all events by their timestamps; events with the same timestamp keep the order of the file. A slice ends
//! at the next end on its track, so ends need no name. Calls arrive when they end, callees before their callers. An end is
//! therefore written at once. A beginning can only be written once no caller may arrive that begins in the same
//! nanosecond, since the caller's must stand before it. That is certain when
//!
//! - a caller arrived that began earlier, or
//! - no timed call is around the call: its depth is 0.
//!
//! Until then beginnings are held. A call without duration belongs to its beginning as a whole.

use super::packets;
use super::proto::TrackEvent;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A call on its way to the file.
#[derive(Clone, Debug)]
pub struct CallEvent {
    /// The operating system's thread id.
    pub thread: u32,
    /// Whether it went on after its thread had left it: then it has a track of its own.
    pub is_async: bool,
    /// The number of timed calls around it on its thread.
    pub depth: u32,
    /// Unix time in nanoseconds.
    pub start: u64,
    /// Absent if unknown.
    pub end: Option<u64>,
    /// Its beginning, or its only event if its end is unknown.
    pub event: TrackEvent,
}

/// Beginnings in the right order, outermost first.
#[derive(Debug)]
struct Held {
    start: u64,
    /// End and depth of the outermost call.
    end: u64,
    depth: u32,
    packets: Vec<u8>,
}

impl Held {
    fn bytes(&self) -> usize {
        size_of::<Held>() + self.packets.len()
    }
}

/// Beginnings of calls that wait for their callers.
#[derive(Debug, Default)]
pub struct ThreadOrder {
    /// In the order of time.
    held: Vec<Held>,
    bytes: usize,
}

impl ThreadOrder {
    /// Takes a call and appends what can be written to `out`.
    pub fn add(&mut self, call: CallEvent, out: &mut Vec<u8>) {
        let track = call.event.track_uuid;
        let mut start = call.start;
        let mut callees = Vec::new();
        while let Some(callee) = self.held.pop_if(|last| {
            // A callee that began earlier: the agent read the clocks anew in between.
            last.depth > call.depth && (last.start >= start || last.end > start)
        }) {
            self.bytes -= callee.bytes();
            start = start.min(callee.start);
            callees.push(callee);
        }
        let mut packets = packets::event(start, call.event);
        for callee in callees.into_iter().rev() {
            let to = if callee.start > start { &mut *out } else { &mut packets };
            to.extend(callee.packets);
        }
        let end = call.end.map(|end| end.max(start));
        match end {
            Some(end) if end == start => packets.extend(packets::end(end, track)),
            Some(end) => out.extend(packets::end(end, track)),
            None => {}
        }
        if call.depth == 0 {
            self.release(out);
            out.extend(packets);
        } else {
            let held = Held { start, end: end.unwrap_or(start), depth: call.depth, packets };
            self.bytes += held.bytes();
            self.held.push(held);
        }
    }

    /// Returns the memory of what is held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes all beginnings but those at the beginning of their callers, if earlier calls of the same depth have the
    /// same caller. Usually they do, unless that caller was not captured.
    pub fn release_later(&mut self, out: &mut Vec<u8>) {
        let mut first: HashMap<u32, u64> = HashMap::new();
        let bytes = &mut self.bytes;
        self.held.retain_mut(|held| match first.entry(held.depth) {
            Entry::Occupied(start) if held.start > *start.get() => {
                *bytes -= held.bytes();
                out.append(&mut held.packets);
                false
            }
            Entry::Occupied(_) => true,
            Entry::Vacant(start) => {
                start.insert(held.start);
                true
            }
        });
    }

    /// Writes everything that is held.
    pub fn release(&mut self, out: &mut Vec<u8>) {
        self.bytes = 0;
        for held in self.held.drain(..) {
            out.extend(held.packets);
        }
    }
}

#[cfg(test)]
#[path = "thread_order_tests.rs"]
mod tests;
