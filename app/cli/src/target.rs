//! The processes that a command applies to: ids, all of one name, or an application pool.

use redial_link::discover::{self, Process};
use redial_link::exit::{Exit, Failure};
use redial_model::processes::{program_name, same_program, without_extension};
use redial_protocol::ids::ProcessKey;
use redial_text::words::printable;

/// The accepted forms of a process, for errors.
const FORMS: &str = "a process is an id, name:NAME or pool:NAME, or a comma-separated list of these, such as 12,34 or \
                     name:Shop; `redial ps` lists processes";

/// The processes given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    text: String,
    parts: Vec<TargetPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TargetPart {
    Pid(u32),
    /// The name of the program, or of the assembly that `dotnet` runs.
    Name(String),
    /// An IIS application pool.
    Pool(String),
}

/// One process of a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetProcess {
    /// Pid and start time; start time 0 means any process with that pid.
    pub key: ProcessKey,
    /// The program's name; empty if unknown.
    pub name: String,
}

impl TargetProcess {
    /// Returns `process 12 (Shop.dll)`.
    pub fn title(&self) -> String {
        match self.name.as_str() {
            "" => format!("process {}", self.key.pid),
            name => format!("process {} ({})", self.key.pid, printable(name)),
        }
    }

    /// Returns the process with an id. Its name is empty if there is none.
    pub fn with_pid(pid: u32) -> TargetProcess {
        let name = discover::find(pid).map_or(String::new(), |process| TargetProcess::of(&process).name);
        TargetProcess { key: ProcessKey { pid, start: 0 }, name }
    }

    fn of(process: &Process) -> TargetProcess {
        TargetProcess { key: process.key, name: program_name(&process.name, process.command.as_deref()) }
    }
}

impl Target {
    /// Parses a comma-separated list of process forms.
    ///
    /// # Errors
    /// A sentence with the accepted forms.
    pub fn parse(word: &str) -> Result<Target, String> {
        let part = |word: &str| {
            let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
            let part = match word.split_once(':') {
                Some(("name", name)) => named(without_extension(name)).map(TargetPart::Name),
                Some(("pool", name)) => named(name).map(TargetPart::Pool),
                Some(_) => None,
                None => word.parse().ok().filter(|pid| *pid > 0).map(TargetPart::Pid),
            };
            part.ok_or_else(|| FORMS.to_owned())
        };
        let mut parts = Vec::new();
        for word in word.split(',') {
            let part = part(word.trim())?;
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        Ok(Target { text: word.to_owned(), parts })
    }

    /// Makes a target of one process id.
    #[cfg(test)]
    pub fn of(pid: u32) -> Target {
        Target { text: pid.to_string(), parts: vec![TargetPart::Pid(pid)] }
    }

    /// Returns the process id if the target is a single id. Commands then omit process headings.
    pub fn only(&self) -> Option<u32> {
        match self.parts.as_slice() {
            [TargetPart::Pid(pid)] => Some(*pid),
            _ => None,
        }
    }

    /// Returns the target as the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether processes that start later can match.
    pub fn can_grow(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, TargetPart::Pid(_)))
    }

    /// Returns whether a running process that may be .NET matches by name or pool. Ids never match here.
    pub fn means(&self, process: &Process) -> bool {
        let able = process.may_be_dotnet() && !process.ended && process.key.pid != std::process::id();
        able && self.parts.iter().any(|part| match part {
            TargetPart::Pid(_) => false,
            TargetPart::Name(name) => {
                same_program(name, &process.name)
                    || same_program(name, &program_name(&process.name, process.command.as_deref()))
            }
            TargetPart::Pool(pool) => {
                let group = process.group.as_deref().and_then(|group| group.strip_prefix("pool:"));
                // IIS ignores the case of pool names.
                group.is_some_and(|group| group.eq_ignore_ascii_case(pool))
            }
        })
    }

    /// Returns the member for a process that matches by name or pool.
    pub fn member(&self, process: &Process) -> Option<TargetProcess> {
        self.means(process).then(|| TargetProcess::of(process))
    }

    /// Returns the matching processes, sorted by pid. Given ids need not exist; the command reports those later.
    ///
    /// # Errors
    /// When processes cannot be listed, or a given name or pool matches none.
    pub fn find(&self) -> Result<Vec<TargetProcess>, Failure> {
        match self.find_some()? {
            (members, None) => Ok(members),
            (_, Some(missing)) => Err(Failure::new(Exit::NoProcess, missing + "; `redial ps` lists them")),
        }
    }

    /// Like [`Target::find`], but returns a sentence about missing names and pools, which may start later.
    ///
    /// # Errors
    /// When processes cannot be listed.
    pub fn find_some(&self) -> Result<(Vec<TargetProcess>, Option<String>), Failure> {
        let cannot = |error| Failure::new(Exit::Failed, format!("cannot list processes: {error}"));
        let processes = if self.only().is_some() { Vec::new() } else { discover::all().map_err(cannot)? };
        Ok(self.choose(&processes))
    }

    fn choose(&self, processes: &[Process]) -> (Vec<TargetProcess>, Option<String>) {
        let mut members: Vec<TargetProcess> =
            processes.iter().filter_map(|process| self.member(process)).collect();
        let mut missing = None;
        for part in &self.parts {
            let sentence = match part {
                TargetPart::Pid(pid) => {
                    let known = processes.iter().find(|process| process.key.pid == *pid && !process.ended);
                    let unknown =
                        || TargetProcess { key: ProcessKey { pid: *pid, start: 0 }, name: String::new() };
                    members.push(known.map_or_else(unknown, TargetProcess::of));
                    continue;
                }
                TargetPart::Name(name) => format!("no .NET process is called '{}'", printable(name)),
                TargetPart::Pool(name) => {
                    format!("no worker process of application pool '{}' is running", printable(name))
                }
            };
            let only = Target { text: String::new(), parts: vec![part.clone()] };
            if !processes.iter().any(|process| only.means(process)) {
                missing.get_or_insert(sentence);
            }
        }
        members.sort();
        members.dedup_by_key(|member| member.key.pid);
        (members, missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_link::discover::RuntimeSearch;
    use redial_link::discover::runtime::{Runtime, RuntimeKind};

    fn process(pid: u32, name: &str, command: &str) -> Process {
        let runtime = RuntimeSearch::Runtime(Runtime::new(RuntimeKind::CoreClr, None));
        Process { command: Some(command.into()), ..Process::for_test(pid, name, runtime) }
    }

    fn processes() -> Vec<Process> {
        let worker = |pid, pool: &str| Process {
            group: Some(format!("pool:{pool}")),
            ..process(pid, "w3wp.exe", "w3wp.exe")
        };
        vec![
            process(11, "dotnet", "/usr/bin/dotnet /srv/Shop.dll --live"),
            process(12, "Shop", "/opt/shop/Shop"),
            Process { runtime: RuntimeSearch::None, ..process(13, "Shop", "Shop") },
            Process { ended: true, ..process(14, "Shop", "Shop") },
            process(15, "Shopping", "/opt/Shopping"),
            worker(21, "Shop Pool"),
            worker(22, "Other"),
        ]
    }

    fn pids(text: &str) -> Vec<u32> {
        let (members, missing) = Target::parse(text).expect("a target").choose(&processes());
        assert_eq!(missing, None);
        members.iter().map(|member| member.key.pid).collect()
    }

    #[test]
    fn parses_ids_names_and_pools() {
        assert_eq!(Target::parse("42"), Ok(Target::of(42)));
        assert_eq!(Target::of(42).only(), Some(42));
        let list = Target::parse("12, 34,12").expect("a list");
        assert_eq!((list.only(), list.can_grow(), list.parts.len()), (None, false, 2));
        assert!(Target::parse("7,name:Shop").is_ok_and(|mixed| mixed.can_grow() && mixed.only().is_none()));
        for wrong in ["", "0", "abc", "12,", "name:", "pool:", "pid:12", "-1", "99999999999", "name:.x,"] {
            assert!(Target::parse(wrong).is_err_and(|why| why.contains("name:Shop")), "{wrong}");
        }
    }

    #[test]
    fn names_match_programs_and_assemblies_that_dotnet_runs() {
        for text in ["name:Shop", "name:Shop.dll", "name:Shop.exe"] {
            assert_eq!(pids(text), [11, 12], "{text}: running .NET processes with exactly that name");
        }
        assert_eq!(pids("name:dotnet"), [11]);
        assert_eq!(pids("name:Shopping,12"), [12, 15]);
        assert_eq!(pids("pool:shop pool"), [21]);
        assert_eq!(
            pids("12,99,name:Shop"),
            [11, 12, 99],
            "each process once, and ids even if they do not exist"
        );
        assert_eq!(
            cfg!(windows),
            Target::parse("name:shop").is_ok_and(|low| low.choose(&processes()).1.is_none())
        );
    }

    #[test]
    fn names_the_processes_that_are_missing() {
        for (text, part) in
            [("name:Zoo", "called 'Zoo'"), ("pool:Zoo", "pool 'Zoo'"), ("name:Shop,name:Zoo", "'Zoo'")]
        {
            let (_, missing) = Target::parse(text).expect("a target").choose(&processes());
            assert!(missing.as_ref().is_some_and(|missing| missing.contains(part)), "{missing:?}");
        }
        let error =
            Target::parse("name:no such program").expect("a target").find().expect_err("it is not there");
        assert!(error.exit() == Exit::NoProcess && error.to_string().contains("redial ps"), "{error}");
    }

    #[test]
    fn members_have_titles() {
        let (members, _) = Target::parse("11,99").expect("a list").choose(&processes());
        let titles: Vec<String> = members.iter().map(TargetProcess::title).collect();
        assert_eq!(titles, ["process 11 (Shop.dll)", "process 99"]);
    }
}
