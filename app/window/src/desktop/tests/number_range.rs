//! Tests of numbers since now and of the last seconds.

use super::fixture::{deliver, execute, look_at_shop, look_at_shops, second, window, window_of};
use super::fleet::{ADD, deliver_to, value};
use super::times::{answer, looked_at, timed, timed_in, two_humps};
use crate::commands::{CopyFormat, RangeChoice, UiCommand};
use crate::desktop::App;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::histogram;
use redial_model::update::{ConnectionUpdate, Retry};
use redial_model::visible_rows::VisibleRows;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;

const HISTOGRAM: &str = "Latency histogram of Shop!Shop.Cart.Add(int)";

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn choose(harness: &mut Harness<'static, App>, entry: &str) {
    harness.get_by_label_contains("Numbers: ").click_accesskit();
    harness.run_steps(3);
    harness.get_by_label(entry).click_accesskit();
    harness.run_steps(3);
}

/// Calls of 3 ms, in buckets of their own.
fn slower(all: &RowHistogram, calls: u64) -> RowHistogram {
    let counts: Vec<(u16, u64)> = all.counts().chain([(700, calls)]).collect();
    histogram(0, &counts)
}

#[test]
fn numbers_since_now_cover_later_calls_only() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_800.0, 900.0])));
    let before = two_humps(0, 900.0, 12.0);
    looked_at(&mut harness, &before);
    let totals = value(&harness, ADD);
    choose(&mut harness, "Since now");
    assert!(value(&harness, ADD).starts_with("live, 0 calls, "), "{}", value(&harness, ADD));
    assert!(shows(&harness, "Numbers since "), "header and details say which calls these are");
    // The histogram at the mark.
    answer(&mut harness, &before);
    deliver(&mut harness, vec![second(61, [70, 0])]);
    answer(&mut harness, &slower(&before, 60));
    let now = value(&harness, ADD);
    assert!(now.starts_with("live, 70 calls, p50 "), "{now}");
    assert!(now.contains(", exceptions 0, "), "{now}");
    let histogram_text = value(&harness, HISTOGRAM);
    assert!(histogram_text.starts_with("60 calls: p50 "), "{histogram_text}");
    assert!(!shows(&harness, "Mark"), "a mark would be in terms of all calls");
    let copied = {
        let shop = harness.state().model.current().expect("Shop");
        crate::desktop::clipboard::table(VisibleRows::of(shop), CopyFormat::Csv).0
    };
    assert!(copied.contains("Shop!Shop.Cart.Add(int),time,live,70,"), "{copied}");
    harness.get_by_label("Reset").click_accesskit();
    harness.run_steps(3);
    assert!(value(&harness, ADD).starts_with("live, 0 calls"), "again");
    choose(&mut harness, "Totals");
    assert!(!shows(&harness, "Numbers since"));
    assert_ne!(value(&harness, ADD), totals, "calls were added");
    assert!(value(&harness, ADD).contains(" calls, p50 "));
}

#[test]
fn last_seconds_grow_to_ten() {
    let mut harness = timed(Theme::Dark);
    choose(&mut harness, "Last 10 s");
    for number in 61..=63 {
        deliver(&mut harness, vec![second(number, [10, 0])]);
    }
    assert!(shows(&harness, "Numbers of the last 3 s"), "and no more are known");
    for number in 64..=80 {
        deliver(&mut harness, vec![second(number, [10, 0])]);
    }
    assert!(shows(&harness, "Numbers of the last 10 s"));
    assert!(value(&harness, ADD).starts_with("live, 100 calls"), "{}", value(&harness, ADD));
    let lost = ConnectionUpdate::Lost { why: "process 4242 has ended".into(), retry: Retry::Never };
    deliver(&mut harness, vec![lost]);
    assert!(value(&harness, ADD).contains("100 calls"), "the last numbers stay");
}

#[test]
fn palette_and_menu_offer_the_ranges() {
    let mut harness = timed(Theme::Dark);
    for (choice, on) in [(RangeChoice::Recent, "Last 10 s"), (RangeChoice::SinceNow, "Since now")] {
        execute(&mut harness, UiCommand::Numbers(choice));
        let facts = harness.state().command_context();
        assert_eq!(UiCommand::Numbers(choice).is_on(&facts), Some(true), "{on}");
        assert_eq!(UiCommand::Numbers(RangeChoice::Total).is_on(&facts), Some(false));
    }
}

#[test]
fn merged_numbers_follow_the_range() {
    let mut harness = look_at_shops(window(Theme::Dark));
    let calls = |harness: &Harness<'static, App>| value(harness, ADD);
    for id in 1..=3 {
        deliver_to(&mut harness, id, vec![super::fixture::rows(), second(89, [7, 0])]);
    }
    harness.run_steps(3);
    assert!(calls(&harness).contains(", 21 calls"), "{}", calls(&harness));
    choose(&mut harness, "Since now");
    harness.run_steps(3);
    assert!(calls(&harness).contains(", 0 calls"), "{}", calls(&harness));
    for id in 1..=3 {
        deliver_to(&mut harness, id, vec![second(90, [5, 0])]);
    }
    harness.run_steps(3);
    assert!(calls(&harness).contains(", 15 calls"), "{}", calls(&harness));
    choose(&mut harness, "Totals");
    harness.run_steps(3);
    assert!(!calls(&harness).contains(", 15 calls"), "{}", calls(&harness));
}

#[test]
fn percentiles_need_the_histogram_at_the_mark() {
    let mut harness = timed_in(look_at_shop(window_of(Theme::Dark, [1_800.0, 900.0])));
    let before = two_humps(0, 900.0, 12.0);
    looked_at(&mut harness, &before);
    choose(&mut harness, "Since now");
    let refused = ConnectionUpdate::Histogram(RowId(0), Err("its module was unloaded".into()));
    deliver(&mut harness, vec![refused]);
    let now = slower(&before, 60);
    deliver(&mut harness, vec![second(61, [70, 0])]);
    let connection = harness.state_mut().model.current_process_mut().expect("Shop");
    connection.table.live.take_times(vec![now.times]);
    harness.run_steps(3);
    deliver(&mut harness, vec![ConnectionUpdate::Histogram(RowId(0), Ok(Box::new(now)))]);
    harness.run_steps(3);
    let text = value(&harness, ADD);
    assert!(text.starts_with("live, 70 calls, ") && !text.contains("p50"), "{text}");
}
