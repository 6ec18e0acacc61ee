//! Which processes a command is about: a process id, a list of them, everyone of a name, an application pool.
#![forbid(unsafe_code)]

use crate::exit::{Exit, Failure};
use crate::link::discover::{self, Process};
use crate::model::processes::{program_name, same_program, without_extension};
use crate::output::table::printable;
use redial_protocol::ids::ProcessKey;

/// What may stand for a process, in one sentence.
const FORMS: &str = "a process is told by its id, name:NAME or pool:NAME, and several by a list of these with commas: \
                     12,34 or name:Shop; `redial ps` lists them";

/// What a user wrote where a process id goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Pid(u32),
    /// The name of the program, or of the assembly that `dotnet` runs.
    Name(String),
    /// Of IIS.
    Pool(String),
}

/// One of the processes meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Pid as this machine sees it, and start time; 0: whatever has that pid.
    pub key: ProcessKey,
    /// What it is called; empty where nothing is known of it.
    pub name: String,
}

impl Member {
    /// `process 12 (Shop.dll)`.
    pub fn title(&self) -> String {
        match self.name.as_str() {
            "" => format!("process {}", self.key.pid),
            name => format!("process {} ({})", self.key.pid, printable(name)),
        }
    }

    fn of(process: &Process) -> Member {
        Member { key: process.key, name: program_name(&process.name, process.command.as_deref()) }
    }
}

impl Target {
    /// Reads what was written.
    pub fn parse(word: &str) -> Result<Target, String> {
        let part = |word: &str| {
            let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
            let part = match word.split_once(':') {
                Some(("name", name)) => named(without_extension(name)).map(Part::Name),
                Some(("pool", name)) => named(name).map(Part::Pool),
                Some(_) => None,
                None => word.parse().ok().filter(|pid| *pid > 0).map(Part::Pid),
            };
            part.ok_or_else(|| FORMS.to_owned())
        };
        let mut parts = Vec::new();
        for word in word.split(',') {
            let part = part(word.trim())?;
            // Nobody means a process twice.
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        Ok(Target { text: word.to_owned(), parts })
    }

    /// One process, by its id.
    #[cfg(test)]
    pub fn of(pid: u32) -> Target {
        Target { text: pid.to_string(), parts: vec![Part::Pid(pid)] }
    }

    /// The process id, where that is all that was written: then a command has one subject, and speaks of it so.
    pub fn only(&self) -> Option<u32> {
        match self.parts.as_slice() {
            [Part::Pid(pid)] => Some(*pid),
            _ => None,
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether processes that start later can be meant, too.
    pub fn can_grow(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, Part::Pid(_)))
    }

    /// Whether a process is meant by its name or pool. Only what may have .NET is.
    pub fn means(&self, process: &Process) -> bool {
        let able = process.may_be_dotnet() && !process.ended && process.key.pid != std::process::id();
        able && self.parts.iter().any(|part| match part {
            Part::Pid(_) => false,
            Part::Name(name) => {
                same_program(name, &process.name)
                    || same_program(name, &program_name(&process.name, process.command.as_deref()))
            }
            Part::Pool(pool) => {
                let group = process.group.as_deref().and_then(|group| group.strip_prefix("pool:"));
                // IIS takes names that differ in case only for the same.
                group.is_some_and(|group| group.eq_ignore_ascii_case(pool))
            }
        })
    }

    /// The member that a process is, where it is meant by name or pool.
    pub fn member(&self, process: &Process) -> Option<Member> {
        self.means(process).then(|| Member::of(process))
    }

    /// The processes meant, by pid. Those told by their ids need not exist; the command says so of each.
    ///
    /// # Errors
    /// When processes cannot be listed, or none has a name or pool that was asked for.
    pub fn find(&self) -> Result<Vec<Member>, Failure> {
        match self.find_some()? {
            (members, None) => Ok(members),
            (_, Some(missing)) => {
                Err(Failure::new(Exit::NoProcess, missing + " (`redial ps` lists what is)"))
            }
        }
    }

    /// As [`Target::find`], with what is missing as a sentence: it may come later.
    ///
    /// # Errors
    /// When processes cannot be listed.
    pub fn find_some(&self) -> Result<(Vec<Member>, Option<String>), Failure> {
        let cannot = |error| Failure::new(Exit::Failed, format!("cannot list processes: {error}"));
        let processes = if self.only().is_some() { Vec::new() } else { discover::all().map_err(cannot)? };
        Ok(self.choose(&processes))
    }

    fn choose(&self, processes: &[Process]) -> (Vec<Member>, Option<String>) {
        let mut members: Vec<Member> = processes.iter().filter_map(|process| self.member(process)).collect();
        let mut missing = None;
        for part in &self.parts {
            let sentence = match part {
                Part::Pid(pid) => {
                    let known = processes.iter().find(|process| process.key.pid == *pid && !process.ended);
                    let nobody = || Member { key: ProcessKey { pid: *pid, start: 0 }, name: String::new() };
                    members.push(known.map_or_else(nobody, Member::of));
                    continue;
                }
                Part::Name(name) => format!("no .NET process here is called '{}'", printable(name)),
                Part::Pool(name) => {
                    format!("no worker process of an application pool '{}' is here", printable(name))
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
    use crate::link::discover::Found;
    use crate::link::discover::runtime::{Kind, Runtime};

    fn process(pid: u32, name: &str, command: &str) -> Process {
        Process {
            key: ProcessKey { pid, start: 5 },
            name: name.into(),
            user: None,
            group: None,
            command: Some(command.into()),
            runtime: Found::Runtime(Runtime::new(Kind::CoreClr, None)),
            halted: None,
            ended: false,
        }
    }

    fn processes() -> Vec<Process> {
        let worker = |pid, pool: &str| Process {
            group: Some(format!("pool:{pool}")),
            ..process(pid, "w3wp.exe", "w3wp.exe")
        };
        vec![
            process(11, "dotnet", "/usr/bin/dotnet /srv/Shop.dll --live"),
            process(12, "Shop", "/opt/shop/Shop"),
            Process { runtime: Found::None, ..process(13, "Shop", "Shop") },
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
    fn a_target_is_ids_names_and_pools() {
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
    fn names_are_of_programs_and_of_what_dotnet_runs() {
        for text in ["name:Shop", "name:Shop.dll", "name:Shop.exe"] {
            assert_eq!(pids(text), [11, 12], "{text}: whole names, of .NET, that run");
        }
        assert_eq!(pids("name:dotnet"), [11]);
        assert_eq!(pids("name:Shopping,12"), [12, 15]);
        assert_eq!(pids("pool:shop pool"), [21]);
        assert_eq!(pids("12,99,name:Shop"), [11, 12, 99], "once each, and ids whether they exist or not");
        assert_eq!(
            cfg!(windows),
            Target::parse("name:shop").is_ok_and(|low| low.choose(&processes()).1.is_none())
        );
    }

    #[test]
    fn who_is_meant_and_not_there_is_named() {
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
        let titles: Vec<String> = members.iter().map(Member::title).collect();
        assert_eq!(titles, ["process 11 (Shop.dll)", "process 99"]);
    }
}
