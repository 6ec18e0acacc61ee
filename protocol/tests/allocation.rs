//! No allocation for sizes that a peer merely claims: measures the decoder's peak with a counting allocator.
//! There is only one test, because the counter would include parallel ones.

mod samples;

use redial_protocol::frame::FrameReader;
use redial_protocol::limits::{MAX_FRAME, MAX_ORDERS};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct CountingAllocator;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to System unchanged, under the caller's contract.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns the peak of allocated bytes while `work` runs, beyond those allocated before.
fn peak_of(work: impl FnOnce()) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    work();
    PEAK.load(Ordering::Relaxed) - before
}

/// Encodes a claimed count as bincode writes numbers.
fn claim(count: u64) -> Vec<u8> {
    [&[0xfd], count.to_le_bytes().as_slice()].concat()
}

#[test]
fn decoding_never_allocates_claimed_sizes() {
    let claims = [MAX_ORDERS as u64 + 1, 1 << 20, MAX_FRAME as u64, 1 << 32, u64::MAX / 2, u64::MAX];
    // Replaces each position of a valid message with an enormous length.
    for (name, message) in samples::agent_packets() {
        let body = message.to_frame().unwrap()[4..].to_vec();
        for at in 1..body.len() {
            for count in claims {
                let hostile = [&body[..at], &claim(count), &body[at..]].concat();
                let peak = peak_of(|| drop(AgentPacket::from_body(&hostile)));
                assert!(peak <= 64 << 10, "{name} with {count} at {at} took {peak} bytes");
            }
        }
    }
    for (name, message) in samples::controller_packets() {
        let body = message.to_frame().unwrap()[4..].to_vec();
        for at in 1..body.len() {
            for count in claims {
                let hostile = [&body[..at], &claim(count), &body[at..]].concat();
                let peak = peak_of(|| drop(ControllerPacket::from_body(&hostile)));
                assert!(peak <= 64 << 10, "{name} with {count} at {at} took {peak} bytes");
            }
        }
    }

    // As long a body as a frame holds, with a string that claims more: the filler must not serve as credit.
    let mut body = vec![0x10, 1, 1, 1, 0xfc];
    body.extend((31u32 << 20).to_le_bytes());
    body.resize(MAX_FRAME, b'x');
    let peak = peak_of(|| assert!(ControllerPacket::from_body(&body).is_err()));
    assert!(peak <= 4 << 10, "{peak}");

    // A whole frame of the smallest possible orders: the list is refused before it is built.
    let mut orders = vec![0x10, 0, 2];
    orders.extend(claim((MAX_FRAME / 4 - 16) as u64));
    orders.resize(MAX_FRAME, 0);
    let peak = peak_of(|| {
        let error = ControllerPacket::from_body(&orders).unwrap_err().to_string();
        assert!(error.contains("the limit is 4096"), "{error}");
    });
    assert!(peak <= 4 << 10, "{peak}");

    // The longest possible string.
    let mut long = vec![0x10, 0, 1, 1];
    long.extend(claim((MAX_FRAME - 64) as u64));
    long.resize(MAX_FRAME - 1, b'x');
    let peak = peak_of(|| drop(ControllerPacket::from_body(&long)));
    assert!(peak <= 2 * MAX_FRAME, "{peak}");

    // A frame announced but not sent takes only the bytes that arrived.
    let peak = peak_of(|| {
        let mut reader = FrameReader::new();
        reader.push(&(MAX_FRAME as u32).to_le_bytes());
        reader.push(&[0; 100]);
        assert_eq!(reader.next(), Ok(None));
        assert!(reader.mid_frame());
    });
    assert!(peak <= 1024, "{peak}");

    // A drained reader holds one frame, however much has passed through it.
    let frame = redial_protocol::frame::frame(&[1; 1000]).unwrap();
    let peak = peak_of(|| {
        let mut reader = FrameReader::new();
        for _ in 0..10_000 {
            reader.push(&frame);
            assert!(reader.next().unwrap().is_some());
        }
    });
    assert!(peak <= 16 << 10, "{peak}");
}
