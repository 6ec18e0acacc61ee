//! What a user asks of a connection.

use super::Connection;
use crate::model::catalogue::Module;
use crate::model::ids::{Node, Ticket};
use crate::model::log::{Kind, Log};
use crate::model::methodset::MethodSet;
use crate::model::orders::{self, Reach};
use crate::model::turns::{Turn, Undo};
use crate::model::update::Now;
use crate::output::{budget, calls, words};
use redial_protocol::cost::SteppedDown;
use redial_protocol::level::Level;
use redial_protocol::order::{Order, TimeOptions};

/// Why a group cannot be turned of which no method has a body.
pub const NO_BODIES: &str =
    "none of these has a body (abstract, extern, P/Invoke); dial implementations or callers instead";

/// Copies to be turned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Targets {
    /// The copies there are now.
    pub methods: MethodSet,
    /// What else is meant.
    pub reach: Reach,
    /// What is asked for beyond times, where the level has them.
    pub options: TimeOptions,
}

impl Targets {
    /// Copies with nothing asked for beyond the level.
    pub fn new(methods: MethodSet, reach: Reach) -> Targets {
        Targets { methods, reach, options: TimeOptions::default() }
    }

    /// What orders at a level ask for beyond it.
    pub fn options_at(&self, level: Level) -> TimeOptions {
        if level < Level::Time { TimeOptions::default() } else { self.options }
    }

    /// What a turn to a level is called before the methods are: `time with callers, keeping calls that end by an exception,`.
    pub fn words_at(&self, level: Level) -> String {
        let options = self.options_at(level);
        let with = if options.callers { " with callers" } else { "" };
        let keeping = match options.keeps_calls() {
            true => format!(", keeping {},", calls::which(&options)),
            false => String::new(),
        };
        format!("{level}{with}{keeping}")
    }
}

/// What an undo or a redo takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A turn that was done is taken back.
    TakeBack {
        /// What the answer will carry.
        ticket: Ticket,
        /// The turn.
        of: Ticket,
    },
    /// A turn is done again.
    Turn(Turn),
    /// Everything is turned off again.
    AllOff(Ticket),
}

/// Methods of a turn of which one copy serves several AppDomains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Names of their assemblies.
    pub modules: Vec<String>,
    /// What the domains are called that would see the dials.
    pub domains: Vec<String>,
    /// How many they are.
    pub methods: u64,
    /// The turn with them.
    pub with: Targets,
    /// The turn without them, where something is left of it.
    pub without: Option<Targets>,
}

impl Connection {
    /// Turns methods to a level: marks them pending, and answers what to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn turn(
        &mut self,
        targets: &Targets,
        level: Level,
        take: bool,
        log: &mut Log,
        now: Now,
    ) -> Result<Turn, String> {
        let words = match targets.methods.is_empty() {
            true => "turning a dial".to_owned(),
            false => format!("{} on {}", targets.words_at(level), self.name_of_targets(targets)),
        };
        let orders = self.refuse(&words, self.turnable(targets, level), log, now)?;
        let wishes = vec![(level, targets.methods.clone())];
        let ticket = self.ticket();
        self.say(log, now, Kind::Request, words.clone());
        self.turns.begin((ticket, words), wishes, targets.reach, &self.live, now);
        self.turns.has_options(targets.options_at(level));
        Ok(Turn { connection: self.id, ticket, orders, take, later: false })
    }

    /// Whether these methods can be turned to that level as far as that is known here: the orders it takes.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn turnable(&self, targets: &Targets, level: Level) -> Result<Vec<Order>, String> {
        self.possible(&targets.methods, level)?;
        if self.catalogue.spans_processes() {
            // Each process has orders of its own.
            return Ok(Vec::new());
        }
        let wish = (level, targets.methods.clone());
        let orders = orders::orders(&self.catalogue, &[wish], targets.reach, self.off_for_want_of_a_body())?;
        Ok(orders::with_options(orders, targets.options_at(level)))
    }

    /// What a turn of methods shown concerns: where copies are merged, every copy of them, now and later.
    pub fn reaching(&self, shown: &MethodSet) -> Targets {
        match self.catalogue.is_merged() {
            true => Targets::new(self.catalogue.with_copies(shown), Reach::Everywhere),
            false => Targets::new(shown.clone(), Reach::Copies),
        }
    }

    fn name_of_targets(&self, targets: &Targets) -> String {
        let Targets { methods, reach, .. } = targets;
        if let Reach::Domain(domain) = reach {
            let name = self.catalogue.label(Node::Domain(*domain));
            return format!("{} in {name}", words::methods(methods.len()));
        }
        let Some(first) = methods.iter().next() else { return self.name_of(methods) };
        let copies = self.catalogue.copies(first).len() as u64;
        if *reach == Reach::Everywhere && copies > 1 && copies == methods.len() {
            return format!("{} ({copies} copies)", self.catalogue.full_name(first).text);
        }
        let place = self.catalogue.place(self.catalogue.module_of(first)).filter(|_| methods.len() == 1);
        match place {
            Some(place) => format!("{} {place}", self.name_of(methods)),
            None => self.name_of(methods),
        }
    }

    pub(in crate::model) fn possible(&self, targets: &MethodSet, level: Level) -> Result<(), String> {
        if let Some(obstacle) = self.obstacle() {
            return Err(obstacle.to_owned());
        }
        if targets.is_empty() {
            return Err("no method is selected".to_owned());
        }
        let bodyless = self.off_for_want_of_a_body();
        let none: u64 = targets.ranges().map(|range| u64::from(bodyless.count_in(range))).sum();
        if none == targets.len() {
            let first = targets.iter().next().and_then(|method| self.catalogue.without_body(method));
            return Err(match (none, first) {
                (1, Some(reason)) => reason.sentence().to_owned(),
                _ => NO_BODIES.to_owned(),
            });
        }
        if level != Level::Off && !self.offered().contains(&level) {
            if level > Level::OFFERED {
                return Err(format!("{level} is to come in a later version"));
            }
            let top = self.offered().last().copied().unwrap_or(Level::Off);
            return Err(format!("this agent offers levels up to {top} (see REDIAL_MAX_LEVEL)"));
        }
        Ok(())
    }

    fn refuse<T>(
        &self,
        words: &str,
        result: Result<T, String>,
        log: &mut Log,
        now: Now,
    ) -> Result<T, String> {
        result.inspect_err(|why| {
            self.say(log, now, Kind::Refusal, format!("{words} refused: {why}"));
        })
    }

    /// Undoes the last turn, or redoes the one undone last: marks its methods pending, and answers what to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo(&mut self, redo: bool, log: &mut Log, now: Now) -> Result<Step, String> {
        let what = if redo { "redo" } else { "undo" };
        let Some(made) = self.turns.last_made(redo) else {
            let why = self.obstacle().map_or(format!("there is nothing to {what}"), str::to_owned);
            return self.refuse(what, Err(why), log, now);
        };
        self.undo_of(made, redo, log, now)
    }

    /// The same of a certain turn, whatever was turned since.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo_of(&mut self, made: Ticket, redo: bool, log: &mut Log, now: Now) -> Result<Step, String> {
        let what = if redo { "redo" } else { "undo" };
        if let Some(obstacle) = self.obstacle().map(str::to_owned) {
            return self.refuse(what, Err(obstacle), log, now);
        }
        let ticket = self.ticket();
        let Some(undo) = self.turns.begin_undo_of(made, ticket, redo, now) else {
            return self.refuse(what, Err(format!("there is nothing to {what}")), log, now);
        };
        let Undo { words, wishes, reach, made, all_off, options } = undo;
        let step = match (redo, all_off) {
            // The agent knows what stood before, and how: kept or held, until when, set by whom.
            (false, _) => Ok(Step::TakeBack { ticket, of: made }),
            (true, true) => Ok(Step::AllOff(ticket)),
            (true, false) => {
                let orders = orders::orders(&self.catalogue, &wishes, reach, self.off_for_want_of_a_body());
                let (connection, take, later) = (self.id, false, false);
                orders.map(|orders| {
                    let orders = orders::with_options(orders, options);
                    Step::Turn(Turn { connection, ticket, orders, take, later })
                })
            }
        };
        match step {
            Ok(step) => {
                self.say(log, now, Kind::Request, words);
                Ok(step)
            }
            Err(why) => {
                self.turns.failed(ticket);
                self.refuse(&words, Err(why), log, now)
            }
        }
    }

    /// What a turn would do is asked of the agent: the ticket and the orders to send.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub fn ask_plan(&mut self, targets: &Targets, level: Level) -> Result<(Ticket, Vec<Order>), String> {
        let orders = self.turnable(targets, level)?;
        self.plan = None;
        Ok((self.ticket(), orders))
    }

    /// Has the agent take the last change back, whoever made it: the ticket to send.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo_of_anyone(&mut self, log: &mut Log, now: Now) -> Result<Ticket, String> {
        let obstacle = self.obstacle().map_or(Ok(()), |why| Err(why.to_owned()));
        self.refuse("undo of the last change", obstacle, log, now)?;
        self.say(log, now, Kind::Request, "undo of the last change of anyone");
        Ok(self.ticket())
    }

    /// Has the agent take back what the budget did last: the ticket to send, and the change's number.
    ///
    /// # Errors
    /// Why not, as a sentence; it is in the log already.
    pub fn undo_of_budget(&mut self, log: &mut Log, now: Now) -> Result<(Ticket, u64), String> {
        let nothing = || "the budget has turned nothing down since it was set".to_owned();
        let obstacle = self.obstacle().map_or(Ok(()), |why| Err(why.to_owned()));
        let change = obstacle.and_then(|()| self.step_to_undo().ok_or_else(nothing));
        self.refuse("undo of the budget's last step", change.clone().map(drop), log, now)?;
        self.say(log, now, Kind::Request, "undo of the budget's last step");
        Ok((self.ticket(), change?))
    }

    /// Whether the budget did something that can be taken back.
    pub fn was_stepped(&self) -> bool {
        self.step_to_undo().is_some()
    }

    /// The change that the budget made last, as long as something of it stands.
    fn step_to_undo(&self) -> Option<u64> {
        let stands = self.budgets_step().is_some();
        let some = stands || self.agent.as_ref().is_some_and(|agent| agent.cost_budget.stepped > 0);
        self.stepped.flatten().filter(|_| some)
    }

    /// What the budget did last, as long as that stands.
    pub fn budgets_step(&self) -> Option<&SteppedDown> {
        let last = self.agent.as_ref()?.cost_budget.last.as_ref()?;
        let wanted = self.live.row(last.costliest.0).map(|row| row.wanted);
        budget::stands(last, wanted).then_some(last)
    }

    /// Who else would see a turn: where one copy of a module serves several AppDomains, and copies are not merged, so
    /// that a dial is expected to be one domain's. None where that concerns nothing that is turned on.
    pub fn sharing(&self, targets: &Targets, level: Level) -> Option<Sharing> {
        if level == Level::Off || targets.reach == Reach::Everywhere {
            return None;
        }
        let catalogue = &self.catalogue;
        let direct = catalogue
            .modules()
            .iter()
            .filter(|module| catalogue.is_shared(module) && targets.methods.touches(&module.methods));
        let mut modules: Vec<&Module> = direct.collect();
        let (mut shared, mut without) = (MethodSet::default(), None);
        match targets.reach {
            // What the domain shares with others is not below its row, but it is its code too.
            Reach::Domain(domain) => {
                let of_domain = catalogue.shared_in(domain);
                modules.extend(of_domain.iter().filter_map(|module| catalogue.module(*module)));
                for module in &modules {
                    let shown = self.shown_in(std::slice::from_ref(&module.methods));
                    shown.ranges().for_each(|range| shared.insert(range));
                }
                modules.retain(|module| shared.touches(&module.methods));
                without = Some(targets.clone());
            }
            Reach::Copies | Reach::Everywhere => {
                let inside = modules.iter().flat_map(|module| targets.methods.within(&module.methods));
                inside.for_each(|range| shared.insert(range));
            }
        }
        if shared.is_empty() {
            return None;
        }
        let mut named: Vec<(&str, String)> = Vec::new();
        for module in &modules {
            let names = catalogue.domain_names(module).into_iter().zip(catalogue.domain_titles(module));
            for (name, title) in names {
                if !named.iter().any(|(known, _)| *known == name) {
                    named.push((name, title));
                }
            }
        }
        let domains = named.into_iter().map(|(_, title)| title).collect();
        let mut with = targets.clone();
        shared.ranges().for_each(|range| with.methods.insert(range));
        let modules = modules.iter().map(|module| module.name.clone()).collect();
        Some(Sharing { modules, domains, methods: shared.len(), with, without })
    }

    /// Turns everything off, whatever the state of the connection: marks what is on pending; the ticket to send.
    pub fn all_off(&mut self, log: &mut Log, now: Now) -> Ticket {
        let ticket = self.ticket();
        let on = self.live.rows().filter(|row| row.wanted != Level::Off).filter_map(|row| row.method);
        let wishes = vec![(Level::Off, on.collect())];
        self.say(log, now, Kind::Request, "all dials off");
        self.turns.begin((ticket, "all dials off".to_owned()), wishes, Reach::Copies, &self.live, now);
        self.turns.is_all_off();
        ticket
    }

    /// A number for something asked for.
    pub(in crate::model) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(u64::from(self.id.0) << 32 | u64::from(self.tickets))
    }
}
