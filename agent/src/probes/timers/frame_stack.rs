//! Memory of a timer's frames. It has room for ordinary nesting; what deeper calls need comes directly from the system
//! and returns to it when the thread ends.

use super::record::{Frame, MAX_FRAMES};
use crate::probes::address_space::{allocate, release};
use crate::probes::arena;
use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;

/// Frames without further memory.
const FEW: usize = 128;

/// The frames of one thread; only for that thread.
#[repr(C)]
pub(super) struct FrameStack {
    few: UnsafeCell<[Frame; FEW]>,
    /// Replaces `few`; null if it need not.
    many: Cell<*mut Frame>,
    /// Number of frames in `many`.
    room: Cell<usize>,
}

/// Why there is no room for more frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoFrames {
    /// No calls nested deeper are timed.
    Deep,
    /// The memory is used up or refused.
    Memory,
}

impl FrameStack {
    /// Returns the lowest frame.
    pub(super) fn bottom(&self) -> *mut Frame {
        let many = self.many.get();
        if many.is_null() { self.few.get().cast() } else { many }
    }

    /// Returns the last frame that there is room for.
    pub(super) fn last(&self) -> *mut Frame {
        self.bottom().wrapping_add(self.room() - 1)
    }

    fn room(&self) -> usize {
        if self.many.get().is_null() { FEW } else { self.room.get() }
    }

    /// Doubles the room. The frames move.
    ///
    /// # Errors
    /// When there cannot be more.
    pub(super) fn deepen(&self) -> Result<(), NoFrames> {
        let before = self.room();
        let room = (before * 2).min(MAX_FRAMES);
        if room == before {
            return Err(NoFrames::Deep);
        }
        let bytes = room * size_of::<Frame>();
        if !arena::charge(bytes) {
            return Err(NoFrames::Memory);
        }
        let Some(more) = allocate(bytes).map(NonNull::cast::<Frame>) else {
            arena::discharge(bytes);
            return Err(NoFrames::Memory);
        };
        // SAFETY: both have at least that many frames and do not overlap.
        unsafe { more.copy_from_nonoverlapping(NonNull::new_unchecked(self.bottom()), before) };
        self.give_back();
        self.many.set(more.as_ptr());
        self.room.set(room);
        Ok(())
    }

    /// Returns to the ordinary room. All frames but those there are lost.
    pub(super) fn give_back(&self) {
        let Some(many) = NonNull::new(self.many.replace(std::ptr::null_mut())) else { return };
        let bytes = self.room.get() * size_of::<Frame>();
        arena::discharge(bytes);
        // SAFETY: allocated by `deepen` with this size; only the owner had its address.
        unsafe { release(many.cast(), bytes) };
    }
}
