//! Durations of the calls of rows.

use super::{Live, LiveRow};
use redial_protocol::level::Level;
use redial_protocol::times::Times;

impl Live {
    /// Applies a page of times.
    pub fn take_times(&mut self, times: Vec<Times>) {
        self.updates += 1;
        // Numbers change, as with a snapshot.
        self.folds += 1;
        for one in times {
            let Some(row) = self.row_mut(one.row) else { continue };
            if let Some(basis) = row.basis.as_mut().filter(|basis| basis.lacks_times) {
                basis.begin_times(row.calls, &one);
            }
            match &mut row.times {
                Some(known) => **known = one,
                None => row.times = Some(Box::new(one)),
            }
            self.timed = true;
            self.record_changed(one.row);
            self.record_range(one.row);
        }
    }

    /// Returns whether any row is or was timed.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// Returns the self time of all rows, in nanoseconds. Computed once per change of numbers.
    pub fn self_time_of_all(&self) -> u64 {
        let editions = (self.folds, self.rows_edition);
        if let Some((_, sum)) = self.self_time.get().filter(|(of, _)| *of == editions) {
            return sum;
        }
        let times = self.rows.iter().filter_map(LiveRow::shown_times);
        let sum =
            times.filter(|times| times.exits > 0).fold(0, |sum: u64, one| sum.saturating_add(one.self_ns));
        self.self_time.set(Some((editions, sum)));
        sum
    }

    pub(super) fn record_timed(&mut self, wanted: Level) {
        self.timed |= wanted >= Level::Time;
    }
}

/// Copies the times of another process's row; returns whether they changed.
pub(super) fn mirror(mine: &mut Option<Box<Times>>, theirs: Option<Times>) -> bool {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => std::mem::replace(&mut **mine, theirs) != theirs,
        (mine @ None, Some(theirs)) => {
            *mine = Some(Box::new(theirs));
            true
        }
        (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::tests::small;
    use crate::list::tests::live;
    use redial_protocol::ids::RowId;
    use redial_text::fixtures::times;

    #[test]
    fn times_add_up_except_for_percentiles() {
        let catalogue = small();
        let mut live = live(&catalogue, &[0, 1], |_| 1);
        assert!(!live.is_timed());
        let folds = live.folds();
        live.take_times(vec![times(0), times(77)]);
        assert!(live.is_timed() && live.folds() > folds, "numbers changed");
        live.take_times(vec![Times { max_ns: 1, ..times(1) }]);
        assert_eq!(live.row(RowId(0)).and_then(|row| row.times.as_deref().copied()), Some(times(0)));
        assert!(live.row(RowId(77)).is_none());
        let all = 0..catalogue.len() as u32;
        let sums = live.sums(&[all], None).times.expect("two rows were timed");
        let one = times(0);
        let alone = live.sums(&[0..1], None).times.expect("one was timed");
        assert_eq!(alone.percentiles, one.percentiles, "there is nothing to add up");
        assert_eq!((sums.percentiles, sums.max_ns), (None, one.max_ns));
        assert_eq!(live.self_time_of_all(), sums.self_ns);
        live.take_times(vec![Times { self_ns: 5, ..times(0) }]);
        assert_eq!(live.self_time_of_all(), 5 + one.self_ns, "another number, another sum");
        assert_eq!(
            (sums.exits, sums.exceptions, sums.in_flight, sums.total_ns, sums.self_ns),
            (2 * one.exits, 2 * one.exceptions, 2 * one.in_flight, 2 * one.total_ns, 2 * one.self_ns)
        );
    }

    #[test]
    fn a_dial_at_time_is_enough_for_columns() {
        let mut live = live(&small(), &[0], |_| 1);
        live.record_timed(Level::Count);
        assert!(!live.is_timed());
        live.record_timed(Level::Time);
        assert!(live.is_timed());
        live.clear();
        assert!(!live.is_timed(), "it is another process now");
    }
}
