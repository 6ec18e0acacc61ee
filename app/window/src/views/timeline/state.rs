//! The timeline's own state.

use redial_model::call_history::{Span, Spans, TimeView};
use redial_model::ids::ConnectionId;

/// The shortest time that following shows, nanoseconds.
const FOLLOWED: i64 = 5_000_000_000;

/// A gesture with a mouse button down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Gesture {
    /// Measures from this time on.
    Measure(i64),
    /// Moves the view.
    Pan,
}

/// The view's own state.
#[derive(Debug)]
pub struct TimelineState {
    connection: Option<ConnectionId>,
    view: Option<TimeView>,
    follows: bool,
    selected: Option<Span>,
    /// Scroll the selected call's lane into view.
    pub(super) reveal: bool,
    /// The measured part of time.
    pub(super) measured: Option<(i64, i64)>,
    pub(super) gesture: Option<Gesture>,
    /// Vertical position, points.
    pub(super) offset: f32,
}

impl Default for TimelineState {
    fn default() -> TimelineState {
        TimelineState {
            connection: None,
            view: None,
            follows: true,
            selected: None,
            reveal: false,
            measured: None,
            gesture: None,
            offset: 0.0,
        }
    }
}

impl TimelineState {
    /// Begins again when another process is shown.
    pub fn look_at(&mut self, connection: ConnectionId) {
        if self.connection != Some(connection) {
            *self = TimelineState { connection: Some(connection), ..TimelineState::default() };
        }
    }

    /// Returns the part of time that is shown.
    pub fn view(&self) -> Option<&TimeView> {
        self.view.as_ref()
    }

    /// Returns whether the view moves along with new calls.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Makes the view move along with new calls, or stay.
    pub fn set_follows(&mut self, follows: bool) {
        self.follows = follows;
    }

    /// Returns the selected call. It stays selected when it is no longer kept.
    pub fn selected(&self) -> Option<&Span> {
        self.selected.as_ref()
    }

    /// Selects a call, or none.
    pub fn select(&mut self, span: Option<Span>) {
        self.selected = span;
    }

    /// Returns the measured part of time.
    pub fn measured(&self) -> Option<(i64, i64)> {
        self.measured
    }

    /// Shows everything that is kept.
    pub fn show_all(&mut self, spans: &Spans) {
        if let Some((start, end)) = spans.range() {
            self.view = Some(TimeView::around(start, end));
            self.follows = false;
        }
    }

    /// Selects a call and shows it.
    pub fn reveal(&mut self, span: Span) {
        self.zoom_to(&span);
        (self.selected, self.reveal) = (Some(span), true);
    }

    /// Shows a call with some time around it.
    pub fn zoom_to(&mut self, span: &Span) {
        let margin = span.duration() / 2;
        let (start, end) = (span.start.saturating_sub(margin), span.end.saturating_add(margin));
        self.view = Some(TimeView::around(start, end));
        self.follows = false;
    }

    /// Changes the view, which then no longer follows.
    pub(super) fn change_view(&mut self, change: impl FnOnce(&mut TimeView)) {
        if let Some(view) = &mut self.view {
            change(view);
            self.follows = false;
        }
    }

    /// Moves the view along with the calls; makes one at first. Returns it if there are calls.
    pub(super) fn follow(&mut self, spans: &Spans) -> Option<TimeView> {
        let (start, end) = spans.range()?;
        let view = self.view.get_or_insert_with(|| TimeView::around(start.max(end - FOLLOWED), end));
        if self.follows {
            if view.length() < FOLLOWED as f64 && end.saturating_sub(start) > FOLLOWED {
                *view = TimeView::new(end - FOLLOWED, end);
            }
            // What there is of a young process fills the view.
            if end.saturating_sub(start) <= FOLLOWED {
                *view = TimeView::around(start, end);
            } else {
                view.end_at(end);
            }
        }
        Some(*view)
    }
}
