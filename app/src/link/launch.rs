//! Starting a program with the agent in it: the variables it gets and the two small files that go with them.
#![forbid(unsafe_code)]

use redial_protocol::AGENT_CLSID;
use redial_protocol::cost::Share;
use redial_protocol::ids::ProcessKey;
use redial_protocol::order::Order;
use redial_protocol::{dialset, process};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `run` was asked for.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Dials to set before any module loads.
    pub orders: Vec<Order>,
    /// Whether programs the child starts get the agent too.
    pub children: bool,
    /// Whether inlining is switched off.
    pub no_inlining: bool,
    /// What dials may cost together, where that is said.
    pub budget: Option<Option<Share>>,
    /// Whether someone waits for the last numbers.
    pub report: bool,
}

/// Variables by which a runtime would find another profiler library before ours (the paths by word size win over
/// the plain one), and ours of an outer `redial run`.
const REMOVED: [&str; 15] = [
    "CORECLR_PROFILER_PATH_32",
    "CORECLR_PROFILER_PATH_64",
    "CORECLR_PROFILER_PATH_ARM32",
    "CORECLR_PROFILER_PATH_ARM64",
    "COR_PROFILER_PATH_32",
    "COR_PROFILER_PATH_64",
    "COR_PROFILER_PATH_ARM32",
    "COR_PROFILER_PATH_ARM64",
    "REDIAL_ORDERS",
    "REDIAL_LAUNCHER",
    "REDIAL_MARK",
    "REDIAL_CHILDREN",
    "REDIAL_NO_INLINING",
    "REDIAL_REPORT",
    "CORECLR_ENABLE_NOTIFICATION_PROFILERS",
];

/// The files that go with a launch; deleted when dropped.
pub struct Files {
    orders: Option<PrivateFile>,
    mark: PrivateFile,
}

impl Files {
    /// Writes the dial set (if there are orders) and an empty mark into the temporary folder, for this user only.
    pub fn create(wishes: &Wishes) -> io::Result<Files> {
        let orders = match wishes.orders.as_slice() {
            [] => None,
            orders => Some(PrivateFile::create("orders", dialset::print(orders).as_bytes())?),
        };
        Ok(Files { orders, mark: PrivateFile::create("mark", b"")? })
    }

    /// The file in which each agent notes that it was loaded, or why it stays inert.
    pub fn mark(&self) -> &Path {
        &self.mark.0
    }
}

/// Gives a command the environment that loads the agent. `launcher` is this process.
pub fn prepare(command: &mut Command, agent: &Path, wishes: &Wishes, launcher: ProcessKey, files: &Files) {
    for name in REMOVED {
        command.env_remove(name);
    }
    command.envs(environment(
        agent,
        wishes,
        launcher,
        files.orders.as_ref().map(|file| file.0.as_path()),
        files.mark(),
    ));
}

fn environment(
    agent: &Path,
    wishes: &Wishes,
    launcher: ProcessKey,
    orders: Option<&Path>,
    mark: &Path,
) -> Vec<(&'static str, OsString)> {
    let mut variables: Vec<(&'static str, OsString)> = vec![
        ("CORECLR_ENABLE_PROFILING", "1".into()),
        ("CORECLR_PROFILER", AGENT_CLSID.into()),
        ("CORECLR_PROFILER_PATH", agent.into()),
        ("COR_ENABLE_PROFILING", "1".into()),
        ("COR_PROFILER", AGENT_CLSID.into()),
        ("COR_PROFILER_PATH", agent.into()),
        ("REDIAL_LAUNCHER", format!("{}:{}", launcher.pid, launcher.start).into()),
        ("REDIAL_MARK", mark.into()),
    ];
    variables.extend(orders.map(|orders| ("REDIAL_ORDERS", orders.into())));
    variables.extend(wishes.budget.map(|limit| ("REDIAL_BUDGET", budget(limit))));
    let switches = [
        ("REDIAL_CHILDREN", wishes.children),
        ("REDIAL_NO_INLINING", wishes.no_inlining),
        ("REDIAL_REPORT", wishes.report),
    ];
    variables.extend(switches.into_iter().filter(|(_, on)| *on).map(|(name, _)| (name, OsString::from("1"))));
    variables
}

fn budget(limit: Option<Share>) -> OsString {
    limit.map_or_else(|| "off".to_owned(), |limit| limit.percent().to_string()).into()
}

/// Another profiler that the environment names, which the agent would displace: its variable and value.
pub fn other_profiler(lookup: impl Fn(&str) -> Option<OsString>) -> Option<(&'static str, OsString)> {
    ["CORECLR", "COR"].into_iter().zip(["CORECLR_PROFILER", "COR_PROFILER"]).find_map(|(prefix, variable)| {
        let on = lookup(&format!("{prefix}_ENABLE_PROFILING")).is_some_and(|value| value == OsStr::new("1"));
        let profiler = lookup(variable).filter(|value| !value.eq_ignore_ascii_case(AGENT_CLSID))?;
        on.then_some((variable, profiler))
    })
}

/// What one agent noted in the mark file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It was loaded in the process with this key.
    Loaded(ProcessKey),
    /// It was loaded and stays inert, for this reason.
    Inert(String),
}

/// Reads the whole lines of a mark file's text; others are ignored.
pub fn marks(text: &str) -> Vec<Mark> {
    let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
    let mark = |line: &str| {
        if let Some(reason) = line.strip_prefix("inert ") {
            return Some(Mark::Inert(reason.to_owned()));
        }
        let (pid, start) = line.strip_prefix("loaded ")?.split_once(' ')?;
        Some(Mark::Loaded(ProcessKey { pid: pid.parse().ok()?, start: start.trim().parse().ok()? }))
    };
    whole.lines().filter_map(mark).collect()
}

/// What the agents noted of the orders they were launched with, by their place among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Those that matched something, in any process.
    pub matched: BTreeSet<usize>,
    /// For some of the others patterns that would have.
    pub near: BTreeMap<usize, Vec<String>>,
}

/// Reads what a mark file's text says of the orders; other lines are ignored.
pub fn noted(text: &str) -> Noted {
    let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
    let mut noted = Noted::default();
    for line in whole.lines() {
        if let Some(index) = line.strip_prefix("matched ").and_then(|index| index.parse().ok()) {
            noted.matched.insert(index);
        } else if let Some((index, pattern)) =
            line.strip_prefix("near ").and_then(|rest| rest.split_once(' '))
            && let Ok(index) = index.parse()
        {
            let near: &mut Vec<String> = noted.near.entry(index).or_default();
            // Of several processes with the same names.
            if !near.iter().any(|known| known == pattern) {
                near.push(pattern.to_owned());
            }
        }
    }
    noted
}

/// A file in the temporary folder that only this user may read; deleted when dropped.
struct PrivateFile(PathBuf);

impl PrivateFile {
    fn create(what: &str, content: &[u8]) -> io::Result<PrivateFile> {
        let me = process::own_key().map_err(io::Error::other)?;
        let folder = std::path::absolute(std::env::temp_dir())?;
        // Names can be taken by whoever may write there; `create_new` never opens, nor follows, what is there.
        let mut taken = None;
        for attempt in 0..100 {
            let path = folder.join(format!("redial-{what}-{}-{}-{attempt}", me.pid, me.start));
            match create_private(&path) {
                Ok(mut file) => {
                    let created = PrivateFile(path);
                    file.write_all(content)?;
                    return Ok(created);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = Some(error),
                Err(error) => {
                    return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
                }
            }
        }
        Err(taken.unwrap_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists)))
    }
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::level::Level;
    use std::collections::HashMap;

    const LAUNCHER: ProcessKey = ProcessKey { pid: 42, start: 777 };

    fn order() -> Order {
        Order::new("Shop.Cart.*", Level::Count)
    }

    #[test]
    fn the_environment_is_the_agreed_one() {
        let (agent, mark) = (Path::new("/opt/libredial_agent.so"), Path::new("/tmp/mark"));
        let plain: HashMap<_, _> =
            environment(agent, &Wishes::default(), LAUNCHER, None, mark).into_iter().collect();
        for prefix in ["CORECLR", "COR"] {
            let value = |name: &str| plain.get(format!("{prefix}_{name}").as_str()).cloned();
            assert_eq!(value("ENABLE_PROFILING"), Some("1".into()));
            assert_eq!(value("PROFILER"), Some("{5A0D91E4-7C3B-4E62-9F18-52D1A17E0B6C}".into()));
            assert_eq!(value("PROFILER_PATH"), Some("/opt/libredial_agent.so".into()));
        }
        assert_eq!(plain["REDIAL_LAUNCHER"], "42:777");
        assert_eq!(plain["REDIAL_MARK"], "/tmp/mark");
        assert_eq!(plain.len(), 8, "{plain:?}");
        let budget = Some(Some(Share(50)));
        let wishes =
            Wishes { orders: vec![order()], children: true, no_inlining: true, report: true, budget };
        let full: HashMap<_, _> =
            environment(agent, &wishes, LAUNCHER, Some(Path::new("/tmp/orders")), mark).into_iter().collect();
        assert_eq!(full["REDIAL_ORDERS"], "/tmp/orders");
        for switch in ["REDIAL_CHILDREN", "REDIAL_NO_INLINING", "REDIAL_REPORT"] {
            assert_eq!(full[switch], "1");
        }
    }

    #[test]
    fn files_are_private_hold_the_orders_and_go_away() {
        let wishes = Wishes { orders: vec![order()], ..Wishes::default() };
        let files = Files::create(&wishes).expect("files");
        let second = Files::create(&wishes).expect("a second launch of this process");
        assert_ne!(files.mark(), second.mark());
        let orders = files.orders.as_ref().expect("there are orders").0.clone();
        let text = std::fs::read_to_string(&orders).expect("readable");
        assert!(text.starts_with("# redial dials 1\n"), "{text}");
        assert_eq!(dialset::parse(&text).expect("a dial set"), wishes.orders);
        #[cfg(unix)]
        for path in [orders.as_path(), files.mark()] {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o600);
        }
        let mark = files.mark().to_owned();
        drop(files);
        assert!(!orders.exists() && !mark.exists());
        assert!(Files::create(&Wishes::default()).expect("files").orders.is_none());
    }

    #[test]
    fn marks_are_whole_lines() {
        assert_eq!(
            marks("loaded 12 777\ninert REDIAL_DISABLE is set\nnonsense\nloaded 13 7"),
            [Mark::Loaded(ProcessKey { pid: 12, start: 777 }), Mark::Inert("REDIAL_DISABLE is set".into()),]
        );
        assert!(marks("").is_empty() && marks("loaded 1 2").is_empty());
    }

    #[test]
    fn what_is_noted_of_orders_is_read_from_whole_lines() {
        let text = "loaded 12 777\nmatched 0\nnear 1 Shop.Cart.Add\nnear 1 Shop.Cart.*\nnear 1 Shop.Cart.Add\n\
                    matched x\nnear 2\nmatched 3";
        let near = vec!["Shop.Cart.Add".to_owned(), "Shop.Cart.*".to_owned()];
        let expected = Noted { matched: BTreeSet::from([0]), near: BTreeMap::from([(1, near)]) };
        assert_eq!(noted(text), expected);
        assert_eq!(marks(text).len(), 1, "marks are other lines");
    }

    #[test]
    fn only_another_profiler_that_is_on_counts() {
        let look = |pairs: &[(&str, &str)]| {
            let pairs: HashMap<String, OsString> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
            other_profiler(|name| pairs.get(name).cloned()).map(|(variable, _)| variable)
        };
        let other = "{11111111-2222-3333-4444-555555555555}";
        assert_eq!(look(&[]), None);
        assert_eq!(look(&[("CORECLR_PROFILER", other)]), None, "it is not on");
        assert_eq!(look(&[("CORECLR_ENABLE_PROFILING", "1"), ("CORECLR_PROFILER", AGENT_CLSID)]), None);
        assert_eq!(
            look(&[("CORECLR_ENABLE_PROFILING", "1"), ("CORECLR_PROFILER", other)]),
            Some("CORECLR_PROFILER")
        );
        assert_eq!(look(&[("COR_ENABLE_PROFILING", "1"), ("COR_PROFILER", other)]), Some("COR_PROFILER"));
    }
}
