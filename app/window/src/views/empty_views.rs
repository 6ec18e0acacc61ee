//! Empty states: each says why there is nothing to show and offers the next step.

use crate::commands::{CommandContext, UiCommand};
use crate::ui::capitalized;
use crate::ui::theme::{Palette, TITLE};
use eframe::egui::{Button, Color32, FontId, Label, Popup, Response, RichText, ScrollArea, Stroke, Ui, vec2};
use redial_model::list::Filter;
use redial_model::method_table::MethodTable;
use redial_text::words;

/// Size of the text of first steps.
const STEP: f32 = 15.0;

/// The reason why there is nothing to show.
#[derive(Clone, Debug, PartialEq)]
pub enum EmptyReason<'a> {
    /// No process is selected.
    NoProcess {
        /// Whether there is a process to select.
        any: bool,
    },
    /// The process runs without the agent.
    NoAgent {
        /// `dotnet (42)`.
        process: &'a str,
        /// Why the agent cannot be loaded now; `None` if it can.
        unable: Option<&'a str>,
        /// Why the last attempt to load it failed.
        trouble: Option<&'a str>,
    },
    /// Several processes run without the agent.
    NoAgents {
        /// Those that can load it.
        attachable: usize,
        /// All of them.
        all: usize,
    },
    /// The process cannot be dialled in its current state.
    Unfit {
        /// `dotnet (42)`.
        process: &'a str,
        /// The reason and the next step.
        why: &'a str,
        /// The only reason is that it did not answer.
        silent: bool,
    },
    /// The window is connecting or loading methods.
    Waiting(&'a str),
    /// The process ended or the agent disappeared while it was shown.
    Gone {
        /// The event, as a sentence.
        message: &'a str,
        /// Whether the process has ended.
        ended: bool,
    },
    /// No method matches the filter.
    NoMatch {
        /// The filter's text.
        filter: &'a str,
        /// The matches that other settings hide.
        beyond: HiddenMatches,
        /// Suggested names.
        suggestions: &'a [String],
    },
    /// Only dialled methods are shown, and there are none.
    NoDials {
        /// Dialled methods that are off again.
        off_again: usize,
        /// Dialled framework methods that are hidden.
        framework: usize,
    },
    /// No methods are loaded.
    NoMethods,
    /// Only framework methods are loaded, and they are hidden.
    OnlyFramework,
}

/// The switches that hide methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HidingSwitches {
    only_dialled: bool,
    framework: bool,
    generated: bool,
}

impl HidingSwitches {
    /// Returns the switches that are on, each with its effect.
    fn on(self) -> impl Iterator<Item = (UiCommand, &'static str)> {
        let all = [
            (self.only_dialled, UiCommand::OnlyDialled, "only dialled methods are shown"),
            (self.framework, UiCommand::HideFramework, "framework methods are hidden"),
            (self.generated, UiCommand::HideGenerated, "compiler-generated methods are hidden"),
        ];
        all.into_iter().filter_map(|(is_on, command, effect)| is_on.then_some((command, effect)))
    }
}

/// Number of methods that match the filter but are hidden for another reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HiddenMatches {
    /// They are off again.
    pub off_again: usize,
    /// They are not dialled.
    pub undialled: usize,
    /// They belong to the framework.
    pub framework: usize,
    /// The compiler wrote them.
    pub generated: usize,
    /// They are hidden for one of these reasons or several.
    pub any: usize,
    /// The switches to change to show them.
    pub switches: HidingSwitches,
}

impl HiddenMatches {
    /// Returns the hidden matches of a list.
    pub fn of(table: &MethodTable) -> HiddenMatches {
        let MethodTable { list, catalogue, live, .. } = table;
        let now = list.filter();
        let shown = |switches: Filter| list.would_show(&switches, catalogue, live);
        let (undialled, own) = (Filter { only_dialled: false, ..now.clone() }, now.hide_framework);
        let framework = Filter { hide_framework: false, ..now.clone() };
        let written = now.hide_generated;
        let generated = Filter { hide_generated: false, ..now.clone() };
        let any_but = |generated: bool| shown(Filter { hide_generated: generated, ..Filter::default() });
        let generated_too = written && any_but(true) == 0;
        HiddenMatches {
            off_again: list.off_again(),
            undialled: if now.only_dialled { shown(undialled) } else { 0 },
            framework: if own { shown(framework) } else { 0 },
            generated: if written { shown(generated) } else { 0 },
            any: any_but(written && !generated_too),
            switches: HidingSwitches {
                only_dialled: now.only_dialled,
                framework: own,
                generated: generated_too,
            },
        }
    }

    /// Returns the reason, a button's text that shows hidden matches, and the commands behind it.
    fn offer(self) -> Option<(String, &'static str, Vec<UiCommand>)> {
        let methods = |number: usize| words::methods(number as u64);
        if self.off_again > 0 {
            let were =
                if self.off_again == 1 { "matches but is off again" } else { "match but are off again" };
            let text = format!("{} {were}.", methods(self.off_again));
            return Some((text, "Show methods now off", vec![UiCommand::OffAgain]));
        }
        if self.undialled > 0 {
            let text =
                format!("{} would match, but only dialled methods are shown.", methods(self.undialled));
            return Some((text, "Search all methods", vec![UiCommand::OnlyDialled]));
        }
        if self.framework > 0 {
            let text = format!(
                "{} of the framework would match, but framework methods are hidden.",
                methods(self.framework)
            );
            return Some((text, "Search framework methods", vec![UiCommand::HideFramework]));
        }
        if self.generated > 0 {
            let text = format!(
                "{} would match, but compiler-generated methods are hidden.",
                methods(self.generated)
            );
            return Some((text, "Search compiler-generated methods", vec![UiCommand::HideGenerated]));
        }
        let (switches, effects): (_, Vec<String>) =
            self.switches.on().map(|(one, effect)| (one, effect.to_owned())).unzip();
        let text = format!("{} would match, but {}.", methods(self.any), words::all(&effects));
        (self.any > 0).then_some((text, "Search all methods", switches))
    }
}

/// Shows the empty state in the middle of the rest of `ui`.
pub fn show(ui: &mut Ui, why: &EmptyReason<'_>, now: &CommandContext, commands: &mut Vec<UiCommand>) {
    let height = ui.available_height();
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.vertical_centered(|ui| {
            ui.set_max_width((ui.available_width() - 24.0).max(100.0));
            let above = if matches!(why, EmptyReason::NoProcess { .. }) { 0.14 } else { 0.26 };
            ui.add_space((height * above).max(12.0));
            say(ui, why, now, commands);
        });
    });
}

fn say(ui: &mut Ui, why: &EmptyReason<'_>, now: &CommandContext, commands: &mut Vec<UiCommand>) {
    match why {
        EmptyReason::NoProcess { any } => first_run(ui, *any, now, commands),
        EmptyReason::NoAgent { process, unable, trouble } => {
            title(ui, &format!("{process} has no agent"));
            if let Some(trouble) = trouble {
                ui.colored_label(Palette::of(ui).bad, format!("The agent could not be loaded: {trouble}"));
            }
            match unable {
                None if trouble.is_some() => {
                    text(ui, "Try again, or restart the program from here.");
                    buttons(ui, now, &[UiCommand::Attach, UiCommand::Launch], commands);
                }
                None => {
                    text(ui, "You can load it now. The process pauses once for some milliseconds.");
                    text(ui, "The agent stays in it, idle, until the process ends.");
                    buttons(ui, now, &[UiCommand::Attach, UiCommand::Launch], commands);
                }
                Some(why) => {
                    text(ui, &format!("Its methods cannot be dialled: {why}."));
                    text(ui, "Launch the program from here to see its methods.");
                    buttons(ui, now, &[UiCommand::Launch], commands);
                }
            }
        }
        EmptyReason::NoAgents { attachable, all } => {
            title(ui, &format!("{} have no agent", words::processes(*all)));
            match all - attachable {
                0 => text(ui, "You can load it now. Each process pauses once for some milliseconds."),
                others => text(
                    ui,
                    &format!(
                        "You can load it into {} now. Each pauses once for some milliseconds. {} cannot load it; the \
                    header above says why.",
                        words::processes(*attachable),
                        words::processes(others)
                    ),
                ),
            }
            text(ui, "The agent stays in them, idle, until they end.");
            let load = format!("Load the agent into {}", words::processes(*attachable));
            let button = offer(ui, &load, &[UiCommand::Attach], commands);
            focus_primary(ui, &button, now);
        }
        EmptyReason::Unfit { process, why, silent: true } => {
            title(ui, &format!("{process} does not answer"));
            text(ui, why);
            text(ui, "Retrying automatically.");
            buttons(ui, now, &[UiCommand::Reconnect], commands);
        }
        EmptyReason::Unfit { process, why, silent: false } => {
            title(ui, &format!("{process} cannot be dialled"));
            text(ui, why);
            buttons(ui, now, &[UiCommand::Launch, UiCommand::Reconnect], commands);
        }
        EmptyReason::Waiting(message) => {
            title(ui, message);
            text(ui, "This takes a moment.");
        }
        EmptyReason::Gone { message, ended } => {
            title(ui, message);
            text(ui, "Select another process on the left, or start it again.");
            let offered: &[UiCommand] =
                if *ended { &[UiCommand::Launch] } else { &[UiCommand::Launch, UiCommand::Reconnect] };
            buttons(ui, now, offered, commands);
        }
        EmptyReason::NoMatch { filter, beyond, suggestions } => {
            if filter.is_empty() {
                title(ui, "All methods are hidden");
            } else {
                title(ui, &format!("No methods match “{filter}”"));
            }
            match beyond.offer() {
                Some((why, button, change)) => {
                    text(ui, &why);
                    drop(offer(ui, button, &change, commands));
                }
                None => text(ui, "The filter matches any part of type and method names."),
            }
            if !suggestions.is_empty() {
                ui.add_space(8.0);
                ui.label("Did you mean");
                for name in *suggestions {
                    if ui.link(name).clicked() {
                        commands.push(UiCommand::Filter(name.clone()));
                    }
                }
            }
            buttons(ui, now, &[UiCommand::ClearFilter], commands);
        }
        EmptyReason::NoDials { off_again, framework } => {
            if *framework > 0 {
                let methods = words::methods(*framework as u64);
                let are = if *framework == 1 { "is" } else { "are" };
                title(ui, "No dials are on outside the framework");
                text(
                    ui,
                    &format!(
                        "{methods} of the framework {are} dialled, but framework methods are \
                                  hidden."
                    ),
                );
                offer(ui, "Show framework methods", &[UiCommand::HideFramework], commands);
            } else {
                title(ui, "No dials are on");
                text(ui, "Find a method and press Space to count its calls.");
            }
            if *off_again > 0 {
                let (methods, are) = (
                    words::methods(*off_again as u64),
                    if *off_again == 1 { "was dialled and is" } else { "were dialled and are" },
                );
                text(ui, &format!("{methods} {are} off again."));
                offer(ui, "Show methods now off", &[UiCommand::OffAgain], commands);
            }
            offer(ui, "Show all methods", &[UiCommand::OnlyDialled], commands);
        }
        EmptyReason::OnlyFramework => {
            title(ui, "Only framework methods are loaded so far");
            text(ui, "The program's own methods appear as its modules load. Framework methods are hidden.");
            offer(ui, "Show framework methods", &[UiCommand::HideFramework], commands);
        }
        EmptyReason::NoMethods => {
            title(ui, "No methods yet");
            text(ui, "No module is loaded yet. Methods appear here as modules load.");
        }
    }
}

fn first_run(ui: &mut Ui, any: bool, now: &CommandContext, commands: &mut Vec<UiCommand>) {
    ui.label(RichText::new("Count any method of a live .NET process").size(24.0).strong());
    ui.add_space(6.0);
    text(ui, "No restart, no rebuild. When you are done, every method runs its original code again.");
    ui.add_space(14.0);
    let first = match any {
        true => "Select a process on the left. Green dot: the agent is loaded. Green ring: you can load it.",
        false => "Start a program with the agent: the demo, or one of your own.",
    };
    let steps = [
        ("1", first),
        ("2", "Type part of a method's name. The list updates as you type."),
        ("3", "Press Space or click the knob. The needle moves when the agent confirms."),
    ];
    // A centred column as wide as the longest step, so that the steps are left-aligned.
    let font = FontId::proportional(STEP);
    let width =
        |step: &str| ui.painter().layout_no_wrap(step.to_owned(), font.clone(), Color32::WHITE).size().x;
    let widest = steps.iter().map(|(_, step)| width(step)).fold(0.0, f32::max) + 26.0;
    let side = ((ui.available_width() - widest) / 2.0).max(0.0);
    for (number, step) in steps {
        ui.horizontal(|ui| {
            ui.add_space(side);
            ui.label(RichText::new(number).size(20.0).strong().color(Palette::of(ui).accent));
            ui.add_space(6.0);
            ui.add(Label::new(RichText::new(step).size(STEP)).wrap());
        });
    }
    ui.add_space(14.0);
    buttons(ui, now, &[UiCommand::StartDemo, UiCommand::Launch], commands);
    ui.add_space(8.0);
    text(ui, "F9 turns everything off at any time. ? shows the keyboard shortcuts.");
}

fn title(ui: &mut Ui, title: &str) {
    ui.label(RichText::new(title).size(TITLE).strong());
    ui.add_space(4.0);
}

fn text(ui: &mut Ui, text: &str) {
    let weak = Palette::of(ui).weak;
    ui.label(RichText::new(text).color(weak));
}

/// Gives the primary button the keyboard focus if nothing else has it, so that Enter obeys it.
fn focus_primary(ui: &Ui, button: &Response, now: &CommandContext) {
    let is_free = ui.memory(|memory| memory.focused().is_none());
    if is_free && !now.dialog && !Popup::is_any_open(ui.ctx()) {
        button.request_focus();
    }
}

/// Shows a button that changes the filter settings.
fn offer(ui: &mut Ui, name: &str, change: &[UiCommand], commands: &mut Vec<UiCommand>) -> Response {
    ui.add_space(8.0);
    let button = Button::new(RichText::new(name).size(15.0)).min_size(vec2(220.0, 34.0));
    let response = ui.add(button.fill(Palette::of(ui).selected));
    if response.clicked() {
        commands.extend_from_slice(change);
    }
    response
}

/// Shows buttons in a column; disabled ones show the reason below.
pub fn buttons(ui: &mut Ui, now: &CommandContext, offered: &[UiCommand], commands: &mut Vec<UiCommand>) {
    ui.add_space(8.0);
    // The first button that can be pressed is the primary action.
    let primary = offered.iter().position(|command| command.enabled(now).is_ok());
    for (place, command) in offered.iter().enumerate() {
        if place > 0 {
            ui.add_space(6.0);
        }
        let enabled = command.enabled(now);
        let is_primary = primary == Some(place);
        let mut button = Button::new(RichText::new(command.name()).size(15.0)).min_size(vec2(220.0, 34.0));
        if is_primary {
            button = button.fill(Palette::of(ui).selected);
        }
        if enabled.is_err() {
            // A disabled button must not look clickable.
            button = button.fill(Color32::TRANSPARENT).stroke(Stroke::new(1.0, Palette::of(ui).line));
        }
        let response = ui.add_enabled(enabled.is_ok(), button);
        // After a filter without a match, the keys are for the filter and the rows to come.
        if is_primary && *command != UiCommand::ClearFilter {
            focus_primary(ui, &response, now);
        }
        if response.clicked() {
            commands.push(command.clone());
        }
        if let Err(why) = enabled {
            // The reason belongs to the button above it.
            ui.add_space(2.0);
            ui.weak(capitalized(why));
            ui.add_space(6.0);
        }
    }
}
