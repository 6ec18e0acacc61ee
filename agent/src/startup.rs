//! What the environment asks of the agent, read once at `Initialize`. A malformed variable makes the agent inert:
//! when in doubt it stays out of the way.
#![forbid(unsafe_code)]

use crate::planner::{NewOrder, OrderSeq, Orders, Owner, SetBy};
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

/// Milliseconds a host thread waits at module load at most.
const FIRST_CALL_WAIT_MS: u64 = 100;
/// Largest orders file read, bytes.
const MAX_ORDERS_FILE: u64 = 4 << 20;

/// What to do in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Highest level anyone may ask for (`REDIAL_MAX_LEVEL`).
    pub max_level: Level,
    /// Dial set to read before anything loads (`REDIAL_ORDERS`).
    pub orders: Option<PathBuf>,
    /// The launcher (`REDIAL_LAUNCHER`, `pid:start`).
    pub launcher: Option<ProcessKey>,
    /// Active anywhere below the launcher, not only in its child (`REDIAL_CHILDREN`).
    pub children: bool,
    /// Keep the JIT from inlining anything (`REDIAL_NO_INLINING`).
    pub no_inlining: bool,
    /// What dials may cost together (`REDIAL_BUDGET`).
    pub budget: Option<Share>,
    /// Wait at shutdown for a controller to take the last numbers (`REDIAL_REPORT`).
    pub report: bool,
    /// Silence after which a session that holds dials is taken for dead (`REDIAL_SILENCE_MS`, for tests).
    pub silence: Duration,
    /// Longest wait of a host thread at module load for the first turn of a matching order (`REDIAL_FIRST_CALL_MS`, for
    /// tests).
    pub first_call_wait: Duration,
    /// Time in which a frame that has begun must end (`REDIAL_FRAME_MS`, for tests).
    pub frame_deadline: Duration,
    /// Ask for a method that does not exist along with every request (`REDIAL_TEST_BAD_TOKEN`, test builds only).
    pub provoke_rejit_error: bool,
    /// Requests wait as long as this file is there (`REDIAL_TEST_HANG`, test builds only).
    pub provoke_hang: Option<PathBuf>,
}

/// Why the agent stays inert.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inert {
    /// `REDIAL_DISABLE`.
    #[error("REDIAL_DISABLE is set")]
    Disabled,
    /// A variable that cannot be understood.
    #[error("{name} is '{value}', which is not {wanted}")]
    Malformed {
        /// The variable.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// `REDIAL_ORDERS` cannot be followed.
    #[error("REDIAL_ORDERS ({}) cannot be followed: {problem}", path.display())]
    Orders {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Not the process the launcher started.
    #[error("this process was not started by `redial run` itself (--children includes its children)")]
    NotLaunched,
}

impl Settings {
    /// Reads the settings through `lookup` (the environment, or a test's).
    ///
    /// # Errors
    /// [`Inert`] when the agent is switched off or a variable is malformed.
    pub fn read(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Settings, Inert> {
        let word = |name: &'static str| {
            lookup(name).filter(|v| !v.is_empty()).map(|v| v.to_string_lossy().into_owned())
        };
        if flag("REDIAL_DISABLE", word("REDIAL_DISABLE"))? {
            return Err(Inert::Disabled);
        }
        Ok(Settings {
            max_level: max_level(word("REDIAL_MAX_LEVEL"))?,
            orders: lookup("REDIAL_ORDERS").filter(|v| !v.is_empty()).map(PathBuf::from),
            launcher: launcher(word("REDIAL_LAUNCHER"))?,
            children: flag("REDIAL_CHILDREN", word("REDIAL_CHILDREN"))?,
            no_inlining: flag("REDIAL_NO_INLINING", word("REDIAL_NO_INLINING"))?,
            budget: budget(word("REDIAL_BUDGET"))?,
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

    /// Reads the settings of an agent that is attached: variables that `redial run` sets are about its own start, and
    /// do not apply.
    ///
    /// # Errors
    /// As [`Settings::read`].
    pub fn read_attached(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Settings, Inert> {
        Settings::read(|name| VARIABLES.contains(&name).then(|| lookup(name)).flatten())
    }

    /// Whether the agent is to be active in a process with these ancestors (parent first).
    pub fn wanted_below(&self, ancestors: impl IntoIterator<Item = ProcessKey>) -> bool {
        let Some(launcher) = self.launcher else { return true };
        let near = if self.children { usize::MAX } else { 1 };
        ancestors.into_iter().take(near).any(|ancestor| ancestor == launcher)
    }
}

fn flag(name: &'static str, value: Option<String>) -> Result<bool, Inert> {
    match value.as_deref() {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(other) => Err(Inert::Malformed { name, value: other.to_owned(), wanted: "0 or 1" }),
    }
}

fn milliseconds(name: &'static str, value: Option<String>, default: u64) -> Result<Duration, Inert> {
    let Some(value) = value else { return Ok(Duration::from_millis(default)) };
    match value.parse() {
        Ok(ms) => Ok(Duration::from_millis(ms)),
        Err(_) => Err(Inert::Malformed { name, value, wanted: "a number of milliseconds" }),
    }
}

fn max_level(value: Option<String>) -> Result<Level, Inert> {
    let Some(value) = value else { return Ok(Level::OFFERED) };
    Level::from_word(&value).ok_or(Inert::Malformed {
        name: "REDIAL_MAX_LEVEL",
        value,
        wanted: "one of off, count, time, trace",
    })
}

fn budget(value: Option<String>) -> Result<Option<Share>, Inert> {
    let Some(value) = value else { return Ok(None) };
    let wanted = "off, or so many percent of one processor";
    Share::parse_budget(&value).map_err(|_| Inert::Malformed { name: "REDIAL_BUDGET", value, wanted })
}

fn launcher(value: Option<String>) -> Result<Option<ProcessKey>, Inert> {
    let Some(value) = value else { return Ok(None) };
    let parsed = value
        .split_once(':')
        .and_then(|(pid, start)| Some(ProcessKey { pid: pid.parse().ok()?, start: start.parse().ok()? }));
    match parsed {
        Some(key) => Ok(Some(key)),
        None => Err(Inert::Malformed { name: "REDIAL_LAUNCHER", value, wanted: "PID:START" }),
    }
}

/// Reads `REDIAL_ORDERS`: the dials that stand before anything loads, and their numbers as they were given.
///
/// # Errors
/// When the file cannot be read, is not private to its owner, is too large, is no dial set, or asks for more than
/// this agent offers.
pub fn read_orders(path: &Path, max_level: Level) -> Result<(Orders, Vec<OrderSeq>), Inert> {
    let malformed = |wanted: String| Inert::Orders { path: path.to_owned(), problem: wanted };
    let file = crate::platform::open_private(path).map_err(|e| malformed(e.to_string()))?;
    let mut text = String::new();
    file.take(MAX_ORDERS_FILE + 1).read_to_string(&mut text).map_err(|e| malformed(e.to_string()))?;
    if text.len() as u64 > MAX_ORDERS_FILE {
        return Err(malformed(format!("it is longer than {MAX_ORDERS_FILE} bytes")));
    }
    let mut new = Vec::new();
    let by = Arc::new(SetBy { program: "redial run".into(), ..SetBy::default() });
    for order in redial_protocol::dialset::parse(&text).map_err(|e| malformed(e.to_string()))? {
        if order.level > max_level {
            let sentence = format!("it asks for {}, and this agent offers up to {max_level}", order.level);
            return Err(malformed(sentence));
        }
        if order.copy.is_some() {
            return Err(malformed("it names a copy by its ModuleID, which no module has yet".into()));
        }
        let pattern = Pattern::parse(&order.pattern).map_err(|e| malformed(e.to_string()))?;
        new.push(NewOrder {
            pattern: Arc::new(pattern),
            order,
            copy: None,
            owner: Owner::Kept,
            by: Arc::clone(&by),
            stepped: None,
        });
    }
    let mut orders = Orders::default();
    let added = orders.add_all(new).map_err(|e| malformed(e.to_string()))?;
    Ok((orders, added.seqs))
}

/// File that tells the launcher whether the agent is active (`REDIAL_MARK`). Apart from [`Settings`], since the
/// reason why those cannot be read belongs into it too.
pub fn mark(lookup: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    lookup("REDIAL_MARK").filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Tells the launcher, through its mark file, whether the agent is active here. Only a process it may be about
/// writes: a file that is gone stays gone.
pub fn leave_mark(path: &Path, result: &Result<ProcessKey, crate::agent::StartError>) {
    use std::io::Write;
    let line = match result {
        Ok(process) => format!("loaded {} {}\n", process.pid, process.start),
        Err(reason) => format!("inert {reason}\n"),
    };
    // The launcher treats a missing word as "not known", so a failed write loses nothing of the host's.
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(path) {
        drop(file.write_all(line.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Settings, Inert> {
        Settings::read(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v)))
    }

    #[test]
    fn nothing_set_means_active() {
        let settings = with(&[]).unwrap();
        assert_eq!(settings.max_level, Level::OFFERED);
        assert!(settings.wanted_below([]));
    }

    #[test]
    fn malformed_variables_make_it_inert_and_are_named() {
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
        assert_eq!(with(&[("REDIAL_DISABLE", "1")]), Err(Inert::Disabled));
    }

    #[test]
    fn attached_it_obeys_what_is_not_about_a_launch() {
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
        assert_eq!(attached(&[("REDIAL_DISABLE", "1")]), Err(Inert::Disabled));
        assert_eq!(attached(&[("REDIAL_BUDGET", "2.5")]).unwrap().budget, Some(Share(250)));
        let counting = attached(&[("REDIAL_MAX_LEVEL", "count"), ("REDIAL_SILENCE_MS", "7")]).unwrap();
        assert_eq!((counting.max_level, counting.silence), (Level::Count, Duration::from_millis(7)));
        assert!(matches!(
            attached(&[("REDIAL_MAX_LEVEL", "counts")]),
            Err(Inert::Malformed { name: "REDIAL_MAX_LEVEL", .. })
        ));
    }

    #[test]
    fn only_the_launched_process_is_active_unless_children_are_asked_for() {
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
