//! Walks the callers of a call: their return addresses, along the chain of frame pointers.
//!
//! A timed body has a frame pointer, and on Unix the JIT chains them (see [`super::callers`]). Small optimized
//! methods have none; the code behind their return addresses tells how large their frames are ([`super::frame_size`]).
//! Further up may be code that keeps no chain, so everything is read through the system, and the stack ends where it stops
//! leading upwards.

use super::frame_size::frame_size;
use crate::platform::read_memory;
use redial_protocol::limits::MAX_STACK_FRAMES;

/// Maximum assumed size of a frame.
const MAX_FRAME: usize = 1 << 20;
/// Bytes that are read at once: they never cross a page of the system.
const CHUNK: usize = 1 << 10;
const WORD: usize = size_of::<usize>();

/// The frame of an instrumented body: where the walk begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyFrame {
    /// Address of the body's variable that identifies the call.
    pub(super) variable: usize,
    /// The body's frame pointer.
    pub(super) pointer: usize,
}

/// The return addresses of a call, the innermost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallStack {
    addresses: [usize; MAX_STACK_FRAMES],
    count: usize,
}

impl CallStack {
    /// Walks the callers of the body that called a helper of this thread.
    pub(super) fn of(frame: BodyFrame) -> CallStack {
        StackWalk::new(frame).collect()
    }

    /// Returns the addresses.
    pub fn addresses(&self) -> &[usize] {
        self.addresses.get(..self.count).unwrap_or_default()
    }
}

/// Keeps the first [`MAX_STACK_FRAMES`].
impl FromIterator<usize> for CallStack {
    fn from_iter<I: IntoIterator<Item = usize>>(addresses: I) -> CallStack {
        let mut stack = CallStack::default();
        for (place, address) in stack.addresses.iter_mut().zip(addresses) {
            *place = address;
            stack.count += 1;
        }
        stack
    }
}

/// Iterates over return addresses, the innermost first.
pub(super) struct StackWalk {
    memory: StackMemory,
    /// An address in the frame below.
    below: usize,
    /// The frame pointer of the next method that has one.
    frame: usize,
    /// The latest return address, and the address behind its place on the stack; None at the beginning.
    latest: Option<(usize, usize)>,
}

impl StackWalk {
    pub(super) fn new(frame: BodyFrame) -> StackWalk {
        let memory = StackMemory { first: 0, words: [0; CHUNK / WORD] };
        StackWalk { memory, below: frame.variable, frame: frame.pointer, latest: None }
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
    fn a_stack_has_the_innermost_addresses() {
        let all = || (1..).map(|at| at * 8);
        assert_eq!(all().take(3).collect::<CallStack>().addresses(), [8, 16, 24]);
        let most: Vec<usize> = all().take(MAX_STACK_FRAMES).collect();
        assert_eq!(all().take(100).collect::<CallStack>().addresses(), most);
        assert!(CallStack::of(BodyFrame { variable: 0x1000, pointer: 0 }).addresses().is_empty());
    }
}
