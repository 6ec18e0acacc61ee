//! Tests of exit codes, commands and messages of changes.

use super::*;
use crate::arguments;
use crate::output::changes::tests::estimate;
use crate::output::json::DialledJson;
use crate::output::json::PlanJson;
use crate::target::Target;
use redial_protocol::level::Level;
use redial_protocol::message::Holder;
use redial_protocol::message::Refusal;
use redial_protocol::message::WireCommand;
use redial_protocol::order::Lifetime;
use redial_protocol::order::Order;
use redial_protocol::reason::Reason;
use redial_protocol::report::DialReport;
use redial_protocol::report::PlanReport;
use redial_text::diagnostics::{Reader, reasons};
use redial_text::fixtures::{plan, report, shared};
use serde_json::json;

fn wanted<'a>(orders: &[Order], options: &'a arguments::ChangeArguments) -> ChangeRequest<'a> {
    let name = "'A.B'".to_owned();
    let target = Box::leak(Box::new(Target::of(9)));
    ChangeRequest { target, program: "redial test", orders: orders.to_vec(), lines: vec![], name, options }
}

fn order(level: Level) -> Order {
    Order::new("A.B", level)
}

#[test]
fn outcomes_map_to_exit_codes() {
    let sums = |matched, accepted, refused, unmatched| ChangeTotals { matched, accepted, refused, unmatched };
    for (sums, later, exit) in [
        (sums(3, 3, 0, 0), false, Exit::Done),
        (sums(3, 2, 1, 0), false, Exit::Partly),
        (sums(3, 3, 0, 1), false, Exit::Partly),
        (sums(3, 3, 0, 1), true, Exit::Done),
        (sums(1, 0, 1, 0), true, Exit::Failed),
        (sums(1, 0, 1, 1), false, Exit::Failed),
        (sums(0, 0, 0, 0), true, Exit::Done),
        // Nothing has a body.
        (sums(2, 0, 0, 0), false, Exit::Failed),
        // It replaced a standing order for later modules; of two lines, one did.
        (sums(0, 0, 0, 0), false, Exit::Done),
        (sums(0, 0, 0, 1), false, Exit::Partly),
    ] {
        let ChangeTotals { matched, accepted, refused, unmatched } = sums;
        assert_eq!(outcome(&sums, later), exit, "{matched} {accepted} {refused} {unmatched} {later}");
    }
}

#[test]
fn a_plan_ends_like_the_change_would() {
    let (take, later) = (
        arguments::ChangeArguments { take: true, ..arguments::ChangeArguments::default() },
        arguments::ChangeArguments { later: true, ..arguments::ChangeArguments::default() },
    );
    let plain = arguments::ChangeArguments::default();
    let holder = || Some(Holder { pid: 1, program: "redial app".into() });
    let orders = [order(Level::Count), order(Level::Count)];
    let verdict = |options, plan: &PlanReport, holder| wanted(&orders, options).verdict(plan, holder, vec![]);
    assert_eq!(verdict(&plain, &plan(), None), Ok(Exit::Partly));
    assert!(matches!(verdict(&plain, &plan(), holder()), Err(Refusal::ControlHeld(_))));
    assert_eq!(verdict(&take, &plan(), holder()), Ok(Exit::Partly));
    let nothing = PlanReport { unmatched: vec![0, 1], ..PlanReport::default() };
    assert!(matches!(verdict(&plain, &nothing, None), Err(Refusal::NothingMatched { .. })));
    assert_eq!(verdict(&later, &nothing, None), Ok(Exit::Done));
    let replaces = PlanReport::default();
    assert_eq!(verdict(&plain, &replaces, None), Ok(Exit::Done));
    assert_eq!(verdict(&plain, &PlanReport { matched: 2, unchanged: 2, ..replaces }, None), Ok(Exit::Done));
}

#[test]
fn off_is_a_revert_unless_limited_or_for_later() {
    let plain = arguments::ChangeArguments { take: true, ..arguments::ChangeArguments::default() };
    let later = arguments::ChangeArguments { later: true, ..arguments::ChangeArguments::default() };
    let off = || order(Level::Off);
    assert!(matches!(wanted(&[off()], &plain).command(false), WireCommand::RequestRevert { take: true, .. }));
    for (order, options) in [
        (off(), &later),
        (Order { domain: Some("A".into()), ..off() }, &plain),
        (Order { copy: Some(1), ..off() }, &plain),
    ] {
        assert!(
            matches!(
                wanted(std::slice::from_ref(&order), options).command(options.later),
                WireCommand::RequestReJit { lifetime: Lifetime::Kept, .. }
            ),
            "{order:?}"
        );
    }
    let set = [off(), order(Level::Count)];
    let WireCommand::RequestReJit { orders, .. } = wanted(&set, &plain).command(false) else {
        panic!("one change")
    };
    assert_eq!(orders, set);
}

#[test]
fn reports_lifetimes_and_refuses_useless_options() {
    let held = arguments::ChangeArguments { hold: true, ..arguments::ChangeArguments::default() };
    let timed =
        arguments::ChangeArguments { kept_for: Some(90_000), ..arguments::ChangeArguments::default() };
    let plain = arguments::ChangeArguments::default();
    let on = [order(Level::Count)];
    let says = |options, matched| wanted(&on, options).lifetime_sentence(&report(matched, matched, &[]));
    assert_eq!(says(&held, 1), "held while this command runs; Ctrl-C turns 'A.B' off");
    assert_eq!(says(&timed, 1), "kept for 1m 30s; `redial off 9` turns it off earlier");
    assert!(says(&plain, 0).starts_with("kept for modules that load later"));
    assert!(says(&plain, 1).starts_with("kept until turned off"));
    let off = [order(Level::Off)];
    assert_eq!(wanted(&off, &plain).lifetime_sentence(&report(1, 1, &[])), "off: the original IL runs again");
    for (options, part) in [(&held, "--hold"), (&timed, "--for")] {
        assert!(wanted(&off, options).contradiction().is_some_and(|why| why.contains(part)));
        assert_eq!(wanted(&[order(Level::Off), order(Level::Count)], options).contradiction(), None);
    }
    assert_eq!(wanted(&off, &plain).contradiction(), None);
}

#[test]
fn the_json_has_the_documented_fields() {
    let report = DialReport { shared: vec![shared(true)], ..report(2, 1, &[(Reason::Hresult, 1)]) };
    assert_eq!(
        serde_json::to_value(DialledJson::new(9, &report, &[])).expect("JSON"),
        json!({
            "pid": 9, "matched": 2, "accepted": 1, "bodyless": 0, "warnings": [],
            "refused": [{
                "method": "Shop!Shop.Cart.M0()",
                "reason": "the runtime refused the request (0x80131371)", "condition": null,
            }],
            "shared": [{
                "module": "Shop.Common", "methods": 2, "domains": ["A", "B\u{1b}"], "more_domains": 2, "accepted": true,
            }],
        })
    );
}

#[test]
fn the_json_of_a_plan_has_further_fields() {
    let orders = [(Some(3), "A.B = count".to_owned()), (None, "C.D = off".to_owned())];
    let plan = plan();
    let value = serde_json::to_value(PlanJson::new(9, &orders, &plan, &[], Some(estimate()))).expect("JSON");
    assert_eq!(
        (&value["matched"], &value["accepted"], &value["bodyless"]),
        (&json!(9), &json!(7), &json!(1))
    );
    assert_eq!(
        value["orders"],
        json!([
            {"line": 3, "order": "A.B = count", "matched": 9}, {"line": null, "order": "C.D = off", "matched": 0},
        ])
    );
    assert_eq!(
        ["to_recompile", "to_turn_off", "to_adjust", "unchanged", "generic"].map(|name| &value[name]),
        [4, 1, 1, 1, 2].map(|number| json!(number)).each_ref()
    );
    assert_eq!(value["expected_cost_percent"], json!(4.0));
    let shared_by_others = reasons::sentence(Reason::Shared, Reader::CommandLine);
    assert_eq!(value["refused_by_reason"], json!([{"reason": shared_by_others, "copies": 1}]));
    for field in
        ["pid", "refused", "shared", "warnings", "expected_us", "expected_clr_bytes", "expected_agent_bytes"]
    {
        assert!(value.get(field).is_some(), "{field} is missing in {value}");
    }
}
