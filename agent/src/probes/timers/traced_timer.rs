//! What helpers of traced bodies ask a timer.

use super::record::Frame;
use super::timer::Timer;
use crate::probes::exception_stack::ExceptionClass;
use crate::probes::trace::ThreadArea;
use std::sync::atomic::Ordering;

impl Timer {
    /// Returns the area of the owner's thread, if it has one.
    #[inline(always)]
    pub(crate) fn area(&self) -> Option<&'static ThreadArea> {
        // SAFETY: null or an area; those are never freed.
        unsafe { self.traced.area.get().as_ref() }
    }

    /// Returns the area of the owner's thread, made if necessary; None if memory is used up or refused. On the owner's
    /// thread only.
    pub(crate) fn area_or_new(&self) -> Option<&'static ThreadArea> {
        if self.area().is_none() && !self.traced.refused.get() {
            match ThreadArea::acquire() {
                Some(area) => self.traced.area.set(area),
                None => self.traced.refused.set(true),
            }
        }
        self.area()
    }

    /// Returns the beginning of the innermost call, in ticks, and the number of timed calls around it; the beginning is
    /// 0 if `frame` is not of that call. On the owner's thread only.
    #[inline(always)]
    pub(crate) fn innermost(&self, frame: *const usize) -> (u64, u32) {
        let top = self.top.load(Ordering::Relaxed);
        // SAFETY: `top` is always one of the frames.
        let (address, start) = unsafe { ((*top).address, (*top).start) };
        if address == frame.addr() {
            (start, self.depth(top).saturating_sub(1))
        } else {
            (0, self.depth(top))
        }
    }

    /// Returns the beginning and duration, in ticks, of the call that has just ended; None if `frame` is not of that
    /// call, because it was not timed. On the owner's thread only.
    #[inline(always)]
    pub(crate) fn latest_ended(&self, frame: *const usize) -> Option<(u64, u64)> {
        let top = self.top.load(Ordering::Relaxed);
        if top == self.last.get() {
            return None;
        }
        let ended = top.wrapping_add(1);
        // SAFETY: there is room for a frame above `top`. A frame with that address belonged to a call, and its record
        // is never given back.
        unsafe {
            ((*ended).address == frame.addr() && !(*ended).record.is_null())
                .then(|| ((*ended).start, (*(*ended).record).pending.load(Ordering::Relaxed)))
        }
    }

    /// Returns the class and number of the innermost exception that the owner's thread is throwing; zeros if unknown.
    pub(crate) fn thrown(&self) -> (ExceptionClass, u32) {
        self.thrown.handled().unwrap_or_default()
    }

    /// Returns the class and number of the exception that the owner's thread caught last; zeros if unknown.
    pub(crate) fn caught(&self) -> (ExceptionClass, u32) {
        self.thrown.caught_last().unwrap_or_default()
    }

    /// Keeps the exception that was thrown last, for a traced call that it ends. `class` returns the class of an inner
    /// exception. On the owner's thread, in the callback that passes the exception.
    pub(crate) fn keep_exception(&self, exception: usize, class: impl Fn(usize) -> ExceptionClass) {
        if let Some(area) = self.area() {
            area.keep_exception(self.thrown.latest(), exception, class);
        }
    }

    #[inline(always)]
    fn depth(&self, top: *const Frame) -> u32 {
        ((top.addr() - self.frames.bottom().addr()) / size_of::<Frame>()) as u32
    }
}
