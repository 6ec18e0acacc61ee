//! The thread that makes the shapes of classes that helpers have seen.

use super::known_classes::Shapes;
use super::shapes::ShapeReader;
use crate::capture::CaptureRules;
use crate::catalogue::Modules;
use crate::clr::ProfilerInfo;
use crate::probes::exception_chain::capture_exceptions;
use crate::probes::trace::{self, objects};
use crate::sync::lock;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Pause between two looks for new classes.
const PAUSE: Duration = Duration::from_millis(5);
/// How long a class waits while a module unloads; then it waits for the next look.
const UNLOAD_WAIT: Duration = Duration::from_millis(150);

/// The runtime and the modules that the thread reads, and the host's rules.
type Sources = (&'static ProfilerInfo, &'static Modules, &'static CaptureRules);

/// Starts the thread; false if the system refuses. The thread tells `begins` once it knows the classes that every program has.
pub(super) fn start(shapes: Arc<Mutex<Shapes>>, of: Sources, begins: SyncSender<()>) -> bool {
    crate::platform::spawn(c"redial-classes", move || run(&shapes, of, &begins))
}

fn run(shapes: &Mutex<Shapes>, (info, modules, rules): Sources, begins: &SyncSender<()>) {
    let begin = || {
        let reader = ShapeReader::new(info, modules, rules);
        reader.expect_common_classes();
        reader.exception_fields()
    };
    let mut has_begun = false;
    let mut done = None;
    loop {
        if !has_begun
            && let Some(fields) = modules.code.while_modules_stay(Instant::now() + UNLOAD_WAIT, begin)
        {
            if let Some(fields) = fields {
                capture_exceptions(fields);
            }
            let _ = begins.try_send(());
            has_begun = true;
        }
        let added = objects::added();
        let mut is_complete = true;
        if done != Some(added) {
            let reader = ShapeReader::new(info, modules, rules);
            for wanted in objects::wanted() {
                // The class cannot unload during the query: its module's unload waits, and one that began before has
                // removed the class.
                let read = || objects::is_known(wanted).then(|| reader.read(wanted.class));
                match modules.code.while_modules_stay(Instant::now() + UNLOAD_WAIT, read) {
                    Some(Some(class)) => lock(shapes).add(wanted, class),
                    Some(None) => {}
                    None => is_complete = false,
                }
            }
            done = is_complete.then_some(added);
        }
        std::thread::sleep(PAUSE);
        let mut shapes = lock(shapes);
        if !trace::any() {
            shapes.runs = false;
            return;
        }
    }
}
