//! Tests of differences between snapshots.

use super::*;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;

fn method(name: &str, calls: u64, times: Option<(u64, u64)>) -> SavedMethod {
    SavedMethod {
        module: "Shop".to_owned(),
        method: name.to_owned(),
        signature: "()".to_owned(),
        domain: String::new(),
        token: 1,
        module_id: 0,
        wanted: Level::Time,
        state: CopyState::Live,
        version: Some(1),
        note: None,
        calls,
        times: times.map(|(total_ns, self_ns)| SavedTimes {
            exits: calls,
            total_ns,
            self_ns,
            ..SavedTimes::default()
        }),
    }
}

fn snapshot(methods: Vec<SavedMethod>) -> ProcessSnapshot {
    ProcessSnapshot { methods, ..ProcessSnapshot::default() }
}

#[test]
fn sorts_changes_by_their_cost() {
    let before = snapshot(vec![
        method("A.Same", 100, Some((1_000, 1_000))),
        method("A.Slower", 100, Some((1_000, 1_000))),
        method("A.More", 100, Some((1_000, 1_000))),
        method("A.Gone", 5, Some((9_000, 9_000))),
        method("A.Counted", 10, None),
    ]);
    let after = snapshot(vec![
        method("A.Same", 105, Some((1_080, 1_080))),
        method("A.Slower", 100, Some((5_000, 5_000))),
        method("A.More", 200, Some((2_000, 2_000))),
        method("A.Gone", 0, None),
        method("A.New", 1, Some((70_000, 70_000))),
        method("A.Counted", 90, None),
    ]);
    let difference = SnapshotDifference::of(&before, &after);
    let found: Vec<_> = difference
        .changed()
        .map(|one| (one.method.method.as_str(), one.changes.as_slice(), one.cost_ns(), one.more_calls()))
        .collect();
    assert_eq!(
        found,
        [
            ("A.New", &[Change::Appeared][..], Some(70_000), 1),
            ("A.Gone", &[Change::Vanished], Some(-9_000), -5),
            ("A.Slower", &[Change::Slower], Some(4_000), 0),
            ("A.More", &[Change::CalledMore], Some(1_000), 100),
            ("A.Counted", &[Change::CalledMore], None, 80),
        ]
    );
    assert_eq!((difference.methods.len(), difference.count(Change::CalledMore)), (6, 2));
}

#[test]
fn equal_snapshots_have_no_changes() {
    let one = snapshot(vec![method("A.B", 0, Some((0, 0))), method("A.C", u64::MAX, Some((u64::MAX, 1)))]);
    assert_eq!(SnapshotDifference::of(&one, &one).changed().count(), 0);
    let none = ProcessSnapshot::default();
    let vanished = SnapshotDifference::of(&one, &none);
    assert_eq!(vanished.methods[0].more_calls(), i64::MIN, "the largest number that there is");
}

#[test]
fn copies_of_one_method_add_up() {
    let copy = |domain: &str, calls: u64, times| {
        let mut copy = method("A.B", calls, Some(times));
        copy.domain = domain.to_owned();
        let times = copy.times.as_mut().expect("it is timed");
        times.percentiles_ns = (calls != 0).then_some([calls, 2, 3]);
        copy
    };
    let sum = |copies: &[SavedMethod]| {
        let sums = snapshot(copies.to_vec()).sums();
        assert_eq!(sums.len(), 1);
        sums.values().next().copied().unwrap_or_default()
    };
    let copies = [copy("", 1, (10, 5)), copy("Other", 3, (30, 20)), copy("Third", 2, (20, 10))];
    let two = sum(&copies[..2]);
    assert_eq!((two.calls, two.total_ns, two.self_ns, two.mean_ns()), (4, 40, 25, Some(10)));
    assert_eq!(two.percentiles_ns, None);
    let three = sum(&copies);
    assert_eq!((three.calls, three.total_ns, three.self_ns, three.mean_ns()), (6, 60, 35, Some(10)));
    assert_eq!(three.percentiles_ns, None, "not those of the third");
    let idle = copy("Idle", 0, (0, 0));
    let called = copies[1].clone();
    assert_eq!(sum(&[idle.clone(), called.clone(), idle]).percentiles_ns, Some([3, 2, 3]));
    assert_eq!(sum(&[called]).percentiles_ns, Some([3, 2, 3]));
}
