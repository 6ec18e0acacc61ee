//! Queues a session's frames for writing: answers and pages, bounded in bytes. Live numbers never queue;
//! `subscription` makes them when there is room.
#![forbid(unsafe_code)]

use crate::sync::lock;
use redial_protocol::limits::MAX_OUTBOX;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Longest wait of a session's reader for room; a peer that takes nothing for this long is cut off.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);

/// The queue.
#[derive(Default)]
pub struct Outbox {
    state: Mutex<OutboxState>,
    moved: Condvar,
}

#[derive(Default)]
struct OutboxState {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    writing: bool,
    closed: bool,
}

/// Bytes of frames to write together: a burst of small ones is one system call, not thousands.
const MAX_WRITE: usize = 64 << 10;

/// The next work of the writer.
pub enum NextFrame {
    /// Bytes to write: one frame, or several small ones.
    Frame(Vec<u8>),
    /// Nothing arrived in time.
    Nothing,
    /// The session is over.
    Closed,
}

impl Outbox {
    /// Queues a frame, waiting for room. False if the session is over, or ends now because the peer takes nothing.
    pub fn put(&self, frame: Vec<u8>) -> bool {
        let deadline = Instant::now() + PEER_TIMEOUT;
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

    /// Queues a frame at once, beyond the bound if necessary: for answers, which are few at a time.
    pub fn put_at_once(&self, frame: Vec<u8>) {
        let mut state = lock(&self.state);
        if !state.closed {
            state.bytes += frame.len();
            state.frames.push_back(frame);
            self.moved.notify_all();
        }
    }

    /// Returns the next frame, waiting at most `timeout`.
    pub fn next(&self, timeout: Duration) -> NextFrame {
        let mut state = lock(&self.state);
        state.writing = false;
        self.moved.notify_all();
        let waited = self.moved.wait_timeout_while(state, timeout, |s| s.frames.is_empty() && !s.closed);
        let mut state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        match state.frames.pop_front() {
            Some(mut frame) => {
                while let Some(next) = state.frames.pop_front_if(|next| frame.len() + next.len() <= MAX_WRITE)
                {
                    frame.extend_from_slice(&next);
                }
                state.bytes -= frame.len();
                state.writing = true;
                self.moved.notify_all();
                NextFrame::Frame(frame)
            }
            None if state.closed => NextFrame::Closed,
            None => NextFrame::Nothing,
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

    /// Whether so much is queued that no live numbers should be added.
    pub fn is_backed_up(&self) -> bool {
        lock(&self.state).bytes > MAX_OUTBOX / 4
    }

    /// Waits until everything is written; false if the session ends with something left, or after `longest`.
    pub fn drain(&self, longest: Duration) -> bool {
        let state = lock(&self.state);
        let busy = |s: &mut OutboxState| (s.writing || !s.frames.is_empty()) && !s.closed;
        let waited = self.moved.wait_timeout_while(state, longest, busy);
        let state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        !state.writing && state.frames.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_frame_passes_alone() {
        let outbox = Outbox::default();
        assert!(outbox.put(vec![0; MAX_OUTBOX + 1]));
        assert!(matches!(outbox.next(Duration::ZERO), NextFrame::Frame(_)));
        assert!(matches!(outbox.next(Duration::ZERO), NextFrame::Nothing));
        outbox.close();
        assert!(!outbox.put(vec![1]));
        assert!(matches!(outbox.next(Duration::ZERO), NextFrame::Closed));
    }

    #[test]
    fn writes_small_frames_together_in_order() {
        let outbox = Outbox::default();
        for byte in 0..3u8 {
            assert!(outbox.put(vec![byte; MAX_WRITE / 2]));
        }
        let lengths: Vec<(Option<u8>, usize)> = std::iter::from_fn(|| match outbox.next(Duration::ZERO) {
            NextFrame::Frame(bytes) => Some((bytes.first().copied(), bytes.len())),
            NextFrame::Nothing | NextFrame::Closed => None,
        })
        .collect();
        assert_eq!(lengths, [(Some(0), MAX_WRITE), (Some(2), MAX_WRITE / 2)]);
        assert!(!outbox.is_backed_up());
        assert!(outbox.drain(Duration::ZERO));
    }
}
