//! What other parts of the agent do with classes.

use super::known_classes::Shapes;
use super::shapes::ShapeReader;
use super::thread;
use crate::capture::CaptureRules;
use crate::capture::shape::ClassShape;
use crate::catalogue::Modules;
use crate::clr::ProfilerInfo;
use crate::probes::exception_chain::ExceptionFields;
use crate::probes::trace::objects;
use crate::sync::lock;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest wait for the thread to begin.
const BEGIN_WAIT: Duration = Duration::from_secs(1);

/// The classes whose objects were captured.
#[derive(Default)]
pub struct Classes(Arc<Mutex<Shapes>>);

impl Classes {
    /// Starts the thread that makes shapes unless it runs, and waits until messages of exceptions can be captured: the first
    /// traced call may end with one. The thread ends when no method is traced any more.
    pub fn follow(
        &self,
        info: &'static ProfilerInfo,
        modules: &'static Modules,
        rules: &'static CaptureRules,
    ) {
        if !objects::prepare() {
            return;
        }
        let begun = {
            let mut shapes = lock(&self.0);
            if shapes.runs {
                return;
            }
            let (begins, begun) = sync_channel(1);
            shapes.runs = thread::start(Arc::clone(&self.0), (info, modules, rules), begins);
            begun
        };
        // Without an answer in time, or a thread, the first messages are missing.
        let _ = begun.recv_timeout(BEGIN_WAIT);
    }

    /// Returns the offsets of fields of exceptions; None if the runtime or an unload in progress does not allow to read them.
    pub fn exception_fields(
        info: &ProfilerInfo,
        modules: &Modules,
        rules: &CaptureRules,
    ) -> Option<ExceptionFields> {
        let read = || ShapeReader::new(info, modules, rules).exception_fields();
        modules.code.while_modules_stay(Instant::now() + BEGIN_WAIT, read).flatten()
    }

    /// Returns the shape of the class with a number.
    pub fn shape(&self, number: u32) -> Option<Arc<ClassShape>> {
        lock(&self.0).shape(number)
    }

    /// Forgets the classes of a module that begins to unload; their shapes stay, for calls that were captured before.
    pub fn unload(&self, module: usize) {
        crate::probes::frame_size::forget_all();
        crate::probes::exception_types::forget(module);
        lock(&self.0).unload(module);
    }
}
