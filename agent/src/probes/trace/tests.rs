//! Tests of areas: without a runtime, with calls as bodies make them.

use super::area::{self, ThreadArea};
use super::entry::{CallEnd, EndedCall, PLACES, TracedMethod};
use super::{calls_in_flight, dropped, refill_process};
use crate::probes::exception_stack::ExceptionClass;

fn method(plan: u32, places: usize, rate: u64) -> &'static TracedMethod {
    let method = Box::leak(Box::new(TracedMethod::new(plan, places, 1)));
    refill_process(1 << 20, 1 << 20);
    method.refill(rate, rate);
    method
}

fn area() -> &'static ThreadArea {
    ThreadArea::acquire().expect("memory for an area")
}

/// Makes a call with one value, and what happens inside it.
fn call(area: &ThreadArea, of: &'static TracedMethod, value: u64, variable: &usize, inside: impl FnOnce()) {
    // SAFETY: on this thread, which acquired the area; the variable is on its stack.
    unsafe {
        let entry = area.begin(of, variable);
        if let Some(entry) = entry {
            entry.byte_add(PLACES).cast::<u64>().write(value);
            area::arguments_complete(entry, value + 1, 0);
        }
        inside();
        if let Some(entry) = entry {
            area::set_end(entry, Some((value + 1, 5)), None);
            area.end(entry);
        }
    }
}

fn value(call: &EndedCall) -> u64 {
    u64::from_le_bytes(call.bytes[PLACES..PLACES + 8].try_into().expect("a place"))
}

fn drained(area: &ThreadArea, plan: u32) -> Vec<EndedCall> {
    let mut calls = Vec::new();
    area.drain(|call| calls.push(call));
    calls.retain(|call| call.plan == plan);
    calls
}

#[test]
fn calls_pass_through_the_ring_in_order_many_times_its_size() {
    let (area, of) = (area(), method(1001, 7, 1 << 20));
    let mut expected = 0;
    for round in 0..200 {
        let variable = 0;
        (0..97).for_each(|_| {
            call(area, of, expected, &variable, || ());
            expected += 1;
        });
        let calls = drained(area, 1001);
        let values: Vec<u64> = calls.iter().map(value).collect();
        assert_eq!(values, (round * 97..(round + 1) * 97).collect::<Vec<_>>());
        assert!(calls.iter().all(|call| call.took == Some(5) && call.end == CallEnd::Returned));
    }
    assert_eq!(dropped(of), Default::default());
    area.release();
}

#[test]
fn calls_keep_their_thread_when_another_one_takes_the_area() {
    let of = method(1007, 7, 1 << 20);
    let ended = std::thread::spawn(move || {
        let (area, variable) = (area(), 0);
        call(area, of, 1, &variable, || ());
        area.release();
        crate::platform::thread_id()
    });
    let ended = ended.join().expect("it ends");
    let (area, variable) = (area(), 0);
    call(area, of, 2, &variable, || ());
    let mut calls = Vec::new();
    area::areas().for_each(|area| calls.extend(drained(area, 1007)));
    let threads: Vec<(u64, u32)> = calls.iter().map(|call| (value(call), call.thread)).collect();
    assert_eq!(threads, [(1, ended), (2, crate::platform::thread_id())]);
    area.release();
}

#[test]
fn a_full_ring_drops_the_newest_calls_and_counts_them() {
    let (area, of) = (area(), method(1002, 7, 1 << 20));
    let variable = 0;
    (0..5_000).for_each(|number| call(area, of, number, &variable, || ()));
    let kept = drained(area, 1002);
    assert!(kept.len() > 100 && kept.iter().map(value).eq(0..kept.len() as u64), "{}", kept.len());
    let dropped = dropped(of);
    assert_eq!((dropped.no_room, dropped.over_rate), (5_000 - kept.len() as u64, 0));
    call(area, of, 7, &variable, || ());
    assert_eq!(drained(area, 1002).iter().map(value).collect::<Vec<_>>(), [7], "there is room again");
    area.release();
}

/// Bytes that a call with eight bytes takes in a ring, at most.
const CALL: usize = 512;

#[test]
fn an_empty_ring_starts_over() {
    let of = method(1008, 7, 0);
    let area = ThreadArea::unlisted(of, u32::MAX).expect("memory");
    let mut number = 0;
    let mut burst = |calls: u64| {
        let first = number;
        for _ in 0..calls {
            call(area, of, number, &0, || ());
            number += 1;
        }
        let values: Vec<u64> = drained(area, 1008).iter().map(value).collect();
        assert_eq!(values, (first..number).collect::<Vec<_>>());
    };
    (0..100_000).for_each(|_| burst(1));
    assert!(area.reached_bytes() <= (32 << 10) + CALL, "{}", area.reached_bytes());
    // Wherever a burst begins, there is room for it.
    for calls in 1..200 {
        burst(calls);
        burst(400);
    }
    assert!(area.reached_bytes() > 60 << 10, "{}", area.reached_bytes());
}

#[test]
fn calls_are_taken_once_while_an_empty_ring_starts_over() {
    const CALLS: u64 = 50_000;
    let of = method(1009, 7, 0);
    let area = ThreadArea::unlisted(of, u32::MAX).expect("memory");
    let (mut taken, mut last) = (0, None);
    let mut take = || {
        let calls = drained(area, 1009);
        for call in &calls {
            assert!(last < Some(value(call)), "{} after {last:?}", value(call));
            last = Some(value(call));
        }
        taken += calls.len() as u64;
        calls.len()
    };
    let owned = std::ptr::from_ref(area).expose_provenance();
    std::thread::scope(|scope| {
        let calls = scope.spawn(move || {
            // SAFETY: never given back; this thread is its owner, the other one its collector.
            let area: &ThreadArea = unsafe { &*std::ptr::with_exposed_provenance(owned) };
            for number in 0..CALLS {
                // Sometimes the ring is empty, sometimes being emptied.
                while area.fill() > number as usize % 7 {
                    std::thread::yield_now();
                }
                call(area, of, number, &0, || ());
            }
        });
        while !calls.is_finished() {
            take();
        }
    });
    while take() > 0 {}
    assert_eq!(taken, CALLS);
}

#[test]
fn calls_beyond_the_rate_are_dropped_and_counted() {
    let (area, of, other) = (area(), method(1003, 1, 10), method(1003 + 64, 1, 10));
    let variable = 0;
    (0..25).for_each(|number| call(area, of, number, &variable, || ()));
    // The other method has the same place in the table of grants.
    (0..11).for_each(|number| call(area, other, number, &variable, || ()));
    assert_eq!(
        drained(area, 1003).len() + drained(area, 1003 + 64).len(),
        10,
        "one of them was drained first"
    );
    assert_eq!((dropped(of).over_rate, dropped(other).over_rate), (15, 1));
    of.refill(3, 10);
    (0..5).for_each(|number| call(area, of, number, &variable, || ()));
    assert_eq!((drained(area, 1003).len(), dropped(of).over_rate), (3, 17));
    area.release();
}

#[test]
fn nested_calls_are_in_flight_until_they_end() {
    let (area, of) = (area(), method(1004, 1, 100));
    let in_flight = || {
        let calls = calls_in_flight().into_iter().filter(|call| call.plan == 1004);
        let mut values: Vec<u64> = calls.map(|call| value(&call)).collect();
        values.sort_unstable();
        values
    };
    // Frames from high to low, as on a stack.
    let frames = [0_usize; 3];
    let [inner, middle, outer] = &frames;
    call(area, of, 1, outer, || {
        call(area, of, 2, middle, || assert_eq!(in_flight(), [1, 2]));
        assert_eq!(in_flight(), [1]);
        // A call that is left without notice ends when another begins in its place.
        // SAFETY: as in `call`.
        unsafe {
            let lost = area.begin(of, inner).expect("it is captured");
            lost.byte_add(PLACES).cast::<u64>().write(3);
            area::arguments_complete(lost, 1, 0);
        }
        assert_eq!(in_flight(), [1, 3]);
        call(area, of, 4, middle, || assert_eq!(in_flight(), [1, 4]));
    });
    assert_eq!(in_flight(), []);
    assert_eq!(drained(area, 1004).iter().map(value).collect::<Vec<_>>(), [2, 4, 1]);
    area.release();
}

#[test]
fn too_deep_calls_are_dropped_and_the_others_end() {
    let (area, of) = (area(), method(1005, 1, 1 << 20));
    let frames = vec![0_usize; 1_000];
    fn nest(area: &ThreadArea, of: &'static TracedMethod, frames: &[usize]) {
        if let Some((variable, deeper)) = frames.split_last() {
            call(area, of, deeper.len() as u64, variable, || nest(area, of, deeper));
        }
    }
    nest(area, of, &frames);
    let ended = drained(area, 1005).len() as u64;
    assert!(ended > 5, "{ended}");
    assert_eq!(ended + dropped(of).no_room, 1_000);
    area.release();
}

#[test]
fn a_thrown_call_has_its_class() {
    let (area, of) = (area(), method(1006, 1, 10));
    let class = ExceptionClass { module: 7, token: 0x0200_0003, generation: 2 };
    // SAFETY: as in `call`.
    unsafe {
        let variable = 0;
        let entry = area.begin(of, &raw const variable).expect("it is captured");
        area::set_end(entry, None, Some(class));
        area.end(entry);
    }
    let calls = drained(area, 1006);
    assert_eq!((calls[0].end, calls[0].took), (CallEnd::Thrown(class), None));
    area.release();
}
