//! Tests of the file of a snapshot: whole, damaged, newer and too large ones.

use super::*;
use redial_model::process_snapshot::{SavedHistogram, SavedTimes};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;

fn snapshot() -> ProcessSnapshot {
    let times = SavedTimes {
        in_flight: 1,
        exits: 2,
        exceptions: 1,
        total_ns: u64::MAX,
        self_ns: 5,
        max_ns: 9,
        percentiles_ns: Some([1, 2, 3]),
        completions: None,
        histogram: Some(SavedHistogram { tick_fs: 500_000, buckets: vec![(3, 1), (40, 2)] }),
    };
    let method = |name: &str, times| SavedMethod {
        module: "Shop".to_owned(),
        method: name.to_owned(),
        signature: "(int)".to_owned(),
        domain: "clrhost".to_owned(),
        token: 0x0600_0001,
        module_id: 0x7f00_1000_2000,
        wanted: Level::Time,
        state: CopyState::Live,
        version: Some(2),
        note: Some("it was \"inlined\"\n".to_owned()),
        calls: 7,
        times,
    };
    ProcessSnapshot {
        header: SnapshotHeader {
            taken_unix_ms: 1_700_000_000_000,
            host: Some("shop-1".to_owned()),
            pid: 42,
            name: Some("Shop".to_owned()),
            runtime: "8.0.31".to_owned(),
            agent: "0.1.0".to_owned(),
        },
        methods: vec![method("Shop.Cart.Add", Some(times)), method("Shop.Größe.注文", None)],
        calls: vec![serde_json::json!({"method": "Shop.Cart.Add", "args": [1, null]})],
        orders: vec!["Shop!* = time".to_owned()],
        changes: vec![SavedChange {
            t_unix_ms: 1,
            user: "1000".to_owned(),
            program: "redial dial".to_owned(),
            action: "time on Shop!*".to_owned(),
        }],
    }
}

fn encoded() -> String {
    String::from_utf8(encode(&snapshot()).expect("memory")).expect("text")
}

fn error(text: &[u8]) -> String {
    decode("shop.snapshot", text).expect_err("it is not whole").to_string()
}

#[test]
fn a_snapshot_reads_back() {
    assert_eq!(decode("x", encoded().as_bytes()).expect("whole"), snapshot());
    let empty = ProcessSnapshot::default();
    assert_eq!(decode("x", encode(&empty).expect("memory").as_slice()).expect("whole"), empty);
}

#[test]
fn other_files_are_none() {
    let wrong: [&[u8]; 5] = [b"", b"PK\x03\x04", b"{}\n", b"# redial dials 1\n", &[b'x'; 3 << 20]];
    for text in wrong {
        assert_eq!(error(text), "shop.snapshot is no snapshot of Redial");
    }
}

#[test]
fn a_newer_format_is_refused_with_both_versions() {
    let newer = encoded().replacen("\"redial_snapshot\":1", "\"redial_snapshot\":2", 1).replacen(
        concat!("redial ", env!("CARGO_PKG_VERSION")),
        "redial 9.9.0",
        1,
    );
    let why = error(newer.as_bytes());
    assert!(why.contains("has format 2, written by redial 9.9.0; this is redial "), "{why}");
    assert!(why.contains("reads formats up to 1"), "{why}");
    // Its other fields may have any form.
    let changed = b"{\"redial_snapshot\":3,\"program\":\"redial 10\",\"pid\":[]}\n";
    assert!(error(changed).contains("has format 3"));
}

#[test]
fn every_cut_and_every_changed_byte_is_noticed() {
    let whole = encoded().into_bytes();
    for end in 1..whole.len() - 1 {
        assert!(decode("x", &whole[..end]).is_err(), "cut at {end}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x11;
        let read = decode("x", changed.as_slice());
        assert!(read.is_err() || at == whole.len() - 1, "changed at {at}");
    }
    let text = encoded();
    let cut: String = text.split_inclusive('\n').take(3).collect();
    assert_eq!(error(cut.as_bytes()), "shop.snapshot is incomplete: it ends after line 3");
    let damaged = encoded().replacen("\"calls\":7", "\"calls\":8", 1);
    let why = error(damaged.as_bytes());
    assert!(why.ends_with("the checksum does not match") && why.contains("damaged at line 7"), "{why}");
}

#[test]
fn later_fields_and_records_are_ignored() {
    let text = encoded();
    let (before, _) = text.rsplit_once("{\"end\"").expect("an end");
    let before = before.replacen("\"calls\":7", "\"calls\":7,\"cpu_ns\":12", 1) + "{\"thread\":{\"id\":5}}\n";
    let end = End { lines: before.lines().count() as u64, crc32: crc32fast::hash(before.as_bytes()) };
    let mut later = before.into_bytes();
    push(&mut later, "end", &end).expect("memory");
    assert_eq!(decode("x", later.as_slice()).expect("whole"), snapshot());
}

#[test]
fn bounds_lines_and_records() {
    let text = encoded();
    let (first, _) = text.split_once('\n').expect("lines");
    let long = format!("{first}\n{{\"order\":\"{}\"}}\n", "x".repeat(MAX_LINE));
    assert!(error(long.as_bytes()).contains("line 2: it is longer than 1024 KiB"));
    let many = format!("{first}\n") + &"{\"order\":\"A.B = time\"}\n".repeat(MAX_STANDING_ORDERS + 1);
    assert!(error(many.as_bytes()).contains("more records than a snapshot can"));
    let deep = format!("{first}\n{{\"call\":{}}}\n", "[".repeat(100_000));
    assert!(error(deep.as_bytes()).contains("damaged at line 2"));
}

#[test]
fn bounds_the_values_of_calls() {
    let added = |values| {
        let crc = crc32fast::Hasher::new();
        let mut lines = Lines { file: "x", from: &b""[..], number: 2, crc, values };
        let line = b"{\"call\":[1,2]}\n";
        let record = record(line).expect("JSON").expect("a call");
        lines.add(&mut ProcessSnapshot::default(), record, line)
    };
    assert!(added(MAX_VALUES - 3).is_ok());
    let why = added(MAX_VALUES - 2).expect_err("one too many").to_string();
    assert_eq!(why, "x is damaged at line 2: it has more records than a snapshot can");
}

/// A pipe would block, and a device has no end.
#[cfg(unix)]
#[test]
fn only_regular_files_are_read() {
    let folder = std::env::temp_dir().join(format!("redial-snapshot-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let why = |file: &Path| read(file).expect_err("no snapshot").to_string();
    assert!(why(&folder).ends_with("it is a folder"));
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    assert!(why(&pipe).ends_with("pipe: it is not a file"));
    assert_eq!(why(Path::new("/dev/null")), "cannot read /dev/null: it is not a file");
    let large = folder.join("large");
    File::create(&large).and_then(|file| file.set_len(MAX_BYTES + 1)).expect("a sparse file");
    assert!(why(&large).ends_with("large: it is larger than 1 GiB"));
    std::fs::remove_dir_all(&folder).expect("removed");
}
