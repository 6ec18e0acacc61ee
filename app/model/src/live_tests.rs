//! Tests how rows, transitions and counters become the displayed state.

use super::*;
use crate::catalogue::tests::{large, small};
use redial_protocol::order::TimeOptions;

/// A row for a method of a catalogue.
fn row(catalogue: &Catalogue, id: u32, method: u32, state: CopyState, calls: u64) -> StatusRow {
    let full = catalogue.full_name(MethodIx(method));
    StatusRow {
        row: RowId(id),
        copy: catalogue.copy_of(MethodIx(method)).expect("a copy"),
        method: format!("{}.{}", full.part(&full.type_name), full.part(&full.method)),
        signature: full.part(&full.signature).into(),
        module: full.part(&full.module).into(),
        domain: "clrhost".into(),
        wanted: Level::Count,
        state,
        version: None,
        instances: vec![],
        note: None,
        times_note: None,
        options: TimeOptions::default(),
        calls,
    }
}

fn delta(t_ms: u64, calls: &[(u32, u64)]) -> CounterDelta {
    CounterDelta {
        t_ms,
        rows: calls.iter().map(|(id, _)| RowId(*id)).collect(),
        calls: calls.iter().map(|(_, calls)| *calls).collect(),
    }
}

fn live(catalogue: &Catalogue, rows: Vec<StatusRow>) -> Live {
    let mut live = Live::default();
    live.place(catalogue);
    live.take_rows(rows, catalogue);
    live
}

/// A transition that turns a row's dial off.
pub fn turned_off(row: u32) -> Transition {
    Transition {
        row: RowId(row),
        t_ms: 1,
        wanted: Level::Off,
        state: CopyState::Off,
        version: None,
        instances: Vec::new(),
        note: None,
        times_note: None,
        options: TimeOptions::default(),
    }
}

#[test]
fn rates_and_sparklines_follow_the_agents_clock() {
    let catalogue = small();
    let mut live = live(
        &catalogue,
        vec![row(&catalogue, 0, 3, CopyState::Live, 5), row(&catalogue, 1, 4, CopyState::Asked, 0)],
    );
    live.take_counters(&delta(1_000, &[(0, 10)]), 0);
    let seen = |live: &Live, id| live.row(RowId(id)).map(|row| (row.calls, row.rate)).expect("a row");
    assert_eq!(seen(&live, 0), (15, None), "the first snapshot has no predecessor");
    live.take_counters(&delta(1_500, &[(0, 100), (1, 1)]), 0);
    assert_eq!((seen(&live, 0), seen(&live, 1)), ((115, Some(200.0)), (1, Some(2.0))));
    live.take_counters(&delta(2_000, &[(0, 50)]), 3);
    // Over the last second.
    assert_eq!((seen(&live, 0), seen(&live, 1)), ((165, Some(150.0)), (1, Some(1.0))));
    assert_eq!((live.late(), live.folds(), live.tick()), (true, 3, 2));
    let series: Vec<f32> =
        live.row(RowId(0)).and_then(|row| row.series.as_ref()).expect("rates").at(2).collect();
    assert_eq!(series[series.len() - 2..], [200.0, 100.0]);
    live.begin_session();
    assert_eq!(seen(&live, 0), (165, None));
    // The agent sends its rows again; its numbers count.
    live.take_rows(vec![row(&catalogue, 0, 3, CopyState::Live, 170)], &catalogue);
    live.take_counters(&delta(9_000, &[(0, 1)]), 0);
    assert_eq!(seen(&live, 0), (171, None));
}

#[test]
fn times_between_snapshots_change_no_rate() {
    let catalogue = small();
    let mut live = live(&catalogue, vec![row(&catalogue, 0, 3, CopyState::Live, 0)]);
    for number in 0..20 {
        // Percentiles come before and after counts, in pages.
        (0..number % 4).for_each(|_| live.take_times(vec![redial_text::fixtures::times(0)]));
        live.take_counters(&delta(260 * number, &[(0, 26)]), 0);
        let rate = live.row(RowId(0)).and_then(|row| row.rate);
        assert_eq!(rate, (number > 0).then_some(100.0), "after {number} snapshots");
    }
}

/// Off is a gap, not a rate of zero: nothing is counted.
#[test]
fn a_sparkline_pauses_while_the_dial_is_off() {
    let catalogue = small();
    let mut live = live(&catalogue, vec![row(&catalogue, 0, 3, CopyState::Live, 5)]);
    let mut mirrored = Live::default();
    mirrored.place(&catalogue);
    let mut last = |live: &Live, ticks: usize| {
        let from = live.row(RowId(0)).expect("a row");
        let (tick, copy) = (live.tick(), from.copy);
        mirrored.pass(tick * TICK_MS, true);
        let to = mirror::MirrorTarget { id: RowId(0), copy, place: "Shop (1)", answers: true, tick };
        mirrored.mirror(from, to, &catalogue);
        let rates = |live: &Live| -> Vec<f32> {
            let series = live.row(RowId(0)).and_then(|row| row.series.as_ref()).expect("rates");
            let all = series.at(live.tick()).map(|rate| if rate.is_nan() { -1.0 } else { rate });
            all.skip(crate::series::LENGTH - ticks).collect()
        };
        assert_eq!(rates(&mirrored), rates(live), "the mirrored row has the same");
        rates(live)
    };
    for t_ms in [1_000, 2_000] {
        live.take_counters(&delta(t_ms, &[(0, 9)]), 0);
    }
    assert_eq!(last(&live, 1), [9.0]);
    live.take_counters(&delta(3_000, &[]), 0);
    assert_eq!(last(&live, 2), [9.0, 0.0], "it counts but is not called");
    let turned = |state| Transition { state, ..turned_off(0) };
    live.take_transition(turned(CopyState::Off));
    last(&live, 1);
    for t_ms in [4_000, 5_000] {
        live.take_counters(&delta(t_ms, &[]), 0);
        last(&live, 1);
    }
    assert_eq!(last(&live, 4), [9.0, 0.0, -1.0, -1.0]);
    live.take_transition(turned(CopyState::Live));
    last(&live, 1);
    live.take_counters(&delta(6_000, &[]), 0);
    assert_eq!(last(&live, 3), [-1.0, 0.0, 0.0], "counting resumes with the tick of the change");
    live.take_counters(&delta(7_000, &[(0, 4)]), 0);
    assert_eq!(last(&live, 4), [-1.0, 0.0, 0.0, 4.0]);
}

#[test]
fn rows_wait_for_their_module() {
    let catalogue = small();
    let mut live = Live::default();
    live.take_rows(vec![row(&catalogue, 0, 3, CopyState::Live, 5)], &Catalogue::default());
    assert_eq!(live.row(RowId(0)).and_then(|row| row.method), None);
    assert_eq!(live.known().count(), 0);
    live.place(&catalogue);
    assert_eq!(live.of_method(MethodIx(3)).map(|row| row.id), Some(RowId(0)));
    assert_eq!(live.known().iter_in(0..8).collect::<Vec<_>>(), [3]);
    assert_eq!(
        live.row(RowId(0)).map(|row| &*row.name),
        Some(catalogue.full_name(MethodIx(3)).text.as_str())
    );
}

#[test]
fn bits_and_sums_always_agree_with_the_rows() {
    let catalogue = large(3, 300);
    let mut live = Live::default();
    live.place(&catalogue);
    let mut chance = crate::catalogue::synthetic::PseudoRandom::new(5);
    let states = [
        CopyState::Off,
        CopyState::Asked,
        CopyState::Live,
        CopyState::Refused,
        CopyState::Failed,
        CopyState::Lost,
    ];
    let mut t_ms = 0;
    for _ in 0..400 {
        let id = chance.below(60) as u32;
        let state = states[chance.below(states.len())];
        let wanted = if chance.below(3) == 0 { Level::Off } else { Level::Count };
        match chance.below(3) {
            0 => {
                let mut one = row(&catalogue, id, chance.below(300) as u32, state, 7);
                one.wanted = wanted;
                live.take_rows(vec![one], &catalogue);
            }
            1 => drop(live.take_transition(Transition {
                row: RowId(id),
                t_ms,
                wanted,
                state,
                version: Some(1),
                instances: Vec::new(),
                note: None,
                times_note: None,
                options: TimeOptions::default(),
            })),
            _ => {
                t_ms += 100;
                live.take_counters(&delta(t_ms, &[(id, 3), (id + 1, 4)]), 0);
            }
        }
        let placed: Vec<&LiveRow> = live.rows().filter(|row| row.method.is_some()).collect();
        let range = 50..250u32;
        let inside = |row: &&&LiveRow| row.method.is_some_and(|method| range.contains(&method.0));
        let sums = live.sums(std::slice::from_ref(&range), None);
        let mine: Vec<&LiveRow> = placed.iter().filter(inside).copied().collect();
        assert_eq!(sums.known as usize, mine.len());
        assert_eq!(sums.calls, mine.iter().map(|row| row.calls).sum::<u64>());
        let rate: f64 = mine.iter().map(|row| f64::from(row.rate.unwrap_or(0.0))).sum();
        assert!((sums.rate - rate).abs() < 1e-6);
        for level in Level::ALL {
            let number = mine.iter().filter(|row| row.wanted == level).count();
            assert_eq!(sums.wanted[level as usize] as usize, number);
        }
        for state in states {
            assert_eq!(live.count(state), placed.iter().filter(|row| row.state == state).count());
        }
        for one in &placed {
            let method = one.method.expect("placed");
            assert_eq!(live.of_method(method).map(|row| row.id), Some(one.id), "one row a method");
        }
    }
}

#[test]
fn ignores_unknown_and_excessive_rows() {
    let catalogue = small();
    let mut live = live(&catalogue, vec![row(&catalogue, u32::MAX, 1, CopyState::Live, 1)]);
    assert_eq!(live.rows().count(), 0);
    live.take_counters(&delta(1, &[(7, 1)]), 0);
    let unknown = turned_off(7);
    assert_eq!(live.take_transition(unknown), None);
    live.clear();
    assert_eq!(live.known().count(), 0);
}

#[test]
fn sparklines_advance_while_the_agent_is_quiet() {
    let catalogue = small();
    let mut live = live(&catalogue, vec![row(&catalogue, 0, 3, CopyState::Live, 5)]);
    let at = std::time::Duration::from_millis;
    let snapshot = |live: &mut Live, t_ms, calls: &[(u32, u64)]| {
        live.take_counters(&delta(t_ms, calls), 0);
        live.record_snapshot(at(t_ms - 49_000), calls.is_empty());
    };
    snapshot(&mut live, 50_000, &[]);
    assert_eq!(live.curves_move(), None, "nothing was called");
    snapshot(&mut live, 51_000, &[(0, 9)]);
    live.pass_to(at(9_000));
    assert_eq!((live.tick(), live.curves_move()), (51, None), "a silent agent may still count");
    snapshot(&mut live, 51_250, &[]);
    live.pass_to(at(3_100));
    assert_eq!((live.tick(), live.curves_move().is_some()), (51, true), "a snapshot may be on its way");
    live.pass_to(at(7_250));
    assert_eq!(live.tick(), 55);
    // The agent is still heard from time to time.
    snapshot(&mut live, 90_000, &[]);
    live.pass_to(at(61_000));
    assert_eq!((live.tick(), live.curves_move().is_some()), (109, true));
    snapshot(&mut live, 120_000, &[]);
    assert_eq!(live.curves_move(), None, "they are empty by now");
    snapshot(&mut live, 151_000, &[(0, 9)]);
    assert_eq!(live.tick(), 151, "the agent's time counts");
}
