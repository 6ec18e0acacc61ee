//! Trees of calls: nesting, sums, limits.

use super::*;

const fn place(method: u32) -> Place {
    Place { method, is_async: false }
}

fn call(method: u32, depth: u32, start: i64, end: i64) -> EndedCall {
    EndedCall {
        place: place(method),
        number: end as u64,
        thread: 1,
        depth,
        start,
        duration_ns: (end - start) as u64,
        running_ns: 0,
        threw: false,
    }
}

/// Returns each node as `path: calls total self`, in the order of paths.
fn rows(nesting: &mut Nesting) -> Vec<String> {
    nesting.refresh();
    let tree = nesting.tree();
    let name = |node: &u32| {
        let place = tree.node(*node).expect("a node").place;
        format!("{}{}", place.method, if place.is_async { "a" } else { "" })
    };
    let row = |number: u32| {
        let sums = tree.node(number)?.sums;
        let path: Vec<String> = tree.path(number).iter().map(name).collect();
        let path = path.join("/");
        (sums.calls > 0).then(|| format!("{path}: {} {} {}", sums.calls, sums.total_ns, sums.self_ns))
    };
    let mut rows: Vec<String> = (1..tree.len() as u32).filter_map(row).collect();
    rows.sort();
    rows
}

#[test]
fn calls_nest_by_thread_and_depth() {
    let mut nesting = Nesting::default();
    for one in [call(3, 2, 10, 20), call(3, 2, 30, 35), call(2, 1, 5, 40), call(4, 1, 50, 60)] {
        nesting.add(one);
    }
    nesting.add(EndedCall { thread: 2, ..call(3, 0, 12, 18) });
    nesting.add(call(1, 0, 0, 100));
    assert_eq!(
        rows(&mut nesting),
        ["1/2/3: 2 15 15", "1/2: 1 35 20", "1/4: 1 10 10", "1: 1 100 55", "3: 1 6 6"]
    );
    assert_eq!(nesting.waiting(), 0);
}

#[test]
fn calls_whose_caller_runs_are_shown_and_move_below_it() {
    let mut nesting = Nesting::default();
    nesting.add(call(3, 2, 10, 20));
    assert_eq!(rows(&mut nesting), ["3: 1 10 10"]);
    nesting.add(call(2, 1, 5, 40));
    nesting.add(call(2, 1, 41, 50));
    assert_eq!(rows(&mut nesting), ["2/3: 1 10 10", "2: 2 44 34"]);
    nesting.add(call(1, 0, 0, 60));
    assert_eq!(rows(&mut nesting), ["1/2/3: 1 10 10", "1/2: 2 44 34", "1: 1 60 16"]);
}

#[test]
fn callers_without_trace_leave_gaps() {
    let mut nesting = Nesting::default();
    // Depths 1 and 2 are only timed.
    nesting.add(call(3, 3, 10, 20));
    nesting.add(call(3, 3, 30, 40));
    nesting.add(call(1, 0, 0, 25));
    assert_eq!(
        rows(&mut nesting),
        ["1: 1 25 5", "1/3: 2 20 20"].map(String::from).into_iter().rev().collect::<Vec<_>>()
    );
}

#[test]
fn a_call_takes_only_what_began_after_it() {
    let mut nesting = Nesting::default();
    nesting.add(call(3, 3, 10, 20));
    nesting.add(call(2, 2, 25, 40));
    nesting.add(call(3, 3, 45, 48));
    nesting.add(call(2, 2, 44, 50));
    assert_eq!(rows(&mut nesting), ["2/3: 1 3 3", "2: 2 21 18", "3: 1 10 10"]);
}

#[test]
fn recursion_has_a_node_for_each_level() {
    let mut nesting = Nesting::default();
    for round in 0..3 {
        let start = round * 10_000;
        for depth in (0..1_000).rev() {
            nesting.add(call(7, depth, start + i64::from(depth), start + 2_000 - i64::from(depth)));
        }
    }
    nesting.refresh();
    let tree = nesting.tree();
    assert_eq!(tree.len(), 1_001);
    let deepest = tree.len() as u32 - 1;
    assert_eq!(tree.path(deepest).len(), 1_000);
    let top = tree.node(1).expect("the first level").sums;
    assert_eq!((top.calls, top.total_ns, top.self_ns), (3, 6_000, 6));
}

#[test]
fn async_calls_stand_below_their_caller_with_the_time_they_ran() {
    let mut nesting = Nesting::default();
    let waited =
        EndedCall { place: Place { method: 5, is_async: true }, running_ns: 7, ..call(5, 2, 12, 9_000) };
    nesting.add(call(2, 1, 10, 20));
    nesting.add_async(waited, &[(20, place(2))]);
    nesting.add(call(1, 0, 0, 30));
    nesting.add_async(EndedCall { number: 10_000, ..waited }, &[(30, place(1)), (20, place(2))]);
    let expected = ["1/2/5a: 2 17976 14", "1/2: 1 10 10", "1: 1 30 20"];
    assert_eq!(rows(&mut nesting), expected);
}

#[test]
fn an_async_call_waits_for_a_caller_that_still_runs() {
    let mut nesting = Nesting::default();
    nesting.add(call(3, 1, 100, 200));
    let waited =
        EndedCall { place: Place { method: 5, is_async: true }, running_ns: 7, ..call(5, 1, 12, 300) };
    nesting.add_async(waited, &[]);
    nesting.add(call(4, 1, 310, 320));
    assert_eq!(rows(&mut nesting), ["3: 1 100 100", "4: 1 10 10", "5a: 1 288 7"]);
    nesting.add(call(1, 0, 0, 1_000));
    assert_eq!(rows(&mut nesting), ["1/3: 1 100 100", "1/4: 1 10 10", "1/5a: 1 288 7", "1: 1 1000 890"]);
}

#[test]
fn few_calls_wait_for_callers_that_never_come() {
    let mut nesting = Nesting::with_limit(100);
    for index in 0..10_000 {
        nesting.add(call(3, 5, index * 10, index * 10 + 5));
        nesting.add(EndedCall { thread: index as u32 + 2, ..call(4, 1, index * 10, index * 10 + 5) });
        assert!(nesting.waiting() <= 100);
    }
    assert!(nesting.released() > 19_000);
    assert_eq!(rows(&mut nesting), ["3: 10000 50000 50000", "4: 10000 50000 50000"]);
}

#[test]
fn further_places_count_together() {
    let mut nesting = Nesting { tree: CallTree::with_limit(50), ..Nesting::default() };
    for index in 0..1_000 {
        nesting.add(call(index as u32, 1, index * 10, index * 10 + 5));
        if index % 7 == 0 {
            nesting.refresh();
        }
    }
    nesting.add(call(5_000, 0, 0, 20_000));
    nesting.refresh();
    let tree = nesting.tree();
    assert!(tree.is_full() && tree.len() <= 51, "{}", tree.len());
    let sums = (1..tree.len() as u32).filter_map(|node| tree.node(node)).map(|node| node.sums);
    let (calls, own) = sums.fold((0, 0), |(calls, own), sums| (calls + sums.calls, own + sums.self_ns));
    assert_eq!((calls, own), (1_001, 20_000));
}
