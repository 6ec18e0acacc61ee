//! Saving, opening and comparing sessions.

use super::App;
use crate::commands::SessionPurpose;
use crate::ui::local_time;
use crate::views::saved_session::{SavedTable, SessionQuestion};
use redial_link::worker::{SnapshotAnswer, SnapshotJob};
use redial_model::log::LogKind;
use redial_model::process_snapshot::{
    MethodDifference, MethodName, MethodSum, ProcessSnapshot, SnapshotDifference, SnapshotHeader,
};
use redial_text::words;
use std::path::{Path, PathBuf};

impl App {
    /// Asks for the file of a session.
    pub(super) fn ask_for_session(&mut self, purpose: SessionPurpose) {
        let name = self.model.current_process().map_or("session", |one| one.name.as_str());
        let name = name.trim_end_matches(".dll").trim_end_matches(".exe");
        let time = local_time::date_and_time(self.now().unix_ms).replace([' ', ':'], "-");
        let file = match (purpose, &self.dialogs.last_session) {
            (SessionPurpose::Save | SessionPurpose::Speedscope | SessionPurpose::Picture(_), _) => {
                let panel = match purpose {
                    SessionPurpose::Picture(Some(panel)) => format!("{}-", panel.title().to_lowercase()),
                    _ => String::new(),
                };
                let end = match purpose {
                    SessionPurpose::Speedscope => "speedscope.json",
                    SessionPurpose::Picture(_) => "png",
                    _ => "snapshot",
                };
                PathBuf::from(format!("{name}-{panel}{time}.{end}"))
            }
            (_, Some(last)) => last.clone(),
            (_, None) => PathBuf::new(),
        };
        let whole = match (file.is_relative() && !file.as_os_str().is_empty(), std::env::current_dir()) {
            (true, Ok(folder)) => folder.join(file),
            _ => file,
        };
        let process = self.model.current_process();
        self.dialogs.session = Some(SessionQuestion::new(purpose, whole.display().to_string(), process));
    }

    /// Starts to save, open or compare. The process is the one shown when the question was asked.
    pub(super) fn start_session_job(&mut self, purpose: SessionPurpose, file: &str) {
        let process = match &self.dialogs.session {
            Some(question) => question.process(),
            None => self.model.current_process().map(|one| one.id),
        };
        let pid = process.and_then(|id| self.model.connections.get(&id)).map(|one| one.process.pid);
        let file = PathBuf::from(file);
        if let SessionPurpose::Picture(panel) = purpose {
            self.take_picture(file, panel);
            return;
        }
        let job = match (purpose, pid) {
            (SessionPurpose::Open, _) => SnapshotJob::Open { file },
            (SessionPurpose::Picture(_), _) => return,
            (SessionPurpose::Speedscope, Some(pid)) => SnapshotJob::Speedscope { pid, file },
            (SessionPurpose::Save, Some(pid)) => SnapshotJob::Save { pid, file },
            (SessionPurpose::Compare, Some(pid)) => SnapshotJob::Compare { file, pid },
            (_, None) => {
                let why = "the process is no longer connected".to_owned();
                self.dialogs.session.iter_mut().for_each(|question| question.refuse(why.clone()));
                let now = self.now();
                self.model.log.add(now, None, LogKind::Failure, words::sentence_case(&why).into_owned());
                return;
            }
        };
        self.workers.snapshot_job(job);
        self.dialogs.session.iter_mut().for_each(SessionQuestion::begin);
    }

    /// Takes the results of such jobs.
    pub(super) fn take_session_answers(&mut self) {
        while let Some(answer) = self.workers.next_snapshot_answer() {
            // A refused question stays open with its path. One that was asked later waits for its own answer.
            if let Some(question) = self.dialogs.session.as_mut().filter(|question| question.is_running()) {
                match &answer {
                    SnapshotAnswer::Failed(why) => question.refuse(why.clone()),
                    _ => self.dialogs.session = None,
                }
            }
            let (kind, text) = match answer {
                SnapshotAnswer::Saved { file, methods } => {
                    let text = format!("{} saved as {}", words::methods(methods as u64), file.display());
                    self.dialogs.last_session = Some(file);
                    (LogKind::Done, text)
                }
                SnapshotAnswer::Exported { file } => (LogKind::Done, format!("saved as {}", file.display())),
                SnapshotAnswer::Opened { file, snapshot } => {
                    let text = format!("opened {}", file.display());
                    self.dialogs.saved_table = Some(numbers(&file, &snapshot));
                    self.dialogs.last_session = Some(file);
                    (LogKind::Notice, text)
                }
                SnapshotAnswer::Compared { file, sides, difference } => {
                    let text = format!("compared with {}", file.display());
                    self.dialogs.saved_table = Some(compared(&sides, &difference));
                    self.dialogs.last_session = Some(file);
                    (LogKind::Notice, text)
                }
                SnapshotAnswer::Failed(why) => (LogKind::Failure, why),
            };
            self.model.log.add(self.now(), None, kind, words::sentence_case(&text).into_owned());
        }
    }
}

fn title(header: &SnapshotHeader) -> String {
    let name = header.name.as_deref().unwrap_or("process");
    let host = header.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    format!("{name} ({}){host}, {}", header.pid, local_time::date_and_time(header.taken_unix_ms))
}

/// Returns the numbers of a saved session, most self time first.
fn numbers(file: &Path, snapshot: &ProcessSnapshot) -> SavedTable {
    let mut sums: Vec<_> = snapshot.sums().into_iter().collect();
    sums.sort_by(|(a_name, a), (b_name, b)| {
        (b.self_ns, b.calls).cmp(&(a.self_ns, a.calls)).then_with(|| a_name.cmp(b_name))
    });
    let methods = words::methods(sums.len() as u64);
    let row = |(name, sum): (MethodName, MethodSum)| {
        let time = |ns: u64| if sum.exits > 0 { words::duration(ns) } else { String::new() };
        let percentile = |at: usize| {
            sum.percentiles_ns.and_then(|all| all.get(at).copied()).map(words::duration).unwrap_or_default()
        };
        vec![
            words::grouped(sum.calls),
            time(sum.self_ns),
            time(sum.total_ns),
            percentile(0),
            percentile(2),
            time(sum.max_ns),
            name.to_string(),
        ]
    };
    let traced = words::count(snapshot.calls.len() as u64, "traced call", "traced calls");
    SavedTable {
        title: "Saved session, offline".to_owned(),
        lines: vec![title(&snapshot.header), format!("{} · {} · {traced}", file.display(), methods)],
        headers: vec!["Calls", "Self", "Total", "p50", "p99", "Max", "Method"],
        rows: sums.into_iter().map(row).collect(),
    }
}

/// Returns a difference, largest change of self time first.
fn compared(sides: &[SnapshotHeader; 2], difference: &SnapshotDifference) -> SavedTable {
    let both = |before: Option<String>, after: Option<String>| match (before, after) {
        (before, after) if before == after => after.unwrap_or_default(),
        (before, after) => format!("{} → {}", before.unwrap_or("–".into()), after.unwrap_or("–".into())),
    };
    let row = |one: &MethodDifference| {
        let calls = |side: Option<MethodSum>| side.map(|sum| words::grouped(sum.calls));
        let mean = |side: Option<MethodSum>| side.and_then(|sum| sum.mean_ns()).map(words::duration);
        let cost = one.cost_ns().map(|ns| {
            let sign = if ns < 0 { "−" } else { "+" };
            format!("{sign}{}", words::duration(ns.unsigned_abs()))
        });
        let changes: Vec<&str> = match (one.before, one.after) {
            (None, _) => vec!["not dialled before"],
            (_, None) => vec!["not dialled after"],
            _ => one.changes.iter().map(|change| change.word()).collect(),
        };
        vec![
            cost.unwrap_or_default(),
            both(calls(one.before), calls(one.after)),
            both(mean(one.before), mean(one.after)),
            changes.join(", "),
            one.method.to_string(),
        ]
    };
    let [before, after] = sides;
    let changed = difference.changed().count();
    let same = difference.methods.len() - changed;
    SavedTable {
        title: "Comparison with a saved session".to_owned(),
        lines: vec![
            format!("Before: {}", title(before)),
            format!("After: {}", title(after)),
            format!("{} changed, {} unchanged", words::methods(changed as u64), words::grouped(same as u64)),
        ],
        headers: vec!["Self time", "Calls", "Mean", "Change", "Method"],
        rows: difference.changed().map(row).collect(),
    }
}
