//! Every command of `redial` that talks to an agent, with each of its options.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use redial_protocol::dialset;
use redial_testbed::host;

use crate::captured::check_file;
use crate::client::{self, ClientEnd, EXIT_CODES, MOST_TIME};
use crate::server::MakeScript;

/// Stands for this process's id.
const SELF: &str = "SELF";
/// Stands for this process and one that does not exist.
const BOTH: &str = "BOTH";
/// Stands for a dial set to apply.
const SET: &str = "SET";
/// Stands for a dial set to write.
const FILE: &str = "FILE";
/// Stands for a snapshot to write.
const SNAPSHOT: &str = "SNAPSHOT";
/// Stands for another file to write.
const TRACE: &str = "TRACE";

/// The commands. A line that starts with `+` also runs with `--json`.
const COMMANDS: &str = "
+ modules SELF
+ modules BOTH
+ methods SELF
+ methods SELF * --limit 3000000
+ methods BOTH *.Add
+ il SELF *.Add
+ il SELF *.Add --instrumented
  il SELF *.Add --copy 0x1
+ il BOTH *.Add --instrumented
+ dial SELF A.* count
  dial SELF A.* off
  dial SELF A.*=time --callers --slower-than 1ms --failed-only --take
+ dial SELF A.* time --completions --for 10m
+ dial SELF A.* time --domain Shop --all-domains --later
  dial SELF A.* time --copy 0x1
+ dial SELF A.* count --hold
+ dial SELF A.* time --plan
  dial SELF A.* time --plan --later --take --completions
+ dial BOTH A.* count
+ dial BOTH A.* count --hold
+ dial BOTH A.* count --plan
+ apply SELF SET
+ apply SELF SET --plan
  apply SELF SET --later --take
+ apply SELF SET --hold
+ apply BOTH SET
  save SELF
  save SELF FILE --force
+ undo SELF
  undo SELF --take
+ undo BOTH
+ budget SELF
+ budget SELF 5
  budget SELF off --take
+ budget BOTH
+ status SELF
+ status SELF --all
+ status SELF A.*
+ status SELF --calls --all
+ status SELF --callers
+ status SELF --sum --all
+ status SELF --agent
+ status BOTH --all
+ status BOTH --sum
+ status BOTH --agent
+ watch SELF --count 3 --interval 10
+ watch SELF A.* --all --count 2 --interval 10
+ watch SELF --sum --all --count 3 --interval 10
+ watch BOTH --count 2 --interval 10
+ watch BOTH --sum --all --count 2 --interval 10
+ trace SELF A.* -n 3
+ trace SELF A.* -n 20 --wide --domain Shop --all-domains --take
  trace SELF A.*
+ trace BOTH A.* -n 3
+ events SELF
+ events SELF A.* --last --count 3 --wide
+ events SELF --in-flight
+ events BOTH
+ exceptions SELF -n 3 --for 100ms
+ exceptions SELF Shop.* --rate 5 --for 100ms --wide
+ exceptions BOTH -n 3 --for 100ms
  trace SELF A.* -n 5 --perfetto TRACE
+ hot SELF --for 1s
  hot SELF A.* --top 3 --for 1s --take
+ hot BOTH --for 1s
+ snapshot SELF
  snapshot SELF --csv
  snapshot SELF --markdown --limit 3
  snapshot SELF --speedscope
  snapshot SELF -o SNAPSHOT
+ diff SELF SELF
  diff SELF SELF --csv
+ off SELF
+ off BOTH
  attach SELF
+ ps
+ ps --all
";

/// One command of the list.
#[derive(Clone, Debug)]
pub struct CommandCase {
    words: Vec<String>,
}

/// Returns every command of the list.
pub fn all() -> Vec<CommandCase> {
    let mut cases = Vec::new();
    for line in COMMANDS.lines().filter(|line| !line.is_empty()) {
        let words: Vec<String> = line[2..].split(' ').map(str::to_owned).collect();
        if line.starts_with('+') {
            cases.push(CommandCase { words: words.iter().cloned().chain(["--json".to_owned()]).collect() });
        }
        cases.push(CommandCase { words });
    }
    cases
}

/// A folder for the files of one command. Dropping it removes the folder.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("redial-lies-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(SET), "# redial dials 1\nA.* = count\nShop!B.C(int) = time callers\n")?;
        Ok(Folder(folder))
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays behind must not hide a failure.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl CommandCase {
    /// Returns the case with these words.
    pub fn of(words: &str) -> CommandCase {
        CommandCase { words: words.split(' ').map(str::to_owned).collect() }
    }

    /// Runs it against these scripts and checks all that no lie may change.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, scripts: MakeScript) -> Result<ClientEnd> {
        let folder = Folder::new()?;
        let end = client::run(self.command(&folder)?, scripts.clone(), MOST_TIME)?;
        end.check(&EXIT_CODES)?;
        if self.words.iter().any(|word| word == "--json") && end.status.success() {
            check_json(end.stdout.whole()).with_context(|| end.output())?;
        }
        check_dial_set(&folder.0.join(FILE))?;
        check_snapshot(&folder.path(SNAPSHOT), scripts)?;
        Ok(end)
    }

    fn command(&self, folder: &Folder) -> Result<Command> {
        let pid = std::process::id();
        let word = |word: &String| match word.as_str() {
            SELF => pid.to_string(),
            BOTH => format!("{pid},{}", u32::MAX),
            SET | FILE | SNAPSHOT | TRACE => folder.path(word),
            other => other.to_owned(),
        };
        let mut command = host::redial(&[])?;
        command.args(self.words.iter().map(word));
        Ok(command)
    }
}

/// Checks that each line is JSON, or the whole. A text that was too long to be kept is not checked.
fn check_json(text: Option<&str>) -> Result<()> {
    let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    ensure!(text.is_none_or(|text| is_json(text) || text.lines().all(is_json)), "it is not JSON");
    Ok(())
}

/// Checks a file that `snapshot` wrote, if it wrote one: it can be shown, and compared with itself.
fn check_snapshot(file: &str, scripts: MakeScript) -> Result<()> {
    if !Path::new(file).exists() {
        return Ok(());
    }
    for words in
        [&["snapshot", "--show", file][..], &["snapshot", "--json", "--show", file], &["diff", file, file]]
    {
        let end = client::run(host::redial(words)?, scripts.clone(), MOST_TIME)?;
        end.check(&[0]).with_context(|| format!("{words:?}"))?;
        if words.contains(&"--json") {
            check_json(end.stdout.whole()).with_context(|| end.output())?;
        }
    }
    Ok(())
}

/// Checks a file that `save` wrote, if it wrote one.
fn check_dial_set(file: &Path) -> Result<()> {
    let Ok(bytes) = fs::read(file) else { return Ok(()) };
    let text = check_file(&bytes).context("the saved file")?;
    dialset::parse(&text).map(drop).with_context(|| format!("`apply` would refuse {text:?}"))
}
