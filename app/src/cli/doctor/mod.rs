//! `redial doctor`: what is missing on this machine, and what to do about it. It changes nothing.

mod environment;

use super::arguments;
use crate::exit::{Exit, Failure};
use crate::link::checkout;
use crate::link::discover::{self, Found};
use crate::link::library;
use crate::output::json::CheckJson;
use crate::output::{Out, words};
use redial_protocol::process;
use redial_protocol::transport::Listener;
use std::process::{Command, Stdio};

/// Checks; 1 when something is missing.
pub fn run(arguments: &arguments::Doctor) -> Result<Exit, Failure> {
    let lookup = |name: &str| std::env::var_os(name);
    let mut checks = vec![library_check(), endpoint_check(), visibility_check(), dotnet_check()];
    checks.push(environment::other_profiler(lookup));
    checks.push(environment::blocking(lookup));
    let mut out = Out::new();
    if arguments.json {
        out.json(&checks)?;
    } else {
        for line in checks.iter().flat_map(lines) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    Ok(if checks.iter().all(|check| check.ok) { Exit::Done } else { Exit::Failed })
}

fn lines(check: &CheckJson) -> Vec<String> {
    let mut lines = vec![format!("{:<7}  {}", if check.ok { "ok" } else { "missing" }, check.check)];
    lines.extend(check.advice.as_deref().map(|advice| format!("         {}", words::one_line(advice))));
    lines
}

fn check(what: &str, outcome: Result<String, String>) -> CheckJson {
    let ok = outcome.is_ok();
    let (Ok(advice) | Err(advice)) = outcome;
    CheckJson { check: what.to_owned(), ok, advice: Some(advice).filter(|advice| !advice.is_empty()) }
}

fn library_check() -> CheckJson {
    let outcome = library::find_here().map_err(|error| error.to_string()).and_then(|path| {
        library::check(&path)?;
        Ok(path.display().to_string())
    });
    check("agent library", outcome)
}

/// Makes the very endpoint an agent would make in a process of this user, and takes it away again.
fn endpoint_check() -> CheckJson {
    let bound = process::own_key()
        .map_err(|error| error.to_string())
        .and_then(|me| Listener::bind(me).map_err(|error| error.to_string()));
    let outcome = bound.map(|listener| listener.name()).map_err(|error| {
        format!("an agent of this user could not be reached: {error}; give XDG_RUNTIME_DIR or TMPDIR a folder of your own")
    });
    check("endpoint", outcome)
}

fn visibility_check() -> CheckJson {
    let outcome =
        discover::all().map_err(|error| format!("processes cannot be listed: {error}")).map(|processes| {
            let hidden =
                processes.iter().filter(|process| matches!(process.runtime, Found::Unknown { .. })).count()
                    as u64;
            let all = words::count(processes.len() as u64, "process", "processes");
            match hidden {
                0 => format!("{all}, all of which can be looked into"),
                hidden => format!(
                    "{all}, of which {} cannot be looked into{}",
                    words::grouped(hidden),
                    who_could_look(cfg!(windows), is_root())
                ),
            }
        });
    check("processes visible", outcome)
}

fn is_root() -> bool {
    process::owner_of(std::process::id()).is_ok_and(|owner| owner.word() == "0")
}

/// By whom those could be looked into that this user may not.
fn who_could_look(windows: bool, root: bool) -> &'static str {
    match (windows, root) {
        (true, _) => "; an elevated prompt shows those of other users too",
        (false, false) => "; `sudo redial ps` shows those of other users too",
        (false, true) => {
            ": here root lacks the right to (CAP_SYS_PTRACE), as in most containers; look from outside, or give it to the \
             container"
        }
    }
}

fn dotnet_check() -> CheckJson {
    let listed = Command::new("dotnet").arg("--list-runtimes").stdin(Stdio::null()).output();
    let outcome = match listed {
        Ok(output) if output.status.success() => runtimes(&String::from_utf8_lossy(&output.stdout)),
        Ok(output) => Err(format!("`dotnet --list-runtimes` failed ({})", output.status)),
        Err(_) => Err(format!(
            "there is no `dotnet` on the PATH; programs that bring their own runtime can be dialled all the same, for others \
             install .NET 8 or later{}",
            checkout::instead_of("dotnet")
        )),
    };
    check("dotnet", outcome)
}

/// The versions in the output of `dotnet --list-runtimes`: lines `Microsoft.NETCore.App 8.0.31 [/path]`.
fn runtimes(output: &str) -> Result<String, String> {
    let versions: Vec<&str> = output
        .lines()
        .filter_map(|line| line.strip_prefix("Microsoft.NETCore.App ")?.split_whitespace().next())
        .collect();
    if versions.is_empty() {
        return Err(
            "`dotnet` is there but has no Microsoft.NETCore.App runtime; install .NET 8 or later".to_owned()
        );
    }
    Ok(format!("Microsoft.NETCore.App {}", versions.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_read_from_dotnets_list() {
        let output = "Microsoft.AspNetCore.App 8.0.31 [/x]\nMicrosoft.NETCore.App 8.0.31 [/x y]\n\
                      Microsoft.NETCore.App 10.0.0-rc.1 [/x]\n";
        assert_eq!(runtimes(output), Ok("Microsoft.NETCore.App 8.0.31, 10.0.0-rc.1".to_owned()));
        assert!(runtimes("").is_err());
    }

    #[test]
    fn a_check_is_a_line_and_its_advice() {
        assert_eq!(lines(&check("dotnet", Ok(String::new()))), ["ok       dotnet"]);
        assert_eq!(
            lines(&check("dotnet", Err("install it".into()))),
            ["missing  dotnet", "         install it"]
        );
    }

    #[test]
    fn json_rows_have_the_documented_fields() {
        assert_eq!(
            serde_json::to_value([check("dotnet", Err("install it".into())), check("x", Ok(String::new()))])
                .expect("JSON"),
            serde_json::json!([
                {"check": "dotnet", "ok": false, "advice": "install it"},
                {"check": "x", "ok": true, "advice": null},
            ])
        );
    }

    #[test]
    fn the_endpoint_of_this_process_can_be_made_and_is_taken_away() {
        let _alone = crate::link::test_agent::alone();
        let check = endpoint_check();
        assert!(check.ok, "{:?}", check.advice);
        #[cfg(unix)]
        assert!(!std::path::Path::new(&check.advice.expect("its name")).exists());
    }
}
