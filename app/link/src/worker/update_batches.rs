//! Splits updates into parts that the window can process within a frame: a page of times may have 16,000
//! rows.

use redial_model::events::EventsUpdate;
use redial_model::update::ConnectionUpdate;
use redial_protocol::message::Event;

/// Limit for one update in rows: the window must process each update within a frame.
pub(super) const ROWS: usize = 2048;

/// Processing a row with names takes as long as this many rows of times.
const NAMED: usize = 8;

/// Splits updates, keeping their order. Each part has at most [`ROWS`] rows of times, or an eighth as many
/// rows with names.
pub fn of(updates: Vec<ConnectionUpdate>) -> Vec<Vec<ConnectionUpdate>> {
    let mut parts = UpdateBatches { parts: vec![Vec::new()], weight: 0 };
    for one in updates {
        match one {
            ConnectionUpdate::Event(Event::Times { id, times }) => {
                parts.put_all(times, 1, |times| Event::Times { id, times });
            }
            ConnectionUpdate::Event(Event::Rows { id, rows }) => {
                parts.put_all(rows, NAMED, |rows| Event::Rows { id, rows });
            }
            ConnectionUpdate::Events(update) => {
                let weight = match &update {
                    EventsUpdate::Ended(calls, _) | EventsUpdate::Earlier(calls) => calls.len(),
                    EventsUpdate::InFlight(_) | EventsUpdate::Dropped(_) => 0,
                };
                parts.put(ConnectionUpdate::Events(update), weight);
            }
            other => parts.put(other, 0),
        }
    }
    parts.parts
}

struct UpdateBatches {
    parts: Vec<Vec<ConnectionUpdate>>,
    /// Weight of the last part.
    weight: usize,
}

impl UpdateBatches {
    fn put(&mut self, one: ConnectionUpdate, weight: usize) {
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
            self.put(ConnectionUpdate::Event(event(std::mem::replace(&mut rows, rest))), ROWS);
        }
        let weight = rows.len() * weight;
        self.put(ConnectionUpdate::Event(event(rows)), weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::row;
    use redial_protocol::counters::CounterDelta;
    use redial_text::fixtures::times;

    #[test]
    fn splits_a_large_page_and_keeps_its_order() {
        let page = |from: u32, to: u32| {
            ConnectionUpdate::Event(Event::Times { id: None, times: (from..to).map(times).collect() })
        };
        let fold = || ConnectionUpdate::Event(Event::Counters { delta: CounterDelta::default(), dropped: 7 });
        let rows = ROWS as u32;
        let parts = of(vec![page(0, 5), page(5, 3 * rows), fold()]);
        let mut next = 0;
        for part in &parts {
            let mut of_part = 0;
            for one in part {
                if let ConnectionUpdate::Event(Event::Times { times, .. }) = one {
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
            Some(ConnectionUpdate::Event(Event::Counters { dropped: 7, .. }))
        ));
        assert_eq!(of(vec![page(0, 5), page(5, 9), fold()]).len(), 1);
        // Rows with names weigh more.
        let named = (0..1_000).map(|id| row(id, "Shop.Cart.Add", 0)).collect();
        let parts = of(vec![ConnectionUpdate::Event(Event::Rows { id: None, rows: named })]);
        let rows = parts.iter().map(|part| match part.as_slice() {
            [ConnectionUpdate::Event(Event::Rows { rows, .. })] => rows.iter().map(|row| row.row.0).collect(),
            other => panic!("{other:?}"),
        });
        let rows: Vec<Vec<u32>> = rows.collect();
        assert_eq!(rows.concat(), (0..1_000).collect::<Vec<u32>>());
        assert!(rows.iter().all(|part| part.len() <= ROWS / NAMED));
    }
}
