//! Empty states that teach: each says why there is nothing, and offers what to do next.

use crate::commands::{Command, Situation};
use crate::model::connection::Connection;
use crate::model::list::Filter;
use crate::output::words;
use crate::ui::theme::{Palette, TITLE};
use eframe::egui::{Button, Color32, Label, RichText, ScrollArea, Stroke, Ui, vec2};

/// Why there is nothing to show.
#[derive(Clone, Debug, PartialEq)]
pub enum Why<'a> {
    /// No process was picked.
    NoProcess {
        /// Whether there is one that could be.
        any: bool,
    },
    /// The process runs without the agent.
    NoAgent {
        /// `dotnet (42)`.
        process: &'a str,
        /// Why it cannot be loaded into it now; absent: it can.
        unable: Option<&'a str>,
        /// Why the last try to load it failed.
        trouble: Option<&'a str>,
    },
    /// The process cannot be dialled as it is.
    Unfit {
        /// `dotnet (42)`.
        process: &'a str,
        /// Why, and what to do.
        why: &'a str,
        /// That is only that it did not answer.
        silent: bool,
    },
    /// The connection is being made, or the catalogue read.
    Waiting(&'a str),
    /// The process ended or the agent went away while it was looked at.
    Gone {
        /// What happened, as a sentence.
        what: &'a str,
        /// Whether the process itself is gone.
        ended: bool,
    },
    /// Nothing fits the filter.
    NoMatch {
        /// What was typed.
        filter: &'a str,
        /// What is left out besides.
        beyond: Beyond,
        /// What may have been meant.
        near: &'a [String],
    },
    /// Only dialled methods are shown and there is none.
    NoDials {
        /// Methods that were dialled and are off again.
        off_again: usize,
        /// Methods of the framework that are dialled and hidden.
        framework: usize,
    },
    /// There are no methods at all.
    NoMethods,
    /// There are no methods but the framework's yet, and those are hidden.
    OnlyFramework,
}

/// How many methods fit a filter and are left out for another reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// They were dialled and are off again.
    pub off_again: usize,
    /// They are not dialled.
    pub undialled: usize,
    /// They are the framework's.
    pub framework: usize,
    /// They are not dialled, or the framework's, or both.
    pub any: usize,
}

impl Beyond {
    /// What is left out of a list.
    pub fn of(connection: &Connection) -> Beyond {
        let Connection { list, catalogue, live, .. } = connection;
        let now = list.filter();
        let shown = |switches: Filter| list.would_show(&switches, catalogue, live);
        let (undialled, own) = (Filter { only_dialled: false, ..now.clone() }, now.hide_framework);
        let framework = Filter { hide_framework: false, ..now.clone() };
        Beyond {
            off_again: list.off_again(),
            undialled: if now.only_dialled { shown(undialled) } else { 0 },
            framework: if own { shown(framework) } else { 0 },
            any: shown(Filter::default()),
        }
    }

    /// Why, and what shows them: the text of a button, and what it does.
    fn offer(self) -> Option<(String, &'static str, &'static [Command])> {
        let methods = |number: usize| words::methods(number as u64);
        if self.off_again > 0 {
            let were =
                if self.off_again == 1 { "was dialled and is off" } else { "were dialled and are off" };
            let text = format!("{} that would fit {were} again.", methods(self.off_again));
            return Some((text, "Show what is off again", &[Command::OffAgain]));
        }
        if self.undialled > 0 {
            let text = format!("{} would fit, but only dialled ones are shown.", methods(self.undialled));
            return Some((text, "Search all methods", &[Command::OnlyDialled]));
        }
        if self.framework > 0 {
            let text =
                format!("{} of the framework would fit, but those are hidden.", methods(self.framework));
            return Some((text, "Search the framework, too", &[Command::HideFramework]));
        }
        let text = format!(
            "{} would fit, but only dialled ones are shown, and those of the framework are hidden.",
            methods(self.any)
        );
        let both = &[Command::OnlyDialled, Command::HideFramework];
        (self.any > 0).then_some((text, "Search all methods", both))
    }
}

/// Shows it in the middle of the rest of `ui`.
pub fn show(ui: &mut Ui, why: &Why<'_>, now: &Situation, commands: &mut Vec<Command>) {
    let height = ui.available_height();
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.vertical_centered(|ui| {
            ui.set_max_width((ui.available_width() - 24.0).max(100.0));
            let above = if matches!(why, Why::NoProcess { .. }) { 0.14 } else { 0.26 };
            ui.add_space((height * above).max(12.0));
            say(ui, why, now, commands);
        });
    });
}

fn say(ui: &mut Ui, why: &Why<'_>, now: &Situation, commands: &mut Vec<Command>) {
    match why {
        Why::NoProcess { any } => first_run(ui, *any, now, commands),
        Why::NoAgent { process, unable, trouble } => {
            title(ui, &format!("{process} runs without the agent"));
            if let Some(trouble) = trouble {
                ui.colored_label(Palette::of(ui).bad, format!("It could not be loaded: {trouble}"));
            }
            match unable {
                None if trouble.is_some() => {
                    text(ui, "Try again, or start the program anew from here.");
                    buttons(ui, now, &[Command::Attach, Command::Launch], commands);
                }
                None => {
                    text(
                        ui,
                        "It can be loaded now. The process runs on, stopped for some milliseconds once;",
                    );
                    text(ui, "the agent stays in it, idle, until the process ends.");
                    buttons(ui, now, &[Command::Attach, Command::Launch], commands);
                }
                Some(why) => {
                    text(ui, &format!("Its methods cannot be dialled: {why}."));
                    text(ui, "Start the program anew from here; its methods appear then.");
                    buttons(ui, now, &[Command::Launch], commands);
                }
            }
        }
        Why::Unfit { process, why, silent: true } => {
            title(ui, &format!("{process} does not answer"));
            text(ui, why);
            text(ui, "It is asked again by itself.");
            buttons(ui, now, &[Command::Reconnect], commands);
        }
        Why::Unfit { process, why, silent: false } => {
            title(ui, &format!("{process} cannot be dialled"));
            text(ui, why);
            buttons(ui, now, &[Command::Launch, Command::Reconnect], commands);
        }
        Why::Waiting(what) => {
            title(ui, what);
            text(ui, "This takes a moment.");
        }
        Why::Gone { what, ended } => {
            title(ui, what);
            text(ui, "Pick another process on the left, or start it again.");
            let offered: &[Command] =
                if *ended { &[Command::Launch] } else { &[Command::Launch, Command::Reconnect] };
            buttons(ui, now, offered, commands);
        }
        Why::NoMatch { filter, beyond, near } => {
            if filter.is_empty() {
                title(ui, "Every method is hidden");
            } else {
                title(ui, &format!("No method shown has “{filter}” in its name"));
            }
            match beyond.offer() {
                Some((why, button, change)) => {
                    text(ui, &why);
                    offer(ui, button, change, commands);
                }
                None => text(ui, "Types and methods are searched by any part of their names."),
            }
            if !near.is_empty() {
                ui.add_space(8.0);
                ui.label("Did you mean");
                for name in *near {
                    if ui.link(name).clicked() {
                        commands.push(Command::Filter(name.clone()));
                    }
                }
            }
            buttons(ui, now, &[Command::ClearFilter], commands);
        }
        Why::NoDials { off_again, framework } => {
            if *framework > 0 {
                let methods = words::methods(*framework as u64);
                let are = if *framework == 1 { "is" } else { "are" };
                title(ui, "No dial is on outside the framework");
                text(ui, &format!("{methods} of the framework {are} dialled, but those are hidden."));
                offer(ui, "Show those of the framework", &[Command::HideFramework], commands);
            } else {
                title(ui, "No dial is on");
                text(ui, "Find a method, and press Space on it to count its calls.");
            }
            if *off_again > 0 {
                let (methods, are) = (
                    words::methods(*off_again as u64),
                    if *off_again == 1 { "was dialled and is" } else { "were dialled and are" },
                );
                text(ui, &format!("{methods} {are} off again."));
                offer(ui, "Show what is off again", &[Command::OffAgain], commands);
            }
            offer(ui, "Show all methods", &[Command::OnlyDialled], commands);
        }
        Why::OnlyFramework => {
            title(ui, "Only the framework is loaded yet");
            text(
                ui,
                "The program's own methods appear as its modules load. Those of the framework are hidden.",
            );
            offer(ui, "Show those of the framework", &[Command::HideFramework], commands);
        }
        Why::NoMethods => {
            title(ui, "No methods yet");
            text(ui, "The process has loaded no module. Methods appear here as modules load.");
        }
    }
}

fn first_run(ui: &mut Ui, any: bool, now: &Situation, commands: &mut Vec<Command>) {
    ui.label(RichText::new("Count any method of a live .NET process").size(24.0).strong());
    ui.add_space(6.0);
    text(ui, "No restart, no rebuild; and afterwards every method runs its original code again.");
    ui.add_space(14.0);
    let first = match any {
        true => "Pick a process on the left. A green dot: the agent is in it; a ring: it can be loaded.",
        false => "Start a program with the agent in it: the demo, or one of your own.",
    };
    // A column of its own width in the middle, so that the steps begin under each other.
    let side = ((ui.available_width() - 470.0) / 2.0).max(0.0);
    for (number, step) in [
        ("1", first),
        ("2", "Type a part of a method's name. The list follows every key."),
        ("3", "Press Space, or click the knob: its needle follows the agent's word."),
    ] {
        ui.horizontal(|ui| {
            ui.add_space(side);
            ui.label(RichText::new(number).size(20.0).strong().color(Palette::of(ui).accent));
            ui.add_space(6.0);
            ui.add(Label::new(RichText::new(step).size(15.0)).wrap());
        });
    }
    ui.add_space(14.0);
    buttons(ui, now, &[Command::StartDemo, Command::Launch], commands);
    ui.add_space(8.0);
    text(ui, "F9 turns everything off again, always. ? lists the keys.");
}

fn title(ui: &mut Ui, title: &str) {
    ui.label(RichText::new(title).size(TITLE).strong());
    ui.add_space(4.0);
}

fn text(ui: &mut Ui, text: &str) {
    let weak = Palette::of(ui).weak;
    ui.label(RichText::new(text).color(weak));
}

/// A button that changes what is shown.
fn offer(ui: &mut Ui, name: &str, change: &[Command], commands: &mut Vec<Command>) {
    ui.add_space(8.0);
    let button = Button::new(RichText::new(name).size(15.0)).min_size(vec2(220.0, 34.0));
    if ui.add(button.fill(Palette::of(ui).selected)).clicked() {
        commands.extend_from_slice(change);
    }
}

/// Buttons under each other; those that are not possible say why.
pub fn buttons(ui: &mut Ui, now: &Situation, offered: &[Command], commands: &mut Vec<Command>) {
    ui.add_space(8.0);
    for (place, command) in offered.iter().enumerate() {
        if place > 0 {
            ui.add_space(6.0);
        }
        let enabled = command.enabled(now);
        let mut button = Button::new(RichText::new(command.name()).size(15.0)).min_size(vec2(220.0, 34.0));
        // The first is what most want.
        if place == 0 && enabled.is_ok() {
            button = button.fill(Palette::of(ui).selected);
        }
        if enabled.is_err() {
            // Nothing that invites a click.
            button = button.fill(Color32::TRANSPARENT).stroke(Stroke::new(1.0, Palette::of(ui).line));
        }
        let response = ui.add_enabled(enabled.is_ok(), button);
        if response.clicked() {
            commands.push(command.clone());
        }
        if let Err(why) = enabled {
            // It is of the button above it.
            ui.weak(why);
        }
    }
}
