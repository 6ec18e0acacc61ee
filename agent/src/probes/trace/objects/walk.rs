//! Writes the records of objects into a call's entry.

use super::program::{ARRAY_LENGTH, Action, ClassProgram, Items, Steps, omitted};
use super::table::{Known, look_up};
use crate::capture::record::{COLLECTION_HEADER, RecordKind, WORD};
use crate::capture::shape::Step;
use crate::capture::{NO_ROOM, UNREADABLE};
use crate::platform::read_memory;
use crate::probes::trace::entry::{ALIGN, Entry, MAX_DEREFERENCES, PLACES};
use crate::probes::trace::strings::{self, MAX_UNITS};
use redial_protocol::trace::OmittedReason;
use std::sync::atomic::Ordering;

/// Largest value that is read through a reference to it.
pub(super) const MAX_VALUE: usize = 256;
/// Bytes of items that are read from a span.
pub(super) const MAX_SPAN: usize = 512;

/// An address with the type of the value there, as `mkrefany` makes it (ECMA-335 III.4.19).
#[repr(C)]
pub struct TypedReference {
    address: *const u8,
    class: usize,
}

/// Captures an object into a place of an entry. `at` is the entry's address plus the number of the place; `object` is
/// the address of a variable that refers to the object.
///
/// # Safety
/// As `capture_string`.
pub unsafe extern "C" fn capture_object(at: usize, object: *const *const u8) {
    // SAFETY: the caller's contract.
    unsafe { record(at, true, |walk| walk.reference(object.read(), 0)) }
}

/// As [`capture_object`], for a value that lies in the frame of the body. Clears the typed reference, which would keep
/// an object alive.
///
/// # Safety
/// As [`capture_object`]; the value is of its class.
pub unsafe extern "C" fn capture_typed(at: usize, value: *mut TypedReference) {
    // SAFETY: the caller's contract.
    unsafe {
        let TypedReference { address, class } =
            value.replace(TypedReference { address: std::ptr::null(), class: 0 });
        record(at, true, |walk| walk.value(address, class));
    }
}

/// As [`capture_typed`], for a value anywhere. References in it are followed with care; see [`super::checked`].
///
/// # Safety
/// As [`capture_object`]; if the value is readable, it is of its class.
pub unsafe extern "C" fn capture_by_ref(at: usize, value: *mut TypedReference) {
    // SAFETY: the caller's contract; of the copy, as many bytes are used as were read.
    unsafe {
        let TypedReference { address, class } =
            value.replace(TypedReference { address: std::ptr::null(), class: 0 });
        let size = match look_up(class) {
            Known::Program(ClassProgram { action: Action::Value { size, .. }, .. }) => *size,
            // A span has two words.
            Known::Program(ClassProgram { is_value: true, .. }) => 2 * size_of::<usize>(),
            Known::Program(_) => size_of::<usize>(),
            Known::Wanted(_) | Known::Nothing => 0,
        };
        let mut copy = [0_u64; MAX_VALUE / size_of::<u64>()];
        let bytes = std::slice::from_raw_parts_mut(copy.as_mut_ptr().cast::<u8>(), MAX_VALUE);
        let is_read =
            bytes.get_mut(..size).is_some_and(|bytes| size == 0 || read_memory(address.addr(), bytes));
        match is_read {
            true => record(at, false, |walk| walk.value(copy.as_ptr().cast(), class)),
            false => place(at).write(UNREADABLE),
        }
    }
}

/// Returns the place that a helper's first argument means.
///
/// # Safety
/// As [`capture_object`].
unsafe fn place(at: usize) -> *mut u64 {
    let entry = std::ptr::with_exposed_provenance_mut::<Entry>(at & !(ALIGN - 1));
    // SAFETY: the caller's contract: the place exists.
    unsafe { entry.byte_add(PLACES + (at & (ALIGN - 1)) * size_of::<u64>()).cast() }
}

/// Writes a record and its offset. `follows`: whether references in the value are known to refer to objects.
///
/// # Safety
/// As [`capture_object`].
unsafe fn record(at: usize, follows: bool, write: impl FnOnce(&mut Walk)) {
    let entry = std::ptr::with_exposed_provenance_mut::<Entry>(at & !(ALIGN - 1));
    // SAFETY: the caller's contract: the entry has `capacity` bytes, and only this thread writes it.
    unsafe {
        let used = (*entry).used as usize;
        let limit = (*entry).begin_value();
        if used + WORD > limit {
            return place(at).write(NO_ROOM);
        }
        let left = MAX_DEREFERENCES.saturating_sub((*entry).dereferences);
        let depth = (*(*entry).method).depth.load(Ordering::Relaxed);
        let mut walk = Walk { to: entry.cast(), used, limit, reserved: 0, left, depth, follows };
        write(&mut walk);
        (*entry).dereferences = MAX_DEREFERENCES - walk.left;
        (*entry).used = walk.used.next_multiple_of(4).min(limit) as u32;
        place(at).write(used as u64);
    }
}

/// Writes records. Before each there is room for a word, since `used + reserved + WORD <= limit`.
pub(super) struct Walk {
    to: *mut u8,
    used: usize,
    limit: usize,
    /// Bytes that are still to be written around the present record.
    reserved: usize,
    /// Objects that may still be looked into.
    pub(super) left: u32,
    /// Objects within objects that are captured.
    pub(super) depth: u32,
    /// Whether references are known to refer to objects.
    follows: bool,
}

impl Walk {
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.used + self.reserved)
    }

    unsafe fn word(&mut self, word: u32) {
        // SAFETY: there is room (type's invariant).
        unsafe { self.to.add(self.used).cast::<u32>().write_unaligned(word) };
        self.used += WORD;
    }

    unsafe fn copy(&mut self, from: *const u8, size: usize) {
        // SAFETY: there is room, since the caller reserved it; `from` has that many bytes.
        unsafe { std::ptr::copy_nonoverlapping(from, self.to.add(self.used), size) };
        self.used += size;
    }

    pub(super) unsafe fn omit(&mut self, reason: OmittedReason) {
        // SAFETY: there is room for a word.
        unsafe { self.word(omitted(reason)) }
    }

    /// Writes the record of a value of a class: of the value itself, or of the object that it refers to.
    unsafe fn value(&mut self, address: *const u8, class: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            match look_up(class) {
                Known::Program(program) if program.is_value => self.program(program, address, 0),
                Known::Program(_) => self.reference(address.cast::<*const u8>().read_unaligned(), 0),
                Known::Wanted(number) => self.word(RecordKind::Pending.word(number)),
                Known::Nothing => self.omit(OmittedReason::Unreadable),
            }
        }
    }

    /// Writes the record of an object; `depth` objects are around it.
    unsafe fn reference(&mut self, object: *const u8, depth: u32) {
        // SAFETY: null or an object of the heap, which begins with the address of its class.
        unsafe {
            if object.is_null() {
                return self.word(RecordKind::Null.word(0));
            }
            if !self.follows {
                return self.checked_reference(object.addr(), depth);
            }
            if self.left == 0 {
                return self.omit(OmittedReason::Bytes);
            }
            self.left -= 1;
            match look_up(object.cast::<usize>().read()) {
                // A boxed value follows the address of its class.
                Known::Program(program) if program.is_value => {
                    self.program(program, object.add(size_of::<usize>()), depth);
                }
                Known::Program(program) => self.program(program, object, depth),
                Known::Wanted(number) => self.word(RecordKind::Pending.word(number)),
                Known::Nothing => self.omit(OmittedReason::Unreadable),
            }
        }
    }

    unsafe fn program(&mut self, program: &'static ClassProgram, from: *const u8, depth: u32) {
        // SAFETY: `from` is an object or value of the program's class.
        unsafe {
            match &program.action {
                Action::String => self.string(from),
                Action::Omit(reason) => self.omit(*reason),
                Action::Value { steps, .. } => self.object(program.number, steps, from, depth),
                _ if depth >= self.depth => self.omit(OmittedReason::Depth),
                Action::Fields(steps) => self.object(program.number, steps, from, depth + 1),
                Action::Array(items) => {
                    let length = from.add(ARRAY_LENGTH).cast::<u32>().read();
                    let record = (RecordKind::Collection, program.number);
                    let first = from.add(items.first);
                    self.items_of((record, length), length, (items, program.number), first, depth);
                }
                Action::List { items, size } => {
                    let length = from.add(*size).cast::<i32>().read().max(0) as u32;
                    let array = from.add(*items).cast::<*const u8>().read();
                    self.items_of_array(
                        (RecordKind::Collection, program.number),
                        length,
                        length,
                        array,
                        depth,
                    );
                }
                Action::Dictionary { entries, count, free } => {
                    let used = from.add(*count).cast::<i32>().read().max(0) as u32;
                    let free = from.add(*free).cast::<i32>().read().max(0) as u32;
                    let array = from.add(*entries).cast::<*const u8>().read();
                    let length = used.saturating_sub(free);
                    self.items_of_array((RecordKind::Dictionary, program.number), length, used, array, depth);
                }
                Action::Span { items, address, length } => {
                    let address = from.add(*address).cast::<usize>().read_unaligned();
                    let length = from.add(*length).cast::<i32>().read_unaligned().max(0) as u32;
                    self.span((items, program.number), address, length, depth);
                }
            }
        }
    }

    pub(super) unsafe fn object(&mut self, number: u32, steps: &Steps, from: *const u8, depth: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            if self.room() < WORD + steps.minimum {
                return self.omit(OmittedReason::Bytes);
            }
            self.word(RecordKind::Object.word(number));
            self.reserved += steps.minimum;
            self.steps(steps, from, depth);
        }
    }

    /// Executes steps, whose minimum is reserved.
    unsafe fn steps(&mut self, steps: &Steps, from: *const u8, depth: u32) {
        for step in &steps.steps {
            self.reserved = self.reserved.saturating_sub(step.minimum());
            // SAFETY: the steps are those of the object's class. Another thread may write a reference meanwhile; what
            // is read is the one before or after.
            unsafe {
                match *step {
                    Step::Copy { offset, size } => self.copy(from.add(offset as usize), size as usize),
                    Step::String { offset } => {
                        let text = from.add(offset as usize).cast::<*const u8>().read_unaligned();
                        match (text.is_null(), self.follows) {
                            (true, _) => self.word(RecordKind::Null.word(0)),
                            (false, true) => self.string(text),
                            (false, false) => self.checked_reference(text.addr(), depth),
                        }
                    }
                    Step::Reference { offset } => {
                        self.reference(from.add(offset as usize).cast::<*const u8>().read_unaligned(), depth);
                    }
                }
            }
        }
    }

    unsafe fn string(&mut self, text: *const u8) {
        // SAFETY: a string object; its units are read within its length.
        unsafe {
            let (units, length) = strings::string_units(text);
            self.string_of(units, length);
        }
    }

    /// Returns the number of units of a string for which there is room.
    pub(super) fn room_of_string(&self) -> usize {
        self.room().saturating_sub(2 * WORD) / size_of::<u16>()
    }

    /// Writes the record of a string with this length.
    ///
    /// # Safety
    /// There is room for a word, and there are as many units, or as many as are kept.
    pub(super) unsafe fn string_of(&mut self, units: *const u16, length: u32) {
        let kept = (length as usize).min(MAX_UNITS).min(self.room_of_string());
        // SAFETY: the caller's contract; there is room.
        unsafe {
            if self.room() < 2 * WORD || kept == 0 && length > 0 {
                return self.omit(OmittedReason::Bytes);
            }
            self.word(RecordKind::String.word(kept as u32));
            self.word(length);
            self.copy(units.cast(), kept * size_of::<u16>());
        }
    }

    /// Writes the items that lie in an array, which may be null and has at least `used` of them unless another thread
    /// has just replaced it.
    unsafe fn items_of_array(
        &mut self,
        record: (RecordKind, u32),
        length: u32,
        used: u32,
        object: *const u8,
        depth: u32,
    ) {
        // SAFETY: null or an array object.
        unsafe {
            if object.is_null() {
                // An empty dictionary has no entries yet.
                return self.no_items(record, length);
            }
            if self.left == 0 {
                return self.omit(OmittedReason::Bytes);
            }
            self.left -= 1;
            match look_up(object.cast::<usize>().read()) {
                Known::Program(ClassProgram { number, action: Action::Array(items), .. }) => {
                    let there = object.add(ARRAY_LENGTH).cast::<u32>().read();
                    let first = object.add(items.first);
                    self.items_of((record, length), used.min(there), (items, *number), first, depth);
                }
                Known::Wanted(_) => self.word(RecordKind::Pending.word(record.1)),
                Known::Program(_) | Known::Nothing => self.omit(OmittedReason::Unreadable),
            }
        }
    }

    pub(super) unsafe fn no_items(&mut self, (_, number): (RecordKind, u32), length: u32) {
        // SAFETY: there is room for a word.
        unsafe {
            if self.room() < WORD + COLLECTION_HEADER {
                return self.omit(OmittedReason::Bytes);
            }
            self.word(RecordKind::Collection.word(number));
            self.word(length);
            self.word(0);
            self.word(0);
        }
    }

    /// Writes the first of `there` items that lie one after another; `length` is the number that the record shows.
    pub(super) unsafe fn items_of(
        &mut self,
        ((kind, number), length): ((RecordKind, u32), u32),
        there: u32,
        (items, item_class): (&Items, u32),
        first: *const u8,
        depth: u32,
    ) {
        let room = self.room();
        let each = items.steps.minimum.max(1);
        // SAFETY: there is room for as many items as are kept; they lie within `there`.
        unsafe {
            if room < WORD + COLLECTION_HEADER {
                return self.omit(OmittedReason::Bytes);
            }
            let kept = (there as usize).min(items.most).min((room - WORD - COLLECTION_HEADER) / each);
            self.word(kind.word(number));
            self.word(length);
            self.word(item_class);
            self.word(kept as u32);
            self.reserved += kept * items.steps.minimum;
            for at in 0..kept {
                self.steps(&items.steps, first.add(at * items.stride), depth + 1);
            }
        }
    }

    /// Writes the items of a span: they may lie anywhere.
    unsafe fn span(&mut self, (items, number): (&Items, u32), address: usize, length: u32, depth: u32) {
        let mut copy = [0_u64; MAX_SPAN / size_of::<u64>()];
        // SAFETY: of the copy, as many items are used as were read.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(copy.as_mut_ptr().cast::<u8>(), MAX_SPAN);
            let most = (length as usize).min(items.most).min(MAX_SPAN / items.stride.max(1));
            let bytes = bytes.get_mut(..most * items.stride);
            if !bytes.is_some_and(|bytes| bytes.is_empty() || read_memory(address, bytes)) {
                return self.omit(OmittedReason::Unreadable);
            }
            let record = ((RecordKind::Collection, number), length);
            self.items_of(record, most as u32, (items, number), copy.as_ptr().cast(), depth);
        }
    }
}
