//! `redial exceptions`: counts thrown exceptions by type and method, and prints them. It changes no dial.

mod printer;
mod rows;
mod watch;

use super::arguments;
use crate::change;
use crate::multi_process::{about, combined};
use crate::output::sentence;
use crate::target::TargetProcess;
use printer::ExceptionPrinter;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use std::sync::{Mutex, PoisonError};
use watch::{Print, watch};

/// Counts until Ctrl-C, `--count`, `--for`, a closed pipe, or the end of the process.
pub fn run(arguments: &arguments::ExceptionsArguments) -> Result<Exit, Failure> {
    if let Some(types) = &arguments.types {
        arguments::check_types(types).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    let interrupts = change::catch_interrupts()?;
    let printer = Mutex::new(ExceptionPrinter::new(arguments));
    match arguments.target.only() {
        Some(pid) => {
            let print = |lines: Vec<String>, at_end| locked(&printer).print("", lines, at_end);
            let outcome = watch(pid, arguments, &interrupts, &print, &|text| sentence(text));
            outcome.result()
        }
        None => {
            let members = arguments.target.find()?;
            side_by_side(arguments, &members, &interrupts, &printer)
        }
    }
}

fn locked(printer: &Mutex<ExceptionPrinter>) -> std::sync::MutexGuard<'_, ExceptionPrinter> {
    printer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts in several processes at once. Enough exceptions of all together end all of them.
fn side_by_side(
    arguments: &arguments::ExceptionsArguments,
    members: &[TargetProcess],
    interrupts: &Interrupts,
    printer: &Mutex<ExceptionPrinter>,
) -> Result<Exit, Failure> {
    let exits = std::thread::scope(|scope| {
        let one = |member: &TargetProcess| {
            let pid = member.key.pid;
            let before = if arguments.json { String::new() } else { format!("{pid:>8}  ") };
            let print = |lines: Vec<String>, at_end| {
                let more = locked(printer).print(&before, lines, at_end);
                if !matches!(more, Ok(true)) {
                    interrupts.stop();
                }
                more
            };
            let print: &Print<'_> = &print;
            let say = |text: String| sentence(about(member, &text));
            watch(pid, arguments, interrupts, print, &say).result().unwrap_or_else(|failure| {
                say(failure.to_string());
                failure.exit()
            })
        };
        let threads: Vec<_> = members.iter().map(|member| scope.spawn(move || one(member))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Exit::Failed)).collect::<Vec<_>>()
    });
    Ok(combined(exits.into_iter()))
}
