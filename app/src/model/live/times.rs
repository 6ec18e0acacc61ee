//! How long calls of rows take.

use super::Live;
use crate::output::times::TimeColumn;
use redial_protocol::level::Level;
use redial_protocol::times::Times;

impl Live {
    /// Takes a page of times in.
    pub fn take_times(&mut self, times: Vec<Times>) {
        self.updates += 1;
        // Numbers changed, as with a fold.
        self.folds += 1;
        for one in times {
            let Some(row) = self.row_mut(one.row) else { continue };
            match &mut row.times {
                Some(known) => **known = one,
                None => row.times = Some(Box::new(one)),
            }
            self.timed = true;
            self.note_changed(one.row);
        }
    }

    /// Whether some row is or was timed.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    pub(super) fn note_timed(&mut self, wanted: Level) {
        self.timed |= wanted >= Level::Time;
    }
}

/// Takes the times of a row over from another process's; whether they are others than before.
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

/// Adds the times of a row to those of others. Percentiles do not add up: a sum has them while all its calls are one row's.
pub fn add(sum: &mut Option<Times>, one: &Times) {
    let Some(sum) = sum else {
        *sum = Some(*one);
        return;
    };
    sum.percentiles = match (sum.exits, one.exits) {
        (_, 0) => sum.percentiles,
        (0, _) => one.percentiles,
        _ => None,
    };
    sum.exits = sum.exits.saturating_add(one.exits);
    sum.completions = match (sum.completions, one.completions) {
        (Some(mine), Some(theirs)) => Some(mine.plus(theirs)),
        (mine, theirs) => mine.or(theirs),
    };
    for (column, mine, theirs) in [
        (TimeColumn::InFlight, &mut sum.in_flight, one.in_flight),
        (TimeColumn::Exceptions, &mut sum.exceptions, one.exceptions),
        (TimeColumn::Total, &mut sum.total_ns, one.total_ns),
        (TimeColumn::Own, &mut sum.self_ns, one.self_ns),
        (TimeColumn::Max, &mut sum.max_ns, one.max_ns),
    ] {
        *mine = column.together(*mine, theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalogue::tests::small;
    use crate::model::dials::tests::times;
    use crate::model::list::tests::live;
    use redial_protocol::ids::RowId;

    #[test]
    fn times_are_entered_where_there_is_a_row_and_add_up_but_for_percentiles() {
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
        assert_eq!(
            (sums.exits, sums.exceptions, sums.in_flight, sums.total_ns, sums.self_ns),
            (2 * one.exits, 2 * one.exceptions, 2 * one.in_flight, 2 * one.total_ns, 2 * one.self_ns)
        );
    }

    #[test]
    fn that_a_dial_is_at_time_is_enough_to_have_columns() {
        let mut live = live(&small(), &[0], |_| 1);
        live.note_timed(Level::Count);
        assert!(!live.is_timed());
        live.note_timed(Level::Time);
        assert!(live.is_timed());
        live.clear();
        assert!(!live.is_timed(), "another process is looked at");
    }
}
