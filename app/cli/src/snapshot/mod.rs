//! `redial snapshot`: saves a process's numbers, or shows saved ones. `redial diff`: compares two snapshots.

mod difference;
mod show;
mod title;

use super::arguments::{DiffArguments, SnapshotArguments, TableForm};
use crate::output::{Out, sentence};
use redial_link::exit::{Exit, Failure};
use redial_link::snapshot_file::SnapshotFileError;
use redial_link::{connect, snapshot, snapshot_file};
use redial_model::process_snapshot::{ProcessSnapshot, SnapshotDifference};
use redial_model::speedscope::SpeedscopeFile;
use redial_text::words;
use std::io;
use std::path::Path;

/// Saves or shows a snapshot.
pub fn run(arguments: &SnapshotArguments) -> Result<Exit, Failure> {
    let taken = match (&arguments.show, arguments.pid) {
        (Some(file), _) => read(file)?,
        (None, Some(pid)) => take(pid, "redial snapshot")?,
        (None, None) => return Err(Failure::new(Exit::Usage, "a process id or --show FILE is missing")),
    };
    let form = arguments.form.form();
    if let Some(file) = &arguments.output {
        snapshot_file::write(file, &taken, arguments.force).map_err(not_written)?;
        sentence(format!(
            "{} saved; `redial snapshot --show {}` lists them",
            words::methods(taken.methods.len() as u64),
            words::printable(&file.display().to_string()),
        ));
    }
    if arguments.speedscope {
        let file = SpeedscopeFile::of(&taken);
        if file.is_empty() {
            let why = "nothing to write: no call was traced and no method was timed";
            return Err(Failure::new(Exit::Failed, why));
        }
        let mut out = Out::new();
        out.json(&file)?;
        out.flush()?;
    } else if arguments.output.is_none() || form != TableForm::Text {
        let mut out = Out::new();
        show::print(&taken, form, &mut out, arguments.form.limit)?;
        out.flush()?;
    }
    Ok(Exit::Done)
}

/// Compares two snapshots.
pub fn diff(arguments: &DiffArguments) -> Result<Exit, Failure> {
    let (before, after) = (side(&arguments.before)?, side(&arguments.after)?);
    let difference = SnapshotDifference::of(&before, &after);
    let mut out = Out::new();
    let form = arguments.form.form();
    difference::print((&before, &after), &difference, form, &mut out, arguments.form.limit)?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Returns one side of a comparison: a number is a process, everything else a file.
fn side(word: &str) -> Result<ProcessSnapshot, Failure> {
    match word.parse::<u32>() {
        Ok(pid) if pid > 0 => take(pid, "redial diff"),
        _ => read(Path::new(word)),
    }
}

fn take(pid: u32, program: &str) -> Result<ProcessSnapshot, Failure> {
    let mut session = connect::open(pid, program)?;
    Ok(snapshot::take(&mut session)?)
}

fn read(file: &Path) -> Result<ProcessSnapshot, Failure> {
    snapshot_file::read(file)
        .map_err(|error: SnapshotFileError| Failure::new(Exit::Failed, error.to_string()))
}

fn not_written(error: io::Error) -> Failure {
    let advice = if error.kind() == io::ErrorKind::AlreadyExists { " (--force replaces it)" } else { "" };
    Failure::new(Exit::Failed, format!("cannot write the snapshot: {error}{advice}"))
}
