//! Captures the stack of a call: the return addresses of its callers, along the chain of frame pointers.
//!
//! A traced body has a frame pointer, and on Unix the JIT chains them (see [`crate::probes::callers`]). Small optimized
//! methods have none; the code behind their return addresses tells how large their frames are ([`super::frame_size`]).
//! Further up may be code that keeps no chain, so everything is read through the system, and the stack ends where it stops
//! leading upwards.

use super::entry::{ALIGN, Entry};
use super::frame_size::frame_size;
use crate::platform::read_memory;
use redial_protocol::limits::MAX_STACK_FRAMES;

/// Maximum assumed size of a frame.
const MAX_FRAME: usize = 1 << 20;
/// Bytes that are read at once: they never cross a page of the system.
const CHUNK: usize = 1 << 10;
const WORD: usize = size_of::<usize>();

/// Writes the return addresses behind a call's bytes. `variable` is the body's variable that identifies the call, and
/// `pointer` the body's frame pointer.
///
/// # Safety
/// On the thread that owns the entry, whose method captures stacks; the entry has no stack yet.
pub(super) unsafe fn capture(entry: *mut Entry, variable: *const usize, pointer: usize) {
    // SAFETY: the caller's contract: the entry leaves room for as many addresses, and only this thread writes it.
    unsafe {
        let first = ((*entry).used as usize).next_multiple_of(size_of::<u64>());
        let room = ((*(*entry).method).capacity as usize).saturating_sub(first) / size_of::<u64>();
        let mut count = 0;
        for address in StackWalk::new(variable.addr(), pointer).take(MAX_STACK_FRAMES.min(room)) {
            entry.byte_add(first + count * size_of::<u64>()).cast::<u64>().write(address as u64);
            count += 1;
        }
        if count > 0 {
            (*entry).stack = first as u32;
            (*entry).frames = count as u32;
            (*entry).used = (first + count * size_of::<u64>()) as u32;
        }
    }
}

/// Iterates over return addresses, the innermost first.
struct StackWalk {
    memory: StackMemory,
    /// An address in the frame below.
    below: usize,
    /// The frame pointer of the next method that has one.
    frame: usize,
    /// The latest return address, and the address behind its place on the stack; None at the beginning.
    latest: Option<(usize, usize)>,
}

impl StackWalk {
    fn new(below: usize, frame: usize) -> StackWalk {
        let memory = StackMemory { first: 0, words: [0; CHUNK / WORD] };
        StackWalk { memory, below, frame, latest: None }
    }

    /// Returns the return address of the latest method and the address behind its place, if that method has no frame
    /// pointer. Its frame then lies below that of the next method that has one.
    fn without_pointer(&mut self) -> Option<(usize, usize)> {
        let (address, behind) = self.latest?;
        let place = behind.checked_add(frame_size(address)?)?;
        if !place.is_multiple_of(WORD) || place >= self.frame || self.frame - place >= MAX_FRAME {
            return None;
        }
        Some((self.memory.word(place)?, place + WORD))
    }

    /// The same for a method that has one.
    fn with_pointer(&mut self) -> Option<(usize, usize)> {
        if !leads_up(self.below, self.frame) {
            return None;
        }
        let next = self.memory.word(self.frame)?;
        let address = self.memory.word(self.frame + WORD)?;
        self.below = std::mem::replace(&mut self.frame, next);
        Some((address, self.below + 2 * WORD))
    }
}

impl Iterator for StackWalk {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.latest =
            self.without_pointer().or_else(|| self.with_pointer()).filter(|(address, _)| *address != 0);
        self.latest.map(|(address, _)| address)
    }
}

/// Whether a frame pointer may belong to the caller of the frame below.
fn leads_up(below: usize, frame: usize) -> bool {
    frame.is_multiple_of(WORD) && frame > below && frame - below < MAX_FRAME
}

/// A part of the thread's stack, read through the system.
struct StackMemory {
    /// Its address; 0 if nothing was read.
    first: usize,
    words: [usize; CHUNK / WORD],
}

impl StackMemory {
    /// Returns a word; None if it cannot be read.
    fn word(&mut self, address: usize) -> Option<usize> {
        let first = address - address % CHUNK;
        if first != self.first {
            self.first = 0;
            // SAFETY: the words' own memory, in which any bytes are valid.
            let bytes =
                unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast::<u8>(), CHUNK) };
            if !read_memory(first, bytes) {
                return None;
            }
            self.first = first;
        }
        self.words.get((address - first) / WORD).copied()
    }
}

/// Returns the return addresses in the bytes of a call, from their offset and number.
pub fn return_addresses(bytes: &[u8], (first, count): (u32, u32)) -> impl Iterator<Item = usize> {
    let bytes = bytes.get(first as usize..).unwrap_or_default();
    let count = if first == 0 { 0 } else { count as usize };
    let words = bytes.chunks_exact(size_of::<u64>()).take(count);
    words.filter_map(|word| word.try_into().ok()).map(|word| u64::from_ne_bytes(word) as usize)
}

const _: () = assert!(ALIGN.is_multiple_of(size_of::<u64>()));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_lead_up_and_are_near() {
        assert!(leads_up(0x1000, 0x1008));
        for frame in [0, 0x0ff8, 0x1000, 0x1009, 0x1000 + MAX_FRAME] {
            assert!(!leads_up(0x1000, frame), "{frame:x}");
        }
    }

    #[test]
    fn reads_words_across_chunks_and_no_unmapped_ones() {
        let words: Vec<usize> = std::hint::black_box((0..1000).collect());
        let mut stack = StackMemory { first: 0, words: [0; CHUNK / WORD] };
        for (at, word) in words.iter().enumerate() {
            // The first and last chunk may lie partly outside, but on the same pages.
            assert_eq!(stack.word(words.as_ptr().addr() + at * size_of::<usize>()), Some(*word));
        }
        assert_eq!(stack.word(0x1008), None);
        assert_eq!(stack.word(words.as_ptr().addr()), Some(0), "a failure leaves nothing behind");
    }

    #[test]
    fn addresses_are_read_within_their_bytes() {
        let bytes: Vec<u8> = [1_u64, 2, 3].map(u64::to_ne_bytes).concat();
        let read = |of| return_addresses(&bytes, of).collect::<Vec<_>>();
        assert_eq!(
            (read((8, 2)), read((8, 9)), read((0, 3)), read((99, 1))),
            (vec![2, 3], vec![2, 3], vec![], vec![])
        );
    }
}
