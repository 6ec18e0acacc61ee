//! The last notification and how long it stays visible.

use eframe::egui::Rect;
use redial_model::log::LogEntry;
use std::time::{Duration, Instant};

/// How long a refusal without a possible response stays visible. Undo results and hints stay half as long.
pub(super) const TOAST: Duration = Duration::from_secs(8);

/// The last notification.
#[derive(Debug)]
pub(super) struct Toast {
    /// Serial number of the newest log entry considered.
    pub(super) serial: u64,
    /// The entry, and how long it is shown if no command responds to it; `None` after it was closed or acted
    /// upon.
    pub(super) entry: Option<(LogEntry, Instant)>,
    /// Its position; nowhere while there is none.
    pub(super) place: Rect,
}

impl Default for Toast {
    fn default() -> Self {
        Toast { serial: 0, entry: None, place: Rect::NOTHING }
    }
}

impl Toast {
    /// Closes the notification.
    pub(super) fn close(&mut self) {
        self.entry = None;
    }

    /// Returns the visible notification.
    #[cfg(test)]
    pub(super) fn text(&self) -> Option<&str> {
        let entry = self.entry.as_ref().filter(|_| self.place != Rect::NOTHING);
        entry.map(|(entry, _)| entry.text.as_str())
    }

    /// Ends its time.
    #[cfg(test)]
    pub(super) fn expire(&mut self) {
        self.entry.iter_mut().for_each(|(_, until)| *until = Instant::now());
    }
}
