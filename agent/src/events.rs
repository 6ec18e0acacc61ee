//! Selects the runtime events that the agent receives. Exceptions are on only while a condition for slowest calls
//! stands, a method is traced, or a session asks for thrown exceptions: then each thrown and caught exception is reported.
#![forbid(unsafe_code)]

use crate::clr::ProfilerInfo;
use crate::clr::bindings::{
    COR_PRF_DISABLE_ALL_NGEN_IMAGES, COR_PRF_DISABLE_INLINING, COR_PRF_ENABLE_REJIT,
    COR_PRF_MONITOR_APPDOMAIN_LOADS, COR_PRF_MONITOR_ASSEMBLY_LOADS, COR_PRF_MONITOR_EXCEPTIONS,
    COR_PRF_MONITOR_IMMUTABLE, COR_PRF_MONITOR_JIT_COMPILATION, COR_PRF_MONITOR_MODULE_LOADS,
};
use crate::probes::exception_stack::{self, ExceptionClass, ExceptionEvent};
use crate::probes::{conditions, thread_timer, thrown, trace};
use crate::runtime::Runtime;
use crate::startup::Settings;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the runtime reports exceptions now.
#[derive(Debug, Default)]
pub struct Exceptions(AtomicBool);

/// Returns the event mask; docs/design/startup-flags.md has the table with reasons and measured costs.
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

/// Turns all events off that may still be turned off. If the runtime refuses, each callback still does nothing once the
/// agent has stopped.
pub fn silence(info: &ProfilerInfo, runtime: &Runtime, settings: &Settings) {
    let _ = silent_masks(event_mask(runtime, settings))
        .into_iter()
        .any(|mask| info.set_event_mask(mask, false).is_ok());
}

/// Returns the masks without events, fewest flags first. Inside `Initialize` all flags may go. Later the immutable ones
/// must stay; Core 2.1 counts ReJIT among them.
fn silent_masks(mask: u32) -> [u32; 3] {
    let immutable = COR_PRF_MONITOR_IMMUTABLE as u32;
    [0, mask & immutable, mask & (immutable | COR_PRF_ENABLE_REJIT as u32)]
}

impl Exceptions {
    /// Whether [`Exceptions::follow`] has anything to do. Takes no lock.
    pub fn must_follow(&self) -> bool {
        is_needed() != self.0.load(Ordering::Relaxed)
    }

    /// Whether the runtime reports exceptions now.
    pub fn are_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Turns exception events on or off, as now needed. Runs on the ReJIT thread, and not once the process is
    /// ending.
    pub fn follow(&self, info: &ProfilerInfo, runtime: &Runtime, settings: &Settings) {
        let needed = is_needed();
        if needed == self.0.load(Ordering::Relaxed) {
            return;
        }
        let mask = event_mask(runtime, settings);
        if needed {
            exception_stack::begin(cfg!(unix) && runtime.major < 9);
        }
        let flag = if needed { COR_PRF_MONITOR_EXCEPTIONS as u32 } else { 0 };
        // If the runtime refuses, exception types stay unknown; the next change tries again.
        if info.set_event_mask(mask | flag, true).is_ok() {
            self.0.store(needed, Ordering::Relaxed);
        }
    }
}

/// Whether anybody wants exceptions.
fn is_needed() -> bool {
    conditions::any() || trace::any() || thrown::any()
}

/// Handles an exception event, on the throwing thread.
pub fn exception(event: impl FnOnce() -> ExceptionEvent) {
    // A thread without a timer was never in a timed call.
    if let Some(timer) = thread_timer::timer() {
        let here = 0_u8;
        timer.record_exception(event(), std::ptr::from_ref(&here).addr());
    }
}

/// Keeps an exception that has just been thrown, if calls are traced. `class` returns the class of an inner exception. In
/// the callback that passes the exception.
pub fn keep_exception(exception: usize, class: impl Fn(usize) -> ExceptionClass) {
    if trace::any()
        && let Some(timer) = thread_timer::timer()
    {
        timer.keep_exception(exception, class);
    }
}

/// Returns the class of an exception object; `generations`: the last generation that a module got.
pub fn exception_class(info: &ProfilerInfo, generations: u32, object: usize) -> ExceptionClass {
    match info.class_of(object) {
        Ok((module, token)) => ExceptionClass { module, token, generation: generations },
        Err(_) => ExceptionClass::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_masks_keep_only_flags_that_must_stay() {
        let rejit = COR_PRF_ENABLE_REJIT as u32;
        let events = (COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_MODULE_LOADS) as u32;
        assert_eq!(silent_masks(rejit | events), [0, 0, rejit]);
        let images = COR_PRF_DISABLE_ALL_NGEN_IMAGES as u32;
        assert_eq!(silent_masks(rejit | events | images), [0, images, images | rejit]);
    }
}
