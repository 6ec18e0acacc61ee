//! Points of the lines, and their colours.

use super::chart::Chart;
use eframe::egui::{Color32, Ui};
use redial_model::charts::ChartSeries;
use std::ops::RangeInclusive;

/// Most points of a line. Of more, the highest ones are shown.
const MAX_POINTS: usize = 1_000;
/// Seconds without a sample that break a line.
const GAP: f64 = 5.0;

const DARK: [Color32; 8] = [
    Color32::from_rgb(0x62, 0xb8, 0xff),
    Color32::from_rgb(0xf2, 0xb8, 0x4b),
    Color32::from_rgb(0x57, 0xd9, 0x9a),
    Color32::from_rgb(0xd5, 0xa3, 0xff),
    Color32::from_rgb(0xff, 0x91, 0x85),
    Color32::from_rgb(0x5f, 0xd3, 0xd6),
    Color32::from_rgb(0xec, 0x8f, 0xc8),
    Color32::from_rgb(0xbf, 0xc9, 0x5d),
];
const LIGHT: [Color32; 8] = [
    Color32::from_rgb(0x00, 0x54, 0x99),
    Color32::from_rgb(0x7a, 0x49, 0x00),
    Color32::from_rgb(0x0b, 0x5f, 0x38),
    Color32::from_rgb(0x5b, 0x2a, 0x91),
    Color32::from_rgb(0xa1, 0x1d, 0x16),
    Color32::from_rgb(0x00, 0x61, 0x6b),
    Color32::from_rgb(0x8a, 0x2a, 0x6a),
    Color32::from_rgb(0x4f, 0x5a, 0x00),
];

/// Returns the colour of a line.
pub fn colour(ui: &Ui, index: usize) -> Color32 {
    let colours = if ui.visuals().dark_mode { &DARK } else { &LIGHT };
    colours.get(index % colours.len()).copied().unwrap_or_default()
}

/// A part of a line without gaps, and whether it is dashed.
pub type Segment = (Vec<[f64; 2]>, bool);

/// Returns the lines of a method within the visible seconds.
pub fn segments(series: &ChartSeries, chart: Chart, visible: Option<RangeInclusive<f64>>) -> Vec<Segment> {
    let at = |unix_ms: u64| unix_ms as f64 / 1e3;
    let is_shown = |seconds: f64| {
        let around = visible.as_ref().map(|range| range.start() - GAP..=range.end() + GAP);
        around.is_none_or(|range| range.contains(&seconds))
    };
    let samples = || series.samples().filter(|sample| is_shown(at(sample.unix_ms)));
    let durations = || series.durations().filter(|sample| is_shown(at(sample.unix_ms)));
    match chart {
        Chart::Rate => parts(samples().map(|sample| (at(sample.unix_ms), sample.rate)), false),
        Chart::Exceptions => parts(samples().map(|sample| (at(sample.unix_ms), sample.exceptions)), false),
        Chart::Duration => {
            let p50 = parts(durations().map(|one| (at(one.unix_ms), Some(one.p50_ns))), true);
            let p99 = parts(durations().map(|one| (at(one.unix_ms), Some(one.p99_ns))), false);
            p50.into_iter().chain(p99).collect()
        }
    }
}

fn parts(points: impl Iterator<Item = (f64, Option<f64>)>, is_dashed: bool) -> Vec<Segment> {
    let mut parts: Vec<Vec<[f64; 2]>> = vec![Vec::new()];
    for (at, value) in points {
        let Some(value) = value else {
            parts.push(Vec::new());
            continue;
        };
        let last = parts.last_mut().filter(|part| part.last().is_none_or(|[before, _]| at - before <= GAP));
        match last {
            Some(part) => part.push([at, value]),
            None => parts.push(vec![[at, value]]),
        }
    }
    let all: usize = parts.iter().map(Vec::len).sum();
    let each = all.div_ceil(MAX_POINTS).max(1);
    let thin = |part: Vec<[f64; 2]>| {
        let highest =
            |chunk: &[[f64; 2]]| chunk.iter().copied().max_by(|one, other| one[1].total_cmp(&other[1]));
        if each == 1 { part } else { part.chunks(each).filter_map(highest).collect() }
    };
    parts.into_iter().filter(|part| !part.is_empty()).map(|part| (thin(part), is_dashed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_where_nothing_is_known() {
        let points = [(1.0, Some(5.0)), (2.0, Some(6.0)), (3.0, None), (4.0, Some(7.0)), (60.0, Some(8.0))];
        let found = parts(points.into_iter(), true);
        let expected = [vec![[1.0, 5.0], [2.0, 6.0]], vec![[4.0, 7.0]], vec![[60.0, 8.0]]];
        assert_eq!(found, expected.map(|part| (part, true)));
    }

    #[test]
    fn many_points_keep_their_peaks() {
        let points =
            (0..3_600).map(|second| (f64::from(second), Some(if second == 1_234 { 99.0 } else { 1.0 })));
        let found = parts(points, false);
        assert!(found.len() == 1 && found[0].0.len() <= MAX_POINTS, "{}", found[0].0.len());
        assert!(found[0].0.contains(&[1_234.0, 99.0]));
    }
}
