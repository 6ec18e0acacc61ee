//! Reads the agent's settings from the environment, once, at `Initialize`. A malformed variable makes the agent
//! inert: when in doubt it stays out of the way.
#![forbid(unsafe_code)]

use crate::capture::{CaptureLevel, CaptureRules, Redaction};
use crate::planner::{NewOrder, OrderAuthor, OrderLifetime, OrderSeq, Orders};
use redial_protocol::attach::VARIABLES;
use redial_protocol::cost::Share;
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use redial_protocol::limits::{FRAME_DEADLINE_MS, SESSION_SILENCE_MS};
use redial_protocol::pattern::Pattern;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Largest value of `REDIAL_MAX_EVENTS`.
const MAX_EVENTS: u64 = 1_000_000;

/// Longest time a host thread waits at module load, milliseconds.
const FIRST_CALL_WAIT_MS: u64 = 100;
/// Largest orders file read, bytes.
const MAX_ORDERS_FILE: u64 = 4 << 20;

/// The agent's settings in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Highest level that orders may have (`REDIAL_MAX_LEVEL`).
    pub max_level: Level,
    /// Dial set to read before anything loads (`REDIAL_ORDERS`).
    pub orders: Option<PathBuf>,
    /// The launcher (`REDIAL_LAUNCHER`, `pid:start`).
    pub launcher: Option<ProcessKey>,
    /// Be active in all descendants of the launcher, not only in its child (`REDIAL_CHILDREN`).
    pub children: bool,
    /// Keep the JIT from inlining (`REDIAL_NO_INLINING`).
    pub no_inlining: bool,
    /// Limit on the cost of all dials together (`REDIAL_BUDGET`).
    pub budget: Option<Share>,
    /// What may be captured of traced calls (`REDIAL_MAX_CAPTURE`, `REDIAL_REDACT`).
    pub capture: CaptureRules,
    /// Calls of all traced methods that may be captured in a second (`REDIAL_MAX_EVENTS`).
    pub max_events: Option<u64>,
    /// Wait at shutdown for a controller to take the last numbers (`REDIAL_REPORT`).
    pub report: bool,
    /// Silence after which a session that holds dials counts as dead (`REDIAL_SILENCE_MS`, for tests).
    pub silence: Duration,
    /// Longest wait of a host thread at module load for the first change by a matching order
    /// (`REDIAL_FIRST_CALL_MS`, for tests).
    pub first_call_wait: Duration,
    /// Time limit for receiving a frame once it has begun (`REDIAL_FRAME_MS`, for tests).
    pub frame_deadline: Duration,
    /// Add a nonexistent method to every request (`REDIAL_TEST_BAD_TOKEN`, test builds only).
    pub provoke_rejit_error: bool,
    /// Requests block while this file exists (`REDIAL_TEST_HANG`, test builds only).
    pub provoke_hang: Option<PathBuf>,
}

/// Why the agent stays inert.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InertReason {
    /// `REDIAL_DISABLE`.
    #[error("REDIAL_DISABLE is set")]
    Disabled,
    /// A variable with an invalid value.
    #[error("{name} is '{value}'; expected {wanted}")]
    Malformed {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// The expected values.
        wanted: &'static str,
    },
    /// The orders in `REDIAL_ORDERS` cannot be applied.
    #[error("cannot apply REDIAL_ORDERS ({}): {problem}", path.display())]
    Orders {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        problem: String,
    },
    /// The launcher did not start this process directly.
    #[error("`redial run` did not start this process directly (--children includes its descendants)")]
    NotLaunched,
}

impl Settings {
    /// Returns the highest level that an order may have here.
    pub fn highest_level(&self) -> Level {
        Level::OFFERED.min(self.max_level)
    }

    /// Reads the settings through `lookup`, which reads the environment except in tests.
    ///
    /// # Errors
    /// [`InertReason`] when the agent is switched off or a variable is malformed.
    pub fn read(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Settings, InertReason> {
        let word = |name: &'static str| {
            lookup(name).filter(|v| !v.is_empty()).map(|v| v.to_string_lossy().into_owned())
        };
        if flag("REDIAL_DISABLE", word("REDIAL_DISABLE"))? {
            return Err(InertReason::Disabled);
        }
        Ok(Settings {
            max_level: max_level(word("REDIAL_MAX_LEVEL"))?,
            orders: lookup("REDIAL_ORDERS").filter(|v| !v.is_empty()).map(PathBuf::from),
            launcher: launcher(word("REDIAL_LAUNCHER"))?,
            children: flag("REDIAL_CHILDREN", word("REDIAL_CHILDREN"))?,
            no_inlining: flag("REDIAL_NO_INLINING", word("REDIAL_NO_INLINING"))?,
            budget: budget(word("REDIAL_BUDGET"))?,
            capture: CaptureRules {
                highest: max_capture(word("REDIAL_MAX_CAPTURE"))?,
                redaction: Redaction::with_changes(&word("REDIAL_REDACT").unwrap_or_default()),
            },
            max_events: max_events(word("REDIAL_MAX_EVENTS"))?,
            report: flag("REDIAL_REPORT", word("REDIAL_REPORT"))?,
            silence: milliseconds("REDIAL_SILENCE_MS", word("REDIAL_SILENCE_MS"), SESSION_SILENCE_MS)?,
            frame_deadline: milliseconds("REDIAL_FRAME_MS", word("REDIAL_FRAME_MS"), FRAME_DEADLINE_MS)?,
            first_call_wait: milliseconds(
                "REDIAL_FIRST_CALL_MS",
                word("REDIAL_FIRST_CALL_MS"),
                FIRST_CALL_WAIT_MS,
            )?,
            provoke_rejit_error: flag("REDIAL_TEST_BAD_TOKEN", word("REDIAL_TEST_BAD_TOKEN"))?,
            provoke_hang: lookup("REDIAL_TEST_HANG").filter(|v| !v.is_empty()).map(PathBuf::from),
        })
    }

    /// Reads the settings of an attached agent, ignoring the variables that `redial run` sets for its own launch.
    ///
    /// # Errors
    /// As [`Settings::read`].
    pub fn read_attached(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Settings, InertReason> {
        Settings::read(|name| VARIABLES.contains(&name).then(|| lookup(name)).flatten())
    }

    /// Whether the agent should be active in a process with these ancestors (parent first).
    pub fn wanted_below(&self, ancestors: impl IntoIterator<Item = ProcessKey>) -> bool {
        let Some(launcher) = self.launcher else { return true };
        let generations = if self.children { usize::MAX } else { 1 };
        ancestors.into_iter().take(generations).any(|ancestor| ancestor == launcher)
    }
}

fn flag(name: &'static str, value: Option<String>) -> Result<bool, InertReason> {
    match value.as_deref() {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(other) => Err(InertReason::Malformed { name, value: other.to_owned(), wanted: "0 or 1" }),
    }
}

fn milliseconds(name: &'static str, value: Option<String>, default: u64) -> Result<Duration, InertReason> {
    let Some(value) = value else { return Ok(Duration::from_millis(default)) };
    match value.parse() {
        Ok(ms) => Ok(Duration::from_millis(ms)),
        Err(_) => Err(InertReason::Malformed { name, value, wanted: "a number of milliseconds" }),
    }
}

fn max_level(value: Option<String>) -> Result<Level, InertReason> {
    let Some(value) = value else { return Ok(Level::OFFERED) };
    Level::from_word(&value).ok_or(InertReason::Malformed {
        name: "REDIAL_MAX_LEVEL",
        value,
        wanted: "one of off, count, time, trace",
    })
}

fn max_capture(value: Option<String>) -> Result<CaptureLevel, InertReason> {
    let Some(value) = value else { return Ok(CaptureLevel::default()) };
    CaptureLevel::from_word(&value).ok_or(InertReason::Malformed {
        name: "REDIAL_MAX_CAPTURE",
        value,
        wanted: "one of none, primitives, strings, objects",
    })
}

fn max_events(value: Option<String>) -> Result<Option<u64>, InertReason> {
    let Some(value) = value else { return Ok(None) };
    let number = value.parse().ok().filter(|number| *number <= MAX_EVENTS);
    let wanted = "calls a second, at most 1000000";
    number.map(Some).ok_or(InertReason::Malformed { name: "REDIAL_MAX_EVENTS", value, wanted })
}

fn budget(value: Option<String>) -> Result<Option<Share>, InertReason> {
    let Some(value) = value else { return Ok(None) };
    let wanted = "off, or a percentage of one processor";
    Share::parse_budget(&value).map_err(|_| InertReason::Malformed { name: "REDIAL_BUDGET", value, wanted })
}

fn launcher(value: Option<String>) -> Result<Option<ProcessKey>, InertReason> {
    let Some(value) = value else { return Ok(None) };
    let parsed = value
        .split_once(':')
        .and_then(|(pid, start)| Some(ProcessKey { pid: pid.parse().ok()?, start: start.parse().ok()? }));
    match parsed {
        Some(key) => Ok(Some(key)),
        None => Err(InertReason::Malformed { name: "REDIAL_LAUNCHER", value, wanted: "PID:START" }),
    }
}

/// Reads `REDIAL_ORDERS`: the orders that stand before anything loads, and their numbers in the given order.
///
/// # Errors
/// When the file cannot be read, is not private to its owner, is too large, is no dial set, or asks for more than
/// this agent offers.
pub fn read_orders(path: &Path, max_level: Level) -> Result<(Orders, Vec<OrderSeq>), InertReason> {
    let malformed = |wanted: String| InertReason::Orders { path: path.to_owned(), problem: wanted };
    let file = crate::platform::open_private(path).map_err(|e| malformed(e.to_string()))?;
    let mut text = String::new();
    file.take(MAX_ORDERS_FILE + 1).read_to_string(&mut text).map_err(|e| malformed(e.to_string()))?;
    if text.len() as u64 > MAX_ORDERS_FILE {
        return Err(malformed(format!("it is longer than {MAX_ORDERS_FILE} bytes")));
    }
    let mut new = Vec::new();
    let by = Arc::new(OrderAuthor { program: "redial run".into(), ..OrderAuthor::default() });
    for order in redial_protocol::dialset::parse(&text).map_err(|e| malformed(e.to_string()))? {
        if order.level > max_level {
            let sentence =
                format!("it asks for level {}; this agent allows at most {max_level}", order.level);
            return Err(malformed(sentence));
        }
        if order.copy.is_some() {
            return Err(malformed("it names a copy by ModuleID, but no module has loaded yet".into()));
        }
        let pattern = Pattern::parse(&order.pattern).map_err(|e| malformed(e.to_string()))?;
        new.push(NewOrder {
            pattern: Arc::new(pattern),
            order,
            copy: None,
            owner: OrderLifetime::Kept,
            by: Arc::clone(&by),
            stepped: None,
        });
    }
    let mut orders = Orders::default();
    let added = orders.add_all(new).map_err(|e| malformed(e.to_string()))?;
    Ok((orders, added.seqs))
}

/// Returns the file in which the agent reports to the launcher whether it is active (`REDIAL_MARK`). Not part of
/// [`Settings`], since the file also reports why those cannot be read.
pub fn mark(lookup: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    lookup("REDIAL_MARK").filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Writes to the launcher's mark file whether the agent is active here. Never creates the file.
pub fn leave_mark(path: &Path, result: &Result<ProcessKey, impl std::fmt::Display>) {
    use std::io::Write;
    let line = match result {
        Ok(process) => format!("loaded {} {}\n", process.pid, process.start),
        Err(reason) => format!("inert {reason}\n"),
    };
    // The launcher treats a missing report as "unknown", so a failed write does not affect the host.
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(path) {
        drop(file.write_all(line.as_bytes()));
    }
}

/// Removes the launcher's two files if it was killed, so that nobody else will. A living launcher holds a lock on them.
#[cfg(unix)]
pub fn remove_orphans(launcher: ProcessKey, lookup: impl Fn(&str) -> Option<OsString>) {
    for path in ["REDIAL_MARK", "REDIAL_ORDERS"].into_iter().filter_map(lookup).map(PathBuf::from) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Never a file that a person made.
        if name.starts_with("redial-")
            && name.contains(&format!("-{}-{}-", launcher.pid, launcher.start))
            && std::fs::File::open(&path).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Does nothing: there a living launcher holds no lock.
#[cfg(not(unix))]
pub fn remove_orphans(_launcher: ProcessKey, _lookup: impl Fn(&str) -> Option<OsString>) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Settings, InertReason> {
        Settings::read(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v)))
    }

    #[test]
    fn active_when_nothing_is_set() {
        let settings = with(&[]).unwrap();
        assert_eq!(settings.max_level, Level::OFFERED);
        assert!(settings.wanted_below([]));
    }

    #[test]
    fn malformed_variables_make_it_inert() {
        for (name, value) in [
            ("REDIAL_DISABLE", "yes"),
            ("REDIAL_MAX_LEVEL", "counts"),
            ("REDIAL_LAUNCHER", "12"),
            ("REDIAL_LAUNCHER", "a:b"),
            ("REDIAL_CHILDREN", "on"),
            ("REDIAL_BUDGET", "0"),
            ("REDIAL_BUDGET", "five"),
        ] {
            let sentence = with(&[(name, value)]).unwrap_err().to_string();
            assert!(sentence.contains(name) && sentence.contains(value), "{sentence}");
        }
        assert_eq!(with(&[("REDIAL_DISABLE", "1")]), Err(InertReason::Disabled));
    }

    #[test]
    fn attached_agent_ignores_launch_variables() {
        let attached = |pairs: &[(&str, &str)]| {
            Settings::read_attached(|name| {
                pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v))
            })
        };
        let of_a_launch = [
            ("REDIAL_LAUNCHER", "7:70"),
            ("REDIAL_ORDERS", "/no/such/file"),
            ("REDIAL_CHILDREN", "on"),
            ("REDIAL_NO_INLINING", "1"),
            ("REDIAL_REPORT", "1"),
        ];
        assert_eq!(attached(&of_a_launch), with(&[]));
        assert_eq!(attached(&[("REDIAL_DISABLE", "1")]), Err(InertReason::Disabled));
        assert_eq!(attached(&[("REDIAL_BUDGET", "2.5")]).unwrap().budget, Some(Share(250)));
        let counting = attached(&[("REDIAL_MAX_LEVEL", "count"), ("REDIAL_SILENCE_MS", "7")]).unwrap();
        assert_eq!((counting.max_level, counting.silence), (Level::Count, Duration::from_millis(7)));
        assert!(matches!(
            attached(&[("REDIAL_MAX_LEVEL", "counts")]),
            Err(InertReason::Malformed { name: "REDIAL_MAX_LEVEL", .. })
        ));
    }

    #[test]
    fn only_the_launched_process_is_active_without_children() {
        let (launcher, shell) = (ProcessKey { pid: 7, start: 70 }, ProcessKey { pid: 8, start: 80 });
        let only = with(&[("REDIAL_LAUNCHER", "7:70")]).unwrap();
        assert!(only.wanted_below([launcher]));
        assert!(!only.wanted_below([shell, launcher]), "a grandchild stays inert");
        assert!(!only.wanted_below([ProcessKey { pid: 7, start: 71 }]), "a reused pid is somebody else");
        let all = with(&[("REDIAL_LAUNCHER", "7:70"), ("REDIAL_CHILDREN", "1")]).unwrap();
        assert!(all.wanted_below([shell, launcher]));
        assert!(!all.wanted_below([shell]));
    }
}
