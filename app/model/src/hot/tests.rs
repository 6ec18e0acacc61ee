//! Tests of the search for hot methods.

use super::*;
use crate::fixtures::row;
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey, RowId};
use redial_protocol::message::{Holder, StatusRow};
use redial_protocol::order::Lifetime;
use redial_protocol::times::Times;

fn module(name: &str, path: &str) -> ModuleRow {
    ModuleRow {
        key: ModuleKey { module_id: 1, generation: 1 },
        name: name.to_owned(),
        path: path.to_owned(),
        mvid: String::new(),
        assembly: 0,
        domains: vec![],
        shared: false,
        dynamic: false,
        collectible: false,
        methods: 3,
    }
}

fn standing(pattern: &str, level: Level) -> StandingOrder {
    StandingOrder {
        order: Order::new(pattern, level),
        lifetime: Lifetime::Kept,
        user: "me".to_owned(),
        by: Holder { pid: 7, program: "redial dial".to_owned() },
    }
}

fn dials(rows: Vec<StatusRow>) -> DialledCopies {
    let mut dials = DialledCopies::default();
    dials.rows(rows);
    dials
}

fn times(index: u32, self_ns: u64) -> Times {
    Times {
        row: RowId(index),
        in_flight: 0,
        exits: 1,
        exceptions: 0,
        total_ns: 2 * self_ns,
        self_ns,
        max_ns: self_ns,
        percentiles: None,
        completions: None,
        move_next: None,
    }
}

const COSTS: [Cost; 1] = [Cost { level: Level::Time, picoseconds: 100_000 }];

fn search(options: HotOptions, before: &DialledCopies, standing: Vec<StandingOrder>) -> HotSearch {
    let modules = [module("Shop", "/opt/shop/Shop.dll"), module("System.Text.Json", "")];
    HotSearch::new(options, &modules, standing, before, COSTS.to_vec()).expect("it has methods")
}

fn patterns(orders: &[Order]) -> Vec<(&str, Level)> {
    orders.iter().map(|order| (order.pattern.as_str(), order.level)).collect()
}

#[test]
fn counts_the_program_and_not_its_frameworks() {
    let none = DialledCopies::default();
    let hot = search(HotOptions::default(), &none, vec![]);
    assert_eq!(patterns(&hot.counting_orders()), [("Shop!*", Level::Count)]);
    let frameworks = [module("System.Text.Json", ""), ModuleRow { dynamic: true, ..module("Made", "") }];
    assert!(HotSearch::new(HotOptions::default(), &frameworks, vec![], &none, vec![]).is_none());
    let options = HotOptions { pattern: Some("System.Text.Json!*".to_owned()), ..HotOptions::default() };
    assert_eq!(search(options, &none, vec![]).patterns(), ["System.Text.Json!*"], "unless asked for");
}

#[test]
fn repeats_the_orders_of_others_and_leaves_their_methods_alone() {
    let before = dials(vec![StatusRow { wanted: Level::Time, ..row(0, "Shop.Cart.Add", 9) }]);
    let mut hot = search(HotOptions::default(), &before, vec![standing("Shop.Cart.Add", Level::Time)]);
    let expected = [("Shop!*", Level::Count), ("Shop.Cart.Add", Level::Time)];
    assert_eq!(patterns(&hot.counting_orders()), expected);
    let now = |calls| dials(vec![row(0, "Shop.Cart.Add", calls), row(1, "Shop.Cart.Take", calls)]);
    hot.begin_step(&now(10));
    let plan = hot.plan_timing(&now(20), 1_000);
    assert_eq!((plan.called, plan.timed, hot.left_alone()), (1, 1, 1));
    let expected = [("Shop!0x06000002", Level::Time), ("Shop.Cart.Add", Level::Time)];
    assert_eq!(patterns(&plan.orders), expected);
}

#[test]
fn times_what_the_budget_allows() {
    let mut hot = search(HotOptions::default(), &DialledCopies::default(), vec![]);
    let names = ["A.Often", "A.Some", "A.Never"];
    let now = |calls: [u64; 3]| {
        dials((0..).zip(names).zip(calls).map(|((index, name), calls)| row(index, name, calls)).collect())
    };
    hot.begin_step(&now([5, 5, 5]));
    // 100 ns a call: 2,000,000 calls a second cost 20 % of a processor.
    let plan = hot.plan_timing(&now([4_000_005, 2_005, 5]), 2_000);
    assert_eq!((plan.called, plan.timed), (2, 1));
    let [costly] = plan.too_costly.as_slice() else { panic!("{plan:?}") };
    assert_eq!((costly.method.method.as_str(), costly.rate), ("A.Often", 2_000_000.0));
    assert_eq!(patterns(&plan.orders), [("Shop!0x06000002", Level::Time)]);
}

#[test]
fn many_called_methods_are_timed_by_assembly() {
    let mut hot = search(HotOptions::default(), &DialledCopies::default(), vec![]);
    let now = |often| {
        let calls = |index| if index == 7 { often } else { 1 };
        dials((0..5_000).map(|index| row(index, &format!("A.M{index}"), calls(index))).collect())
    };
    hot.begin_step(&DialledCopies::default());
    let plan = hot.plan_timing(&now(10_000_000), 1_000);
    assert_eq!((plan.timed, plan.too_costly.len()), (4_999, 1));
    assert_eq!(patterns(&plan.orders), [("Shop!*", Level::Time), ("Shop!0x06000008", Level::Count)]);
}

fn ranked(hot: &HotSearch, now: &DialledCopies) -> Vec<(String, u64)> {
    hot.ranking(now).into_iter().map(|one| (one.method.method, one.numbers.self_ns)).collect()
}

#[test]
fn ranks_by_self_time_since_the_step_began() {
    let mut hot = search(HotOptions::default(), &DialledCopies::default(), vec![]);
    let rows = |calls| {
        let timed = |index, name: &str| StatusRow { wanted: Level::Time, ..row(index, name, calls) };
        dials(vec![timed(0, "A.Old"), timed(1, "A.New"), timed(2, "A.Same")])
    };
    hot.begin_step(&rows(0));
    hot.plan_timing(&rows(1), 1_000);
    let mut before = rows(1);
    before.times(vec![times(0, 900), times(1, 10), times(2, 5)]);
    hot.begin_step(&before);
    let mut now = rows(3);
    now.times(vec![times(0, 1_000), times(1, 500), times(2, 5)]);
    assert_eq!(ranked(&hot, &now), [("A.New".into(), 490), ("A.Old".into(), 100), ("A.Same".into(), 0)]);
    now.rows(vec![StatusRow { wanted: Level::Off, ..row(1, "A.New", 3) }]);
    assert_eq!(ranked(&hot, &now).len(), 2, "someone turned it off");
    assert!(!hot.is_turned_off(&now));
    let off = |index| StatusRow {
        wanted: Level::Off,
        ..row(index, ["A.Old", "A.New", "A.Same"][index as usize], 3)
    };
    now.rows((0..3).map(off).collect());
    assert!(hot.is_turned_off(&now) && ranked(&hot, &now).is_empty());
}

#[test]
fn another_build_is_named_without_tokens() {
    let other = ModuleKey { module_id: 2, generation: 1 };
    let twin = StatusRow {
        copy: CopyKey { module: other, token: MethodToken(0x0600_0001) },
        ..row(1, "A.Other", 1)
    };
    let now = dials(vec![row(0, "A.One", 1), twin, row(2, "A.Two", 1)]);
    let method = |index: usize| HotMethod {
        method: MethodKey::of(&now.iter().nth(index).expect("a row").row),
        numbers: HotNumbers::default(),
    };
    let orders = HotSearch::keeping_orders(&now, &[method(0), method(2)]);
    assert_eq!(patterns(&orders), [("Shop!A.One()", Level::Time), ("Shop!0x06000003", Level::Time)]);
}

#[test]
fn says_what_it_did_and_what_it_left_out() {
    let key = MethodKey::of(&row(0, "Shop.Cart.Add", 0));
    let report = HotReport {
        counted: 1_200,
        called: 31,
        timed: 30,
        too_costly: vec![TooCostly { method: key, rate: 5_000_000.0 }],
        left_alone: 2,
        measured_ms: 6_500,
        ..HotReport::default()
    };
    assert_eq!(
        report.sentences(),
        [
            "1,200 methods counted, 31 called, 30 timed for 6.5 s",
            "1 method is called too often to time within the budget, Shop!Shop.Cart.Add() first (5,000,000/s): its time is \
             in the self time of the callers",
            "2 methods were dialled before; they stay as they are",
        ]
    );
}
