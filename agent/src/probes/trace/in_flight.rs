//! Reads calls in flight of all threads, while they run.

use super::area::{ThreadArea, areas};
use super::entry::{AsyncProgress, CallEnd, EndedCall, Entry, IN_FLIGHT, PLACES};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Returns the calls in flight whose arguments are complete.
pub fn calls_in_flight() -> Vec<EndedCall> {
    let mut calls = Vec::new();
    for area in areas() {
        let mut at = area.top();
        while at != 0 {
            let Some((below, call)) = read(area, at) else { break };
            calls.extend(call);
            // Entries lie above those below them, so this ends.
            if below >= at {
                break;
            }
            at = below;
        }
    }
    calls
}

/// Reads the entry at an offset, and the offset of the one below it. The call is missing if it began, ended or was
/// replaced meanwhile; None if there is no entry.
fn read(area: &ThreadArea, at: u32) -> Option<(u32, Option<EndedCall>)> {
    if !ThreadArea::holds(at, PLACES) {
        return None;
    }
    let entry = area.entry(at);
    // SAFETY: the header is within the stack, which is always mapped. The owner may write at any time: what is read
    // between two equal readings of the number, in flight, is what the begin of that call wrote.
    unsafe {
        let state = (*entry).state.load(Ordering::Acquire);
        let number = (*entry).number.load(Ordering::Acquire);
        let below = (&raw const (*entry).below).read_volatile();
        let is_same = || {
            fence(Ordering::Acquire);
            (*entry).state.load(Ordering::Relaxed) == IN_FLIGHT
                && (*entry).number.load(Ordering::Relaxed) == number
        };
        if state != IN_FLIGHT || !is_same() {
            return Some((below, None));
        }
        let used = (&raw const (*entry).with_arguments).read_volatile() as usize;
        let (method, depth) =
            ((&raw const (*entry).method).read_volatile(), (&raw const (*entry).depth).read_volatile());
        let stack =
            ((&raw const (*entry).stack).read_volatile(), (&raw const (*entry).frames).read_volatile());
        let start = (*entry).start.load(Ordering::Relaxed);
        if !is_same() || !ThreadArea::holds(at, used) {
            return Some((below, None));
        }
        let bytes = words(entry, used);
        // SAFETY: of the same call, whose method is never freed.
        let call = is_same().then(|| EndedCall {
            plan: (*method).plan,
            thread: area.thread(),
            start,
            took: None,
            depth,
            end: CallEnd::InFlight,
            message: None,
            inner: 0,
            stack,
            async_call: AsyncProgress::default(),
            bytes,
        });
        Some((below, call))
    }
}

/// Copies bytes that another thread may be writing.
///
/// # Safety
/// The bytes are within the stack of an area.
unsafe fn words(entry: *const Entry, bytes: usize) -> Vec<u8> {
    let from = entry.cast::<AtomicU64>();
    let mut copied: Vec<u8> = (0..bytes.div_ceil(8))
        // SAFETY: the caller's contract; entries have whole words.
        .flat_map(|word| unsafe { (*from.add(word)).load(Ordering::Relaxed) }.to_ne_bytes())
        .collect();
    copied.truncate(bytes);
    copied
}
