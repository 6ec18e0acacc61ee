//! Shop with the agent: its start, its rounds, and the comparison of Redial's counts with Shop's own truth.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::message::StatusRow;
use redial_text::diagnostics::{Reader, row_notes};
use serde_json::Value;

use crate::host::{self, Host, Outcome};
use crate::runtimes::Runtime;
use crate::truth::{self, Truth};
use crate::{cache, controller, programs};

/// Patterns for all of Shop, its plug-in included.
pub const EVERYTHING: [&str; 2] = ["Shop!*", "Plugin!*"];
/// Patterns for the types of the known methods but not of their callers: dialling a caller recompiles it and
/// undoes inlining into it.
pub const KNOWN_TYPES: [&str; 9] = [
    "Shop!Shop.Cart.*",
    "Shop!Shop.Money.*",
    "Shop!Shop.Catalog.*",
    "Shop!Shop.Catalog+Shelf.*",
    "Shop!Shop.Pricing.*",
    "Shop!Shop.Box*.*",
    "Shop!Shop.Order.*",
    "Shop!Shop.ExpressOrder.*",
    "Plugin!*",
];

/// Redial's numbers for one method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodCount {
    /// Calls of all copies.
    pub calls: u64,
    /// State of the last copy seen, such as `off`, `asked` or `live`.
    pub state: String,
    /// The version of its live body.
    pub version: Option<u64>,
    /// The reason of a refusal, or a note that the count is incomplete.
    pub note: Option<String>,
}

/// Redial's numbers by method, with names in [`plain_name`] form.
pub type Counts = BTreeMap<String, MethodCount>;

/// Converts a method's name to the common form in which Shop's truth and Redial's rows can be compared:
/// parameter types without namespaces, and every by-reference parameter as `ref`, since a signature does not
/// distinguish `in`, `out` and `ref`.
pub fn plain_name(name: &str) -> String {
    let Some(open) = name.rfind('(') else { return name.to_owned() };
    let (method, params) = name.split_at(open);
    let mut short = String::new();
    let mut word = String::new();
    for character in params.chars() {
        match character {
            '.' => word.clear(),
            '(' | ')' | '<' | '>' | ',' | ' ' | '[' | ']' => {
                short.push_str(if matches!(word.as_str(), "in" | "out") { "ref" } else { &word });
                word.clear();
                short.push(character);
            }
            other => word.push(other),
        }
    }
    format!("{method}{short}")
}

/// Returns the known methods in [`plain_name`] form, and whether the JIT may inline each.
///
/// # Errors
/// When Shop cannot be built or run.
pub fn known_methods() -> Result<BTreeMap<String, bool>> {
    let mut command = programs::shop()?.command(Runtime::V8_0)?;
    command.arg("--methods");
    let outcome = host::run(command)?.ok()?;
    let mut known = BTreeMap::new();
    for line in outcome.stdout.lines() {
        let (name, kind) = line
            .strip_prefix("method ")
            .and_then(|rest| rest.rsplit_once(' '))
            .with_context(|| format!("Shop lists {line:?} among its methods"))?;
        known.insert(plain_name(name), kind == "inlinable");
    }
    ensure!(known.len() > 30, "Shop lists only {} methods", known.len());
    Ok(known)
}

/// Returns the counts of the rows that a controller received.
pub fn of_rows<'a>(rows: impl IntoIterator<Item = &'a StatusRow>) -> Counts {
    let mut counts = Counts::new();
    for row in rows {
        let counted = counts.entry(plain_name(&format!("{}{}", row.method, row.signature))).or_default();
        counted.calls += row.calls;
        counted.state = row.state.word().to_owned();
        counted.version = row.version.map(u64::from);
        counted.note = row.note.map(|note| row_notes::note(note, Reader::CommandLine).into_owned());
    }
    counts
}

/// Returns the counts of rows printed by the program: `status --json`, `dials` in a line of `watch --json`, or
/// `status` in a report.
///
/// # Errors
/// When a row lacks a field; the error contains the row.
pub fn of_json(rows: &Value) -> Result<Counts> {
    let mut counts = Counts::new();
    for row in rows.as_array().with_context(|| format!("not an array of rows: {rows}"))? {
        let text = |field: &str| row[field].as_str().with_context(|| format!("no text {field} in {row}"));
        let counted =
            counts.entry(plain_name(&format!("{}{}", text("method")?, text("signature")?))).or_default();
        counted.calls += row["calls"].as_u64().with_context(|| format!("no number of calls in {row}"))?;
        counted.state = text("state")?.to_owned();
        counted.version = row["version"].as_u64();
        counted.note = row["reason"].as_str().map(str::to_owned);
    }
    Ok(counts)
}

/// Returns the known methods whose counts differ from `truth`, as `METHOD: counted N of M (state, note)`.
/// Subtracts the calls in `before`, and skips methods that `concerned` rejects.
pub fn differences(
    truth: &Truth,
    before: &Counts,
    counts: &Counts,
    concerned: impl Fn(&str, &MethodCount) -> bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (method, calls) in truth {
        let method = plain_name(method);
        let counted = counts.get(&method).cloned().unwrap_or_default();
        let earlier = before.get(&method).map_or(0, |counted| counted.calls);
        let difference = counted.calls.checked_sub(earlier);
        if difference != Some(*calls) && concerned(&method, &counted) {
            let MethodCount { state, note, .. } = &counted;
            let difference = difference.map_or("less than nothing".to_owned(), |calls| calls.to_string());
            wrong.push(format!("{method}: counted {difference} of {calls} ({state}, {note:?})"));
        }
    }
    wrong
}

/// A file for a report in the cache's report folder. Dropping it removes the file.
#[derive(Debug)]
pub struct ReportFile(PathBuf);

impl ReportFile {
    /// Returns a file with a unique name.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub fn new(name: &str) -> Result<Self> {
        let folder = cache::folder().join("reports");
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder.join(format!("{name}-{}.json", std::process::id()))))
    }

    /// Returns its path as an argument.
    pub fn path(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// Parses the file.
    ///
    /// # Errors
    /// When the file does not exist or is not JSON.
    pub fn read(&self) -> Result<Value> {
        let text =
            std::fs::read_to_string(&self.0).with_context(|| format!("no report {}", self.0.display()))?;
        serde_json::from_str(&text).with_context(|| format!("the report is not JSON:\n{text}"))
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        // The file does not exist if the run failed before writing it.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns whether a report has the last numbers of every agent. A note that first calls may be missing is
/// allowed: with many dials at the start, modules load before the agent has scanned them all.
pub fn has_last_numbers(report: &Value) -> bool {
    let hurried = |note: &str| note.split("; process ").all(|one| one.contains("first calls may be missing"));
    match report["note"].as_str() {
        None => report["complete"] == true,
        Some(note) => report["complete"] == false && hurried(note),
    }
}

/// Shop in its live mode, started by `redial run`.
#[derive(Debug)]
pub struct LiveShop {
    /// `redial run`, which shares its streams with Shop.
    pub host: Host,
    /// Shop's own process.
    pub pid: u32,
}

impl LiveShop {
    /// Starts `redial run OPTIONS -- dotnet Shop.dll --live --threads THREADS` with `variables` in its
    /// environment, and waits until Shop is ready and its agent listens.
    ///
    /// # Errors
    /// When it cannot be started or does not become ready.
    pub fn start(
        runtime: Runtime,
        options: &[&str],
        threads: u32,
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let mut command = programs::shop()?.command(runtime)?;
        command.args(["--live", "--threads", &threads.to_string()]).envs(variables.iter().copied());
        let mut host = Host::start(host::redial_run(options, &command)?)?;
        let pid = host.wait_for("ready")?;
        let pid = pid.parse().with_context(|| format!("Shop is ready as {pid:?}"))?;
        drop(controller::raw(pid)?);
        Ok(Self { host, pid })
    }

    /// Runs `rounds` rounds on each thread, all starting at a barrier. Returns when all threads are back at the
    /// barrier.
    ///
    /// # Errors
    /// Fails like [`Host::ask`].
    pub fn rounds(&mut self, rounds: u32) -> Result<()> {
        self.host.ask(&format!("round {rounds}"), "done").map(drop)
    }

    /// Returns the calls since the last reset.
    ///
    /// # Errors
    /// Fails like [`truth::ask`].
    pub fn truth(&mut self) -> Result<Truth> {
        truth::ask(&mut self.host, "truth")
    }

    /// Runs `redial COMMAND PID ARGUMENTS` to its end.
    ///
    /// # Errors
    /// When it cannot be started or does not end.
    pub fn redial(&self, command: &str, arguments: &[&str]) -> Result<Outcome> {
        let pid = self.pid.to_string();
        let mut words = vec![command, pid.as_str()];
        words.extend(arguments);
        host::run(host::redial(&words)?)
    }

    /// Returns the counts that `redial status PID --json` prints.
    ///
    /// # Errors
    /// Fails like [`LiveShop::redial`] and [`of_json`].
    pub fn status(&self) -> Result<Counts> {
        of_json(&self.redial("status", &["--json"])?.ok()?.json()?)
    }

    /// Ends Shop.
    ///
    /// # Errors
    /// When it does not end with code 0.
    pub fn exit(mut self) -> Result<Outcome> {
        self.host.say("exit 0")?;
        let outcome = self.host.finish()?.ok()?;
        if !outcome.stderr.is_empty() {
            bail!("something was said on standard error:\n{}", outcome.stderr);
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_and_rows_have_the_same_plain_names() {
        for (ours, theirs) in [
            ("Shop.Cart.TryTake(int, out int)", "Shop.Cart.TryTake(int, ref int)"),
            ("Shop.Box<T>.Map<U>(Func<T, U>)", "Shop.Box<T>.Map<U>(System.Func<T, U>)"),
            ("Shop.Cart.Shop.ICart.Touch(int)", "Shop.Cart.Shop.ICart.Touch(int)"),
            ("A.B(C[], D<E.F, G>[])", "A.B(X.Y.C[], D<F, Z.G>[])"),
            ("A..ctor()", "A..ctor()"),
        ] {
            assert_eq!(plain_name(ours), plain_name(theirs));
        }
        assert_ne!(plain_name("A.B(int)"), plain_name("A.B(ref int)"));
        assert_ne!(plain_name("X.A.B(int)"), plain_name("Y.A.B(int)"));
    }

    #[test]
    fn reports_differences() {
        let truth = Truth::from([("A.B(out int)".into(), 3), ("A.C()".into(), 1)]);
        let counted = |calls| MethodCount { calls, ..MethodCount::default() };
        let counts = Counts::from([("A.B(ref int)".into(), counted(5)), ("A.C()".into(), counted(1))]);
        let before = Counts::from([("A.B(ref int)".into(), counted(2))]);
        assert_eq!(differences(&truth, &before, &counts, |_, _| true), Vec::<String>::new());
        let wrong = differences(&truth, &Counts::new(), &counts, |_, _| true);
        assert!(wrong.len() == 1 && wrong[0].starts_with("A.B(ref int): counted 5 of 3"), "{wrong:?}");
        assert_eq!(differences(&truth, &Counts::new(), &Counts::new(), |_, _| true).len(), 2);
    }
}
