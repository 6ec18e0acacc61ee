//! The confirmation of a large change: the number of methods, the ones that cannot be dialled, and the cost.

use crate::commands::UiCommand;
use crate::ui::capitalized;
use crate::ui::knob::meaning;
use crate::ui::theme::{Palette, TITLE};
use eframe::egui::{self, Button, Id, Key, Modal, Modifiers, RichText, Ui, WidgetInfo};
use redial_model::connection::Connections;
use redial_model::fleet::{out_of_reach, plan};
use redial_model::ids::{ConnectionId, Ticket};
use redial_model::method_table::{MethodTable, Targets};
use redial_protocol::cost::{CLR_BYTES_PER_COMPILATION, CLR_BYTES_PER_REQUEST};
use redial_protocol::level::Level;
use redial_protocol::report::PlanReport;
use redial_protocol::state::CopyState;
use redial_text::diagnostics::{Reader, change_warnings, reasons};
use redial_text::words;

/// Number of methods from which turning them on needs confirmation.
pub const LARGE: u64 = 1_000;

/// An agent's plan of a change.
type PlanAnswer = Result<Box<PlanReport>, String>;

/// A large change that awaits confirmation.
#[derive(Clone, Debug)]
pub struct LargeChange {
    /// The copies to change.
    pub targets: Targets,
    /// The level to set.
    pub level: Level,
    /// The agents' plans.
    pub plan: PlanRequests,
    modules: Vec<String>,
    already: u64,
    known_refused: u64,
    bodyless: u64,
    unfit: u64,
    shown: bool,
}

/// The agents asked for a plan.
#[derive(Clone, Debug, Default)]
pub struct PlanRequests {
    /// The agents asked, with the tickets of their answers.
    pub asked: Vec<(ConnectionId, Ticket)>,
    /// The agents that cannot answer, with reasons.
    pub unable: Vec<(ConnectionId, String)>,
}

impl PlanRequests {
    /// Moves agents that became unreachable to `unable`. They do not answer after a reconnection either,
    /// because that starts a new session.
    fn give_up(&mut self, connections: &Connections) {
        let answered = |(id, ticket): &(ConnectionId, Ticket)| {
            let plan = connections.get(id).and_then(|theirs| theirs.requests.plan.as_ref());
            plan.is_some_and(|(of, _)| of == ticket)
        };
        let why = |id: &ConnectionId| match connections.get(id) {
            Some(theirs) => out_of_reach(&theirs.session.status),
            None => Some("it is no longer shown".to_owned()),
        };
        for asked in std::mem::take(&mut self.asked) {
            match why(&asked.0).filter(|_| !answered(&asked)) {
                Some(why) => self.unable.push((asked.0, why)),
                None => self.asked.push(asked),
            }
        }
    }
}

impl LargeChange {
    /// Returns the confirmation if the change is large enough for one.
    pub fn of(table: &MethodTable, targets: &Targets, level: Level) -> Option<LargeChange> {
        let methods = &targets.methods;
        if level == Level::Off || methods.len() < LARGE {
            return None;
        }
        let group = table.group_of_set(methods);
        let count = |state: CopyState| u64::from(group.sums.states.get(state as usize).copied().unwrap_or(0));
        let (mut modules, mut unfit) = (Vec::new(), 0);
        for module in table.catalogue.modules() {
            let inside: u64 = methods.ranges().map(|range| overlap(&range, &module.methods)).sum();
            if inside > 0 {
                if !modules.contains(&module.name) {
                    modules.push(module.name.clone());
                }
                unfit += if module.dynamic || module.unloaded { inside } else { 0 };
            }
        }
        Some(LargeChange {
            targets: targets.clone(),
            level,
            plan: PlanRequests::default(),
            modules,
            already: group.by_level.get(level as usize).copied().unwrap_or(0).into(),
            known_refused: count(CopyState::Refused) + count(CopyState::Failed),
            bodyless: group.bodyless.into(),
            unfit,
            shown: false,
        })
    }

    /// Returns one sentence per fact: the agents' answers, or until they arrive the facts known here.
    fn sentences(&self, connections: &Connections) -> Vec<String> {
        let many = |number: u64| words::methods(number);
        let mut sentences = vec![format!("{} in {}.", many(self.targets.methods.len()), self.places())];
        sentences.extend(self.answers(connections));
        sentences.push(
            "Each method is recompiled at its next call, and cannot be inlined while its dial is on."
                .to_owned(),
        );
        sentences.push("Undo (Ctrl+Z) takes this back; F9 turns everything off.".to_owned());
        sentences
    }

    /// Returns the answers received so far.
    fn answered<'a>(&self, connections: &'a Connections) -> Vec<(ConnectionId, &'a PlanAnswer)> {
        let answer = |(id, ticket): &(ConnectionId, Ticket)| match &connections.get(id)?.requests.plan {
            Some((of, answer)) if of == ticket => Some((*id, answer)),
            _ => None,
        };
        self.plan.asked.iter().filter_map(answer).collect()
    }

    /// Returns the number of dials that the change affects: as planned by the agents, or an estimate until all have
    /// answered.
    fn affected(&self, connections: &Connections) -> u64 {
        let answers = self.answered(connections);
        let plans: Vec<_> =
            answers.iter().filter_map(|(_, answer)| Some(answer.as_ref().ok()?.as_ref())).collect();
        if plans.is_empty() || plans.len() < self.plan.asked.len() + self.plan.unable.len() {
            return self.fresh();
        }
        let sum = plan::sum(plans);
        sum.to_request + sum.to_revert + sum.to_adjust
    }

    /// Estimates the methods that can be turned and are not at the level yet.
    fn fresh(&self) -> u64 {
        let left_out = self.unfit + self.known_refused + self.bodyless;
        self.targets.methods.len().saturating_sub(self.already + left_out)
    }

    /// Returns the agents' answers, or until all have arrived the facts known here.
    fn answers(&self, connections: &Connections) -> Vec<String> {
        let PlanRequests { asked, unable } = &self.plan;
        let answers = self.answered(connections);
        if answers.len() < asked.len() {
            let asking = match asked.len() {
                1 => "Waiting for the agent's plan…".to_owned(),
                agents => {
                    let answered = answers.len();
                    let have = if answered == 1 { "has" } else { "have" };
                    format!("Waiting for the plans of {agents} agents: {answered} {have} answered…")
                }
            };
            return self.known().into_iter().chain([asking]).collect();
        }
        let plans: Vec<_> =
            answers.iter().filter_map(|(_, answer)| Some(answer.as_ref().ok()?.as_ref())).collect();
        let failed = answers.iter().filter_map(|(id, answer)| Some((id, answer.as_ref().err()?)));
        let mut sentences = match plans.as_slice() {
            [] => self.known(),
            several => planned(&plan::sum(several.iter().copied()), several.len()),
        };
        let several = asked.len() + unable.len() > 1;
        for (id, why) in unable.iter().map(|(id, why)| (id, why)).chain(failed) {
            let place = connections.get(id).filter(|_| several);
            let place = place.map(|theirs| format!(" in {}", theirs.title())).unwrap_or_default();
            sentences.push(format!("The agent{place} has no further details: {why}."));
        }
        sentences
    }

    /// Returns the facts known without the agent.
    fn known(&self) -> Vec<String> {
        let many = |number: u64| words::methods(number);
        let mut sentences = Vec::new();
        if self.already > 0 {
            sentences.push(format!("Already at {}: {}.", self.level, many(self.already)));
        }
        if self.unfit > 0 {
            let unfit = many(self.unfit);
            sentences
                .push(format!("Cannot be dialled: {unfit} in dynamic, collectible or unloaded modules."));
        }
        if self.known_refused > 0 {
            sentences
                .push(format!("Refused before: {}. The list shows the reasons.", many(self.known_refused)));
        }
        if self.bodyless > 0 {
            let bodyless = many(self.bodyless);
            sentences.push(format!("Skipped: {bodyless} without a body (abstract, extern, P/Invoke)."));
        }
        sentences.push(format!(
            "Until the AppDomain unloads or the process ends, the runtime retains about {} in all for them, \
            even after the dials are off.",
            words::bytes(self.fresh() * (CLR_BYTES_PER_COMPILATION + CLR_BYTES_PER_REQUEST))
        ));
        sentences
    }

    fn places(&self) -> String {
        match self.modules.as_slice() {
            [only] => only.clone(),
            [first, second] => format!("{first} and {second}"),
            [first, second, rest @ ..] => {
                format!(
                    "{first}, {second} and {}",
                    words::count(rest.len() as u64, "other module", "other modules")
                )
            }
            [] => "no module".to_owned(),
        }
    }
}

/// Returns sentences about the plans of `agents` agents.
fn planned(plan: &PlanReport, agents: usize) -> Vec<String> {
    let grouped = words::grouped;
    let say = if agents == 1 {
        "according to the agent".to_owned()
    } else {
        format!("according to {agents} agents")
    };
    let mut sentences = vec![format!("{} matched, {say}:", words::count(plan.matched, "copy", "copies"))];
    for (number, what) in [
        (plan.to_request, "will be recompiled"),
        (plan.to_revert, "will get the original code back"),
        (plan.to_adjust, "will get other options without recompilation"),
        (plan.unchanged, "already as wanted"),
        (plan.bodyless, "skipped: no body (abstract, extern, P/Invoke)"),
    ] {
        if number > 0 {
            sentences.push(format!("    {} {what}", grouped(number)));
        }
    }
    for (reason, number) in &plan.refused_by_reason {
        let each = if *number == 1 { "" } else { ", each because" };
        sentences.push(format!(
            "    {} refused{each}: {}",
            grouped(*number),
            reasons::sentence(*reason, Reader::Window)
        ));
    }
    for shared in &plan.shared {
        let mut domains = shared.domains.clone();
        if shared.more_domains > 0 {
            domains.push(format!("{} more", grouped(shared.more_domains)));
        }
        let (methods, domains) = (words::methods(shared.methods), words::all(&domains));
        let are = if shared.methods == 1 { "is" } else { "are" };
        sentences.push(format!("{methods} of {} {are} shared: the change affects {domains}.", shared.module));
    }
    if plan.generic > 0 {
        let (are, their) = if plan.generic == 1 { ("is", "its") } else { ("are", "their") };
        sentences.push(format!(
            "{} of them {are} generic: the change covers all {their} instantiations, now and later.",
            grouped(plan.generic)
        ));
    }
    let (time, clr) = (words::short_time(plan.expected_us), words::bytes(plan.expected_clr_bytes));
    let agent = words::bytes(plan.expected_agent_bytes);
    sentences.push(format!(
        "Expected: about {time} until the runtime accepts the change. Until the AppDomain unloads or the \
        process ends, the runtime retains up to {clr}, even after the dials are off; the agent needs about {agent}."
    ));
    let warnings = change_warnings::sentences(&plan.warnings, Reader::Window);
    sentences.extend(warnings.iter().map(|warning| words::sentence(&words::one_line(warning))));
    sentences
}

fn overlap(one: &std::ops::Range<u32>, other: &std::ops::Range<u32>) -> u64 {
    one.end.min(other.end).saturating_sub(one.start.max(other.start)).into()
}

/// Shows the confirmation; returns true when it should close.
pub fn show(
    context: &egui::Context,
    bulk: &mut LargeChange,
    connections: &Connections,
    commands: &mut Vec<UiCommand>,
) -> bool {
    bulk.plan.give_up(connections);
    let entered = context.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter));
    let shown =
        Modal::new(Id::unique("confirm a large turn")).show(context, |ui| inside(ui, bulk, connections));
    if entered || shown.inner == Some(true) {
        commands.push(UiCommand::ConfirmChange);
        return true;
    }
    shown.inner == Some(false) || shown.backdrop_response.clicked()
}

/// Returns the answer if a button was clicked.
fn inside(ui: &mut Ui, bulk: &mut LargeChange, connections: &Connections) -> Option<bool> {
    let palette = Palette::of(ui);
    ui.set_width(ui.ctx().content_rect().width().min(560.0) - 40.0);
    // The sentences below list the methods that cannot be turned; the number excludes them.
    let methods = words::grouped(bulk.affected(connections));
    let title =
        ui.label(RichText::new(format!("Turn {methods} dials to {}?", bulk.level)).size(TITLE).strong());
    ui.label(RichText::new(capitalized(meaning(bulk.level))).color(palette.weak));
    ui.separator();
    for sentence in bulk.sentences(connections) {
        ui.label(sentence);
    }
    ui.add_space(8.0);
    ui.horizontal_wrapped(|ui| {
        let text = RichText::new(format!("Turn {methods} dials")).strong();
        let yes = ui.add(Button::new(text).shortcut_text("Enter").fill(palette.selected));
        let yes = yes.labelled_by(title.id);
        yes.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, format!("Turn {methods} dials")));
        if !std::mem::replace(&mut bulk.shown, true) {
            yes.request_focus();
        }
        let no = ui.add(Button::new("Cancel").shortcut_text("Esc"));
        match (yes.clicked(), no.clicked()) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    })
    .inner
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::diagnostics::ChangeWarning;
    use redial_protocol::reason::Reason;
    use redial_text::fixtures::{plan, shared};

    #[test]
    fn refusals_and_warnings_are_whole_sentences() {
        let sentences = |number| {
            let refused_by_reason = vec![(Reason::RuntimeHelper, number)];
            planned(
                &PlanReport { refused_by_reason, warnings: vec![ChangeWarning::PausesProgram], ..plan() },
                1,
            )
        };
        let has = |number, part: &str| sentences(number).iter().any(|sentence| sentence.contains(part));
        assert!(has(1, "    1 refused: the runtime itself calls it"), "{:#?}", sentences(1));
        assert!(has(2, "    2 refused, each because: the runtime itself calls it"), "{:#?}", sentences(2));
        assert!(
            sentences(1)
                .iter()
                .any(|sentence| sentence == "This runtime pauses the program while it accepts a request."),
            "{:#?}",
            sentences(1)
        );
    }

    #[test]
    fn singular_and_plural_agree() {
        let one = |number: u64| {
            let mut shared = shared(false);
            shared.methods = number;
            planned(&PlanReport { generic: number, shared: vec![shared], ..plan() }, 1)
        };
        let has = |number: u64, part: &str| one(number).iter().any(|sentence| sentence.contains(part));
        assert!(has(1, "1 of them is generic: the change covers all its instantiations"), "{:#?}", one(1));
        assert!(has(2, "2 of them are generic: the change covers all their instantiations"), "{:#?}", one(2));
        assert!(has(1, "1 method of Shop.Common is shared: "), "{:#?}", one(1));
        assert!(has(2, "2 methods of Shop.Common are shared: "), "{:#?}", one(2));
    }
}
