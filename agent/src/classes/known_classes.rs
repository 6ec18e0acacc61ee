//! The shapes of classes by number, for those who read captured calls.

use super::thread;
use crate::capture::CaptureRules;
use crate::capture::shape::ClassShape;
use crate::catalogue::Modules;
use crate::clr::ProfilerInfo;
use crate::probes::trace::objects::{self, ClassProgram, Wanted};
use crate::sync::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Shapes that are kept. Beyond it those of unloaded classes go, and then no more classes are captured: programs are
/// never freed.
const MAX_SHAPES: usize = 32 << 10;

/// The classes whose objects were captured.
#[derive(Default)]
pub struct Classes(Arc<Mutex<Shapes>>);

#[derive(Default)]
pub(super) struct Shapes {
    /// By number.
    known: BTreeMap<u32, KnownClass>,
    /// Classes whose modules have unloaded, oldest first.
    unloaded: Vec<u32>,
    /// Programs ever made.
    programs: usize,
    /// Whether the thread runs.
    pub(super) runs: bool,
}

/// A class with its shape.
pub(super) struct KnownClass {
    pub(super) shape: Arc<ClassShape>,
    /// ModuleIDs of the class and its type arguments: it unloads with any of them.
    pub(super) modules: Vec<usize>,
}

impl Classes {
    /// Starts the thread that makes shapes unless it runs. It ends when no method is traced any more.
    pub fn follow(
        &self,
        info: &'static ProfilerInfo,
        modules: &'static Modules,
        rules: &'static CaptureRules,
    ) {
        if !objects::prepare() {
            return;
        }
        let mut shapes = lock(&self.0);
        if !shapes.runs {
            shapes.runs = thread::start(Arc::clone(&self.0), info, modules, rules);
        }
    }

    /// Returns the shape of the class with a number.
    pub fn shape(&self, number: u32) -> Option<Arc<ClassShape>> {
        lock(&self.0).known.get(&number).map(|class| Arc::clone(&class.shape))
    }

    /// Forgets the classes of a module that begins to unload; their shapes stay, for calls that were captured before.
    pub fn unload(&self, module: usize) {
        let mut shapes = lock(&self.0);
        let is_of_module = |class: &KnownClass| class.modules.contains(&module);
        objects::forget(|number| shapes.known.get(&number).is_some_and(is_of_module));
        let numbers: Vec<u32> =
            shapes.known.iter().filter(|(_, class)| is_of_module(class)).map(|(number, _)| *number).collect();
        for number in numbers {
            if let Some(class) = shapes.known.get_mut(&number) {
                class.modules.clear();
            }
            shapes.unloaded.push(number);
        }
    }
}

impl Shapes {
    /// Adds a class that is still loaded, and gives its program to the helpers.
    pub(super) fn add(&mut self, wanted: Wanted, class: KnownClass) {
        if !objects::is_known(wanted) || self.programs >= MAX_SHAPES {
            return;
        }
        if self.known.len() >= MAX_SHAPES / 2 && !self.unloaded.is_empty() {
            let oldest = self.unloaded.remove(0);
            self.known.remove(&oldest);
        }
        let program = Box::leak(Box::new(ClassProgram::new(wanted.number, &class.shape)));
        self.programs += 1;
        self.known.insert(wanted.number, class);
        objects::set_program(wanted, program);
    }
}
