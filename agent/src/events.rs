//! What the runtime is asked to tell of. Exceptions only while a condition for calls to be kept stands: of each that is thrown
//! and caught then, so that a call that one ends is told with its type.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::clr::bindings::{
    COR_PRF_DISABLE_ALL_NGEN_IMAGES, COR_PRF_DISABLE_INLINING, COR_PRF_ENABLE_REJIT,
    COR_PRF_MONITOR_APPDOMAIN_LOADS, COR_PRF_MONITOR_ASSEMBLY_LOADS, COR_PRF_MONITOR_EXCEPTIONS,
    COR_PRF_MONITOR_JIT_COMPILATION, COR_PRF_MONITOR_MODULE_LOADS,
};
use crate::probes::thrown::{self, Class, Event};
use crate::probes::{conditions, time_leaf};
use crate::runtime::Runtime;
use crate::startup::Settings;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the runtime was asked to tell.
#[derive(Debug, Default)]
pub struct Exceptions(AtomicBool);

/// The event mask; ARCHITECTURE.md has the table with reasons and measured costs.
pub fn event_mask(runtime: &Runtime, settings: &Settings) -> u32 {
    let mut mask = COR_PRF_ENABLE_REJIT
        | COR_PRF_MONITOR_APPDOMAIN_LOADS
        | COR_PRF_MONITOR_ASSEMBLY_LOADS
        | COR_PRF_MONITOR_MODULE_LOADS
        | COR_PRF_MONITOR_JIT_COMPILATION;
    if runtime.framework {
        mask |= COR_PRF_DISABLE_ALL_NGEN_IMAGES;
    }
    if settings.no_inlining {
        mask |= COR_PRF_DISABLE_INLINING;
    }
    mask as u32
}

impl Agent {
    /// Asks the runtime to tell of exceptions where that is needed now, and no more where it is not. On the ReJIT thread.
    pub fn follow_exceptions(&self) {
        let needed = conditions::any();
        if needed == self.exceptions.0.load(Ordering::Relaxed) || self.ends() {
            return;
        }
        let mask = event_mask(&self.runtime, &self.settings);
        if needed {
            thrown::begin(cfg!(unix) && self.runtime.major < 9);
        }
        let flag = if needed { COR_PRF_MONITOR_EXCEPTIONS as u32 } else { 0 };
        // Refused, types stay unknown; it is tried again when something changes.
        if self.info.set_event_mask(mask | flag).is_ok() {
            self.exceptions.0.store(needed, Ordering::Relaxed);
        }
    }

    /// What the runtime tells of exceptions, on the thread that throws.
    pub fn exception(&self, event: impl FnOnce(&Agent) -> Event) {
        // A thread that was never in a timed call is in none now.
        if let Some(timer) = time_leaf::timer() {
            let here = 0_u8;
            timer.hear(event(self), std::ptr::from_ref(&here).addr());
        }
    }

    /// The class of an exception that the runtime names.
    pub fn exception_class(&self, object: usize) -> Class {
        match self.info.class_of(object) {
            Ok((module, token)) => Class { module, token, generation: self.modules.generations() },
            Err(_) => Class::default(),
        }
    }
}
