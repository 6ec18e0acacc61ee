//! Notifications: a bar between rows and log that covers neither. It takes room from the log while that is
//! high enough.

use super::App;
use super::toast::{TOAST, Toast};
use crate::commands::{CommandContext, UiCommand};
use crate::ui::theme::Palette;
use crate::views::log;
use eframe::egui::{Color32, Context, Frame, Label, Margin, Rect, RichText, Stroke, Ui};
use redial_model::connection::Connection;
use redial_model::ids::SubjectId;
use redial_model::log::{Log, LogEntry, LogKind};
use redial_model::method_table::MethodTable;
use std::time::Instant;

/// Most dials without a match and processes with all dials off that are listed; the log has the rest.
const NAMED: usize = 3;

/// The current notifications, at least one.
pub(super) struct NotificationBar {
    newest: Option<Notification>,
    unmatched: Option<String>,
}

/// The newest refusal or failure, or a completed *All dials off*, undo, saving or search.
struct Notification {
    text: String,
    colour: Color32,
    /// Commands in response, with the buttons' texts.
    buttons: Vec<(UiCommand, &'static str)>,
}

impl App {
    /// Returns the newest notification, and launch dials without a match until the user closes that note. The
    /// log contains all of it, too.
    pub(super) fn current_notifications(&mut self, ui: &Ui, now: &CommandContext) -> Option<NotificationBar> {
        let palette = Palette::of(ui);
        let newest = self.newest(ui.ctx(), now).map(|entry| Notification {
            text: self.entry_text(&entry),
            colour: log::colour(entry.kind, palette),
            buttons: self.buttons(&entry, now),
        });
        let unmatched = self.unmatched();
        if newest.is_none() {
            self.toast.place = Rect::NOTHING;
        }
        (newest.is_some() || unmatched.is_some()).then_some(NotificationBar { newest, unmatched })
    }

    /// Shows notifications at the top of `ui`.
    pub(super) fn show_notifications(
        &mut self,
        ui: &mut Ui,
        bar: &NotificationBar,
        commands: &mut Vec<UiCommand>,
    ) {
        let shown = ui.scope(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            if let Some(text) = &bar.unmatched
                && show_notification(ui, text, Palette::of(ui).asked, |_| ())
            {
                self.model.forget_unmatched();
            }
            let Some(Notification { text, colour, buttons }) = &bar.newest else { return };
            let above = ui.cursor().min;
            let mut acted = false;
            let closed = show_notification(ui, text, *colour, |ui| {
                for (command, name) in buttons {
                    let button = ui.button(*name);
                    let explained = command.explained().unwrap_or_default();
                    let button = if explained.is_empty() { button } else { button.on_hover_text(explained) };
                    if button.clicked() {
                        acted = true;
                        commands.push(command.clone());
                    }
                }
            });
            self.toast.place = Rect::from_min_max(above, ui.min_rect().max);
            if closed || acted {
                self.toast.close();
            }
        });
        let height = shown.response.rect.height();
        if std::mem::replace(&mut self.notification_height, height) != height {
            // The new height applies from the next frame.
            ui.ctx().request_repaint();
        }
    }

    /// Returns the commands that respond to an entry.
    fn buttons(&self, entry: &LogEntry, now: &CommandContext) -> Vec<(UiCommand, &'static str)> {
        let take = UiCommand::TakeControl.name();
        match (entry.kind, entry.about.and_then(SubjectId::process)) {
            // The last numbers stay visible; this shows the other methods again.
            (LogKind::AllOff, _) if now.switches.only_dialled => {
                vec![(UiCommand::OnlyDialled, "Show all methods")]
            }
            (LogKind::Refusal, _) if now.is_refused_for_control() => vec![(UiCommand::TakeControl, take)],
            (LogKind::Control, Some(of))
                if self.model.connections.get(&of).is_some_and(Connection::is_controlled_elsewhere) =>
            {
                vec![(UiCommand::TakeControlOf(of), take)]
            }
            (LogKind::Budget, of) => vec![(UiCommand::UndoOfBudget(of), "Undo")],
            _ => Vec::new(),
        }
    }

    /// Closes a notification that stays until answered; returns whether there was one.
    pub(super) fn close_pending_notification(&mut self, now: &CommandContext) -> bool {
        let visible = self.toast.place != Rect::NOTHING;
        let entry = self.toast.entry.clone().filter(|_| visible);
        let stays = entry.is_some_and(|(entry, _)| !self.buttons(&entry, now).is_empty());
        if stays {
            self.toast.close();
        }
        stays
    }

    /// Returns the entry to show: for a while, or, if a command responds to it, until that is done, the user
    /// closes it, or it is no longer true. Nothing disappears under the pointer.
    fn newest(&mut self, context: &Context, now: &CommandContext) -> Option<LogEntry> {
        let bad = [LogKind::Refusal, LogKind::NoAnswer, LogKind::Failure, LogKind::Budget, LogKind::Control];
        let good = [LogKind::AllOff, LogKind::NoneOn, LogKind::Undone, LogKind::Done, LogKind::Hint];
        let kinds = bad.into_iter().chain(good);
        let newest = kinds.filter_map(|kind| self.model.log.newest(kind)).max_by_key(|entry| entry.serial)?;
        let newest = result_of_all_off(&self.model.log, newest);
        let pointer = context.input(|input| input.pointer.hover_pos());
        let pointed_at =
            self.toast.entry.is_some() && pointer.is_some_and(|at| self.toast.place.contains(at));
        if newest.serial != self.toast.serial && !pointed_at {
            let long = if bad.contains(&newest.kind) { TOAST } else { TOAST / 2 };
            let entry = Some((newest.clone(), Instant::now() + long));
            self.toast = Toast { serial: newest.serial, entry, ..Toast::default() };
        }
        let (entry, until) = self.toast.entry.clone()?;
        if pointed_at {
            return Some(entry);
        }
        let left = until.saturating_duration_since(Instant::now());
        let stays = !self.buttons(&entry, now).is_empty();
        if left.is_zero() && !stays || self.is_obsolete(&entry) {
            return None;
        }
        if !left.is_zero() {
            context.request_repaint_after(left);
        }
        Some(entry)
    }

    /// Returns whether an entry is no longer true, or was read.
    fn is_obsolete(&self, entry: &LogEntry) -> bool {
        // A user who has since sent the same process another request has read it or no longer waits for it.
        let since = self.model.log.entries().iter().rev().take_while(|one| one.serial > entry.serial);
        let mut asked = since.filter(|one| one.kind == LogKind::Request);
        let asked_since = matches!(
            entry.kind,
            LogKind::Refusal
                | LogKind::Budget
                | LogKind::Control
                | LogKind::Undone
                | LogKind::Done
                | LogKind::Hint
        ) && asked.any(|one| entry.about.is_none() || one.about == entry.about);
        let is_on_again = entry.kind == LogKind::AllOff
            && self.model.current_table().is_some_and(MethodTable::has_wanted_dials);
        let of = entry.about.and_then(|about| self.model.subject(about)?.process());
        let is_undone = entry.kind == LogKind::Budget && of.is_some_and(|one| one.budget_step().is_none());
        asked_since || is_on_again || is_undone
    }

    /// Returns an entry's text; for *All dials off*, the results of all processes where a dial was on.
    fn entry_text(&self, entry: &LogEntry) -> String {
        let text_of = |entry: &LogEntry| entry.text_for(self.model.current).into_owned();
        let answers = self.model.log.entries().iter().rev().take_while(|one| one.kind != LogKind::Request);
        let mut lines: Vec<String> = match entry.kind {
            LogKind::AllOff | LogKind::NoneOn => {
                answers.filter(|one| one.kind == entry.kind).map(text_of).collect()
            }
            _ => Vec::new(),
        };
        if lines.is_empty() {
            return text_of(entry);
        }
        lines.reverse();
        first_lines(lines.iter().map(String::as_str))
    }

    /// Returns launch dials without a match, one per line.
    fn unmatched(&self) -> Option<String> {
        let all = self.model.launched.values().flat_map(|launched| &launched.unmatched);
        let lines = first_lines(all.map(String::as_str));
        (!lines.is_empty()).then_some(lines)
    }
}

/// Returns an entry, or in place of one about a process without dials the result where a dial was on.
fn result_of_all_off<'a>(log: &'a Log, entry: &'a LogEntry) -> &'a LogEntry {
    if entry.kind != LogKind::NoneOn {
        return entry;
    }
    let mut answers = log.entries().iter().rev().take_while(|one| one.kind != LogKind::Request);
    answers.find(|one| one.kind == LogKind::AllOff).unwrap_or(entry)
}

/// Returns the first lines, and how many more there are.
fn first_lines<'a>(mut all: impl Iterator<Item = &'a str>) -> String {
    let mut lines: Vec<&str> = all.by_ref().take(NAMED).collect();
    let more = match all.count() {
        0 => String::new(),
        more => format!("and {more} more, see the log"),
    };
    lines.extend(Some(more.as_str()).filter(|more| !more.is_empty()));
    lines.join("\n")
}

/// Shows one notification with additional buttons; returns whether the user closed it.
fn show_notification(ui: &mut Ui, text: &str, colour: Color32, show_buttons: impl FnOnce(&mut Ui)) -> bool {
    let palette = Palette::of(ui);
    let frame = Frame::new().fill(palette.raised).stroke(Stroke::new(1.5, colour));
    let frame = frame.inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            let closed = ui.button("Close").clicked();
            show_buttons(ui);
            ui.add(Label::new(RichText::new(text).color(palette.text)).wrap());
            closed
        })
    });
    frame.inner.inner
}
