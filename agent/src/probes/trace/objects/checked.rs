//! Captures the objects behind by-reference parameters. Such a parameter may point behind the last item of an array
//! (`Unsafe.Add` in the core library), where the bytes are no object's address. So all memory is read through the system,
//! which fails where a direct read would end the process, and only classes that are known already are believed.

use super::program::{ARRAY_LENGTH, Action, ClassProgram, Items, Steps};
use super::table::find;
use super::walk::{MAX_SPAN, MAX_VALUE, Walk};
use crate::capture::record::RecordKind;
use crate::platform::read_memory;
use crate::probes::trace::strings::{self, MAX_UNITS};
use redial_protocol::trace::OmittedReason;

/// Memory of a call's frame into which bytes are read.
struct Copy<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Copy<WORDS> {
    /// Reads this many bytes; None if there is no room for them or they cannot be read.
    fn read(address: usize, bytes: usize) -> Option<Copy<WORDS>> {
        let mut copy = Copy([0; WORDS]);
        // SAFETY: the words' own memory, in which any bytes are valid.
        let all = unsafe {
            std::slice::from_raw_parts_mut(copy.0.as_mut_ptr().cast::<u8>(), WORDS * size_of::<u64>())
        };
        (bytes == 0 || read_memory(address, all.get_mut(..bytes)?)).then_some(copy)
    }

    fn bytes(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

/// Memory for fields.
type Fields = Copy<{ MAX_VALUE / size_of::<u64>() }>;
/// Memory for items and characters.
type Many = Copy<{ MAX_SPAN / size_of::<u64>() }>;

/// Reads a word.
fn word(address: usize) -> Option<usize> {
    Copy::<1>::read(address, size_of::<usize>()).map(|copy| copy.0[0] as usize)
}

impl Walk {
    /// Writes the record of a possible object; `depth` objects are around it.
    ///
    /// # Safety
    /// There is room for a word.
    pub(super) unsafe fn checked_reference(&mut self, object: usize, depth: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            if self.left == 0 {
                return self.omit(OmittedReason::Bytes);
            }
            self.left -= 1;
            let program =
                object.is_multiple_of(size_of::<usize>()).then(|| word(object)).flatten().and_then(find);
            let written = program.and_then(|program| self.checked_object(program, object, depth));
            if written.is_none() {
                self.omit(OmittedReason::Unreadable);
            }
        }
    }

    /// None, and nothing is written, if the memory cannot be read.
    ///
    /// # Safety
    /// There is room for a word.
    unsafe fn checked_object(
        &mut self,
        program: &'static ClassProgram,
        object: usize,
        depth: u32,
    ) -> Option<()> {
        let record = (RecordKind::Collection, program.number);
        // SAFETY: of the copies, as many bytes are used as were read; the caller's contract.
        unsafe {
            match &program.action {
                Action::String => self.checked_string(object)?,
                Action::Omit(reason) => self.omit(*reason),
                Action::Value { steps, size } => {
                    let copy = Fields::read(object + size_of::<usize>(), *size)?;
                    self.object(program.number, steps, copy.bytes(), depth);
                }
                _ if depth >= self.depth => self.omit(OmittedReason::Depth),
                Action::Fields(steps) => {
                    let copy = Fields::read(object, end_of(steps))?;
                    self.object(program.number, steps, copy.bytes(), depth + 1);
                }
                Action::Array(items) => {
                    let length = word(object + ARRAY_LENGTH)? as u32;
                    self.checked_items((record, length), length, (items, program.number), object, depth)?;
                }
                Action::List { items, size } => {
                    let length = (word(object + size)? as i32).max(0) as u32;
                    let array = word(object + items)?;
                    self.checked_array((record, length), length, array, depth)?;
                }
                Action::Dictionary { entries, count, free } => {
                    let used = (word(object + count)? as i32).max(0) as u32;
                    let free = (word(object + free)? as i32).max(0) as u32;
                    let record = ((RecordKind::Dictionary, program.number), used.saturating_sub(free));
                    self.checked_array(record, used, word(object + entries)?, depth)?;
                }
                Action::Span { .. } => return None,
            }
        }
        Some(())
    }

    /// # Safety
    /// There is room for a word.
    unsafe fn checked_string(&mut self, text: usize) -> Option<()> {
        let (units, length) = strings::layout();
        let length = word(text + length)? as u32;
        let room = self.room_of_string();
        let kept = (length as usize).min(MAX_UNITS).min(room);
        let copy = Many::read(text + units, kept * size_of::<u16>())?;
        // SAFETY: the copy has as many units.
        unsafe { self.string_of(copy.bytes().cast(), length) };
        Some(())
    }

    /// # Safety
    /// There is room for a word.
    unsafe fn checked_array(
        &mut self,
        record: ((RecordKind, u32), u32),
        used: u32,
        array: usize,
        depth: u32,
    ) -> Option<()> {
        // SAFETY: the caller's contract.
        unsafe {
            if array == 0 {
                self.no_items(record.0, record.1);
                return Some(());
            }
            let Some(ClassProgram { number, action: Action::Array(items), .. }) = word(array).and_then(find)
            else {
                return None;
            };
            let there = word(array + ARRAY_LENGTH)? as u32;
            self.checked_items(record, used.min(there), (items, *number), array, depth)
        }
    }

    /// # Safety
    /// There is room for a word.
    unsafe fn checked_items(
        &mut self,
        record: ((RecordKind, u32), u32),
        there: u32,
        (items, number): (&Items, u32),
        array: usize,
        depth: u32,
    ) -> Option<()> {
        let most = (there as usize).min(items.most).min(MAX_SPAN / items.stride.max(1));
        let copy = Many::read(array.checked_add(items.first)?, most * items.stride)?;
        // SAFETY: the copy has as many items; the caller's contract.
        unsafe { self.items_of(record, most as u32, (items, number), copy.bytes(), depth) };
        Some(())
    }
}

/// Returns the number of bytes from the beginning of an object to the end of what the steps read.
fn end_of(steps: &Steps) -> usize {
    steps.steps.iter().map(|step| step.end()).max().unwrap_or_default()
}
