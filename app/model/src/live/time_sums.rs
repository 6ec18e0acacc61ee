//! Sums of times over several rows.

use redial_protocol::times::Times;
use redial_text::times::TimeColumn;

/// Adds the times of one row to a sum. Percentiles do not add up: a sum has them only while all its calls
/// belong to one row. Nor has a sum a longest call if that of a part is unknown.
pub fn add(sum: &mut Option<Times>, one: &Times) {
    let Some(sum) = sum else {
        *sum = Some(*one);
        return;
    };
    let before = *sum;
    sum.percentiles = match (sum.exits, one.exits) {
        (_, 0) => sum.percentiles,
        (0, _) => one.percentiles,
        _ => None,
    };
    let knows_longest = has_longest(&before) && has_longest(one);
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
    if !knows_longest {
        sum.max_ns = 0;
    }
}

fn has_longest(times: &Times) -> bool {
    times.exits == 0 || TimeColumn::Max.number(times).is_some()
}
