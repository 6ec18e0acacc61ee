//! Compares the table with a plain sort of a plain filter.

use super::*;
use crate::catalogue::synthetic::PseudoRandom;
use crate::catalogue::tests::{large, method, small};
use crate::live::tests::turned_off;
use crate::ranking::number;
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::StatusRow;
use redial_protocol::order::TimeOptions;
use redial_protocol::state::CopyState;
use redial_protocol::times::Times;
use redial_text::fixtures::times;
use redial_text::times::TimeColumn;

/// A live table with rows for these methods; row `n` has `calls(n)` calls.
pub fn live(catalogue: &Catalogue, methods: &[u32], calls: impl Fn(u32) -> u64) -> Live {
    let mut live = Live::default();
    live.place(catalogue);
    let row = |(id, method): (usize, &u32)| StatusRow {
        row: RowId(id as u32),
        copy: catalogue.copy_of(MethodIx(*method)).expect("a copy"),
        method: String::new(),
        signature: String::new(),
        module: String::new(),
        domain: String::new(),
        wanted: if id % 4 == 0 { Level::Off } else { Level::Count },
        state: if id % 3 == 0 { CopyState::Asked } else { CopyState::Live },
        version: None,
        instances: vec![],
        note: None,
        times_note: None,
        options: TimeOptions::default(),
        calls: calls(id as u32),
    };
    live.take_rows(methods.iter().enumerate().map(row).collect(), catalogue);
    live
}

fn shown(list: &List) -> Vec<u32> {
    let all: Vec<u32> = (0..list.len()).filter_map(|place| list.at(place)).map(|method| method.0).collect();
    assert_eq!(all.len(), list.len());
    assert_eq!(list.at(list.len()), None);
    all
}

fn names(list: &List, catalogue: &Catalogue) -> Vec<String> {
    shown(list).into_iter().map(|method| catalogue.full_name(MethodIx(method)).text).collect()
}

#[test]
fn filters_methods_in_name_order() {
    let catalogue = small();
    let add = method(&catalogue, "Shop!Shop.Cart.Add(int)").0;
    let live = live(&catalogue, &[add], |_| 1);
    let mut list = List::default();
    assert!(list.refresh(&catalogue, &live) && !list.refresh(&catalogue, &live));
    assert_eq!(list.len(), 8);
    for (text, only_dialled, hide_framework, expected) in [
        ("(int)", false, false, &["Plugin!Plugin.Tax.Apply(int)", "Shop!Shop.Cart.Add(int)"][..]),
        ("", true, false, &["Shop!Shop.Cart.Add(int)"]),
        ("clear", true, false, &[]),
        ("string", false, true, &["Shop!Program.<Main>$(string[])"]),
    ] {
        list.set_filter(Filter { text: text.into(), only_dialled, hide_framework, ..Filter::default() });
        assert!(list.refresh(&catalogue, &live));
        assert_eq!(names(&list, &catalogue), expected, "{text}");
        assert!(list.filter().is_active());
        assert_eq!(list.visible().count(), expected.len());
    }
}

#[test]
fn every_order_agrees_with_a_plain_sort() {
    let catalogue = large(6, 400);
    let mut chance = PseudoRandom::new(11);
    let mut methods: Vec<u32> = (0..400).collect();
    methods.retain(|_| chance.below(4) == 0);
    let mut live = live(&catalogue, &methods, |id| u64::from(id * 7 % 13));
    let rows: Vec<RowId> = live.rows().map(|row| row.id).collect();
    for t_ms in [100, 200] {
        let calls = rows.iter().map(|row| u64::from(row.0 * 5 % 9)).collect();
        live.take_counters(&CounterDelta { t_ms, rows: rows.clone(), calls }, 0);
    }
    let timed = rows.iter().filter(|row| row.0 % 3 > 0).map(|row| Times {
        max_ns: u64::from(row.0 * 11 % 17),
        percentiles: None,
        completions: None,
        move_next: None,
        ..times(row.0)
    });
    live.take_times(timed.collect());
    let mut list = List::default();
    let (longest, median) = (SortKey::Time(TimeColumn::Max), SortKey::Time(TimeColumn::P50));
    for text in ["", "order", "get cache"] {
        for key in
            [SortKey::Name, SortKey::Wanted, SortKey::State, SortKey::Calls, SortKey::Rate, longest, median]
        {
            for descending in [false, true] {
                list.set_filter(Filter { text: text.into(), ..Filter::default() });
                list.set_sort(Sort { key, descending });
                list.refresh(&catalogue, &live);
                let mut expected: Vec<u32> = list.visible().iter_in(0..u32::MAX).collect();
                let number = |method: &u32| {
                    // Methods without a row follow (or precede, if ascending) even zero; equal rates sort by
                    // call count.
                    let calls = |row| if key == SortKey::Rate { number(SortKey::Calls, row) } else { 0 };
                    live.of_method(MethodIx(*method)).map(|row| (number(key, row), calls(row)))
                };
                expected.sort_by(|a, b| {
                    let by_name = catalogue.name_place(MethodIx(*a)).cmp(&catalogue.name_place(MethodIx(*b)));
                    match (key, descending) {
                        (SortKey::Name, false) => by_name,
                        (SortKey::Name, true) => by_name.reverse(),
                        (_, false) => number(a).cmp(&number(b)).then(by_name),
                        (_, true) => number(b).cmp(&number(a)).then(by_name),
                    }
                });
                assert_eq!(shown(&list), expected, "{text:?} {key:?} {descending}");
                for (place, method) in expected.iter().enumerate() {
                    assert_eq!(list.position(MethodIx(*method), &catalogue), Some(place));
                }
            }
        }
    }
    list.set_filter(Filter { text: "zzz".into(), ..Filter::default() });
    list.refresh(&catalogue, &live);
    assert_eq!(list.position(MethodIx(3), &catalogue), None);
}

#[test]
fn a_held_order_stays_until_released() {
    let catalogue = small();
    let mut live = live(&catalogue, &[0, 1, 2], u64::from);
    let mut list = List::default();
    list.set_sort(Sort { key: SortKey::Calls, descending: true });
    list.refresh(&catalogue, &live);
    assert_eq!(shown(&list)[..3], [2, 1, 0]);
    list.set_frozen(true);
    live.take_counters(&CounterDelta { t_ms: 1, rows: vec![RowId(0)], calls: vec![100] }, 0);
    assert!(!list.refresh(&catalogue, &live));
    assert_eq!(shown(&list)[..3], [2, 1, 0]);
    // Filtered rows keep the frozen order, too.
    let name = catalogue.full_name(MethodIx(1)).text;
    for (text, left) in [(name.as_str(), &[1][..]), ("", &[2, 1, 0])] {
        list.set_filter(Filter { text: text.into(), ..Filter::default() });
        assert!(list.refresh(&catalogue, &live));
        assert_eq!(shown(&list)[..left.len()], *left);
    }
    list.set_frozen(false);
    list.refresh(&catalogue, &live);
    assert!(list.refresh(&catalogue, &live));
    assert_eq!(shown(&list)[..3], [0, 2, 1]);
}

#[test]
fn sorts_new_numbers_in_a_separate_frame() {
    let catalogue = small();
    let mut live = live(&catalogue, &[0, 1, 2], u64::from);
    let mut list = List::default();
    list.set_sort(Sort { key: SortKey::Calls, descending: true });
    list.refresh(&catalogue, &live);
    assert!(!list.has_pending_work());
    let called = |t_ms, row| CounterDelta { t_ms, rows: vec![RowId(row)], calls: vec![100 * t_ms] };
    live.take_counters(&called(1, 0), 0);
    assert!(!list.refresh(&catalogue, &live) && list.has_pending_work());
    assert_eq!(shown(&list)[..3], [2, 1, 0], "this frame received them");
    list.set_busy(true);
    assert!(
        !list.refresh(&catalogue, &live) && list.has_pending_work(),
        "this one has a typed letter to apply"
    );
    list.set_busy(false);
    // Numbers that arrive with every frame do not delay sorting forever.
    live.take_counters(&called(2, 1), 0);
    assert!(list.refresh(&catalogue, &live) && !list.has_pending_work());
    assert_eq!(shown(&list)[..3], [1, 0, 2]);
    // A changed filter shows the old order first; the new numbers follow.
    live.take_counters(&called(3, 2), 0);
    list.set_filter(Filter { only_dialled: true, ..Filter::default() });
    assert!(list.refresh(&catalogue, &live) && list.has_pending_work());
    assert_eq!(shown(&list)[..3], [1, 0, 2]);
    assert!(list.refresh(&catalogue, &live) && !list.has_pending_work());
    assert_eq!(shown(&list)[..3], [2, 1, 0]);
    assert!(!list.refresh(&catalogue, &live), "nothing is new");
}

#[test]
fn hides_and_counts_methods_whose_dials_are_off() {
    let catalogue = small();
    let mut live = live(&catalogue, &[0, 1, 2], u64::from);
    let mut list = List::default();
    let only = Filter { only_dialled: true, ..Filter::default() };
    list.set_filter(only.clone());
    list.refresh(&catalogue, &live);
    assert_eq!((list.len(), list.off_again()), (3, 0));
    let off = |live: &mut Live, row| {
        live.take_transition(turned_off(row));
    };
    // After turning it off, the user still sees it.
    list.set_still(true);
    off(&mut live, 1);
    list.refresh(&catalogue, &live);
    assert_eq!((list.len(), list.off_again()), (3, 0));
    list.set_still(false);
    list.refresh(&catalogue, &live);
    assert_eq!((list.len(), list.off_again(), shown(&list).contains(&1)), (2, 1, false));
    list.set_still(true);
    list.set_filter(Filter { off_again: true, ..only.clone() });
    list.refresh(&catalogue, &live);
    assert_eq!((list.len(), list.off_again()), (3, 0));
    list.set_filter(only);
    list.refresh(&catalogue, &live);
    assert_eq!((list.len(), list.off_again()), (2, 1), "a new filter hides it at once");
}

#[test]
fn a_selected_method_stays_when_turned_off() {
    let catalogue = small();
    let mut live = live(&catalogue, &[0, 1, 2], u64::from);
    let mut list = List::default();
    list.set_filter(Filter { only_dialled: true, ..Filter::default() });
    let picks = |list: &mut List, method, live: &Live| {
        list.set_selected(Some(MethodIx(method)));
        list.refresh(&catalogue, live);
        (list.len(), list.off_again(), shown(list).contains(&1))
    };
    assert_eq!(picks(&mut list, 1, &live), (3, 0, true));
    live.take_transition(turned_off(1));
    assert_eq!(picks(&mut list, 1, &live), (3, 0, true));
    assert_eq!(picks(&mut list, 0, &live), (2, 1, false), "another method is selected");
    assert_eq!(picks(&mut list, 1, &live), (2, 1, false), "a hidden method stays hidden");
}

#[test]
fn unloaded_modules_keep_only_dialled_methods() {
    let mut catalogue = small();
    let add = method(&catalogue, "Shop!Shop.Cart.Add(int)").0;
    let live = live(&catalogue, &[add], |_| 1);
    let key = catalogue.copy_of(MethodIx(add)).expect("a copy").module;
    catalogue.unload(&[key]);
    let mut list = List::default();
    list.refresh(&catalogue, &live);
    assert_eq!(list.len(), 5);
    assert!(shown(&list).contains(&add));
}

#[test]
fn finds_distant_rows_later_or_on_demand() {
    let catalogue = large(10, 12_000);
    let live = Live::default();
    let fresh = |sort: Sort| {
        let mut list = List::default();
        list.allow_partial_order(true);
        list.set_sort(sort);
        assert!(list.refresh(&catalogue, &live));
        list
    };
    let by_name = Sort::default();
    let last = 11_999;
    let mut list = fresh(by_name);
    assert!(
        list.len() == 12_000
            && list.at(4_000).is_some()
            && list.at(last).is_none()
            && list.has_pending_work()
    );
    list.set_busy(true);
    assert!(!list.refresh(&catalogue, &live) && list.at(last).is_none(), "the user is typing");
    list.set_busy(false);
    // Rows that keep their places never request more frames.
    list.set_still(true);
    assert!(!list.refresh(&catalogue, &live) && list.at(last).is_some() && !list.has_pending_work());

    let mut list = fresh(by_name);
    list.complete(&catalogue);
    assert!(list.at(last).is_some() && !list.has_pending_work());

    let mut list = fresh(by_name);
    list.allow_partial_order(false);
    assert!(!list.refresh(&catalogue, &live) && list.at(last).is_some(), "a row was selected");

    let from_the_end = Sort { descending: true, ..by_name };
    let list = fresh(from_the_end);
    assert!(list.at(0).is_some() && list.at(last).is_some() && !list.has_pending_work());
    let mut list = fresh(by_name);
    list.set_sort(from_the_end);
    list.refresh(&catalogue, &live);
    assert!(list.at(0).is_some() && !list.has_pending_work(), "reversed");
}
