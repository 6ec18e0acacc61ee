//! Tests of whole files.

use super::super::proto::{EventType, Trace, TracePacket, TrackEvent};
use super::*;
use prost::Message;
use redial_protocol::ids::ProcessKey;
use std::path::PathBuf;

struct Written {
    path: PathBuf,
    writer: PerfettoWriter,
}

fn member(pid: u32, name: &str) -> TargetProcess {
    TargetProcess { key: ProcessKey { pid, start: 0 }, name: name.to_owned() }
}

fn begin(name: &str, count: Option<u64>) -> Written {
    let path = std::env::temp_dir().join(format!("redial-perfetto-{name}-{}", std::process::id()));
    let file = TraceFile::create(&path).expect("created");
    let members = [member(12, "Shop.dll"), member(34, "")];
    Written { writer: PerfettoWriter::new(file, &members, count), path }
}

impl Written {
    /// Returns the packets in the file.
    fn packets(&self) -> Vec<TracePacket> {
        Trace::decode(&std::fs::read(&self.path).expect("there")[..]).expect("a trace").packet
    }

    fn finish(self, keep: bool) -> (Option<u64>, Vec<TracePacket>) {
        let path = self.path.clone();
        let written = self.writer.finish(keep).expect("written");
        let bytes = std::fs::read(&path).unwrap_or_default();
        let _ = std::fs::remove_file(&path);
        (written, Trace::decode(&bytes[..]).expect("a trace").packet)
    }
}

fn call(thread: u32, depth: u32, start: u64) -> CallEvent {
    let event = TrackEvent {
        kind: Some(EventType::SliceBegin.into()),
        name: Some("A.B".into()),
        ..TrackEvent::default()
    };
    CallEvent { thread, is_async: false, depth, start, end: Some(start + 5), event }
}

fn events(packets: &[TracePacket]) -> Vec<&TrackEvent> {
    packets.iter().filter_map(|packet| packet.track_event.as_ref()).collect()
}

#[test]
fn processes_and_threads_have_tracks() {
    let mut trace = begin("tracks", None);
    assert!(trace.writer.add(12, vec![call(7, 0, 10), call(8, 0, 10), call(7, 0, 20)]).expect("written"));
    assert!(trace.writer.add(34, vec![call(7, 0, 30)]).expect("written"));
    assert_eq!(events(&trace.packets()).len(), 8, "the file is complete after each page");
    let (written, packets) = trace.finish(true);
    assert_eq!(written, Some(4));
    let tracks: Vec<_> = packets.iter().filter_map(|packet| packet.track_descriptor.as_ref()).collect();
    let processes: Vec<_> = tracks.iter().filter_map(|track| track.process.as_ref()).collect();
    assert_eq!(processes.iter().map(|one| one.pid()).collect::<Vec<_>>(), [12, 34]);
    assert_eq!((processes[0].process_name(), &processes[1].process_name), ("Shop.dll", &None));
    let threads = tracks.iter().filter_map(|track| Some((track, track.thread.as_ref()?)));
    let threads: Vec<_> =
        threads.map(|(track, thread)| (thread.pid(), thread.tid(), track.parent_uuid())).collect();
    assert_eq!(threads, [(12, 7, tracks[0].uuid()), (12, 8, tracks[0].uuid()), (34, 7, tracks[1].uuid())]);
    let mut ids: Vec<u64> = tracks.iter().map(|track| track.uuid()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    assert!(events(&packets).iter().all(|event| ids.contains(&event.track_uuid())));
}

#[test]
fn async_calls_have_tracks_of_their_own() {
    let mut trace = begin("async", None);
    let async_call = |start| CallEvent { is_async: true, ..call(7, 0, start) };
    trace.writer.add(12, vec![async_call(10), async_call(12), call(7, 0, 11)]).expect("written");
    let (_, packets) = trace.finish(true);
    let tracks: Vec<_> = packets.iter().filter_map(|packet| packet.track_descriptor.as_ref()).collect();
    let own: Vec<_> = tracks.iter().filter(|track| track.name.is_some()).collect();
    assert_eq!(own.iter().map(|track| track.name()).collect::<Vec<_>>(), ["A.B", "A.B"]);
    assert!(own.iter().all(|track| track.parent_uuid == tracks[0].uuid && track.thread.is_none()));
    let on = |track: u64| events(&packets).iter().filter(|event| event.track_uuid() == track).count();
    assert!(own.iter().all(|track| on(track.uuid()) == 2) && own[0].uuid != own[1].uuid);
}

#[test]
fn takes_as_many_calls_as_are_wanted() {
    let mut trace = begin("count", Some(3));
    assert!(trace.writer.add(12, vec![call(7, 0, 10)]).expect("written"));
    assert!(!trace.writer.add(34, vec![call(7, 0, 10), call(7, 0, 20), call(7, 0, 30)]).expect("written"));
    assert!(!trace.writer.add(12, vec![call(7, 0, 20)]).expect("written"));
    let (written, packets) = trace.finish(true);
    assert_eq!((written, events(&packets).len()), (Some(3), 6));
}

#[test]
fn a_trace_without_calls_is_kept_only_on_success() {
    let (written, packets) = begin("none", None).finish(true);
    assert_eq!((written, packets.len()), (Some(0), 3), "clocks and processes");
    let trace = begin("failed", None);
    let path = trace.path.clone();
    assert_eq!(trace.finish(false).0, None);
    assert!(!path.exists());
}

#[test]
fn memory_has_a_limit() {
    let mut trace = begin("memory", None);
    trace.writer.max_held = 10_000;
    for number in 0..2_000 {
        let (thread, depth) = (number % 50, 1 + number % 20);
        trace.writer.add(12, vec![call(thread + 1, depth, u64::from(number) * 10)]).expect("written");
        let held: usize = trace.writer.threads.values().map(ThreadOrder::bytes).sum();
        assert_eq!(held, trace.writer.held);
        assert!(held <= 10_000, "{held}");
    }
    assert_eq!(events(&trace.finish(true).1).len(), 4_000);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_the_trace() {
    let file = TraceFile::create(std::path::Path::new("/dev/full")).expect("opened");
    let mut writer = PerfettoWriter::new(file, &[member(12, "")], None);
    let error = writer.add(12, vec![call(7, 0, 10)]).expect_err("full").to_string();
    assert!(error.starts_with("cannot write /dev/full: "), "{error}");
    assert_eq!(writer.finish(true).expect("already reported"), None);
}
