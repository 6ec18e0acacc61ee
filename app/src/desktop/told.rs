//! What must not be overlooked: a bar between the rows and the log, which covers neither. It takes its room from the log
//! while that is shown and high enough.

use super::{App, TOAST};
use crate::commands::{Command, Situation};
use crate::model::connection::Connection;
use crate::model::log::{Entry, Kind};
use crate::ui::theme::Palette;
use crate::views::log;
use eframe::egui::{Color32, Context, Frame, Label, Margin, RichText, Stroke, Ui};
use std::time::Instant;

/// Dials that matched nothing and are named, and processes in which all is off; the log names the others.
const NAMED: usize = 3;

/// What is told now; one of them at least.
pub(super) struct Telling {
    news: Option<News>,
    unmatched: Option<String>,
}

/// What is told for a while.
struct News {
    text: String,
    colour: Color32,
    all_off: bool,
    /// What takes it back.
    undo: Option<Command>,
}

impl App {
    /// The newest refusal or failure, or that all is off or something undone, for a while; and dials of a launch that match nothing, until that
    /// is closed. The log says it all, too.
    pub(super) fn telling(&mut self, ui: &Ui) -> Option<Telling> {
        let palette = Palette::of(ui);
        let news = self.news(ui.ctx()).map(|entry| News {
            text: self.wording(&entry),
            colour: log::colour(entry.kind, palette),
            all_off: entry.kind == Kind::AllOff,
            undo: (entry.kind == Kind::Budget).then_some(Command::UndoOfBudget(entry.connection)),
        });
        let unmatched = self.unmatched();
        (news.is_some() || unmatched.is_some()).then_some(Telling { news, unmatched })
    }

    /// Shows it at the top of `ui`.
    pub(super) fn tell(&mut self, ui: &mut Ui, told: &Telling, now: &Situation, commands: &mut Vec<Command>) {
        let shown = ui.scope(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            if let Some(text) = &told.unmatched
                && note(ui, text, Palette::of(ui).asked, |_| ())
            {
                self.model.forget_unmatched();
            }
            let Some(News { text, colour, all_off, undo }) = &told.news else { return };
            let closed = note(ui, text, *colour, |ui| {
                // Their last numbers stay in sight; who is done with them wants the others.
                if *all_off && now.switches.only_dialled && ui.button("Show all methods").clicked() {
                    commands.push(Command::OnlyDialled);
                }
                if now.control_elsewhere && ui.button(Command::TakeControl.name()).clicked() {
                    commands.push(Command::TakeControl);
                }
                if let Some(undo) = undo
                    && ui.button("Undo").on_hover_text(undo.explained().unwrap_or_default()).clicked()
                {
                    commands.push(undo.clone());
                }
            });
            if closed {
                self.toast.1 = None;
            }
        });
        let height = shown.response.rect.height();
        if std::mem::replace(&mut self.told_height, height) != height {
            // It gets its room in the next frame.
            ui.ctx().request_repaint();
        }
    }

    /// What is told for a while; a refusal also goes with the next request to its process.
    fn news(&mut self, context: &Context) -> Option<Entry> {
        let bad = [Kind::Refusal, Kind::NoAnswer, Kind::Failure, Kind::Budget];
        let told = bad.into_iter().chain([Kind::AllOff, Kind::Undone, Kind::Hint]);
        let newest = told.filter_map(|kind| self.model.log.newest(kind));
        let entry = newest.max_by_key(|entry| entry.serial)?;
        if entry.serial != self.toast.0 {
            let long = if bad.contains(&entry.kind) { TOAST } else { TOAST / 2 };
            self.toast = (entry.serial, Some(Instant::now() + long));
        }
        let left = self.toast.1?.saturating_duration_since(Instant::now());
        // Who asked the same process for something since has read it, or does not wait for it any more.
        let since = self.model.log.entries().iter().rev().take_while(|one| one.serial > entry.serial);
        let mut asked = since.filter(|one| one.kind == Kind::Request);
        let asked_since = matches!(entry.kind, Kind::Refusal | Kind::Budget | Kind::Undone | Kind::Hint)
            && asked.any(|one| entry.connection.is_none() || one.connection == entry.connection);
        let is_on_again =
            entry.kind == Kind::AllOff && self.model.current().is_some_and(Connection::wants_some);
        let of = entry.connection.and_then(|id| self.model.connections.get(&id));
        let is_undone = entry.kind == Kind::Budget && of.is_some_and(|one| one.budgets_step().is_none());
        let is_over = asked_since || is_on_again || is_undone;
        if left.is_zero() || is_over {
            return None;
        }
        context.request_repaint_after(left);
        Some(entry.clone())
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
