//! The report of `run --report`: the final status as JSON.

use super::collector::Collected;
use crate::output::json::DialJson;
use redial_link::unmatched::Unmatched;
use serde::Serialize;
use std::ffi::OsString;
use std::io;

/// The content of the report.
#[derive(Debug, Serialize)]
pub struct RunReport<'a> {
    pid: u32,
    command: Vec<String>,
    exit_code: i32,
    /// Whether every agent sent its final numbers and none may have missed first calls.
    complete: bool,
    note: Option<String>,
    /// Dials that matched nothing in any of the processes.
    unmatched: Vec<Unmatched>,
    status: Vec<DialJson<'a>>,
}

impl<'a> RunReport<'a> {
    /// Makes the report of the child `pid` and, with `--children`, of its child processes.
    pub fn new(
        pid: u32,
        command: &[OsString],
        exit_code: i32,
        processes: &'a [Collected],
        unmatched: Vec<Unmatched>,
    ) -> RunReport<'a> {
        let complete = !processes.is_empty() && processes.iter().all(Collected::is_complete);
        let notes: Vec<String> = processes.iter().filter_map(Collected::note).collect();
        let note = match (processes, notes.as_slice()) {
            ([], _) => Some("no agent was reached".to_owned()),
            (_, []) => None,
            (_, notes) => Some(notes.join("; ")),
        };
        let rows = |process: &'a Collected| process.dials.iter().map(|dial| DialJson::new(process.pid, dial));
        RunReport {
            pid,
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit_code,
            complete,
            note,
            unmatched,
            status: processes.iter().flat_map(rows).collect(),
        }
    }

    /// Returns the content of the report file.
    pub fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        text.push(b'\n');
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::row;
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
        serde_json::to_value(RunReport::new(5, &["dotnet".into(), "x.dll".into()], 3, processes, vec![]))
            .expect("JSON")
    }

    #[test]
    fn marks_a_complete_report() {
        let whole = value(&[collected(5, true)]);
        assert_eq!(
            (&whole["complete"], &whole["note"], &whole["exit_code"]),
            (&json!(true), &json!(null), &json!(3))
        );
        assert_eq!(whole["command"], json!(["dotnet", "x.dll"]));
        let text = RunReport::new(5, &[], 3, &[], vec![]).text().expect("JSON");
        assert!(text.ends_with(b"}\n") && serde_json::from_slice::<Value>(&text).is_ok());
        assert_eq!((&whole["status"][0]["calls"], &whole["status"][0]["pid"]), (&json!(12), &json!(5)));
    }

    #[test]
    fn marks_a_report_without_goodbye_as_incomplete() {
        let cut = value(&[collected(5, true), collected(6, false)]);
        assert_eq!(cut["complete"], json!(false));
        assert!(cut["note"].as_str().is_some_and(|note| note.contains("process 6")), "{cut}");
        assert_eq!(cut["status"].as_array().map(Vec::len), Some(2));
        let mut hurried = Collected::new(7);
        hurried.dials.apply(Event::Goodbye { missed_deadlines: 1 });
        assert_eq!(value(&[hurried])["complete"], json!(false), "first calls may be missing");
        let none = value(&[]);
        assert_eq!((&none["complete"], &none["note"]), (&json!(false), &json!("no agent was reached")));
    }
}
