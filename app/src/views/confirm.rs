//! What a large turn would do, before it is done: how many methods, which of them cannot be dialled as far as that is
//! known, what it costs.

use crate::commands::Command;
use crate::model::connection::{Connection, Targets};
use crate::model::fleet::{Connections, out_of_reach, plan};
use crate::model::ids::{ConnectionId, Ticket};
use crate::output::words;
use crate::ui::knob::meaning;
use crate::ui::theme::{Palette, TITLE};
use eframe::egui::{self, Button, Id, Key, Modal, Modifiers, RichText, Ui, WidgetInfo};
use redial_protocol::level::Level;
use redial_protocol::report::PlanReport;
use redial_protocol::state::State;

/// From so many methods on, turning them on is asked about first.
pub const LARGE: u64 = 1_000;
/// What the runtime keeps of one recompiled method until its AppDomain unloads, bytes: measured on 3.1 and 8.0 with
/// small methods, 1.2 to 1.5 KiB.
const KEPT: u64 = 1_400;

/// What an agent says that a turn would do.
type Answer = Result<Box<PlanReport>, String>;

/// A large turn that waits for a yes.
#[derive(Clone, Debug)]
pub struct Bulk {
    /// What would be turned.
    pub targets: Targets,
    /// To which level.
    pub level: Level,
    /// What agents say of it.
    pub plan: Plan,
    modules: Vec<String>,
    already: u64,
    known_refused: u64,
    bodyless: u64,
    unfit: u64,
    shown: bool,
}

/// Whose plan was asked for.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Agents that were asked; their answers carry these.
    pub asked: Vec<(ConnectionId, Ticket)>,
    /// Those that could not be, and why.
    pub unable: Vec<(ConnectionId, String)>,
}

impl Plan {
    /// Who was asked and is out of reach will not answer any more, also when it is back: its session was another.
    fn give_up(&mut self, connections: &Connections) {
        let answered = |(id, ticket): &(ConnectionId, Ticket)| {
            let plan = connections.get(id).and_then(|theirs| theirs.plan.as_ref());
            plan.is_some_and(|(of, _)| of == ticket)
        };
        let why = |id: &ConnectionId| match connections.get(id) {
            Some(theirs) => out_of_reach(&theirs.status),
            None => Some("it is not looked at any more".to_owned()),
        };
        for asked in std::mem::take(&mut self.asked) {
            match why(&asked.0).filter(|_| !answered(&asked)) {
                Some(why) => self.unable.push((asked.0, why)),
                None => self.asked.push(asked),
            }
        }
    }
}

impl Bulk {
    /// The question, if the turn is large enough for one.
    pub fn of(connection: &Connection, targets: &Targets, level: Level) -> Option<Bulk> {
        let methods = &targets.methods;
        if level == Level::Off || methods.len() < LARGE {
            return None;
        }
        let group = connection.group_of_set(methods);
        let count = |state: State| u64::from(group.sums.states.get(state as usize).copied().unwrap_or(0));
        let (mut modules, mut unfit) = (Vec::new(), 0);
        for module in connection.catalogue.modules() {
            let inside: u64 = methods.ranges().map(|range| overlap(&range, &module.methods)).sum();
            if inside > 0 {
                if !modules.contains(&module.name) {
                    modules.push(module.name.clone());
                }
                unfit += if module.dynamic || module.unloaded { inside } else { 0 };
            }
        }
        Some(Bulk {
            targets: targets.clone(),
            level,
            plan: Plan::default(),
            modules,
            already: group.by_level.get(level as usize).copied().unwrap_or(0).into(),
            known_refused: count(State::Refused) + count(State::Failed),
            bodyless: group.bodyless.into(),
            unfit,
            shown: false,
        })
    }

    /// What there is to know, a sentence each: what the agent says, or until it says it what is known here.
    fn sentences(&self, connections: &Connections) -> Vec<String> {
        let many = |number: u64| words::methods(number);
        let mut sentences = vec![format!("{} in {}.", many(self.targets.methods.len()), self.places())];
        sentences.extend(self.answers(connections));
        sentences.push(
            "Each is recompiled at its next call, and none is inlined any more while it is on.".to_owned(),
        );
        sentences.push("Undo (Ctrl+Z) takes it back; F9 turns everything off.".to_owned());
        sentences
    }

    /// What those that were asked have answered so far.
    fn answered<'a>(&self, connections: &'a Connections) -> Vec<(ConnectionId, &'a Answer)> {
        let answer = |(id, ticket): &(ConnectionId, Ticket)| match &connections.get(id)?.plan {
            Some((of, answer)) if of == ticket => Some((*id, answer)),
            _ => None,
        };
        self.plan.asked.iter().filter_map(answer).collect()
    }

    /// How many dials it turns: as the agents say, or until all have said it as far as is known here.
    fn turns(&self, connections: &Connections) -> u64 {
        let answers = self.answered(connections);
        let plans: Vec<_> =
            answers.iter().filter_map(|(_, answer)| Some(answer.as_ref().ok()?.as_ref())).collect();
        if plans.is_empty() || plans.len() < self.plan.asked.len() + self.plan.unable.len() {
            return self.fresh();
        }
        let sum = plan::sum(plans);
        sum.to_request + sum.to_revert + sum.to_adjust
    }

    /// Those that can be turned and are not at the level, as far as is known here.
    fn fresh(&self) -> u64 {
        let left_out = self.unfit + self.known_refused + self.bodyless;
        self.targets.methods.len().saturating_sub(self.already + left_out)
    }

    /// What the agents say, or until all have said it what is known here.
    fn answers(&self, connections: &Connections) -> Vec<String> {
        let Plan { asked, unable } = &self.plan;
        let answers = self.answered(connections);
        if answers.len() < asked.len() {
            let asking = match asked.len() {
                1 => "Asking the agent what this would do…".to_owned(),
                agents => {
                    let answered = answers.len();
                    let have = if answered == 1 { "has" } else { "have" };
                    format!("Asking {agents} agents what this would do: {answered} of them {have} answered…")
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
            let whose = connections.get(id).filter(|_| several);
            let whose = whose.map(|theirs| format!(" in {}", theirs.title())).unwrap_or_default();
            sentences.push(format!("The agent{whose} cannot say more: {why}."));
        }
        sentences
    }

    /// What is known without the agent.
    fn known(&self) -> Vec<String> {
        let many = |number: u64| words::methods(number);
        let mut sentences = Vec::new();
        if self.already > 0 {
            sentences.push(format!("At {} already: {}.", self.level, many(self.already)));
        }
        if self.unfit > 0 {
            let unfit = many(self.unfit);
            sentences
                .push(format!("Cannot be dialled: {unfit} of dynamic, collectible or unloaded modules."));
        }
        if self.known_refused > 0 {
            sentences.push(format!("Refused before: {}; the list says why.", many(self.known_refused)));
        }
        if self.bodyless > 0 {
            let bodyless = many(self.bodyless);
            sentences.push(format!("Left out: {bodyless} without a body (abstract, extern, P/Invoke)."));
        }
        sentences.push(format!(
            "For each the runtime keeps some memory until its AppDomain unloads, also after the dial is off: about {} \
             in all.",
            words::bytes(self.fresh() * KEPT)
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

/// What so many agents say a turn would do.
fn planned(plan: &PlanReport, agents: usize) -> Vec<String> {
    let grouped = words::grouped;
    let say = if agents == 1 { "says the agent".to_owned() } else { format!("say {agents} agents") };
    let mut sentences = vec![format!("{} matched, {say}:", words::count(plan.matched, "copy", "copies"))];
    for (number, what) in [
        (plan.to_request, "to be recompiled"),
        (plan.to_revert, "to get the original code back"),
        (plan.to_adjust, "to go on with other options, without being recompiled"),
        (plan.unchanged, "as wanted already"),
        (plan.bodyless, "without a body (abstract, extern, P/Invoke), left out"),
    ] {
        if number > 0 {
            sentences.push(format!("    {} {what}", grouped(number)));
        }
    }
    for (reason, number) in &plan.refused_by_reason {
        let each = if *number == 1 { "" } else { ", each because" };
        sentences.push(format!("    {} refused{each}: {}", grouped(*number), reason.sentence()));
    }
    for shared in &plan.shared {
        let mut domains = shared.domains.clone();
        if shared.more_domains > 0 {
            domains.push(format!("{} more", grouped(shared.more_domains)));
        }
        let (methods, domains) = (words::methods(shared.methods), words::all(&domains));
        let are = if shared.methods == 1 { "is" } else { "are" };
        sentences.push(format!("{methods} of {} {are} shared: {domains} would all see this.", shared.module));
    }
    if plan.generic > 0 {
        let (are, their) = if plan.generic == 1 { ("is", "its") } else { ("are", "their") };
        sentences.push(format!(
            "{} of them {are} generic: all {their} instantiations are turned, those of later included.",
            grouped(plan.generic)
        ));
    }
    let (time, clr) = (words::short_time(plan.expected_us), words::bytes(plan.expected_clr_bytes));
    let agent = words::bytes(plan.expected_agent_bytes);
    sentences.push(format!(
        "Expected: about {time} until the runtime has accepted it; at most about {clr} that the runtime keeps until the \
         AppDomain unloads, also after the dial is off, and about {agent} of the agent."
    ));
    sentences.extend(plan.warnings.iter().map(|warning| words::sentence(&words::one_line(warning))));
    sentences
}

fn overlap(one: &std::ops::Range<u32>, other: &std::ops::Range<u32>) -> u64 {
    one.end.min(other.end).saturating_sub(one.start.max(other.start)).into()
}

/// Shows the question; true when it is to be closed.
pub fn show(
    context: &egui::Context,
    bulk: &mut Bulk,
    connections: &Connections,
    commands: &mut Vec<Command>,
) -> bool {
    bulk.plan.give_up(connections);
    let entered = context.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter));
    let shown =
        Modal::new(Id::unique("confirm a large turn")).show(context, |ui| inside(ui, bulk, connections));
    if entered || shown.inner == Some(true) {
        commands.push(Command::ConfirmTurn);
        return true;
    }
    shown.inner == Some(false) || shown.backdrop_response.clicked()
}

/// Whether yes or no was clicked.
fn inside(ui: &mut Ui, bulk: &mut Bulk, connections: &Connections) -> Option<bool> {
    let palette = Palette::of(ui);
    ui.set_width(ui.ctx().content_rect().width().min(560.0) - 40.0);
    // What cannot be turned is told of below, and is not among them.
    let methods = words::grouped(bulk.turns(connections));
    let title =
        ui.label(RichText::new(format!("Turn {methods} dials to {}?", bulk.level)).size(TITLE).strong());
    ui.label(RichText::new(meaning(bulk.level)).color(palette.weak));
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
    use crate::output::turns::tests::{plan, shared};
    use redial_protocol::reason::Reason;

    #[test]
    fn refusals_and_warnings_are_whole_sentences() {
        let told = |number| {
            let refused_by_reason = vec![(Reason::RuntimeHelper, number)];
            planned(
                &PlanReport { refused_by_reason, warnings: vec!["calls may be missing".into()], ..plan() },
                1,
            )
        };
        let has = |number, part: &str| told(number).iter().any(|sentence| sentence.contains(part));
        assert!(has(1, "    1 refused: the runtime itself calls it"), "{:#?}", told(1));
        assert!(has(2, "    2 refused, each because: the runtime itself calls it"), "{:#?}", told(2));
        assert!(told(1).iter().any(|sentence| sentence == "Calls may be missing."), "{:#?}", told(1));
    }

    #[test]
    fn one_is_told_of_as_one() {
        let one = |number: u64| {
            let mut shared = shared(false);
            shared.methods = number;
            planned(&PlanReport { generic: number, shared: vec![shared], ..plan() }, 1)
        };
        let has = |number: u64, part: &str| one(number).iter().any(|sentence| sentence.contains(part));
        assert!(has(1, "1 of them is generic: all its instantiations"), "{:#?}", one(1));
        assert!(has(2, "2 of them are generic: all their instantiations"), "{:#?}", one(2));
        assert!(has(1, "1 method of Shop.Common is shared: "), "{:#?}", one(1));
        assert!(has(2, "2 methods of Shop.Common are shared: "), "{:#?}", one(2));
    }
}
