//! The columns of the methods: how wide each is, and which go when there is little room.

use eframe::egui::{Rangef, Rect};

/// Room a name keeps while other columns can go.
const NAME: f32 = 190.0;
/// Room for what stands before names where several processes have a row each: more than a process id.
pub const PLACE: f32 = 90.0;

/// Where the columns stand.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// The knob.
    pub knob: Rangef,
    /// The name.
    pub name: Rangef,
    /// The state.
    pub state: Rangef,
    /// Calls.
    pub calls: Rangef,
    /// Calls a second.
    pub rate: Rangef,
    /// The sparkline.
    pub spark: Rangef,
}

impl Columns {
    /// The columns of a table of that width. In a narrow one the name keeps its room and that of what stands before it,
    /// and others go: first the sparkline, then the state (the knob shows it too), then the rate.
    pub fn of(rect: Rect, before: f32) -> Columns {
        let knob = Rangef::new(rect.left(), rect.left() + 40.0);
        let mut widths = [("spark", 96.0_f32), ("state", 108.0), ("rate", 88.0), ("calls", 104.0)];
        for index in 0..widths.len() {
            let taken: f32 = widths.iter().map(|(_, width)| width).sum();
            if rect.width() - knob.span() - taken >= NAME + before {
                break;
            }
            widths[index].1 = 0.0;
        }
        let mut right = rect.right();
        let mut column = |name: &str| {
            let width = widths.iter().find(|(one, _)| *one == name).map_or(0.0, |(_, width)| *width);
            right -= width;
            Rangef::new(right, right + width)
        };
        let (spark, rate, calls, state) = (column("spark"), column("rate"), column("calls"), column("state"));
        Columns { knob, name: Rangef::new(knob.max, right.max(knob.max)), state, calls, rate, spark }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{pos2, vec2};

    #[test]
    fn in_a_narrow_table_the_name_keeps_its_room() {
        for (width, gone) in [(760.0, 0), (600.0, 1), (500.0, 2), (400.0, 3), (300.0, 4)] {
            let columns = Columns::of(Rect::from_min_size(pos2(10.0, 0.0), vec2(width, 100.0)), 0.0);
            let all = [columns.spark, columns.state, columns.rate, columns.calls];
            assert_eq!(all.iter().filter(|column| column.span() == 0.0).count(), gone, "{width}");
            assert!(columns.name.span() >= NAME, "{width}");
            let place = Columns::of(Rect::from_min_size(pos2(10.0, 0.0), vec2(width + PLACE, 100.0)), PLACE);
            assert_eq!(
                place.name.span(),
                columns.name.span() + PLACE,
                "{width}: what stands before it has room of its own"
            );
            assert!(all.iter().all(|column| column.min >= columns.name.max && column.max <= 10.0 + width));
        }
    }
}
