//! `redial doctor`: checks this machine for problems and suggests fixes. It changes nothing.

mod check;
mod environment;

use super::arguments;
use crate::output::Out;
use crate::output::json::CheckJson;
use check::check;
use redial_link::checkout;
use redial_link::discover::{self, RuntimeSearch};
use redial_link::exit::{Exit, Failure};
use redial_link::library;
use redial_protocol::process;
use redial_protocol::transport::Listener;
use redial_text::words;
use std::process::{Command, Stdio};

/// Prints all checks; exits with 1 if one fails.
pub fn run(arguments: &arguments::DoctorArguments) -> Result<Exit, Failure> {
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

fn library_check() -> CheckJson {
    let outcome = library::find_here().map_err(|error| error.to_string()).and_then(|path| {
        library::check(&path)?;
        Ok(path.display().to_string())
    });
    check("agent library", outcome)
}

/// Creates and removes the endpoint that an agent would create in a process of this user.
fn endpoint_check() -> CheckJson {
    let bound = process::own_key()
        .map_err(|error| error.to_string())
        .and_then(|me| Listener::bind(me).map_err(|error| error.to_string()));
    let outcome = bound.map(|listener| listener.name()).map_err(|error| {
        format!("agents of this user would be unreachable: {error}. Set XDG_RUNTIME_DIR or TMPDIR to a folder you own")
    });
    check("endpoint", outcome)
}

fn visibility_check() -> CheckJson {
    let outcome =
        discover::all().map_err(|error| format!("cannot list processes: {error}")).map(|processes| {
            let hidden = processes
                .iter()
                .filter(|process| matches!(process.runtime, RuntimeSearch::Unknown { .. }))
                .count() as u64;
            let all = words::count(processes.len() as u64, "process", "processes");
            match hidden {
                0 => format!("{all}, all readable"),
                hidden => format!(
                    "{all}, {} of them not readable{}",
                    words::grouped(hidden),
                    how_to_read_all(cfg!(windows), is_root())
                ),
            }
        });
    check("processes visible", outcome)
}

fn is_root() -> bool {
    process::owner_of(std::process::id()).is_ok_and(|owner| owner.word() == "0")
}

/// Returns the way to read processes that this user may not read.
fn how_to_read_all(windows: bool, root: bool) -> &'static str {
    match (windows, root) {
        (true, _) => "; an elevated prompt also shows processes of other users",
        (false, false) => "; `sudo redial ps` also shows processes of other users",
        (false, true) => {
            ": root lacks CAP_SYS_PTRACE here, as in most containers. Run Redial outside, or grant it to the container"
        }
    }
}

fn dotnet_check() -> CheckJson {
    let listed = Command::new("dotnet").arg("--list-runtimes").stdin(Stdio::null()).output();
    let outcome = match listed {
        Ok(output) if output.status.success() => runtimes(&String::from_utf8_lossy(&output.stdout)),
        Ok(output) => Err(format!("`dotnet --list-runtimes` failed ({})", output.status)),
        Err(_) => Err(format!(
            "no `dotnet` on the PATH. Programs that bring their own runtime work without it; for others, install .NET 8 \
             or later{}",
            checkout::replacement_for("dotnet")
        )),
    };
    check("dotnet", outcome)
}

/// Reads versions from the output of `dotnet --list-runtimes`: lines `Microsoft.NETCore.App 8.0.31 [/path]`.
fn runtimes(output: &str) -> Result<String, String> {
    let versions: Vec<&str> = output
        .lines()
        .filter_map(|line| line.strip_prefix("Microsoft.NETCore.App ")?.split_whitespace().next())
        .collect();
    if versions.is_empty() {
        return Err("`dotnet` has no Microsoft.NETCore.App runtime; install .NET 8 or later".to_owned());
    }
    Ok(format!("Microsoft.NETCore.App {}", versions.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_runtimes_from_the_dotnet_list() {
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
    fn creates_and_removes_the_endpoint() {
        let _alone = redial_link::test_agent::alone();
        let check = endpoint_check();
        assert!(check.ok, "{:?}", check.advice);
        #[cfg(unix)]
        assert!(!std::path::Path::new(&check.advice.expect("its name")).exists());
    }
}
