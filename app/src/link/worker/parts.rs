//! What was heard, in parts that the window takes in within a frame: a page of times may have sixteen thousand rows.

use super::agent::ROWS;
use crate::model::update::Told;
use redial_protocol::message::Event;

/// Rows of times that take as long as one with a method's names.
const NAMED: usize = 8;

/// The same in the same order, with no more rows in one part than [`ROWS`] of times, or an eighth of that of methods.
pub fn of(told: Vec<Told>) -> Vec<Vec<Told>> {
    let mut parts = Parts { parts: vec![Vec::new()], weight: 0 };
    for one in told {
        match one {
            Told::Event(Event::Times { id, times }) => {
                parts.put_all(times, 1, |times| Event::Times { id, times });
            }
            Told::Event(Event::Rows { id, rows }) => {
                parts.put_all(rows, NAMED, |rows| Event::Rows { id, rows });
            }
            other => parts.put(other, 0),
        }
    }
    parts.parts
}

struct Parts {
    parts: Vec<Vec<Told>>,
    /// What stands in the last of them weighs.
    weight: usize,
}

impl Parts {
    fn put(&mut self, one: Told, weight: usize) {
        if self.weight > 0 && self.weight + weight > ROWS {
            self.parts.push(Vec::new());
            self.weight = 0;
        }
        self.weight += weight;
        if let Some(part) = self.parts.last_mut() {
            part.push(one);
        }
    }

    fn put_all<T>(&mut self, mut rows: Vec<T>, weight: usize, event: impl Fn(Vec<T>) -> Event) {
        let most = ROWS / weight;
        while rows.len() > most {
            let rest = rows.split_off(most);
            self.put(Told::Event(event(std::mem::replace(&mut rows, rest))), ROWS);
        }
        let weight = rows.len() * weight;
        self.put(Told::Event(event(rows)), weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::{row, times};
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
        // Rows with names take longer.
        let named = (0..1_000).map(|id| row(id, "Shop.Cart.Add", 0)).collect();
        let parts = of(vec![Told::Event(Event::Rows { id: None, rows: named })]);
        let rows = parts.iter().map(|part| match part.as_slice() {
            [Told::Event(Event::Rows { rows, .. })] => rows.iter().map(|row| row.row.0).collect(),
            other => panic!("{other:?}"),
        });
        let rows: Vec<Vec<u32>> = rows.collect();
        assert_eq!(rows.concat(), (0..1_000).collect::<Vec<u32>>());
        assert!(rows.iter().all(|part| part.len() <= ROWS / NAMED));
    }
}
