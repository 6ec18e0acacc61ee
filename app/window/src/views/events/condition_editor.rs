//! Condition and limits of the selected methods' traces, edited in place.

use super::completion_list::CompletionList;
use super::edited_methods::EditedMethods;
use super::ids::{condition_id, field_keys};
use crate::commands::UiCommand;
use crate::ui::capitalized;
use crate::ui::theme::{DIGITS, Palette, SMALL};
use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{
    Button, Checkbox, Color32, ComboBox, FontId, Key, Label, Response, RichText, Role, Stroke, TextBuffer,
    TextEdit, Ui, WidgetInfo,
};
use redial_model::connection::{Connection, RefusedCondition};
use redial_model::events::{completions, condition_scope};
use redial_model::ids::{ConnectionId, SubjectId};
use redial_model::live::LiveRow;
use redial_model::method_table::Targets;
use redial_protocol::condition::{Condition, ConditionError};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_CAPTURE_DEPTH;
use redial_protocol::order::TimeOptions;
use redial_protocol::trace::TracedMethod;
use std::sync::Arc;

/// Most methods whose values a condition is checked against while it is typed. The agent checks all.
const CHECKED: usize = 64;
/// Width of everything beside the condition, points.
const BESIDE: f32 = 350.0;
/// The depth unless another one is chosen.
const USUAL_DEPTH: &str = "2";

/// Condition and limits as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Draft {
    when: String,
    rate: String,
    depth: String,
    stack: bool,
}

/// What is wrong with a draft.
enum Mistake {
    Condition(ConditionError),
    Number(String),
}

/// The field of the condition as it was shown.
struct ConditionField {
    response: Response,
    is_changed: bool,
    /// Enter was pressed.
    is_entered: bool,
}

/// The conditions of the selected traces.
#[derive(Debug)]
struct AppliedConditions {
    /// When an agent reported them last, nanoseconds.
    reported: u128,
    /// The condition of the first trace.
    first: Option<String>,
    /// Another trace has another one.
    differ: bool,
}

/// What a draft is about: it is dropped when the selection changes.
type DraftSubject = (SubjectId, u64);

/// The editor's own state.
#[derive(Debug, Default)]
pub struct ConditionEditor {
    draft: Draft,
    /// The draft was edited and may differ from what applies.
    is_edited: bool,
    /// The draft that was sent.
    sent: Option<Draft>,
    subject: Option<DraftSubject>,
    applies: Option<AppliedConditions>,
    /// With the processes whose agents refused.
    refused: Vec<(ConnectionId, RefusedCondition)>,
    list: CompletionList,
}

/// Shows the editor of the selected methods. A change applies to them in every process that is shown.
pub fn show(
    ui: &mut Ui,
    editor: &mut ConditionEditor,
    edited: &EditedMethods<'_>,
    commands: &mut Vec<UiCommand>,
) {
    let rows = || edited.rows().take(CHECKED);
    let all_traced = || rows().filter(|(_, row)| row.wanted >= Level::Trace);
    let traced = all_traced().next();
    editor.follow(edited, all_traced);
    let differ = editor.traces_differ(all_traced());
    let forms = || rows().filter_map(|one| Some((one.0, EditedMethods::traced_form(one)?)));
    let methods: Vec<&Arc<TracedMethod>> = forms().map(|(_, method)| method).collect();
    let options = traced.map(|(_, row)| row.options).unwrap_or_default();
    let checked = editor.draft.check(&methods, options);
    let mut apply = false;
    let mut field = None;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.label("When");
        let room = (ui.available_width() - BESIDE).max(80.0);
        let edit = editor.condition(ui, checked.as_ref().err(), room);
        apply |= edit.is_entered;
        field = Some(edit);
        let rate = "Calls of a method to capture in a second, at most";
        apply |= editor.number(ui, |draft| &mut draft.rate, ("Rate", "1,000", 62.0), rate);
        editor.depth(ui);
        let hint = "Captures up to 32 callers of each call (x86-64 Linux)";
        let stack = ui.add(Checkbox::new(&mut editor.draft.stack, "Stacks")).on_hover_text(hint);
        editor.is_edited |= stack.changed();
        let is_sent = editor.sent.as_ref() == Some(&editor.draft);
        let may_apply = checked.is_ok() && !is_sent && (editor.is_edited || traced.is_none() || differ);
        let text = if traced.is_some() { "Apply" } else { "Trace" };
        let hint = "Captures only calls that meet the condition; without one, all calls (Enter)";
        let button = ui.add_enabled(may_apply, Button::new(text)).on_hover_text(hint);
        apply = (apply || button.clicked()) && may_apply;
    });
    for text in editor.troubles(checked.as_ref().err(), edited) {
        let text = RichText::new(text).size(SMALL).color(Palette::of(ui).bad);
        ui.add(Label::new(text).wrap());
    }
    if differ {
        let text = "Conditions or limits differ. These are the first trace's; Apply gives them to all.";
        ui.add(Label::new(RichText::new(text).size(SMALL).color(Palette::of(ui).weak)).wrap());
    }
    if let Some(edit) = field {
        editor.complete(ui, &edit, forms().next());
    }
    if let (true, Ok((when, options))) = (apply, checked) {
        editor.sent = Some(editor.draft.clone());
        editor.refused.clear();
        commands.push(UiCommand::SetCondition(Targets { options, when, ..edited.targets.clone() }));
    }
}

impl Draft {
    /// Returns the condition and the options, or the first mistake.
    fn check(
        &self,
        methods: &[&Arc<TracedMethod>],
        options: TimeOptions,
    ) -> Result<(Option<String>, TimeOptions), Mistake> {
        let when = match self.when.trim() {
            "" => None,
            text => {
                let condition = Condition::parse(text).map_err(Mistake::Condition)?;
                for method in methods {
                    let misfit = |problem| ConditionError { text: text.to_owned(), problem };
                    condition.check(&condition_scope(method)).map_err(misfit).map_err(Mistake::Condition)?;
                }
                Some(condition.text().to_owned())
            }
        };
        let rate = "The rate is a number of calls a second, at least 1.";
        let rate = number(&self.rate, 1, u32::MAX).ok_or_else(|| Mistake::Number(rate.to_owned()))?;
        let depth = || Mistake::Number(format!("The depth is a number from 0 to {MAX_CAPTURE_DEPTH}."));
        let depth = number(&self.depth, 0, MAX_CAPTURE_DEPTH.into()).ok_or_else(depth)?;
        let depth = depth.and_then(|depth| u8::try_from(depth).ok());
        Ok((when, TimeOptions { rate, depth, stack: self.stack, ..options }))
    }
}

/// Returns a number within limits, or none for an empty text; `None` for any other text.
fn number(text: &str, least: u32, most: u32) -> Option<Option<u32>> {
    let digits: String = text.trim().chars().filter(|letter| *letter != ',').collect();
    if digits.is_empty() {
        return Some(None);
    }
    digits.parse().ok().filter(|number| (least..=most).contains(number)).map(Some)
}

impl ConditionEditor {
    /// Takes in the refusal of a condition by a process's agent. The change was taken back there.
    pub fn take_refusal(&mut self, process: ConnectionId, refused: RefusedCondition) {
        self.sent = None;
        self.refused.retain(|(other, _)| *other != process);
        self.refused.push((process, refused));
    }

    /// Closes the list of completions; without one, drops what was typed. Returns whether there was either.
    pub fn escape(&mut self) -> bool {
        if self.list.dismiss() {
            return true;
        }
        let was_edited = self.is_edited;
        self.reset();
        was_edited
    }

    /// Drops what was typed.
    fn reset(&mut self) {
        (self.is_edited, self.sent) = (false, None);
        self.refused.clear();
    }

    /// Shows what applies to the first trace, unless something else was typed.
    fn follow<'a, I>(&mut self, edited: &EditedMethods<'a>, traced: impl Fn() -> I)
    where
        I: Iterator<Item = (&'a Connection, &'a LiveRow)>,
    {
        let subject = (edited.subject.id(), edited.subject.table().selection.edition());
        if self.subject.replace(subject) != Some(subject) {
            self.reset();
            self.applies = None;
        }
        let reported = edited.reported();
        if self.applies.as_ref().is_none_or(|applies| applies.reported != reported) {
            let mut conditions = traced().map(|(connection, row)| connection.condition_of(row));
            let first = conditions.next().flatten();
            let differ = conditions.any(|other| other != first);
            self.applies = Some(AppliedConditions { reported, first: first.map(str::to_owned), differ });
        }
        let options = traced().next().map(|(_, row)| row.options).unwrap_or_default();
        let applies = Draft {
            when: self.applies.as_ref().and_then(|applies| applies.first.clone()).unwrap_or_default(),
            rate: options.rate.map(|rate| rate.to_string()).unwrap_or_default(),
            depth: options.depth.map(|depth| depth.to_string()).unwrap_or_default(),
            stack: options.stack,
        };
        if self.draft == applies {
            (self.is_edited, self.sent) = (false, None);
        } else if !self.is_edited {
            self.draft = applies;
        }
    }

    /// Returns whether conditions or limits of traces differ.
    fn traces_differ<'a>(&self, mut traced: impl Iterator<Item = (&'a Connection, &'a LiveRow)>) -> bool {
        let limits = |row: &LiveRow| (row.options.rate, row.options.depth, row.options.stack);
        let Some((_, first)) = traced.next() else { return false };
        self.applies.as_ref().is_some_and(|applies| applies.differ)
            || traced.any(|(_, row)| limits(row) != limits(first))
    }

    /// Shows the field of the condition.
    fn condition(&mut self, ui: &mut Ui, mistake: Option<&Mistake>, width: f32) -> ConditionField {
        let completed = self.list.keys(ui, condition_id(), &mut self.draft.when);
        let at = match mistake {
            Some(Mistake::Condition(error)) => Some(error.problem.at()),
            Some(Mistake::Number(_)) => None,
            None => self.refusals().next().map(|(_, refused)| refused.error.problem.at()),
        };
        let palette = Palette::of(ui);
        let mut layouter = |ui: &Ui, text: &dyn TextBuffer, _: f32| {
            ui.fonts_mut(|fonts| fonts.layout_job(marked(text.as_str(), at, palette.text, palette.bad)))
        };
        let edit = TextEdit::singleline(&mut self.draft.when)
            .id(condition_id())
            .event_filter(field_keys(true))
            .hint_text("every call; or for example duration > duration(\"10ms\")")
            .desired_width(width)
            .layouter(&mut layouter);
        let response = ui.add(edit).accessible_name("Condition");
        let is_changed = response.changed() || completed;
        self.is_edited |= is_changed;
        let is_entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if is_entered {
            // To correct it.
            response.request_focus();
        }
        ConditionField { response, is_changed, is_entered }
    }

    /// Offers completions below the field and the line with its mistake.
    fn complete(
        &mut self,
        ui: &mut Ui,
        field: &ConditionField,
        form: Option<(&Connection, &Arc<TracedMethod>)>,
    ) {
        let latest = form.and_then(|(connection, method)| connection.events.latest(method.row));
        let method = form.map(|(_, method)| method);
        let offers = |text: &str, cursor| {
            completions(text, cursor, method.map(|method| &**method), latest.map(|event| &event.call))
        };
        self.list.show(ui, &field.response, &self.draft.when, offers, field.is_changed);
        if let Some(text) = self.list.take_clicked(ui.ctx(), condition_id(), &self.draft.when) {
            (self.draft.when, self.is_edited) = (text, true);
        }
    }

    /// Shows the field of a limit; returns whether Enter was pressed.
    fn number(
        &mut self,
        ui: &mut Ui,
        of: impl Fn(&mut Draft) -> &mut String,
        (name, usual, width): (&str, &str, f32),
        hint: &str,
    ) -> bool {
        ui.label(name);
        let edit = TextEdit::singleline(of(&mut self.draft)).hint_text(usual).desired_width(width);
        let field = ui.add(edit).accessible_name(format!("{name} of the trace")).on_hover_text(hint);
        self.is_edited |= field.changed();
        field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
    }

    /// Shows the choice of the depth.
    fn depth(&mut self, ui: &mut Ui) {
        ui.label("Depth");
        let shown =
            if self.draft.depth.is_empty() { USUAL_DEPTH.to_owned() } else { self.draft.depth.clone() };
        let mut chosen = None;
        let list = ComboBox::new("depth of the trace", "").selected_text(&shown).width(36.0);
        let list = list.show_ui(ui, |ui| {
            for depth in (0..=MAX_CAPTURE_DEPTH).map(|depth| depth.to_string()) {
                if ui.selectable_label(depth == shown, &depth).clicked() {
                    chosen = Some(depth);
                }
            }
        });
        let response = list.response.on_hover_text("Levels of objects within objects to capture");
        response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, "Depth of the trace"));
        if let Some(depth) = chosen {
            (self.draft.depth, self.is_edited) = (depth, true);
        }
    }

    /// Returns the refusals of the condition in the field.
    fn refusals(&self) -> impl Iterator<Item = &(ConnectionId, RefusedCondition)> {
        self.refused.iter().filter(|(_, refused)| refused.error.text == self.draft.when.trim())
    }

    /// Explains what is wrong, in which process.
    fn troubles(&self, mistake: Option<&Mistake>, edited: &EditedMethods<'_>) -> Vec<String> {
        let of_condition = |error: &ConditionError| {
            let place = error.problem.at() + 1;
            format!("{}. (At character {place}.)", capitalized(&error.problem.to_string()))
        };
        match mistake {
            Some(Mistake::Condition(error)) => return vec![of_condition(error)],
            Some(Mistake::Number(text)) => return vec![text.clone()],
            None => {}
        }
        let explain = |(process, refused): &(ConnectionId, RefusedCondition)| {
            let (why, method) = (of_condition(&refused.error), &refused.method);
            let refusing = edited.processes().find(|connection| connection.id == *process);
            match refusing.filter(|_| edited.subject.fleet().is_some()) {
                Some(one) => {
                    format!("{}: {why} Nothing was changed there: it does not fit {method}.", one.title())
                }
                None => format!("{why} Nothing was changed: it does not fit {method}."),
            }
        };
        self.refusals().map(explain).collect()
    }
}

/// Lays out a condition with the part from a mistake on marked.
fn marked(text: &str, at: Option<u32>, colour: Color32, bad: Color32) -> LayoutJob {
    let font = FontId::monospace(DIGITS);
    let plain = TextFormat::simple(font, colour);
    let spaces = text.len() - text.trim_start().len();
    let place = at.map(|at| {
        let trimmed = text.get(spaces..).unwrap_or_default();
        spaces + trimmed.char_indices().nth(at as usize).map_or(trimmed.len(), |(place, _)| place)
    });
    let (before, after) = text.split_at_checked(place.unwrap_or(text.len())).unwrap_or((text, ""));
    let mut job = LayoutJob::default();
    job.append(before, 0.0, plain.clone());
    job.append(after, 0.0, TextFormat { underline: Stroke::new(1.5, bad), ..plain });
    job
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_text::fixtures::traced_method;

    fn draft(when: &str, rate: &str, depth: &str) -> Draft {
        Draft { when: when.into(), rate: rate.into(), depth: depth.into(), stack: false }
    }

    #[test]
    fn checks_condition_and_limits() {
        let method = Arc::new(traced_method());
        let check = |draft: Draft| draft.check(&[&method], TimeOptions::default());
        assert!(matches!(check(draft("", "", "")), Ok((None, options)) if options.is_none()));
        let Ok((Some(when), options)) = check(draft(" order > 3 ", "2,000", "3")) else {
            panic!("it is valid")
        };
        assert_eq!((when.as_str(), options.rate, options.depth), ("order > 3", Some(2_000), Some(3)));
        assert!(
            matches!(check(draft("order >", "", "")), Err(Mistake::Condition(error)) if error.problem.at() == 7)
        );
        assert!(
            matches!(check(draft("ordr > 1", "", "")), Err(Mistake::Condition(error)) if error.problem.at() == 0)
        );
        assert!(matches!(check(draft("", "0", "")), Err(Mistake::Number(why)) if why.contains("rate")));
        assert!(matches!(check(draft("", "", "4")), Err(Mistake::Number(why)) if why.contains("0 to 3")));
    }

    #[test]
    fn marks_from_the_mistake_on() {
        let parts = |text: &str, at| {
            let job = marked(text, at, Color32::WHITE, Color32::RED);
            job.sections
                .iter()
                .map(|part| part.byte_range.end.0 - part.byte_range.start.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(parts("  é > 1", Some(4)).first(), Some(&7));
        assert_eq!(parts("a", None), [1, 0]);
        assert_eq!(parts("a ", Some(9)), [2, 0]);
    }
}
