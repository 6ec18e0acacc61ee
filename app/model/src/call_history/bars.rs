//! What to draw of a lane: each bar is one span, or a run of spans too short to tell apart.

use super::chunk::{Chunk, Span};
use std::collections::VecDeque;
use std::ops::Range;

/// A span, or a run of short ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Its beginning, Unix time in nanoseconds.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// The number of spans.
    pub count: u32,
    /// The first span.
    pub first: Span,
}

impl Bar {
    fn of(span: &Span) -> Bar {
        Bar { start: span.start, end: span.end, count: 1, first: *span }
    }

    fn takes(&self, start: i64, grain: i64) -> bool {
        start.saturating_sub(self.end) < grain
    }
}

/// Visits the bars of a lane in a range of time. Chunks of short spans count as a whole, so the cost is bounded by the bars
/// and chunks in the range rather than by its spans.
pub(super) fn visit_bars(
    chunks: &VecDeque<Chunk>,
    range: Range<i64>,
    grain: i64,
    mut visit: impl FnMut(Bar),
) {
    let mut run: Option<Bar> = None;
    // A span of the chunk before may reach into the range.
    let first = chunks.partition_point(|chunk| chunk.end < range.start);
    for chunk in chunks.range(first..) {
        if chunk.start >= range.end {
            break;
        }
        let is_fine = chunk.longest < grain && chunk.widest_gap < grain;
        let is_within = chunk.start >= range.start && chunk.end <= range.end;
        if is_fine
            && is_within
            && let Some(first) = chunk.spans.first()
        {
            let count = u32::try_from(chunk.spans.len()).unwrap_or(u32::MAX);
            match &mut run {
                Some(run) if run.takes(chunk.start, grain) => {
                    run.end = run.end.max(chunk.end);
                    run.count = run.count.saturating_add(count);
                }
                run => {
                    run.take().into_iter().for_each(&mut visit);
                    *run = Some(Bar { start: chunk.start, end: chunk.end, count, first: *first });
                }
            }
            continue;
        }
        for span in &chunk.spans {
            if span.end < range.start {
                continue;
            }
            if span.start >= range.end {
                break;
            }
            if span.duration() >= grain {
                run.take().into_iter().for_each(&mut visit);
                visit(Bar::of(span));
                continue;
            }
            match &mut run {
                Some(run) if run.takes(span.start, grain) => {
                    run.end = run.end.max(span.end);
                    run.count = run.count.saturating_add(1);
                }
                run => {
                    run.take().into_iter().for_each(&mut visit);
                    *run = Some(Bar::of(span));
                }
            }
        }
    }
    run.into_iter().for_each(visit);
}
