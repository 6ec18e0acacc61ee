//! A process's numbers at a moment, as they are saved and compared: dialled methods with their times and histograms,
//! the latest traced calls, and the log of changes.

mod difference;
mod saved;
mod summary;

pub use difference::{Change, MethodDifference, SnapshotDifference};
pub use saved::{
    ProcessSnapshot, SavedChange, SavedCompletions, SavedHistogram, SavedMethod, SavedTimes, SnapshotHeader,
};
pub use summary::{MethodName, MethodSum};

#[cfg(test)]
mod tests;
