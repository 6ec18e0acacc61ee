//! Queues a session's frames for writing: answers and pages, bounded in bytes. Live numbers never queue;
//! `subscription` makes them when there is room.
#![forbid(unsafe_code)]

use super::outbox_memory::OutboxMemory;
use crate::sync::lock;
use redial_protocol::limits::MAX_OUTBOX;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::{Duration, Instant};

/// How often a session that waits for other outboxes' room looks again.
const ROOM_TICK: Duration = Duration::from_millis(20);
/// Longest wait of a session's reader for room; a peer that takes nothing for this long is cut off.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts a thread that writes the frames; false if it cannot.
type WriterStart = Box<dyn FnOnce() -> bool + Send>;

/// The queue.
#[derive(Default)]
pub struct Outbox {
    state: Mutex<OutboxState>,
    moved: Condvar,
    /// Shared with all other outboxes.
    memory: OutboxMemory,
    /// Starts the writer at the first frame: many connections end without one.
    writer: Mutex<Option<WriterStart>>,
}

#[derive(Default)]
struct OutboxState {
    frames: VecDeque<QueuedFrame>,
    bytes: usize,
    /// Those of frames queued at once.
    bytes_at_once: usize,
    writing: bool,
    closed: bool,
    /// Time that threads waited for room.
    waited: Duration,
}

struct QueuedFrame {
    bytes: Vec<u8>,
    /// Queued without regard to the bound.
    at_once: bool,
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
    /// Makes an outbox that shares `memory` with others. `start_writer` runs at its first frame; false ends the
    /// session.
    pub fn new(
        memory: OutboxMemory,
        start_writer: impl FnOnce(Arc<Outbox>) -> bool + Send + 'static,
    ) -> Arc<Outbox> {
        Arc::new_cyclic(|weak: &Weak<Outbox>| {
            let weak = weak.clone();
            let start: WriterStart = Box::new(move || weak.upgrade().is_some_and(start_writer));
            Outbox { memory, writer: Mutex::new(Some(start)), state: Mutex::default(), moved: Condvar::new() }
        })
    }

    /// Queues a frame, waiting for room. False if the session is over, or ends now because the peer takes nothing.
    pub fn put(&self, frame: Vec<u8>) -> bool {
        let begun = Instant::now();
        let mut state = lock(&self.state);
        while !state.closed && !self.memory.has_room(state.bytes, frame.len()) {
            let left = PEER_TIMEOUT.saturating_sub(begun.elapsed());
            if left.is_zero() {
                state.closed = true;
                self.moved.notify_all();
                return false;
            }
            // Nothing announces that another outbox has room again.
            let wait = left.min(ROOM_TICK);
            state = self.moved.wait_timeout(state, wait).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        state.waited += begun.elapsed();
        if state.closed {
            return false;
        }
        self.push(&mut state, frame, false);
        !state.closed
    }

    /// Queues a frame at once, beyond the bound if necessary: for answers, which are few at a time.
    pub fn put_at_once(&self, frame: Vec<u8>) {
        let mut state = lock(&self.state);
        if !state.closed {
            self.push(&mut state, frame, true);
        }
    }

    fn push(&self, state: &mut OutboxState, bytes: Vec<u8>, at_once: bool) {
        if let Some(start) = lock(&self.writer).take() {
            state.closed |= !start();
        }
        self.memory.add(bytes.len());
        state.bytes += bytes.len();
        if at_once {
            state.bytes_at_once += bytes.len();
        }
        state.frames.push_back(QueuedFrame { bytes, at_once });
        self.moved.notify_all();
    }

    /// Returns how long threads have waited for room in all.
    pub fn waited(&self) -> Duration {
        lock(&self.state).waited
    }

    /// Returns the next frame, waiting at most `timeout`.
    pub fn next(&self, timeout: Duration) -> NextFrame {
        let mut state = lock(&self.state);
        state.writing = false;
        self.moved.notify_all();
        let waited = self.moved.wait_timeout_while(state, timeout, |s| s.frames.is_empty() && !s.closed);
        let mut state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        match state.frames.pop_front() {
            Some(first) => {
                let mut at_once = if first.at_once { first.bytes.len() } else { 0 };
                let mut frame = first.bytes;
                let fits = |frame: &Vec<u8>, next: &QueuedFrame| frame.len() + next.bytes.len() <= MAX_WRITE;
                while let Some(next) = state.frames.pop_front_if(|next| fits(&frame, next)) {
                    at_once += if next.at_once { next.bytes.len() } else { 0 };
                    frame.extend_from_slice(&next.bytes);
                }
                state.bytes -= frame.len();
                state.bytes_at_once -= at_once;
                self.memory.remove(frame.len());
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

    /// Whether so many answers are unread that no request with an answer queued at once should be accepted. Live
    /// numbers do not count: a peer that is too slow for them can still turn its dials down.
    pub fn has_unread_answers(&self) -> bool {
        lock(&self.state).bytes_at_once > MAX_OUTBOX / 4
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

impl Drop for Outbox {
    fn drop(&mut self) {
        self.memory.remove(lock(&self.state).bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::outbox_memory::MAX_OUTBOXES;
    use super::*;

    #[test]
    fn full_outboxes_leave_room_for_one_frame_of_others() {
        let memory = OutboxMemory::default();
        let make = || Outbox::new(memory.clone(), |_| true);
        let stopped: Vec<Arc<Outbox>> = (0..MAX_OUTBOXES / MAX_OUTBOX).map(|_| make()).collect();
        for outbox in &stopped {
            assert!(outbox.put(vec![0; MAX_OUTBOX]));
        }
        let other = make();
        assert!(other.put(vec![0; 9]));
        assert!(!memory.has_room(9, 1));
        assert!(matches!(other.next(Duration::ZERO), NextFrame::Frame(_)));
        assert!(other.put(vec![0; 9]));
        drop(stopped);
        assert!(memory.has_room(9, MAX_OUTBOX - 9));
    }

    #[test]
    fn only_answers_count_as_unread() {
        let outbox = Outbox::default();
        assert!(outbox.put(vec![0; MAX_OUTBOX / 2]));
        assert!(outbox.is_backed_up() && !outbox.has_unread_answers());
        outbox.put_at_once(vec![0; MAX_OUTBOX / 4]);
        outbox.put_at_once(vec![0; 1]);
        assert!(outbox.has_unread_answers());
        for _ in 0..3 {
            assert!(matches!(outbox.next(Duration::ZERO), NextFrame::Frame(_)));
        }
        assert!(!outbox.is_backed_up() && !outbox.has_unread_answers());
        (0..3).for_each(|_| outbox.put_at_once(vec![0; MAX_WRITE / 4]));
        assert!(
            matches!(outbox.next(Duration::ZERO), NextFrame::Frame(frame) if frame.len() == 3 * MAX_WRITE / 4)
        );
        assert_eq!(lock(&outbox.state).bytes_at_once, 0);
    }

    #[test]
    fn writer_starts_at_the_first_frame_only() {
        let (started, starts) = std::sync::mpsc::channel();
        let outbox = Outbox::new(OutboxMemory::default(), move |_| started.send(()).is_ok());
        assert!(starts.try_recv().is_err());
        assert!(outbox.put(vec![1]) && outbox.put(vec![2]));
        assert_eq!(starts.try_iter().count(), 1);
        let outbox = Outbox::new(OutboxMemory::default(), |_| false);
        outbox.put_at_once(vec![1]);
        assert!(outbox.is_closed());
    }

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
