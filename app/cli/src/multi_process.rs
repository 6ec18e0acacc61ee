//! Runs a command for several processes in parallel, prints the results by process and combines the exit codes.

use super::target::{Target, TargetProcess};
use crate::output::{Out, sentence};
use redial_link::exit::{Exit, Failure};
use redial_link::parallel;

/// The number of processes served at once, so that one that hangs does not delay the others.
const AT_ONCE: usize = 8;

/// The result of a command in one process.
pub struct ProcessResult {
    /// The process.
    pub member: TargetProcess,
    /// Its output for stdout.
    pub text: String,
    /// Its sentences for stderr.
    pub remarks: Vec<String>,
    /// The exit code or failure.
    pub outcome: Result<Exit, Failure>,
}

impl ProcessResult {
    /// Makes a report of a command that wrote to memory.
    pub fn new(member: TargetProcess, out: Out, outcome: Result<Exit, Failure>) -> ProcessResult {
        let (text, remarks) = out.into_kept();
        ProcessResult { member, text, remarks, outcome }
    }

    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        match &self.outcome {
            Ok(exit) => *exit,
            Err(failure) => failure.exit(),
        }
    }

    /// Prints remarks and failure on stderr, each with its process.
    pub fn print_remarks(&self) {
        for remark in &self.remarks {
            sentence(about(&self.member, remark));
        }
        if let Err(failure @ Failure::Sentence { .. }) = &self.outcome {
            sentence(about(&self.member, &failure.to_string()));
        }
    }
}

/// Returns the sentence with its process in front, unless it names the process already.
pub fn about(member: &TargetProcess, text: &str) -> String {
    let named = format!("process {}", member.key.pid);
    let goes_on = |rest: &str| rest.starts_with(|next: char| next.is_ascii_digit());
    let names_it = text.split(&named).skip(1).any(|rest| !goes_on(rest));
    if names_it { text.to_owned() } else { format!("{}: {text}", member.title()) }
}

/// Runs a command for every process of a target. For a single id it writes directly; otherwise the outputs are printed
/// together, under process names or as one JSON array.
pub fn each(
    target: &Target,
    json: bool,
    command: impl Fn(u32, &mut Out) -> Result<Exit, Failure> + Sync,
) -> Result<Exit, Failure> {
    if let Some(pid) = target.only() {
        let mut out = Out::new();
        let outcome = command(pid, &mut out);
        out.flush()?;
        return outcome;
    }
    let reports =
        side_by_side(target.find()?, &|member: &TargetProcess, out: &mut Out| command(member.key.pid, out));
    print_all(&reports, json)?;
    Ok(combined(reports.iter().map(ProcessResult::exit)))
}

/// Runs a command for several processes, eight at a time, and returns the reports by pid.
pub fn side_by_side(
    members: Vec<TargetProcess>,
    command: &(impl Fn(&TargetProcess, &mut Out) -> Result<Exit, Failure> + Sync),
) -> Vec<ProcessResult> {
    let together = members.len();
    let mut reports = parallel::map(&members, AT_ONCE, |member| {
        let mut out = Out::memory(together);
        let outcome = command(member, &mut out);
        ProcessResult::new(member.clone(), out, outcome)
    });
    reports.sort_by(|a, b| a.member.cmp(&b.member));
    reports
}

/// Prints reports under process names or as one JSON array, then the sentences for stderr.
pub fn print_all(reports: &[ProcessResult], json: bool) -> Result<(), Failure> {
    let mut out = Out::new();
    if json {
        out.line(&one_array(reports.iter().map(|report| report.text.as_str())))?;
    } else {
        let mut begun = false;
        for report in reports.iter().filter(|report| !report.text.is_empty()) {
            if std::mem::replace(&mut begun, true) {
                out.line("")?;
            }
            out.line(&report.member.title())?;
            out.text(&report.text)?;
        }
    }
    out.flush()?;
    drop(out);
    reports.iter().for_each(ProcessResult::print_remarks);
    Ok(())
}

/// Joins JSON values into one array, flattening values that are arrays.
fn one_array<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let elements = texts.filter_map(|text| {
        let text = text.trim();
        let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text).trim();
        (!inside.is_empty()).then_some(inside)
    });
    format!("[{}]", elements.collect::<Vec<_>>().join(",\n"))
}

/// Combines exit codes: the common code if all agree, 7 if some succeeded, otherwise 1.
pub fn combined(exits: impl Iterator<Item = Exit>) -> Exit {
    let exits: Vec<Exit> = exits.collect();
    let all = |wanted: Exit| exits.iter().all(|exit| *exit == wanted);
    let any = |wanted: Exit| exits.contains(&wanted);
    match exits.first() {
        None => Exit::NoProcess,
        Some(first) if all(*first) => *first,
        Some(_) if any(Exit::Done) || any(Exit::Partly) => Exit::Partly,
        Some(_) => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::ProcessKey;

    fn member(pid: u32) -> TargetProcess {
        TargetProcess { key: ProcessKey { pid, start: 1 }, name: "Shop.dll".into() }
    }

    #[test]
    fn combines_exit_codes() {
        use Exit::{Done, Failed, NoAgent, NoProcess, NothingMatched, Partly};
        for (exits, code) in [
            (&[Done, Done][..], Done),
            (&[Done, NoAgent], Partly),
            (&[Partly, NoAgent], Partly),
            (&[Partly, Partly], Partly),
            (&[NothingMatched, NothingMatched], NothingMatched),
            (&[NoProcess, NoAgent], Failed),
            (&[], NoProcess),
        ] {
            assert_eq!(combined(exits.iter().copied()), code, "{exits:?}");
        }
    }

    #[test]
    fn joins_values_into_one_array() {
        let texts = ["{\"pid\":1}\n", "[]\n", "[{\"pid\":2},\n{\"pid\":3}]\n", ""];
        let array: serde_json::Value = serde_json::from_str(&one_array(texts.into_iter())).expect("JSON");
        assert_eq!(array, serde_json::json!([{"pid": 1}, {"pid": 2}, {"pid": 3}]));
        assert_eq!(one_array(std::iter::empty()), "[]");
    }

    #[test]
    fn reports_every_process_in_order_with_failures() {
        let command = |member: &TargetProcess, out: &mut Out| {
            out.line(&format!("did {}", member.key.pid))?;
            out.remark("mind it");
            if member.key.pid == 7 { Err(Failure::new(Exit::NoAgent, "no")) } else { Ok(Exit::Done) }
        };
        let reports = side_by_side((1..=20).rev().map(member).collect(), &command);
        let order: Vec<u32> = reports.iter().map(|report| report.member.key.pid).collect();
        assert_eq!(order, (1..=20).collect::<Vec<_>>());
        assert!(reports.iter().all(|report| report.text == format!("did {}\n", report.member.key.pid)));
        assert!(reports.iter().all(|report| report.remarks == ["mind it"]));
        assert_eq!(combined(reports.iter().map(ProcessResult::exit)), Exit::Partly);
    }

    #[test]
    fn sentences_name_their_process_once() {
        assert_eq!(about(&member(7), "nothing matched"), "process 7 (Shop.dll): nothing matched");
        assert_eq!(about(&member(7), "process 7 has ended"), "process 7 has ended");
        assert_eq!(about(&member(7), "process 71 is it"), "process 7 (Shop.dll): process 71 is it");
    }
}
