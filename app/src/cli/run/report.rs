//! The report of `run --report`: the final status as JSON, there in whole or not at all.

use super::collect::Collected;
use crate::output::json::DialJson;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is written.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    pid: u32,
    command: Vec<String>,
    exit_code: i32,
    /// Whether every agent sent its last numbers.
    complete: bool,
    note: Option<String>,
    status: Vec<DialJson<'a>>,
}

impl<'a> Report<'a> {
    /// The report of the child `pid` and, with `--children`, of the programs below it.
    pub fn new(pid: u32, command: &[OsString], exit_code: i32, processes: &'a [Collected]) -> Report<'a> {
        let complete = !processes.is_empty() && processes.iter().all(|process| process.dials.ended());
        let notes: Vec<String> = processes.iter().filter_map(Collected::note).collect();
        let note = match (processes, notes.as_slice()) {
            ([], _) => Some("no agent was reached".to_owned()),
            (_, []) => None,
            (_, notes) => Some(notes.join("; ")),
        };
        let rows = |process: &'a Collected| process.dials.iter().map(|dial| DialJson::new(process.pid, dial));
        Report {
            pid,
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit_code,
            complete,
            note,
            status: processes.iter().flat_map(rows).collect(),
        }
    }
}

/// Where the report goes: a new file beside the one named, which takes its place when it is whole. What is no
/// regular file (a pipe, /dev/stdout) is written to directly.
pub struct ReportFile {
    path: PathBuf,
    temporary: Option<PathBuf>,
    file: File,
}

impl ReportFile {
    /// Opens it before the program starts, so that a wrong path costs nothing.
    pub fn create(path: &Path) -> io::Result<ReportFile> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_dir() => return Err(named(io::Error::other("it is a folder"))),
            Ok(facts) if !facts.is_file() => {
                let file = OpenOptions::new().write(true).open(path).map_err(named)?;
                return Ok(ReportFile { path: path.to_owned(), temporary: None, file });
            }
            _ => {}
        }
        // A link is followed, so that it stays one.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().ok_or_else(|| named(io::Error::other("it names no file")))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(hidden);
        // A file of that name is the leaving of a run that was killed and had the same pid.
        let _ = std::fs::remove_file(&temporary);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(named)?;
        Ok(ReportFile { path, temporary: Some(temporary), file })
    }

    /// The file named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it.
    pub fn write(mut self, report: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(report).map_err(io::Error::other)?;
        text.push(b'\n');
        self.file.write_all(&text)?;
        if let Some(temporary) = &self.temporary {
            self.file.sync_all()?;
            std::fs::rename(temporary, &self.path)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::row;
    use redial_protocol::message::Event;
    use serde_json::{Value, json};

    fn collected(pid: u32, goodbye: bool) -> Collected {
        let mut collected = Collected::new(pid);
        collected.dials.rows(vec![row(0, "Shop.Cart.Add", 12)]);
        if goodbye {
            collected.dials.apply(Event::Goodbye { missed_deadlines: 0 });
        }
        collected
    }

    fn value(processes: &[Collected]) -> Value {
        serde_json::to_value(Report::new(5, &["dotnet".into(), "x.dll".into()], 3, processes)).expect("JSON")
    }

    #[test]
    fn a_whole_report_says_so() {
        let whole = value(&[collected(5, true)]);
        assert_eq!(
            (&whole["complete"], &whole["note"], &whole["exit_code"]),
            (&json!(true), &json!(null), &json!(3))
        );
        assert_eq!(whole["command"], json!(["dotnet", "x.dll"]));
        assert_eq!((&whole["status"][0]["calls"], &whole["status"][0]["pid"]), (&json!(12), &json!(5)));
    }

    #[test]
    fn a_report_without_a_goodbye_says_that_it_is_the_last_known() {
        let cut = value(&[collected(5, true), collected(6, false)]);
        assert_eq!(cut["complete"], json!(false));
        assert!(cut["note"].as_str().is_some_and(|note| note.contains("process 6")), "{cut}");
        assert_eq!(cut["status"].as_array().map(Vec::len), Some(2));
        let none = value(&[]);
        assert_eq!((&none["complete"], &none["note"]), (&json!(false), &json!("no agent was reached")));
    }

    #[test]
    fn the_file_appears_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("redial-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let path = folder.join("report.json");
        std::fs::write(&path, "before").expect("an old report");
        drop(ReportFile::create(&path).expect("created"));
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "before");
        ReportFile::create(&path).expect("created").write(&json!({"a": 1})).expect("written");
        let text = std::fs::read_to_string(&path).expect("there");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), json!({"a": 1}));
        assert_eq!(std::fs::read_dir(&folder).expect("folder").count(), 1, "nothing else is left");
        assert!(ReportFile::create(&folder).is_err(), "a folder");
        assert!(ReportFile::create(&folder.join("none/report.json")).is_err(), "in no folder");
        std::fs::remove_dir_all(&folder).expect("cleaned");
    }

    #[test]
    #[cfg(unix)]
    fn a_device_is_written_to_and_stays_one() {
        ReportFile::create(Path::new("/dev/null")).expect("opened").write(&json!([])).expect("written");
        assert!(!std::fs::metadata("/dev/null").expect("there").is_file());
    }
}
