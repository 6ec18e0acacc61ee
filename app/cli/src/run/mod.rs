//! `redial run`: starts a program with the agent, passes its streams and signals through, and exits with its code.

mod collector;
mod report;

use super::arguments;
use crate::output::sentence;
use collector::{Collected, Collector};
use redial_link::atomic_write::AtomicFile;
use redial_link::checkout;
use redial_link::exit::{RUN_FAILED, RUN_NOT_EXECUTABLE, RUN_NOT_FOUND};
use redial_link::launch::{self, LaunchFiles, LaunchOptions, MarkEntry};
use redial_link::library;
use redial_link::signals::Forwarding;
use redial_link::unmatched::unmatched;
use redial_link::unmatched_monitor::{LaunchDials, UnmatchedMonitor};
use redial_protocol::dialset::DialProblem;
use redial_protocol::order::Order;
use redial_protocol::{dialset, process};
use redial_text::words;
use report::RunReport;
use std::io;
use std::process::{Command, ExitStatus};

/// A failure of `run` itself, with its exit code and message.
struct RunFailure(i32, String);

impl RunFailure {
    fn own(text: impl Into<String>) -> RunFailure {
        RunFailure(RUN_FAILED, text.into())
    }
}

/// Runs the command and returns the exit code.
pub fn run(arguments: &arguments::RunArguments) -> i32 {
    match start_and_wait(arguments) {
        Ok(code) => code,
        Err(RunFailure(code, text)) => {
            sentence(text);
            code
        }
    }
}

fn start_and_wait(arguments: &arguments::RunArguments) -> Result<i32, RunFailure> {
    let wishes = LaunchOptions {
        orders: orders(&arguments.dials)?,
        children: arguments.children,
        no_inlining: arguments.no_inlining,
        report: arguments.report.is_some(),
        budget: arguments.budget.map(|arguments::BudgetLimit(limit)| limit),
    };
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(RunFailure::own("no command to run; add it after --"));
    };
    let agent = library::to_start(program).map_err(RunFailure::own)?;
    let report = arguments.report.as_deref().map(AtomicFile::create).transpose();
    let report = report.map_err(|error| RunFailure::own(format!("cannot write the report: {error}")))?;
    let files = LaunchFiles::create(&wishes)
        .map_err(|error| RunFailure::own(format!("cannot write the dial set for the agent: {error}")))?;
    let launcher = process::own_key().map_err(|error| RunFailure::own(error.to_string()))?;
    if let Some((variable, value)) = launch::other_profiler(|name| std::env::var_os(name)) {
        sentence(format!(
            "{variable} names another profiler ({}); a process can have only one, and this run uses Redial's",
            value.to_string_lossy()
        ));
    }
    let mut command = Command::new(program);
    command.args(rest);
    launch::prepare(&mut command, &agent, &wishes, launcher, &files);

    let forwarding = Forwarding::begin();
    let mut child = command.spawn().map_err(|error| not_started(&program.to_string_lossy(), &error))?;
    forwarding.to(&child);
    let dials = LaunchDials {
        texts: arguments.dials.clone(),
        orders: wishes.orders,
        what: "--dial",
        children: arguments.children,
    };
    let early = UnmatchedMonitor::begin(dials, files.mark().to_owned(), sentence);
    let collector = report.is_some().then(|| Collector::start(child.id(), files.mark().to_owned()));
    let status = forwarding
        .wait(&mut child)
        .map_err(|error| RunFailure::own(format!("cannot wait for the program: {error}")))?;
    drop(early);
    let code = code(status);
    let processes = collector.map(Collector::finish);
    // Keep the files until here: the agents write their last notes at the very end.
    let text = std::fs::read_to_string(files.mark()).unwrap_or_default();
    let marks = launch::marks(&text);
    drop(files);
    let unmatched = unmatched(&arguments.dials, &marks, &launch::parse_notes(&text));
    unmatched.iter().for_each(|one| sentence(one.sentence("--dial")));
    let reached = processes.iter().flatten().any(Collected::was_reached);
    let ended = EndedProgram {
        name: &program.to_string_lossy(),
        code,
        children: arguments.children,
        switch: launch::profiler_switch(|name| std::env::var_os(name)),
    };
    if let Some(text) = ended.not_loaded(&marks).filter(|_| !reached) {
        sentence(text);
    }
    if let (Some(report), Some(processes)) = (report, processes) {
        let name = report.path().display().to_string();
        let content = RunReport::new(child.id(), &arguments.command, code, &processes, unmatched);
        let written = content.text().and_then(|text| report.write(&text));
        written.map_err(|error| RunFailure::own(format!("cannot write the report {name}: {error}")))?;
    }
    Ok(code)
}

fn orders(dials: &[String]) -> Result<Vec<Order>, RunFailure> {
    let order = |dial: &String| {
        let bad = |why: String| RunFailure::own(format!("bad --dial '{dial}': {why}"));
        let order = dialset::parse_dial_option(dial).map_err(|problem| bad(words_for_option(&problem)))?;
        match order.copy {
            None => Ok(order),
            Some(_) => {
                Err(bad("a module has an id only after it loads; use `redial dial PID … --copy MODULE` then"
                    .to_owned()))
            }
        }
    };
    dials.iter().map(order).collect()
}

/// Explains what is wrong with a `--dial`, without the wording for lines of a file.
fn words_for_option(problem: &DialProblem) -> String {
    match problem {
        DialProblem::NoLevel { .. } => "a dial is PATTERN=LEVEL, for example 'Shop.Cart.*=count'".to_owned(),
        problem => problem.to_string(),
    }
}

fn not_started(program: &str, error: &io::Error) -> RunFailure {
    match error.kind() {
        io::ErrorKind::NotFound => {
            let instead = checkout::replacement_for(program);
            RunFailure(RUN_NOT_FOUND, format!("{program}: command not found{instead}"))
        }
        _ => RunFailure(RUN_NOT_EXECUTABLE, format!("cannot execute {program}: {error}")),
    }
}

/// Returns the child's exit code, or 128 plus the signal that ended it.
fn code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(RUN_FAILED)
}

/// The program after its end.
struct EndedProgram<'a> {
    name: &'a str,
    /// Its exit code.
    code: i32,
    /// Whether its child processes had the agent's settings, too.
    children: bool,
    /// The variable that keeps profilers out of it, if one does.
    switch: Option<&'a str>,
}

impl EndedProgram<'_> {
    /// Returns a sentence if no agent was active in the program.
    fn not_loaded(&self, marks: &[MarkEntry]) -> Option<String> {
        let EndedProgram { name, code, children, switch } = *self;
        if marks.iter().any(|mark| matches!(mark, MarkEntry::Loaded(_))) {
            return None;
        }
        let inert = marks.iter().find_map(|mark| match mark {
            MarkEntry::Inert(reason) => Some(words::one_line(reason)),
            MarkEntry::Loaded(_) => None,
        });
        Some(match (inert, code, children) {
            (Some(reason), ..) => {
                format!("{name} ran without dials because the agent stayed inactive: {reason}")
            }
            (None, ..) if let Some(switch) = switch => {
                format!(
                    "{name} ran without dials: {switch}=0 in the environment keeps the agent out; unset it"
                )
            }
            (None, 0, false) => {
                format!(
                    "{name} never loaded the agent. Is it a .NET program? If it starts one, add --children"
                )
            }
            (None, 0, true) => {
                format!(
                    "{name} and its child processes never loaded the agent. Is one of them a .NET program?"
                )
            }
            // It may have failed before it started .NET, so its own messages say more than a hint could.
            (None, code, _) => format!("{name} ended with code {code} and never loaded the agent"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::ProcessKey;
    use redial_protocol::level::Level;

    #[test]
    fn dial_options_become_orders_or_sentences() {
        let dials = |list: &[&str]| orders(&list.iter().map(|dial| (*dial).to_owned()).collect::<Vec<_>>());
        let Ok(parsed) = dials(&["Shop!Shop.Cart.*=count", "Shop.op_Equality.X = off"]) else {
            panic!("two orders")
        };
        assert_eq!(parsed[0], Order::new("Shop!Shop.Cart.*", Level::Count));
        assert_eq!(parsed[1].level, Level::Off);
        let Ok(traced) = dials(&["Shop.Cart.Add=trace"]) else { panic!("every level is offered") };
        assert_eq!(traced[0].level, Level::Trace);
        let Ok(limited) = dials(&["Shop.Cart.*=count domain=\"My App\" all-domains"]) else {
            panic!("an order for a domain")
        };
        assert_eq!((limited[0].domain.as_deref(), limited[0].all_domains), (Some("My App"), true));
        for bad in [
            "Shop.Cart.*",
            "=count",
            "Shop.Cart.Add=loud",
            "A.B=count copy=0x7f10",
            "A.B=count domain=",
            "Shop.Cart.Add(=count",
        ] {
            let Err(RunFailure(code, text)) = dials(&[bad]) else { panic!("{bad} is no order") };
            assert_eq!(code, 125, "{text}");
            assert!(text.contains('\''), "the sentence quotes it: {text}");
        }
        let Err(RunFailure(_, text)) = dials(&["Shop"]) else { panic!("it has no level") };
        assert_eq!(text, "bad --dial 'Shop': a dial is PATTERN=LEVEL, for example 'Shop.Cart.*=count'");
    }

    #[test]
    fn failed_starts_use_the_codes_of_a_shell() {
        let started = |program: &str| Command::new(program).spawn().map(drop);
        let error = started("/nonexistent/redial-test").expect_err("it is not there");
        assert_eq!(not_started("x", &error).0, 127);
        let error = started(if cfg!(windows) { "C:\\Windows" } else { "/" }).expect_err("a folder");
        assert_eq!(not_started("x", &error).0, 126);
    }

    #[test]
    #[cfg(unix)]
    fn exits_with_the_code_or_signal_of_the_child() {
        let status = |script: &str| Command::new("sh").args(["-c", script]).status().expect("sh");
        assert_eq!(code(status("exit 42")), 42);
        assert_eq!(code(status("kill -9 $$")), 137);
    }

    #[test]
    fn reports_a_child_without_an_active_agent() {
        let loaded = MarkEntry::Loaded(ProcessKey { pid: 1, start: 1 });
        let inert = MarkEntry::Inert("REDIAL_DISABLE is set".into());
        let sentence = |(code, children), marks: &[MarkEntry]| {
            EndedProgram { name: "ls", code, children, switch: None }.not_loaded(marks)
        };
        assert_eq!(sentence((0, false), &[inert.clone(), loaded]), None);
        let inactive = sentence((1, false), &[inert]).expect("a sentence");
        assert!(inactive.ends_with("inactive: REDIAL_DISABLE is set"), "{inactive}");
        let hinted = sentence((0, false), &[]).expect("a sentence");
        assert!(hinted.starts_with("ls never loaded the agent") && hinted.ends_with("add --children"));
        let failed = sentence((150, false), &[]);
        assert_eq!(failed.as_deref(), Some("ls ended with code 150 and never loaded the agent"));
        let children = sentence((0, true), &[]).expect("a sentence");
        assert!(!children.contains("--children"), "{children}");
        let switch = Some("DOTNET_EnableDiagnostics");
        let kept_out = EndedProgram { name: "ls", code: 0, children: false, switch }.not_loaded(&[]);
        assert!(kept_out.is_some_and(|text| text.contains("DOTNET_EnableDiagnostics=0")));
    }
}
