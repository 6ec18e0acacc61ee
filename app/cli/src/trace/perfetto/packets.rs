//! The packets of a trace as bytes. A trace is the packets one after the other, so each is encoded as a trace of its own.

use super::proto::{
    CLOCK_BOOTTIME, CLOCK_REALTIME, Clock, ClockSnapshot, EventType, ProcessDescriptor, SEQUENCE_BEGINS,
    ThreadDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use prost::Message;

/// The only sequence of packets. Perfetto ignores events without one.
const SEQUENCE: u32 = 1;

/// Returns the first packet. Perfetto takes timestamps for times since the boot; this declares that they are Unix times.
pub fn first(unix_ns: u64) -> Vec<u8> {
    let reading = |clock| Clock { clock_id: Some(clock), timestamp: Some(unix_ns) };
    let clocks = vec![reading(CLOCK_BOOTTIME), reading(CLOCK_REALTIME)];
    encode(TracePacket {
        sequence_flags: Some(SEQUENCE_BEGINS),
        clock_snapshot: Some(ClockSnapshot { clocks }),
        ..TracePacket::default()
    })
}

/// Returns the track of a process.
pub fn process(track: u64, pid: u32, name: &str) -> Vec<u8> {
    let process_name = (!name.is_empty()).then(|| name.to_owned());
    descriptor(TrackDescriptor {
        uuid: Some(track),
        process: Some(ProcessDescriptor { pid: Some(pid.cast_signed()), process_name }),
        ..TrackDescriptor::default()
    })
}

/// Returns the track of a thread in a process.
pub fn thread(track: u64, of_process: u64, pid: u32, thread: u32) -> Vec<u8> {
    descriptor(TrackDescriptor {
        uuid: Some(track),
        parent_uuid: Some(of_process),
        thread: Some(ThreadDescriptor { pid: Some(pid.cast_signed()), tid: Some(thread.into()) }),
        ..TrackDescriptor::default()
    })
}

/// Returns a track of a process that belongs to no thread.
pub fn async_calls(track: u64, of_process: u64, name: &str) -> Vec<u8> {
    descriptor(TrackDescriptor {
        uuid: Some(track),
        name: Some(name.to_owned()),
        parent_uuid: Some(of_process),
        ..TrackDescriptor::default()
    })
}

/// Returns an event at a time.
pub fn event(unix_ns: u64, event: TrackEvent) -> Vec<u8> {
    encode(TracePacket { timestamp: Some(unix_ns), track_event: Some(event), ..TracePacket::default() })
}

/// Returns the end of a slice.
pub fn end(unix_ns: u64, track: Option<u64>) -> Vec<u8> {
    let kind = Some(EventType::SliceEnd.into());
    event(unix_ns, TrackEvent { kind, track_uuid: track, ..TrackEvent::default() })
}

fn descriptor(track_descriptor: TrackDescriptor) -> Vec<u8> {
    encode(TracePacket { track_descriptor: Some(track_descriptor), ..TracePacket::default() })
}

fn encode(packet: TracePacket) -> Vec<u8> {
    Trace { packet: vec![TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet }] }
        .encode_to_vec()
}
