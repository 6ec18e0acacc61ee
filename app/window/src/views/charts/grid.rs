//! Marks of an axis of numbers: at least one above zero has a label, however low the chart is.

use egui_plot::GridMark;

/// Least distance of marks, points.
pub const LEAST_STEP: f32 = 15.0;
/// Distance that the plot's base step stands for, points (`egui_plot`'s default).
const BASE: f64 = 8.0;
/// Distance of marks from the upper end, where their labels would run into the chart above, points.
const MARGIN: f64 = 6.0;
/// More marks than any screen shows.
const MAX_MARKS: usize = 200;

/// Returns marks at round numbers within the bounds. `base_step` is the number that [`BASE`] points stand for.
pub fn marks((from, to): (f64, f64), base_step: f64) -> Vec<GridMark> {
    let step = round_step(base_step * f64::from(LEAST_STEP) / BASE);
    if !(step.is_normal() && from.is_finite() && to.is_finite()) {
        return Vec::new();
    }
    let first = (from / step).ceil();
    let values = (0..MAX_MARKS).map(|number| (first + number as f64) * step);
    let last = to - base_step * MARGIN / BASE;
    values.take_while(|value| *value <= last).map(|value| GridMark { value, step_size: step }).collect()
}

/// Returns the least of 1, 2, 2.5, 5, 10, 20, … (and 0.5, 0.25, …) that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(bounds: (f64, f64), height: f64) -> Vec<f64> {
        let base_step = (bounds.1 - bounds.0) / height * BASE;
        marks(bounds, base_step).into_iter().map(|mark| mark.value).collect()
    }

    #[test]
    fn low_charts_have_a_mark_above_zero() {
        assert_eq!(values((0.0, 369_000.0), 44.0), [0.0, 200_000.0]);
        assert_eq!(values((0.0, 3_200.0), 44.0), [0.0, 2_000.0]);
        assert_eq!(values((0.0, 3_200.0), 120.0), [0.0, 500.0, 1_000.0, 1_500.0, 2_000.0, 2_500.0, 3_000.0]);
        assert_eq!(values((-0.05, 1.05), 44.0), [0.0, 0.5]);
        for maximum in 1..2_000 {
            let marks = values((0.0, f64::from(maximum) / 7.0), 40.0);
            assert!((2..=3).contains(&marks.len()), "{maximum}: {marks:?}");
        }
    }

    #[test]
    fn impossible_bounds_have_no_marks() {
        for (bounds, base_step) in [
            ((0.0, f64::NAN), 1.0),
            ((0.0, 1.0), 0.0),
            ((f64::NEG_INFINITY, 0.0), 1.0),
            ((0.0, 1.0), f64::NAN),
        ] {
            assert_eq!(marks(bounds, base_step), []);
        }
        assert_eq!(marks((0.0, 1e300), 1.0).len(), MAX_MARKS);
    }
}
