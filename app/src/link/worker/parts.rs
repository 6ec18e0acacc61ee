//! What was heard, in parts that the window takes in within a frame: a page of times may have sixteen thousand rows.

use super::agent::ROWS;
use crate::model::update::Told;
use redial_protocol::message::Event;

/// The same in the same order, with no more rows of times in one part than [`ROWS`].
pub fn of(told: Vec<Told>) -> Vec<Vec<Told>> {
    let (mut parts, mut rows) = (vec![Vec::new()], 0);
    let mut put = |one: Told, more: usize| {
        if rows > 0 && rows + more > ROWS {
            parts.push(Vec::new());
            rows = 0;
        }
        rows += more;
        if let Some(part) = parts.last_mut() {
            part.push(one);
        }
    };
    for one in told {
        match one {
            Told::Event(Event::Times { id, mut times }) => {
                while times.len() > ROWS {
                    let rest = times.split_off(ROWS);
                    let first = std::mem::replace(&mut times, rest);
                    put(Told::Event(Event::Times { id, times: first }), ROWS);
                }
                let more = times.len();
                put(Told::Event(Event::Times { id, times }), more);
            }
            other => put(other, 0),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::times;
    use redial_protocol::counters::CounterDelta;

    #[test]
    fn a_large_page_is_parted_and_all_of_it_told_in_order() {
        let page = |from: u32, to: u32| {
            Told::Event(Event::Times { id: None, times: (from..to).map(times).collect() })
        };
        let fold = || Told::Event(Event::Counters { delta: CounterDelta::default(), dropped: 7 });
        let rows = ROWS as u32;
        let parts = of(vec![page(0, 5), page(5, 3 * rows), fold()]);
        let mut next = 0;
        for part in &parts {
            let mut of_part = 0;
            for one in part {
                if let Told::Event(Event::Times { times, .. }) = one {
                    of_part += times.len();
                    for one in times {
                        assert_eq!(one.row.0, next);
                        next += 1;
                    }
                }
            }
            assert!(of_part <= ROWS, "{of_part}");
        }
        assert_eq!(next, 3 * rows);
        assert!(matches!(
            parts.last().and_then(|part| part.last()),
            Some(Told::Event(Event::Counters { dropped: 7, .. }))
        ));
        assert_eq!(of(vec![page(0, 5), page(5, 9), fold()]).len(), 1);
    }
}
