//! When calls ran: spans on tracks, in memory of their own so that far more of them are kept than calls with values.

use super::bars::{Bar, visit_bars};
use super::chunk::{CHUNK, Chunk, Span};
use std::collections::{BTreeMap, VecDeque};

/// Most spans that are kept.
pub const MAX_SPANS: usize = 1 << 20;
/// Most lanes of an async method's track. Calls beyond them share the last one.
const MAX_ASYNC_LANES: u32 = 64;

/// A row of tracks: the calls of a thread, or those of an async method that had to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrackKey {
    /// An operating-system thread; 0 if unknown.
    Thread(u32),
    /// Calls of the async method with this index that left their thread while they waited.
    Async(u32),
}

/// The spans of a track that do not overlap: the calls of a thread at one depth.
#[derive(Debug, Default)]
pub struct Lane {
    pub(super) chunks: VecDeque<Chunk>,
}

impl Lane {
    /// Adds a span; returns whether it began a chunk.
    fn add(&mut self, span: Span) -> bool {
        let Some(last) = self.chunks.back_mut() else {
            self.chunks.push_back(Chunk::of(span));
            return true;
        };
        if last.spans.last().is_none_or(|latest| latest.start <= span.start) {
            if last.spans.len() < CHUNK {
                last.push(span);
                return false;
            }
            self.chunks.push_back(Chunk::of(span));
            return true;
        }
        // Late: the clock was adjusted, or an async call began earlier.
        let index = self.chunks.partition_point(|chunk| chunk.start <= span.start).saturating_sub(1);
        if let Some(chunk) = self.chunks.get_mut(index) {
            let place = chunk.spans.partition_point(|one| one.start <= span.start);
            chunk.spans.insert(place, span);
            chunk.rebuild();
        }
        false
    }

    /// Removes the oldest spans; returns how many, and whether the oldest chunk is still there.
    fn remove_oldest(&mut self) -> (usize, bool) {
        let is_only = self.chunks.len() == 1;
        let Some(oldest) = self.chunks.front_mut() else { return (0, false) };
        let removed = match is_only && oldest.spans.len() > 1 {
            // A quiet lane keeps its latest spans for longer.
            true => oldest.spans.len().div_ceil(2),
            false => oldest.spans.len(),
        };
        oldest.spans.drain(..removed);
        oldest.rebuild();
        let stays = !oldest.spans.is_empty();
        if !stays {
            self.chunks.pop_front();
        }
        (removed, stays)
    }

    /// Returns the span that runs at a time.
    pub fn at(&self, time: i64) -> Option<&Span> {
        let chunk =
            self.chunks.get(self.chunks.partition_point(|chunk| chunk.start <= time).checked_sub(1)?)?;
        let span = chunk.spans.get(chunk.spans.partition_point(|span| span.start <= time).checked_sub(1)?)?;
        (span.end >= time).then_some(span)
    }

    /// Calls `visit` for everything to draw between two times: spans of at least `grain` nanoseconds, and runs of shorter
    /// ones with gaps below `grain`.
    pub fn bars(&self, from: i64, until: i64, grain: i64, visit: impl FnMut(Bar)) {
        visit_bars(&self.chunks, from..until, grain.max(1), visit);
    }

    /// Returns its spans, the earliest first.
    pub fn spans(&self) -> impl DoubleEndedIterator<Item = &Span> {
        self.chunks.iter().flat_map(|chunk| &chunk.spans)
    }

    fn start(&self) -> Option<i64> {
        self.chunks.front().map(|chunk| chunk.start)
    }

    fn end(&self) -> i64 {
        self.chunks.back().map_or(i64::MIN, |chunk| chunk.end)
    }
}

/// The spans of a process.
#[derive(Debug)]
pub struct Spans {
    lanes: BTreeMap<(TrackKey, u32), Lane>,
    /// The lane of each chunk, in the order in which chunks began.
    chunks: VecDeque<(TrackKey, u32)>,
    len: usize,
    limit: usize,
    dropped: u64,
    end: i64,
}

impl Default for Spans {
    fn default() -> Spans {
        Spans::with_limit(MAX_SPANS)
    }
}

impl Spans {
    /// Returns an empty store of at most `limit` spans.
    pub fn with_limit(limit: usize) -> Spans {
        Spans { lanes: BTreeMap::new(), chunks: VecDeque::new(), len: 0, limit, dropped: 0, end: i64::MIN }
    }

    /// Adds the span of a call on a thread, `depth` calls deep.
    pub fn add_on_thread(&mut self, thread: u32, depth: u32, span: Span) {
        self.add((TrackKey::Thread(thread), depth), span);
    }

    /// Adds the span of an async call.
    pub fn add_async(&mut self, span: Span) {
        let track = TrackKey::Async(span.method);
        let free = |lane: &u32| self.lanes.get(&(track, *lane)).is_none_or(|one| one.end() <= span.start);
        let lane = (0..MAX_ASYNC_LANES).find(free).unwrap_or(MAX_ASYNC_LANES - 1);
        self.add((track, lane), span);
    }

    fn add(&mut self, key: (TrackKey, u32), span: Span) {
        if self.lanes.entry(key).or_default().add(span) {
            self.chunks.push_back(key);
        }
        self.end = self.end.max(span.end);
        self.len += 1;
        while self.len > self.limit {
            let Some(key) = self.chunks.pop_front() else { break };
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            let (removed, stays) = lane.remove_oldest();
            if stays {
                self.chunks.push_back(key);
            }
            if lane.chunks.is_empty() {
                self.lanes.remove(&key);
            }
            self.len -= removed;
            self.dropped += removed as u64;
        }
    }

    /// Returns the number of spans.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of spans dropped in favour of later ones.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the first beginning and the last end; None without spans.
    pub fn range(&self) -> Option<(i64, i64)> {
        let start = self.lanes.values().filter_map(Lane::start).min()?;
        Some((start, self.end.max(start)))
    }

    /// Returns the lanes by track and depth: threads by their ids, then async methods.
    pub fn lanes(&self) -> impl Iterator<Item = (TrackKey, u32, &Lane)> {
        self.lanes.iter().map(|((track, depth), lane)| (*track, *depth, lane))
    }

    /// Returns the span of a call, if it is kept. Looks at every chunk.
    pub fn find(&self, number: u64) -> Option<&Span> {
        self.lanes.values().flat_map(Lane::spans).find(|span| span.number == number)
    }

    /// Returns the calls that ran on a thread around a call of this depth, the outermost first.
    pub fn callers(&self, thread: u32, start: i64, depth: u32) -> impl Iterator<Item = &Span> {
        let around = (TrackKey::Thread(thread), 0)..(TrackKey::Thread(thread), depth);
        self.lanes.range(around).filter_map(move |(_, lane)| lane.at(start))
    }
}

#[cfg(test)]
#[path = "spans_tests.rs"]
mod tests;
