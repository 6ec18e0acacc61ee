//! Saves, opens and compares snapshots for a program that must never block: each on a thread of its own.

use super::update_sender::Wake;
use crate::{connect, snapshot, snapshot_file};
use redial_model::process_snapshot::{ProcessSnapshot, SnapshotDifference, SnapshotHeader};
use std::path::PathBuf;
use std::sync::mpsc::Sender;

/// The name of this program for the agent.
const PROGRAM: &str = "Redial window";

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotJob {
    /// Save the numbers of a process to a new file.
    Save {
        /// The process.
        pid: u32,
        /// The file.
        file: PathBuf,
    },
    /// Open a saved file.
    Open {
        /// The file.
        file: PathBuf,
    },
    /// Compare a saved file with the present numbers of a process.
    Compare {
        /// The file.
        file: PathBuf,
        /// The process.
        pid: u32,
    },
}

/// The result of a job.
#[derive(Debug)]
pub enum SnapshotAnswer {
    /// The file is saved.
    Saved {
        /// The file.
        file: PathBuf,
        /// The number of its methods.
        methods: usize,
    },
    /// The file is open.
    Opened {
        /// The file.
        file: PathBuf,
        /// Its content.
        snapshot: Box<ProcessSnapshot>,
    },
    /// The difference is known.
    Compared {
        /// The file.
        file: PathBuf,
        /// The process and time of the file and of the present numbers.
        sides: Box<[SnapshotHeader; 2]>,
        /// The difference.
        difference: Box<SnapshotDifference>,
    },
    /// It failed; the reason, as a sentence.
    Failed(String),
}

/// Starts a job; its answer goes to `answers`.
pub fn start(job: SnapshotJob, answers: Sender<SnapshotAnswer>, wake: Wake) {
    let failed = (answers.clone(), wake.clone());
    let started = std::thread::Builder::new().name("snapshot".into()).spawn(move || {
        // A receiver that is gone wants no answer.
        let _ = answers.send(run(job).unwrap_or_else(SnapshotAnswer::Failed));
        wake();
    });
    if let Err(error) = started {
        let _ = failed.0.send(SnapshotAnswer::Failed(format!("cannot start a thread: {error}")));
        (failed.1)();
    }
}

fn run(job: SnapshotJob) -> Result<SnapshotAnswer, String> {
    match job {
        SnapshotJob::Save { pid, file } => {
            let taken = take(pid)?;
            snapshot_file::write(&file, &taken, false)
                .map_err(|error| format!("the numbers were not saved: {error}"))?;
            Ok(SnapshotAnswer::Saved { file, methods: taken.methods.len() })
        }
        SnapshotJob::Open { file } => {
            let snapshot = read(&file)?;
            Ok(SnapshotAnswer::Opened { file, snapshot: Box::new(snapshot) })
        }
        SnapshotJob::Compare { file, pid } => {
            let (before, after) = (read(&file)?, take(pid)?);
            let difference = SnapshotDifference::of(&before, &after);
            let sides = Box::new([before.header, after.header]);
            Ok(SnapshotAnswer::Compared { file, sides, difference: Box::new(difference) })
        }
    }
}

fn take(pid: u32) -> Result<ProcessSnapshot, String> {
    let taken = connect::open(pid, PROGRAM).and_then(|mut session| snapshot::take(&mut session));
    taken.map_err(|error| error.to_string())
}

fn read(file: &std::path::Path) -> Result<ProcessSnapshot, String> {
    snapshot_file::read(file).map_err(|error| error.to_string())
}
