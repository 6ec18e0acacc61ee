//! The messages of a Perfetto trace, reduced to the fields that Redial writes. Names and numbers are those of Perfetto's
//! `trace_packet.proto`, `track_event.proto`, `debug_annotation.proto` and `track_descriptor.proto`.

use prost::{Message, Oneof};

/// The clock of packets without another one.
pub const CLOCK_BOOTTIME: u32 = 6;
/// The clock of Unix times.
pub const CLOCK_REALTIME: u32 = 1;
/// [`TracePacket::sequence_flags`] of the first packet: the sequence depends on no earlier one.
pub const SEQUENCE_BEGINS: u32 = 1;

/// A whole trace. Traces written one after the other are one trace.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Its packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// A packet: a clock snapshot, a track or an event.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The writer of the packet.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// See [`SEQUENCE_BEGINS`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// A snapshot of clocks.
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
}

/// Readings of several clocks at the same time.
#[derive(Clone, PartialEq, Message)]
pub struct ClockSnapshot {
    /// The readings.
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
}

/// A reading of a clock.
#[derive(Clone, PartialEq, Message)]
pub struct Clock {
    /// The clock.
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    /// Its time in nanoseconds.
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
}

/// A track: a process or a thread.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its id in the trace.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name, unless it is that of a process or thread.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The process of a thread or of another track.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Facts about a process.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// Facts about a thread.
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
}

/// A process.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    /// Its id.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A thread.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    /// Its process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// The operating system's id.
    #[prost(int64, optional, tag = "2")]
    pub tid: Option<i64>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// Perfetto's default.
    Unspecified = 0,
    /// Begins a slice.
    SliceBegin = 1,
    /// Ends the innermost slice that is open on the track.
    SliceEnd = 2,
    /// Has no duration.
    Instant = 3,
}

/// An event on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Its kind.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub kind: Option<i32>,
    /// Its track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Its categories.
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    /// Its name.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// Values that belong to it.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
}

/// A named value.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// Its name; items of an array have none.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// A single value.
    #[prost(oneof = "AnnotationValue", tags = "2, 3, 4, 5, 6, 7")]
    pub value: Option<AnnotationValue>,
    /// The entries of a dictionary.
    #[prost(message, repeated, tag = "11")]
    pub dict_entries: Vec<DebugAnnotation>,
    /// The items of an array.
    #[prost(message, repeated, tag = "12")]
    pub array_values: Vec<DebugAnnotation>,
}

/// A single value.
#[derive(Clone, PartialEq, Oneof)]
pub enum AnnotationValue {
    /// A truth value.
    #[prost(bool, tag = "2")]
    Bool(bool),
    /// An unsigned integer.
    #[prost(uint64, tag = "3")]
    UInt(u64),
    /// A signed integer.
    #[prost(int64, tag = "4")]
    Int(i64),
    /// A floating-point number.
    #[prost(double, tag = "5")]
    Double(f64),
    /// A text.
    #[prost(string, tag = "6")]
    String(String),
    /// An address.
    #[prost(uint64, tag = "7")]
    Pointer(u64),
}
