//! Frames of one session that wait to be written: answers and pages, bounded in bytes. Live numbers never queue;
//! `subscription` makes them when there is room.
#![forbid(unsafe_code)]

use crate::sync::lock;
use redial_protocol::limits::MAX_OUTBOX;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Longest a session's reader waits for room; a peer that takes nothing for this long is cut off.
const STUCK: Duration = Duration::from_secs(10);

/// The queue.
#[derive(Default)]
pub struct Outbox {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    writing: bool,
    closed: bool,
}

/// Frames are written together as far as this goes: a burst of small ones is one system call, not thousands.
const TOGETHER: usize = 64 << 10;

/// What the writer finds.
pub enum Next {
    /// Bytes to write: a frame, or several small ones.
    Frame(Vec<u8>),
    /// Nothing came in time.
    Nothing,
    /// The session is over.
    Closed,
}

impl Outbox {
    /// Queues a frame, waiting for room. False when the session is over, or when it is now because the peer takes
    /// nothing.
    pub fn put(&self, frame: Vec<u8>) -> bool {
        let deadline = Instant::now() + STUCK;
        let mut state = lock(&self.state);
        while !state.closed && state.bytes > 0 && state.bytes + frame.len() > MAX_OUTBOX {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.closed = true;
                self.moved.notify_all();
                return false;
            }
            state = self.moved.wait_timeout(state, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        if state.closed {
            return false;
        }
        state.bytes += frame.len();
        state.frames.push_back(frame);
        self.moved.notify_all();
        true
    }

    /// Queues a frame at once, past the bound if need be: for answers, of which there are few at a time.
    pub fn put_at_once(&self, frame: Vec<u8>) {
        let mut state = lock(&self.state);
        if !state.closed {
            state.bytes += frame.len();
            state.frames.push_back(frame);
            self.moved.notify_all();
        }
    }

    /// The next frame, waiting at most `timeout`.
    pub fn next(&self, timeout: Duration) -> Next {
        let mut state = lock(&self.state);
        state.writing = false;
        self.moved.notify_all();
        let waited = self.moved.wait_timeout_while(state, timeout, |s| s.frames.is_empty() && !s.closed);
        let mut state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        match state.frames.pop_front() {
            Some(mut frame) => {
                while let Some(next) = state.frames.pop_front_if(|next| frame.len() + next.len() <= TOGETHER)
                {
                    frame.extend_from_slice(&next);
                }
                state.bytes -= frame.len();
                state.writing = true;
                self.moved.notify_all();
                Next::Frame(frame)
            }
            None if state.closed => Next::Closed,
            None => Next::Nothing,
        }
    }

    /// Ends the session for writer and reader.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.moved.notify_all();
    }

    /// Whether the session is over.
    pub fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Whether so much waits that live numbers should not be added to it.
    pub fn is_backed_up(&self) -> bool {
        lock(&self.state).bytes > MAX_OUTBOX / 4
    }

    /// Waits until all is written; false when the session ends with something left, or `longest` passes first.
    pub fn drain(&self, longest: Duration) -> bool {
        let state = lock(&self.state);
        let busy = |s: &mut State| (s.writing || !s.frames.is_empty()) && !s.closed;
        let waited = self.moved.wait_timeout_while(state, longest, busy);
        let state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        !state.writing && state.frames.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_larger_than_the_bound_passes_when_it_is_alone() {
        let outbox = Outbox::default();
        assert!(outbox.put(vec![0; MAX_OUTBOX + 1]));
        assert!(matches!(outbox.next(Duration::ZERO), Next::Frame(_)));
        assert!(matches!(outbox.next(Duration::ZERO), Next::Nothing));
        outbox.close();
        assert!(!outbox.put(vec![1]));
        assert!(matches!(outbox.next(Duration::ZERO), Next::Closed));
    }

    #[test]
    fn small_frames_are_written_together_in_their_order() {
        let outbox = Outbox::default();
        for byte in 0..3u8 {
            assert!(outbox.put(vec![byte; TOGETHER / 2]));
        }
        let lengths: Vec<(Option<u8>, usize)> = std::iter::from_fn(|| match outbox.next(Duration::ZERO) {
            Next::Frame(bytes) => Some((bytes.first().copied(), bytes.len())),
            Next::Nothing | Next::Closed => None,
        })
        .collect();
        assert_eq!(lengths, [(Some(0), TOGETHER), (Some(2), TOGETHER / 2)]);
        assert!(!outbox.is_backed_up());
        assert!(outbox.drain(Duration::ZERO));
    }
}
