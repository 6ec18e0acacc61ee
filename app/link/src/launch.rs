//! Starts a program with the agent: its environment variables and the two small files that accompany them.
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

/// The options of a launch.
#[derive(Clone, Debug, Default)]
pub struct LaunchOptions {
    /// Dials to set before any module loads.
    pub orders: Vec<Order>,
    /// Whether child processes get the agent, too.
    pub children: bool,
    /// Whether inlining is off.
    pub no_inlining: bool,
    /// The overhead budget of all dials, if given.
    pub budget: Option<Option<Share>>,
    /// Whether the launcher waits for a final report.
    pub report: bool,
}

/// Variables to remove: those that would make a runtime load another profiler library (paths by word size
/// override the plain one), and ours of an outer `redial run`.
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

/// The files of a launch; deleted on drop.
pub struct LaunchFiles {
    orders: Option<PrivateFile>,
    mark: PrivateFile,
}

impl LaunchFiles {
    /// Writes the dial set (if there are orders) and an empty mark file into the temporary folder, readable
    /// only by this user.
    pub fn create(wishes: &LaunchOptions) -> io::Result<LaunchFiles> {
        let orders = match wishes.orders.as_slice() {
            [] => None,
            orders => Some(PrivateFile::create("orders", dialset::print(orders).as_bytes())?),
        };
        Ok(LaunchFiles { orders, mark: PrivateFile::create("mark", b"")? })
    }

    /// Returns the file in which each agent notes that it was loaded, or why it is inactive.
    pub fn mark(&self) -> &Path {
        &self.mark.0
    }
}

/// Adds the environment that loads the agent to a command. `launcher` is this process.
pub fn prepare(
    command: &mut Command,
    agent: &Path,
    wishes: &LaunchOptions,
    launcher: ProcessKey,
    files: &LaunchFiles,
) {
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
    wishes: &LaunchOptions,
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

/// Returns the variable and value that name another profiler, which the agent would displace.
pub fn other_profiler(lookup: impl Fn(&str) -> Option<OsString>) -> Option<(&'static str, OsString)> {
    ["CORECLR", "COR"].into_iter().zip(["CORECLR_PROFILER", "COR_PROFILER"]).find_map(|(prefix, variable)| {
        let on = lookup(&format!("{prefix}_ENABLE_PROFILING")).is_some_and(|value| value == OsStr::new("1"));
        let profiler = lookup(variable).filter(|value| !value.eq_ignore_ascii_case(AGENT_CLSID))?;
        on.then_some((variable, profiler))
    })
}

/// Returns the variable that keeps all profilers out of programs started with this environment, if there is one.
pub fn profiler_switch(lookup: impl Fn(&str) -> Option<OsString>) -> Option<&'static str> {
    let switches = [
        "DOTNET_EnableDiagnostics",
        "COMPlus_EnableDiagnostics",
        "DOTNET_EnableDiagnostics_Profiler",
        "COMPlus_EnableDiagnostics_Profiler",
    ];
    switches.into_iter().find(|name| lookup(name).is_some_and(|value| value == OsStr::new("0")))
}

/// An agent's note in the mark file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkEntry {
    /// It was loaded in the process with this key.
    Loaded(ProcessKey),
    /// It was loaded and is inactive, for this reason.
    Inert(String),
}

/// Parses the complete lines of a mark file and ignores unknown ones.
pub fn marks(text: &str) -> Vec<MarkEntry> {
    let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
    let mark = |line: &str| {
        if let Some(reason) = line.strip_prefix("inert ") {
            return Some(MarkEntry::Inert(reason.to_owned()));
        }
        let (pid, start) = line.strip_prefix("loaded ")?.split_once(' ')?;
        Some(MarkEntry::Loaded(ProcessKey { pid: pid.parse().ok()?, start: start.trim().parse().ok()? }))
    };
    whole.lines().filter_map(mark).collect()
}

/// The agents' notes about the orders of a launch, by the index of the order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchNotes {
    /// Orders that matched something in any process.
    pub matched: BTreeSet<usize>,
    /// Suggested patterns for some of the others.
    pub suggestions: BTreeMap<usize, Vec<String>>,
}

/// Parses the notes about orders in a mark file and ignores other lines.
pub fn parse_notes(text: &str) -> LaunchNotes {
    let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
    let mut noted = LaunchNotes::default();
    for line in whole.lines() {
        if let Some(index) = line.strip_prefix("matched ").and_then(|index| index.parse().ok()) {
            noted.matched.insert(index);
        } else if let Some((index, pattern)) =
            line.strip_prefix("near ").and_then(|rest| rest.split_once(' '))
            && let Ok(index) = index.parse()
        {
            let suggestions: &mut Vec<String> = noted.suggestions.entry(index).or_default();
            // Several processes may suggest the same pattern.
            if !suggestions.iter().any(|known| known == pattern) {
                suggestions.push(pattern.to_owned());
            }
        }
    }
    noted
}

/// A file in the temporary folder that only this user may read; deleted on drop. A killed launcher cannot do that, so
/// later launches remove its files. On Unix a lock shows that the launcher lives.
struct PrivateFile(PathBuf, File);

/// Entries of the temporary folder that a launch looks through for files of killed launchers.
#[cfg(unix)]
const MAX_SWEEP: usize = 4096;

/// Removes the files of launchers that were killed.
#[cfg(unix)]
fn sweep(folder: &Path) {
    let is_orphan = |name: &str| -> Option<bool> {
        let mut parts = name.strip_prefix("redial-")?.split('-');
        let (kind, pid, start) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let launcher = ProcessKey { pid, start };
        Some(["mark", "orders"].contains(&kind) && process::key_of(pid).ok() != Some(launcher))
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().take(MAX_SWEEP).filter_map(Result::ok) {
        if entry.file_name().to_str().and_then(is_orphan) != Some(true) {
            continue;
        }
        // A launcher in another pid namespace looks dead, but holds its lock. Never opens a link or a FIFO.
        let mut options = OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
        if options.write(true).open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

impl PrivateFile {
    fn create(kind: &str, content: &[u8]) -> io::Result<PrivateFile> {
        let me = process::own_key().map_err(io::Error::other)?;
        let folder = std::path::absolute(std::env::temp_dir())?;
        #[cfg(unix)]
        sweep(&folder);
        // Other users may have taken the name; `create_new` neither opens nor follows an existing file.
        let mut taken = None;
        for attempt in 0..100 {
            let path = folder.join(format!("redial-{kind}-{}-{}-{attempt}", me.pid, me.start));
            match create_private(&path) {
                Ok(file) => {
                    // Locks are mandatory on Windows: the agent could not write.
                    #[cfg(unix)]
                    let _ = file.lock();
                    let mut created = PrivateFile(path, file);
                    created.1.write_all(content)?;
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
    fn sets_the_agreed_environment() {
        let (agent, mark) = (Path::new("/opt/libredial_agent.so"), Path::new("/tmp/mark"));
        let plain: HashMap<_, _> =
            environment(agent, &LaunchOptions::default(), LAUNCHER, None, mark).into_iter().collect();
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
            LaunchOptions { orders: vec![order()], children: true, no_inlining: true, report: true, budget };
        let full: HashMap<_, _> =
            environment(agent, &wishes, LAUNCHER, Some(Path::new("/tmp/orders")), mark).into_iter().collect();
        assert_eq!(full["REDIAL_ORDERS"], "/tmp/orders");
        for switch in ["REDIAL_CHILDREN", "REDIAL_NO_INLINING", "REDIAL_REPORT"] {
            assert_eq!(full[switch], "1");
        }
    }

    #[test]
    fn files_are_private_and_deleted_on_drop() {
        let wishes = LaunchOptions { orders: vec![order()], ..LaunchOptions::default() };
        let files = LaunchFiles::create(&wishes).expect("files");
        let second = LaunchFiles::create(&wishes).expect("a second launch of this process");
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
        assert!(LaunchFiles::create(&LaunchOptions::default()).expect("files").orders.is_none());
    }

    #[test]
    #[cfg(unix)]
    fn sweep_removes_only_files_of_dead_launchers() {
        let folder = std::env::temp_dir().join(format!("redial-sweep-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let me = process::own_key().expect("a key");
        let alive = format!("redial-mark-{}-{}-0", me.pid, me.start);
        let names =
            ["redial-mark-4294967295-1-0", "redial-orders-4294967295-1-7", "redial-mark-4294967295-2-0"];
        for name in names.iter().copied().chain([alive.as_str(), "redial-other-4294967295-1-0", "mark"]) {
            std::fs::write(folder.join(name), "").expect("written");
        }
        // A launcher in another pid namespace.
        let held = File::open(folder.join(names[2])).expect("there");
        held.lock().expect("locked");
        sweep(&folder);
        let left = |name: &str| folder.join(name).exists();
        assert_eq!(names.map(left), [false, false, true]);
        assert!([alive.as_str(), "redial-other-4294967295-1-0", "mark"].into_iter().all(left));
        drop(held);
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn marks_are_whole_lines() {
        assert_eq!(
            marks("loaded 12 777\ninert REDIAL_DISABLE is set\nnonsense\nloaded 13 7"),
            [
                MarkEntry::Loaded(ProcessKey { pid: 12, start: 777 }),
                MarkEntry::Inert("REDIAL_DISABLE is set".into()),
            ]
        );
        assert!(marks("").is_empty() && marks("loaded 1 2").is_empty());
    }

    #[test]
    fn notes_about_orders_are_whole_lines() {
        let text = "loaded 12 777\nmatched 0\nnear 1 Shop.Cart.Add\nnear 1 Shop.Cart.*\nnear 1 Shop.Cart.Add\n\
                    matched x\nnear 2\nmatched 3";
        let similar = vec!["Shop.Cart.Add".to_owned(), "Shop.Cart.*".to_owned()];
        let expected =
            LaunchNotes { matched: BTreeSet::from([0]), suggestions: BTreeMap::from([(1, similar)]) };
        assert_eq!(parse_notes(text), expected);
        assert_eq!(marks(text).len(), 1, "marks are other lines");
    }

    #[test]
    fn reports_only_another_enabled_profiler() {
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
