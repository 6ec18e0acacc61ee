//! The random steps of the continuous soak.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::diagnostics::{Remainder, Resource};
use redial_protocol::level::Level;
use redial_protocol::message::StatusRow;
use redial_protocol::order::Order;
use redial_protocol::state::CopyState;

use super::memory::Sample;
use super::settings::{Length, Settings};
use super::subject::Subject;
use crate::controller::{Controller, Lifetime, full_name, raw};
use crate::host::{self, Host};
use crate::rng::Rng;

/// Levels at which everything is turned on before the first step of a long run: bodies of each level have signatures of their
/// own, and the agent lists the latest five bodies of a method.
const WARM_LEVELS: [Level; 6] =
    [Level::Time, Level::Count, Level::Trace, Level::Time, Level::Count, Level::Trace];
/// Rounds of work after each of them.
const WARM_ROUNDS: u32 = 150;
/// Methods that patterns name in a step, on average: the CLR keeps memory for each request.
const METHODS_PER_STEP: usize = 400;

/// A kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Changes random dials.
    Change,
    /// Compares counts with the truth.
    Counts,
    /// Turns a pattern off.
    Off,
    /// Opens sessions that end in various ways.
    Sessions,
    /// Kills a controller that holds dials or is about to.
    Kill,
    /// Loads and unloads a module.
    Unload,
    /// Attaches to a fresh process, uses it and ends it.
    Attach,
}

impl Step {
    const ALL: [Step; 7] =
        [Step::Change, Step::Counts, Step::Off, Step::Sessions, Step::Kill, Step::Unload, Step::Attach];
    /// How often each kind is taken, in hundredths.
    const SHARES: [usize; 7] = [40, 20, 10, 5, 8, 15, 2];

    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Step::Change => "changes",
            Step::Counts => "comparisons",
            Step::Off => "reverts",
            Step::Sessions => "session ends",
            Step::Kill => "kills",
            Step::Unload => "unloads",
            Step::Attach => "attaches",
        }
    }

    fn random(rng: &mut Rng) -> Step {
        let mut left = rng.below(100);
        for (step, share) in Step::ALL.into_iter().zip(Step::SHARES) {
            if left < share {
                return step;
            }
            left -= share;
        }
        Step::Change
    }
}

/// The number of steps taken, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepCounts(std::collections::BTreeMap<Step, u64>);

impl StepCounts {
    /// Returns the kinds and numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Step, u64)> + '_ {
        self.0.iter().map(|(step, many)| (*step, *many))
    }

    /// Returns the steps that `earlier` does not have.
    pub fn since(&self, earlier: &StepCounts) -> StepCounts {
        StepCounts(self.iter().map(|(step, many)| (step, many - earlier.of(step))).collect())
    }

    /// Returns the number of steps of a kind.
    pub fn of(&self, step: Step) -> u64 {
        self.0.get(&step).copied().unwrap_or_default()
    }
}

impl fmt::Display for StepCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.iter().map(|(step, many)| format!("{many} {}", step.name())).collect();
        f.write_str(if parts.is_empty() { "no step" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// A program under random steps.
pub(super) struct Steps {
    settings: Settings,
    rng: Rng,
    subject: Subject,
    controller: Controller,
    /// `Module!Type.Method(PARAMS)` of every method that can be dialled.
    methods: Vec<String>,
    /// Number of methods that patterns may still name.
    allowance: usize,
    counts: StepCounts,
    slowest_revert: Duration,
}

impl Steps {
    /// Starts the program and turns everything on a few times, so that the agent has rows, counters, times, plans and earlier
    /// bodies of every method.
    pub fn start(settings: &Settings) -> Result<Self> {
        let mut subject = settings.program.start(true, &settings.variables)?;
        subject.work()?;
        let mut controller = Controller::connect(subject.pid())?;
        let (levels, rounds) = match settings.length {
            Length::Checkpoints(_) => (&[Level::Trace][..], 1),
            Length::Time(_) => (&WARM_LEVELS[..], WARM_ROUNDS),
        };
        let mut methods = Vec::new();
        for level in levels {
            controller.dial("*", *level, Lifetime::Kept)?;
            // A server answers on whichever thread is free, and each takes memory for the methods that it calls.
            (0..rounds).try_for_each(|_| subject.work())?;
            let is_dialable = |row: &&StatusRow| matches!(row.state, CopyState::Asked | CopyState::Live);
            methods = controller.status(None)?.iter().filter(is_dialable).map(full_name).collect();
            controller.all_off()?;
            subject.work()?;
        }
        ensure!(methods.len() > 1_000, "{} methods can be dialled", methods.len());
        Ok(Self {
            settings: settings.clone(),
            rng: Rng::new(settings.seed),
            subject,
            controller,
            methods,
            allowance: 0,
            counts: StepCounts::default(),
            slowest_revert: Duration::ZERO,
        })
    }

    pub fn counts(&self) -> &StepCounts {
        &self.counts
    }

    pub fn slowest_revert(&self) -> Duration {
        self.slowest_revert
    }

    /// Takes one random step, and lets the program work.
    pub fn take_one(&mut self) -> Result<()> {
        let step = Step::random(&mut self.rng);
        self.allowance += METHODS_PER_STEP;
        let taken = match step {
            Step::Change => self.change(),
            Step::Counts => self.subject.check_counts(&mut self.controller),
            Step::Off => self.turn_off(),
            Step::Sessions => self.open_sessions(),
            Step::Kill => self.kill_controller(),
            Step::Unload => self.subject.load_and_unload(),
            Step::Attach => self.attach(),
        };
        if let Err(error) = taken.and_then(|()| self.subject.work()) {
            return Err(self.subject.explain(error)).with_context(|| format!("while taking {step:?}"));
        }
        *self.counts.0.entry(step).or_default() += 1;
        Ok(())
    }

    fn change(&mut self) -> Result<()> {
        let orders: Vec<_> = (0..=self.rng.below(4)).map(|_| self.order()).collect();
        self.controller.order(orders, Lifetime::Kept).map(drop)
    }

    fn turn_off(&mut self) -> Result<()> {
        let pattern = self.pattern();
        self.controller.off(&pattern).map(drop)
    }

    fn order(&mut self) -> Order {
        let level = [Level::Count, Level::Time, Level::Trace, Level::Time, Level::Off][self.rng.below(5)];
        Order::new(self.pattern(), level)
    }

    /// Returns a pattern: mostly a method, often a type or the program's own methods, sometimes a module or everything.
    fn pattern(&mut self) -> String {
        let chosen = self.rng.below(self.methods.len());
        let Some(method) = self.methods.get(chosen).cloned() else { return "*".to_owned() };
        let (module, rest) = method.split_once('!').unwrap_or(("*", "*"));
        let name = rest.split('(').next().unwrap_or_default();
        let pattern = match self.rng.below(100) {
            0..=9 => "*".to_owned(),
            10..=19 => format!("{module}!*"),
            20..=54 => match name.rsplit_once('.') {
                Some((of, _)) if !of.ends_with('.') => format!("{module}!{of}.*"),
                _ => return method,
            },
            55..=64 => return self.settings.program.own_methods().to_owned(),
            _ => return method,
        };
        let start = pattern.trim_end_matches('*');
        let matched = self.methods.iter().filter(|method| method.starts_with(start)).count();
        match self.allowance.checked_sub(matched) {
            Some(left) => {
                self.allowance = left;
                pattern
            }
            None => method,
        }
    }

    /// Sessions that only look, that leave in the middle of a frame, and that hold a dial.
    fn open_sessions(&mut self) -> Result<()> {
        let pid = self.subject.pid();
        for _ in 0..4 {
            drop(raw(pid)?);
        }
        let mut half = Controller::connect_silent(pid)?;
        half.send_bytes(&[200, 0, 0, 0, 1])?;
        drop(half);
        let mut holder = Controller::connect(pid)?;
        let pattern = self.pattern();
        holder.dial(&pattern, Level::Time, Lifetime::Held)?;
        drop(holder);
        self.wait_until_released(Instant::now())
    }

    /// Kills `redial dial --hold` while it starts, changes or holds.
    fn kill_controller(&mut self) -> Result<()> {
        let pattern = self.pattern();
        let level = [Level::Count, Level::Time, Level::Trace][self.rng.below(3)];
        let pid = self.subject.pid().to_string();
        let dial = host::redial(&["dial", &pid, &pattern, level.word(), "--hold"])?;
        let mut holder = Host::start(dial)?;
        match self.rng.below(3) {
            0 => std::thread::sleep(Duration::from_millis(self.rng.below(300) as u64)),
            1 => self.wait_until_held(&mut holder)?,
            _ => drop(holder.wait_for("held while this command runs")?),
        }
        let killed = Instant::now();
        holder.kill();
        self.wait_until_released(killed)
    }

    /// Returns once a dial is held, or the holder has ended.
    fn wait_until_held(&mut self, holder: &mut Host) -> Result<()> {
        let deadline = Instant::now() + host::DEADLINE;
        while self.controller.agent_status()?.held == 0 && holder.is_running()? {
            ensure!(Instant::now() < deadline, "no dial is held");
        }
        Ok(())
    }

    /// Waits until nothing is held or still to be reverted, and nobody has control.
    fn wait_until_released(&mut self, since: Instant) -> Result<()> {
        let bound = self.settings.revert_bound;
        loop {
            let status = self.controller.agent_status()?;
            let took = since.elapsed();
            let awaiting = status.remains.iter().any(|one| matches!(one, Remainder::AwaitedReverts { .. }));
            if status.held == 0 && !awaiting && status.control.is_none() {
                self.slowest_revert = self.slowest_revert.max(took);
                return Ok(());
            }
            ensure!(took < bound, "{took:.1?} after the end of a controller: {status:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn attach(&mut self) -> Result<()> {
        let mut fresh = self.settings.program.start(false, &self.settings.variables)?;
        fresh.work()?;
        let attached = host::run(host::redial(&["attach", &fresh.pid().to_string()])?)?.ok()?;
        ensure!(attached.stdout.contains("loaded the agent into process"), "{}", attached.output());
        let mut controller = Controller::connect(fresh.pid())?;
        controller.dial(self.settings.program.own_methods(), Level::Time, Lifetime::Kept)?;
        fresh.work()?;
        fresh.check_counts(&mut controller)?;
        controller.all_off()?;
        fresh.work()?;
        ensure!(controller.agent_status()?.guard_trips == 0);
        fresh.end().context("a program with an attached agent")
    }

    /// Turns everything off and checks that nothing is on, or counts. Returns the memory.
    pub fn check_all_off(&mut self, began: Instant) -> Result<Sample> {
        match self.all_off(began) {
            Ok(sample) => Ok(sample),
            Err(error) => Err(self.subject.explain(error)),
        }
    }

    fn all_off(&mut self, began: Instant) -> Result<Sample> {
        self.controller.all_off()?;
        self.subject.work()?;
        let rows = self.controller.status(None)?;
        let on = rows.iter().find(|row| {
            row.wanted > Level::Off
                || matches!(row.state, CopyState::Asked | CopyState::Live | CopyState::Failed)
        });
        if let Some(row) = on {
            bail!("not off: {row:?}");
        }
        self.subject.check_counts(&mut self.controller)?;
        let status = self.controller.agent_status()?;
        ensure!(status.guard_trips == 0 && (status.kept, status.held) == (0, 0), "{status:?}");
        Ok(Sample {
            at: began.elapsed(),
            agent: status.memory_bytes,
            times: status
                .budgets
                .iter()
                .find(|usage| usage.resource == Resource::TimesBytes)
                .map_or(0, |usage| usage.used),
            clr: status.clr_kept_bytes,
            resident: resident(self.subject.pid())?,
        })
    }

    /// Ends the program.
    pub fn end(self) -> Result<()> {
        drop(self.controller);
        self.subject.end()
    }
}

fn resident(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib << 10)
}
