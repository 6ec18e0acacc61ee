//! `cargo xtask demo`: runs the demo program with every method counted, and shows it in the window, or as a live table
//! when there is no display.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;

use crate::build::{self, Built, Profile};
use crate::process::{checkout, line, run, run_quietly};
use crate::setup;

/// Lines of output quoted when the demo program fails.
const LAST: usize = 5;

/// Runs until the window is closed or Ctrl-C; with `count`, until that many tables were shown. The demo program ends
/// with it in every case.
///
/// # Errors
/// When set-up, build or start fails.
pub fn run_demo(count: Option<u32>) -> Result<()> {
    let shop = setup::for_demo()?;
    let built = build::native(Profile::Release)?;
    let (dotnet, whose) = dotnet();

    // Shop ends by itself at the end of its standard input, which stays open as long as this process lives.
    let mut run_shop = Command::new(built.program());
    run_shop.args(["run", "--dial", "Shop!*=count", "--"]).arg(&dotnet).arg(shop.dll());
    Runtime::V8_0.settle_environment(&mut run_shop);
    if whose != OURS {
        run_shop.env_remove("DOTNET_ROOT");
    }
    println!("==> {}\n    (on {whose}; Ctrl-C ends it)", pasteable(&run_shop));
    built.tell(&mut run_shop);
    let mut shop = Host::start(run_shop)?;
    let first = shop.next_line()?;
    println!("    Shop says: {first}");
    let pid = process_number(&first).with_context(|| format!("no process number in {first:?}"))?;
    let shown = show(&built, &pid, count);
    // A killed Shop would leave its socket behind.
    shop.close_input();
    let ended = shop.finish()?;
    match ending(ended.status, &[ended.stdout, ended.stderr].concat()) {
        None => shown,
        Some(how) => bail!("the demo program {how}"),
    }
}

/// Describes a failed end and the last lines of output; `None` after a success.
fn ending(status: ExitStatus, said: &str) -> Option<String> {
    if status.success() {
        return None;
    }
    // `redial run` follows the shells: 128 + N when signal N killed the command.
    let killed = status.code().filter(|code| cfg!(unix) && (129..=192).contains(code)).map(|code| code - 128);
    let how = match (killed.or_else(|| signal(status)), status.code()) {
        (Some(signal), _) => format!("was killed (signal {signal})"),
        (None, Some(code)) => format!("ended with code {code}"),
        (None, None) => "ended without a code".to_owned(),
    };
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LAST)..).unwrap_or_default();
    let last: String = last.iter().map(|line| format!("\n    {line}")).collect();
    Some(if last.is_empty() { how } else { format!("{how}; the last it said:{last}") })
}

/// Returns the signal that ended a process.
#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Shows the process in the window, or as a table.
fn show(built: &Built, pid: &str, count: Option<u32>) -> Result<()> {
    if count.is_none() {
        if !has_display(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
            println!(
                "    there is no display for the window (neither DISPLAY nor WAYLAND_DISPLAY is set): a table then"
            );
        } else if window(built, pid)? {
            return Ok(());
        } else {
            println!("    so the numbers come as a table");
        }
    }
    table(built, pid, count)
}

/// Shows the window until it closes or this program is interrupted. Returns false when it could not be opened.
fn window(built: &Built, pid: &str) -> Result<bool> {
    let mut window = Command::new(built.program());
    window.args(["--pid", pid, "--dialled"]).current_dir(checkout());
    println!("==> {}\n    (close the window to end the demo)", pasteable(&window));
    built.tell(&mut window);
    let status = window.status().with_context(|| format!("`{}` cannot be started", line(&window)))?;
    // No code means a signal, such as Ctrl-C: do not continue with a table.
    Ok(status.code().is_none_or(|code| code == 0))
}

fn table(built: &Built, pid: &str, count: Option<u32>) -> Result<()> {
    let mut watch = Command::new(built.program());
    watch.args(["watch", pid]).current_dir(checkout());
    if let Some(count) = count {
        watch.args(["--count", &count.to_string()]);
    }
    built.tell(&mut watch);
    run(&mut watch)
}

/// Variables that the demo program needs when `dotnet` is not installed or is newer than the program.
const NEEDED: [&str; 3] = ["DOTNET_ROOT", "DOTNET_ROLL_FORWARD", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"];

/// Formats a command with the variables it needs, so that it can be pasted into a shell.
fn pasteable(command: &Command) -> String {
    let needed = |name: &str| cfg!(unix) && NEEDED.contains(&name);
    let variables = command.get_envs().filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| needed(name))?;
        Some(format!("{name}={}", quoted(&value?.to_string_lossy())))
    });
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let signs = if cfg!(windows) { r"\/:._-" } else { "/:._-" };
    let plain = |letter: char| letter.is_alphanumeric() || signs.contains(letter);
    match word.is_empty() || !word.chars().all(plain) {
        true if cfg!(windows) => format!("\"{word}\""),
        true => format!("'{}'", word.replace('\'', "'\\''")),
        false => word.to_owned(),
    }
}

/// Returns whether a display is announced. Systems other than Linux always have one.
fn has_display(set: impl Fn(&str) -> bool) -> bool {
    !cfg!(target_os = "linux") || ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"].into_iter().any(set)
}

/// Returns the number after the word `process`.
fn process_number(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("process ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

const OURS: &str = "a .NET 8 fetched for this checkout";

/// Returns the `dotnet` on the PATH if it has a base framework, else the one fetched for this checkout.
fn dotnet() -> (PathBuf, &'static str) {
    let listed = run_quietly(Command::new("dotnet").arg("--list-runtimes"));
    if listed.is_ok_and(|listed| listed.contains("Microsoft.NETCore.App ")) {
        return (PathBuf::from("dotnet"), "the dotnet on the PATH");
    }
    (Runtime::V8_0.dotnet(), OURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_read_from_what_shop_says() {
        let said = "Shop is open, process 4711. Ctrl-C closes it.";
        assert_eq!(process_number(said).as_deref(), Some("4711"));
        assert_eq!(process_number("Shop is open, process of nothing"), None);
        assert_eq!(process_number("closed"), None);
    }

    #[test]
    #[cfg(unix)]
    fn a_demo_that_was_killed_says_so_in_few_lines() {
        use std::os::unix::process::ExitStatusExt;
        let of_code = |code: i32, said: &str| ending(ExitStatus::from_raw(code << 8), said);
        assert_eq!(of_code(0, "all is well"), None);
        let said: String = (1..=70).map(|number| format!("Open for {number} s\n\n")).collect();
        let told = of_code(137, &said).expect("it was killed");
        assert!(told.starts_with("was killed (signal 9); the last it said:\n    Open for 66 s\n"), "{told}");
        assert!(told.lines().count() == 6 && told.ends_with("    Open for 70 s"), "{told}");
        assert_eq!(of_code(3, " \n").as_deref(), Some("ended with code 3"));
        assert_eq!(ending(ExitStatus::from_raw(9), "").as_deref(), Some("was killed (signal 9)"));
    }

    #[test]
    #[cfg(unix)]
    fn printed_commands_can_be_pasted() {
        let mut command = Command::new("printf");
        command.args([r"%s\n", "Shop!*=count", "it's"]).env("DOTNET_ROOT", "/opt/dot net");
        command.env("REDIAL_AGENT", "/agent").env_remove("DOTNET_ROLL_FORWARD");
        let line = pasteable(&command);
        assert!(line.starts_with("DOTNET_ROOT='/opt/dot net' printf "), "{line}");
        let said = run_quietly(Command::new("sh").args(["-c", &line])).expect("a shell reads it");
        assert_eq!(said, "Shop!*=count\nit's\n");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_display_is_named_by_a_variable() {
        assert!(!has_display(|_| false));
        assert!(has_display(|name| name == "WAYLAND_DISPLAY"));
    }
}
