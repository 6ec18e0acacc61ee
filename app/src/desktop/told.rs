//! What must not be overlooked: a bar between the rows and the log, which covers neither. It takes its room from the log
//! while that is shown and high enough.

use super::{App, TOAST};
use crate::commands::{Command, Situation};
use crate::model::connection::Connection;
use crate::model::log::{Entry, Kind};
use crate::ui::theme::Palette;
use crate::views::log;
use eframe::egui::{Color32, Context, Frame, Label, Margin, Rect, RichText, Stroke, Ui};
use std::time::Instant;

/// Dials that matched nothing and are named, and processes in which all is off; the log names the others.
const NAMED: usize = 3;

/// What is told now; one of them at least.
pub(super) struct Telling {
    news: Option<News>,
    unmatched: Option<String>,
}

/// The newest refusal or failure, or that all is off or something undone.
struct News {
    text: String,
    colour: Color32,
    /// What can be done about it, and the words on the buttons.
    buttons: Vec<(Command, &'static str)>,
}

/// What was told last.
#[derive(Debug)]
pub(super) struct Toast {
    /// The newest entry that was told, or might have been.
    serial: u64,
    /// It, and until when it is told though nothing can be done about it; None: it was closed, or acted upon.
    entry: Option<(Entry, Instant)>,
    /// Where it stands; no place while nothing is told.
    place: Rect,
}

impl Default for Toast {
    fn default() -> Self {
        Toast { serial: 0, entry: None, place: Rect::NOTHING }
    }
}

impl Toast {
    /// It is told no longer.
    fn close(&mut self) {
        self.entry = None;
    }

    /// What was told last, if it is told still.
    #[cfg(test)]
    pub(super) fn says(&self) -> Option<&str> {
        let entry = self.entry.as_ref().filter(|_| self.place != Rect::NOTHING);
        entry.map(|(entry, _)| entry.text.as_str())
    }

    /// Its time is over.
    #[cfg(test)]
    pub(super) fn expire(&mut self) {
        self.entry.iter_mut().for_each(|(_, until)| *until = Instant::now());
    }
}

impl App {
    /// The newest of what must not be overlooked; and dials of a launch that match nothing, until that is closed. The log says
    /// it all, too.
    pub(super) fn telling(&mut self, ui: &Ui, now: &Situation) -> Option<Telling> {
        let palette = Palette::of(ui);
        let news = self.news(ui.ctx(), now).map(|entry| News {
            text: self.wording(&entry),
            colour: log::colour(entry.kind, palette),
            buttons: self.buttons(&entry, now),
        });
        let unmatched = self.unmatched();
        if news.is_none() {
            self.toast.place = Rect::NOTHING;
        }
        (news.is_some() || unmatched.is_some()).then_some(Telling { news, unmatched })
    }

    /// Shows it at the top of `ui`.
    pub(super) fn tell(&mut self, ui: &mut Ui, told: &Telling, commands: &mut Vec<Command>) {
        let shown = ui.scope(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            if let Some(text) = &told.unmatched
                && note(ui, text, Palette::of(ui).asked, |_| ())
            {
                self.model.forget_unmatched();
            }
            let Some(News { text, colour, buttons }) = &told.news else { return };
            let above = ui.cursor().min;
            let mut acted = false;
            let closed = note(ui, text, *colour, |ui| {
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
        if std::mem::replace(&mut self.told_height, height) != height {
            // It gets its room in the next frame.
            ui.ctx().request_repaint();
        }
    }

    /// What can be done about an entry.
    fn buttons(&self, entry: &Entry, now: &Situation) -> Vec<(Command, &'static str)> {
        let take = Command::TakeControl.name();
        match (entry.kind, entry.connection) {
            // Their last numbers stay in sight; who is done with them wants the others.
            (Kind::AllOff, _) if now.switches.only_dialled => {
                vec![(Command::OnlyDialled, "Show all methods")]
            }
            (Kind::Refusal, _) if now.control_elsewhere => vec![(Command::TakeControl, take)],
            (Kind::Control, Some(of))
                if self.model.connections.get(&of).is_some_and(Connection::is_others) =>
            {
                vec![(Command::TakeControlOf(of), take)]
            }
            (Kind::Budget, of) => vec![(Command::UndoOfBudget(of), "Undo")],
            _ => Vec::new(),
        }
    }

    /// Closes what is told until somebody does something about it; whether there was such a thing.
    pub(super) fn close_what_stays(&mut self, now: &Situation) -> bool {
        let told = self.toast.place != Rect::NOTHING;
        let entry = self.toast.entry.clone().filter(|_| told);
        let stays = entry.is_some_and(|(entry, _)| !self.buttons(&entry, now).is_empty());
        if stays {
            self.toast.close();
        }
        stays
    }

    /// What is told: for a while, but where there is something to be done about it, until that is done, it is closed, or is not
    /// so any more. Nothing goes from under the pointer.
    fn news(&mut self, context: &Context, now: &Situation) -> Option<Entry> {
        let bad = [Kind::Refusal, Kind::NoAnswer, Kind::Failure, Kind::Budget, Kind::Control];
        let told = bad.into_iter().chain([Kind::AllOff, Kind::Undone, Kind::Hint]);
        let newest = told.filter_map(|kind| self.model.log.newest(kind)).max_by_key(|entry| entry.serial)?;
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
        if left.is_zero() && !stays || self.is_over(&entry) {
            return None;
        }
        if !left.is_zero() {
            context.request_repaint_after(left);
        }
        Some(entry)
    }

    /// Whether what an entry says is not so any more, or was read.
    fn is_over(&self, entry: &Entry) -> bool {
        // Who asked the same process for something since has read it, or does not wait for it any more.
        let since = self.model.log.entries().iter().rev().take_while(|one| one.serial > entry.serial);
        let mut asked = since.filter(|one| one.kind == Kind::Request);
        let asked_since =
            matches!(entry.kind, Kind::Refusal | Kind::Budget | Kind::Control | Kind::Undone | Kind::Hint)
                && asked.any(|one| entry.connection.is_none() || one.connection == entry.connection);
        let is_on_again =
            entry.kind == Kind::AllOff && self.model.current().is_some_and(Connection::wants_some);
        let of = entry.connection.and_then(|id| self.model.connections.get(&id));
        let is_undone = entry.kind == Kind::Budget && of.is_some_and(|one| one.budgets_step().is_none());
        asked_since || is_on_again || is_undone
    }

    /// What an entry says; that all is off, of each process it was asked of.
    fn wording(&self, entry: &Entry) -> String {
        let told = |entry: &Entry| entry.told_to(self.model.current).into_owned();
        let answers = self.model.log.entries().iter().rev().take_while(|one| one.kind != Kind::Request);
        let mut lines: Vec<String> = match entry.kind {
            Kind::AllOff => answers.filter(|one| one.kind == Kind::AllOff).map(told).collect(),
            _ => Vec::new(),
        };
        if lines.is_empty() {
            return told(entry);
        }
        lines.reverse();
        first_of(lines.iter().map(String::as_str))
    }

    /// The dials of launches that match nothing, a line each.
    fn unmatched(&self) -> Option<String> {
        let all = self.model.launched.values().flat_map(|launched| &launched.unmatched);
        let lines = first_of(all.map(String::as_str));
        (!lines.is_empty()).then_some(lines)
    }
}

/// The first of many lines, and how many more there are.
fn first_of<'a>(mut all: impl Iterator<Item = &'a str>) -> String {
    let mut lines: Vec<&str> = all.by_ref().take(NAMED).collect();
    let more = match all.count() {
        0 => String::new(),
        more => format!("and {more} more, which the log names"),
    };
    lines.extend(Some(more.as_str()).filter(|more| !more.is_empty()));
    lines.join("\n")
}

/// One thing told, with what else can be clicked; whether it was closed.
fn note(ui: &mut Ui, text: &str, colour: Color32, also: impl FnOnce(&mut Ui)) -> bool {
    let palette = Palette::of(ui);
    let frame = Frame::new().fill(palette.raised).stroke(Stroke::new(1.5, colour));
    let frame = frame.inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            let closed = ui.button("Close").clicked();
            also(ui);
            ui.add(Label::new(RichText::new(text).color(palette.text)).wrap());
            closed
        })
    });
    frame.inner.inner
}
