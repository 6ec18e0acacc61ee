//! Consecutive spans of a lane.

/// Spans in a full chunk.
pub(super) const CHUNK: usize = 64;

/// When a call ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its beginning, Unix time in nanoseconds.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// Its number among the calls of its process.
    pub number: u64,
    /// Index of its method.
    pub method: u32,
    /// Whether an exception left it.
    pub threw: bool,
}

impl Span {
    /// Returns its duration in nanoseconds.
    pub fn duration(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }
}

/// Consecutive spans of a lane with the sums that drawing needs.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) spans: Vec<Span>,
    pub(super) start: i64,
    pub(super) end: i64,
    /// The longest span.
    pub(super) longest: i64,
    /// The longest gap between two spans.
    pub(super) widest_gap: i64,
}

impl Chunk {
    pub(super) fn of(span: Span) -> Chunk {
        let mut chunk =
            Chunk { spans: Vec::new(), start: span.start, end: span.end, longest: 0, widest_gap: 0 };
        chunk.push(span);
        chunk
    }

    pub(super) fn push(&mut self, span: Span) {
        if !self.spans.is_empty() {
            self.widest_gap = self.widest_gap.max(span.start.saturating_sub(self.end));
        }
        self.end = self.end.max(span.end);
        self.longest = self.longest.max(span.duration());
        self.spans.push(span);
    }

    pub(super) fn rebuild(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        let Some(first) = spans.first() else { return };
        *self = Chunk { spans: Vec::new(), start: first.start, end: first.end, longest: 0, widest_gap: 0 };
        spans.into_iter().for_each(|span| self.push(span));
    }
}
