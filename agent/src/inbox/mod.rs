//! Queues the jobs of the ReJIT thread. Host threads only add jobs; sessions may wait for the answer.
#![forbid(unsafe_code)]

mod activity;
mod gate;
mod jobs;
mod session_work;

pub use activity::{HANG_THRESHOLD, WorkerActivity};
pub use gate::{Gate, Gates};
pub use jobs::{
    AllOffResult, ChangeRequest, ChangeResult, Inbox, Job, OrderChange, PlanRequest, Progress,
    ProgressReporter, Responder,
};
pub use session_work::WorkTimer;
