//! The shapes of classes by number.

use crate::capture::shape::ClassShape;
use crate::probes::trace::objects::{self, ClassProgram, Wanted};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Shapes that are kept. Beyond it those of unloaded classes go, and then no more classes are captured: programs are
/// never freed.
const MAX_SHAPES: usize = 32 << 10;

/// The shapes of classes by number.
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

impl Shapes {
    /// Returns the shape of the class with a number.
    pub(super) fn shape(&self, number: u32) -> Option<Arc<ClassShape>> {
        self.known.get(&number).map(|class| Arc::clone(&class.shape))
    }

    /// Forgets the classes of a module that begins to unload; their shapes stay, for calls that were captured before.
    pub(super) fn unload(&mut self, module: usize) {
        let is_of_module = |class: &KnownClass| class.modules.contains(&module);
        objects::forget(|number| self.known.get(&number).is_some_and(is_of_module));
        for (number, class) in &mut self.known {
            if is_of_module(class) {
                class.modules.clear();
                self.unloaded.push(*number);
            }
        }
    }

    /// Adds a class that is still loaded, and gives its program to the helpers.
    pub(super) fn add(&mut self, wanted: Wanted, class: KnownClass) {
        if !objects::is_known(wanted) || self.programs >= MAX_SHAPES {
            return;
        }
        if self.known.len() >= MAX_SHAPES / 2 && !self.unloaded.is_empty() {
            let oldest = self.unloaded.remove(0);
            self.known.remove(&oldest);
        }
        let program = Box::leak(Box::new(ClassProgram::new(wanted.number, Arc::clone(&class.shape))));
        self.programs += 1;
        self.known.insert(wanted.number, class);
        objects::set_program(wanted, program);
    }
}
