//! Tests of speedscope files: read back as their schema defines them, and compared with known call trees.

use super::*;
use serde_json::json;
use std::collections::BTreeMap as Map;

/// A known call: method, beginning, duration and the calls inside it.
struct Known(&'static str, u64, u64, Vec<Known>);

fn call(thread: u64, depth: u64, known: &Known, into: &mut Vec<Value>) {
    let Known(method, start, duration, inside) = known;
    // Calls arrive when they end, callees first.
    inside.iter().for_each(|inner| call(thread, depth + 1, inner, into));
    let start = format!("2026-11-28T04:00:00.{start:09}Z");
    into.push(json!({
        "start": start, "thread": thread, "method": method, "signature": "()", "depth": depth,
        "duration_ns": duration, "async": null,
    }));
}

fn file(snapshot: &ProcessSnapshot) -> Value {
    serde_json::to_value(SpeedscopeFile::of(snapshot)).expect("JSON")
}

/// Checks a file as its schema does: required fields and types; and the rules of its specification for events.
pub fn check(file: &Value) {
    assert_eq!(file["$schema"], SCHEMA);
    let frames = file["shared"]["frames"].as_array().expect("frames");
    assert!(frames.iter().all(|frame| frame["name"].is_string()));
    let profiles = file["profiles"].as_array().expect("profiles");
    assert!((file["activeProfileIndex"].as_u64().expect("an index") as usize) < profiles.len());
    for profile in profiles {
        assert!(profile["name"].is_string() && profile["unit"] == "nanoseconds", "{profile}");
        let (start, end) =
            (profile["startValue"].as_u64().expect("start"), profile["endValue"].as_u64().expect("end"));
        assert!(start <= end);
        let is_frame = |frame: &Value| frame.as_u64().is_some_and(|frame| (frame as usize) < frames.len());
        match profile["type"].as_str() {
            Some("evented") => {
                let (mut open, mut last) = (Vec::new(), start);
                for event in profile["events"].as_array().expect("events") {
                    let at = event["at"].as_u64().expect("a time");
                    assert!(is_frame(&event["frame"]) && at >= last && at <= end, "{event}");
                    last = at;
                    match event["type"].as_str() {
                        Some("O") => open.push(&event["frame"]),
                        Some("C") => assert_eq!(open.pop(), Some(&event["frame"]), "the latest closes first"),
                        other => panic!("{other:?}"),
                    }
                }
                assert!(open.is_empty(), "all frames close");
            }
            Some("sampled") => {
                let (samples, weights) = (
                    profile["samples"].as_array().expect("samples"),
                    profile["weights"].as_array().expect("weights"),
                );
                assert_eq!(samples.len(), weights.len());
                assert!(
                    samples
                        .iter()
                        .all(|stack| stack.as_array().is_some_and(|stack| stack.iter().all(is_frame)))
                );
                assert_eq!(weights.iter().filter_map(Value::as_u64).sum::<u64>(), end - start);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the stacks of a profile with the time spent in each, its callees included.
fn stacks(file: &Value, profile: usize) -> Map<String, u64> {
    let name = |frame: &Value| -> String {
        let frame = &file["shared"]["frames"][frame.as_u64().expect("a frame") as usize];
        frame["name"].as_str().expect("a name").trim_end_matches("()").to_owned()
    };
    let (mut open, mut all) = (Vec::new(), Map::new());
    for event in file["profiles"][profile]["events"].as_array().expect("events") {
        let at = event["at"].as_u64().expect("a time");
        if event["type"] == "O" {
            open.push((name(&event["frame"]), at));
        } else {
            let path = open.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("/");
            let (_, began) = open.pop().expect("an open frame");
            *all.entry(path).or_insert(0) += at - began;
        }
    }
    all
}

#[test]
fn threads_have_the_known_call_tree() {
    let first = Known(
        "Main",
        100,
        1_000,
        vec![
            Known("A", 100, 300, vec![Known("B", 100, 100, vec![]), Known("B", 200, 50, vec![])]),
            Known("A", 500, 200, vec![Known("B", 690, 30, vec![])]),
            Known("Empty", 700, 0, vec![]),
        ],
    );
    let second = Known("Work", 150, 20, vec![]);
    let mut calls = Vec::new();
    call(7, 0, &first, &mut calls);
    call(9, 0, &second, &mut calls);
    call(7, 0, &Known("Main", 1_100, 5, vec![]), &mut calls);
    let file = file(&ProcessSnapshot { calls, ..ProcessSnapshot::default() });
    check(&file);
    let names: Vec<_> = file["profiles"].as_array().expect("two").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["Thread 7 (traced calls)", "Thread 9 (traced calls)"]);
    let expected = [("Main", 1_005), ("Main/A", 500), ("Main/A/B", 160), ("Main/Empty", 0)];
    let expected: Map<String, u64> = expected.map(|(path, ns)| (path.to_owned(), ns)).into();
    // The last B ended 20 ns after its caller: clocks differ.
    assert_eq!(stacks(&file, 0), expected);
    assert_eq!(stacks(&file, 1), Map::from([("Work".to_owned(), 20)]));
}

#[test]
fn calls_that_left_their_thread_do_not_overlap_in_a_lane() {
    let waiting = |start: u64, duration: u64| {
        let mut call_json = Vec::new();
        call(7, 0, &Known("Async", start, duration, vec![]), &mut call_json);
        call_json[0]["async"] = json!({ "began": true, "steps": 3, "running_ns": 1 });
        call_json.remove(0)
    };
    let calls = vec![waiting(0, 100), waiting(50, 100), waiting(100, 10)];
    let file = file(&ProcessSnapshot { calls, ..ProcessSnapshot::default() });
    check(&file);
    let names: Vec<_> = file["profiles"].as_array().expect("two").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["Async calls 1 (traced calls)", "Async calls 2 (traced calls)"]);
    assert_eq!((stacks(&file, 0)["Async"], stacks(&file, 1)["Async"]), (110, 100));
}

#[test]
fn any_calls_make_a_valid_file() {
    let mut state = 3_u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (state >> 33) % bound
    };
    for _ in 0..100 {
        let mut calls = Vec::new();
        for _ in 0..below(60) {
            let known = Known("M", below(500), below(200), vec![]);
            call(below(3), below(5), &known, &mut calls);
        }
        let snapshot = ProcessSnapshot { calls, ..ProcessSnapshot::default() };
        if !SpeedscopeFile::of(&snapshot).is_empty() {
            check(&file(&snapshot));
        }
    }
}

#[test]
fn nothing_known_is_no_profile() {
    let unknown = json!({ "start": "yesterday", "method": "M", "duration_ns": null });
    let snapshot = ProcessSnapshot { calls: vec![unknown], ..ProcessSnapshot::default() };
    assert!(SpeedscopeFile::of(&snapshot).is_empty());
}

#[test]
fn lanes_hold_no_overlapping_calls_and_are_few() {
    let mut state = 7_u64;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % bound
    };
    let calls: Vec<ProfiledCall> = (0..20_000)
        .map(|_| ProfiledCall { start: random(1_000), duration_ns: 1 + random(500), depth: 0, frame: 0 })
        .collect();
    let is_open = |call: &ProfiledCall, at: u64| (call.start..call.start + call.duration_ns).contains(&at);
    let most = (0..1_500).map(|at| calls.iter().filter(|call| is_open(call, at)).count()).max();
    let lanes = evented::lanes(calls.clone());
    assert_eq!((Some(lanes.len()), lanes.iter().map(Vec::len).sum::<usize>()), (most, calls.len()));
    for lane in &lanes {
        assert!(lane.windows(2).all(|two| two[0].start + two[0].duration_ns <= two[1].start));
    }
}
