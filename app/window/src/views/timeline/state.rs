//! The timeline's own state.

use crate::ui::scroll_bar::ScrollBar;
use redial_model::call_history::{Span, TimeView};
use redial_model::ids::{ConnectionId, SubjectId};

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
    subject: Option<SubjectId>,
    view: Option<TimeView>,
    follows: bool,
    selected: Option<(ConnectionId, Span)>,
    /// Scroll the selected call's lane into view.
    pub(super) reveal: bool,
    /// The measured part of time.
    pub(super) measured: Option<(i64, i64)>,
    pub(super) gesture: Option<Gesture>,
    /// Vertical position, points.
    pub(super) offset: f32,
    pub(super) scroll_bar: ScrollBar,
}

impl Default for TimelineState {
    fn default() -> TimelineState {
        TimelineState {
            subject: None,
            view: None,
            follows: true,
            selected: None,
            reveal: false,
            measured: None,
            gesture: None,
            offset: 0.0,
            scroll_bar: ScrollBar::default(),
        }
    }
}

impl TimelineState {
    /// Begins again when another process is shown, or others together.
    pub fn look_at(&mut self, subject: SubjectId) {
        if self.subject != Some(subject) {
            *self = TimelineState { subject: Some(subject), ..TimelineState::default() };
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

    /// Returns the selected call and its process. It stays selected when it is no longer kept.
    pub fn selected(&self) -> Option<(ConnectionId, &Span)> {
        self.selected.as_ref().map(|(process, span)| (*process, span))
    }

    /// Selects a call, or none.
    pub fn select(&mut self, call: Option<(ConnectionId, Span)>) {
        self.selected = call;
    }

    /// Returns the measured part of time.
    pub fn measured(&self) -> Option<(i64, i64)> {
        self.measured
    }

    /// Shows everything that is kept: the calls within `range`.
    pub fn show_all(&mut self, range: Option<(i64, i64)>) {
        if let Some((start, end)) = range {
            self.view = Some(TimeView::around(start, end));
            self.follows = false;
        }
    }

    /// Selects a call of a process and shows it.
    pub fn reveal(&mut self, process: ConnectionId, span: Span) {
        self.zoom_to(&span);
        (self.selected, self.reveal) = (Some((process, span)), true);
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

    /// Moves the view along with the calls within `range`; makes one at first. Returns it if there are calls.
    pub(super) fn follow(&mut self, range: Option<(i64, i64)>) -> Option<TimeView> {
        let (start, end) = range?;
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
