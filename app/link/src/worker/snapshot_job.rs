//! Saves, opens and compares snapshots for a program that must never block: each on a thread of its own.

use super::update_sender::Wake;
use crate::atomic_write::AtomicFile;
use crate::{connect, snapshot, snapshot_file};
use redial_model::process_snapshot::{ProcessSnapshot, SnapshotDifference, SnapshotHeader};
use redial_model::speedscope::SpeedscopeFile;
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
    /// Save traced calls and self times of a process to a new file for speedscope.
    Speedscope {
        /// The process.
        pid: u32,
        /// The file.
        file: PathBuf,
    },
    /// Save a picture as a new PNG file.
    Picture {
        /// Red, green, blue and opacity of each pixel, in rows from the top.
        rgba: Vec<u8>,
        /// Width and height in pixels.
        size: [u32; 2],
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
    /// The file for another program is saved.
    Exported {
        /// The file.
        file: PathBuf,
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
        SnapshotJob::Speedscope { pid, file } => {
            let profile = SpeedscopeFile::of(&take(pid)?);
            if profile.is_empty() {
                return Err("nothing was saved: no call was traced and no method was timed".to_owned());
            }
            let text = serde_json::to_vec(&profile).map_err(|error| error.to_string())?;
            save_new(file, &text)
        }
        SnapshotJob::Picture { rgba, size, file } => {
            let png = encoded(&rgba, size).map_err(|error| format!("the picture was not saved: {error}"))?;
            save_new(file, &png)
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

/// Encodes a picture as PNG.
fn encoded(rgba: &[u8], [width, height]: [u32; 2]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgba)?;
    writer.finish()?;
    Ok(bytes)
}

/// Writes a file that does not exist yet and that only this user can read.
fn save_new(file: PathBuf, content: &[u8]) -> Result<SnapshotAnswer, String> {
    let written = AtomicFile::create_private(&file).and_then(|new| new.write_new(content));
    written.map_err(|error| format!("the file was not saved: {error}"))?;
    Ok(SnapshotAnswer::Exported { file })
}

fn take(pid: u32) -> Result<ProcessSnapshot, String> {
    let taken = connect::open(pid, PROGRAM).and_then(|mut session| snapshot::take(&mut session));
    taken.map_err(|error| error.to_string())
}

fn read(file: &std::path::Path) -> Result<ProcessSnapshot, String> {
    snapshot_file::read(file).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_reads_back_and_replaces_no_file() {
        let file = std::env::temp_dir().join(format!("redial-picture-{}.png", std::process::id()));
        let rgba: Vec<u8> = (0..24).collect();
        let job = SnapshotJob::Picture { rgba: rgba.clone(), size: [3, 2], file: file.clone() };
        assert!(matches!(run(job.clone()), Ok(SnapshotAnswer::Exported { .. })));
        let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&file).expect("a file")));
        let mut reader = decoder.read_info().expect("PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut pixels).expect("pixels");
        assert_eq!(((info.width, info.height), pixels), ((3, 2), rgba));
        assert!(run(job).is_err_and(|why| why.starts_with("the file was not saved: ")));
        std::fs::remove_file(&file).expect("removed");
    }
}
