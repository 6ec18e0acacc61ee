//! The stack of a traced call, behind its captured values.

use super::entry::{ALIGN, Entry};
use crate::probes::stack_walk::{BodyFrame, StackWalk};
use redial_protocol::limits::MAX_STACK_FRAMES;

/// Writes the return addresses behind a call's bytes. `variable` is the body's variable that identifies the call, and
/// `pointer` the body's frame pointer.
///
/// # Safety
/// On the thread that owns the entry, whose method captures stacks; the entry has no stack yet.
pub(super) unsafe fn capture(entry: *mut Entry, variable: *const usize, pointer: usize) {
    let frame = BodyFrame { variable: variable.addr(), pointer };
    // SAFETY: the caller's contract: the entry leaves room for as many addresses, and only this thread writes it.
    unsafe {
        let first = ((*entry).used as usize).next_multiple_of(size_of::<u64>());
        let room = ((*(*entry).method).capacity as usize).saturating_sub(first) / size_of::<u64>();
        let mut count = 0;
        for address in StackWalk::new(frame).take(MAX_STACK_FRAMES.min(room)) {
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
    fn addresses_are_read_within_their_bytes() {
        let bytes: Vec<u8> = [1_u64, 2, 3].map(u64::to_ne_bytes).concat();
        let read = |of| return_addresses(&bytes, of).collect::<Vec<_>>();
        assert_eq!(
            (read((8, 2)), read((8, 9)), read((0, 3)), read((99, 1))),
            (vec![2, 3], vec![2, 3], vec![], vec![])
        );
    }
}
