//! Pictures of every panel at the sizes of common windows, in both themes; compared as in `snapshots`.

use super::scenes::panels;
use super::snapshots::compare;
use egui_kittest::SnapshotResults;

fn pictures(size: [f32; 2]) {
    let mut results = SnapshotResults::new();
    for scene in panels() {
        let name = format!("sizes/{}_{}x{}", scene.name.replace(' ', "_"), size[0], size[1]);
        compare(&mut results, &name, |theme| (scene.build)(theme, size));
    }
}

#[test]
fn panels_look_the_same_in_a_small_window() {
    pictures([1_024.0, 700.0]);
}

#[test]
fn panels_look_the_same_in_a_usual_window() {
    pictures([1_600.0, 1_000.0]);
}

#[test]
fn panels_look_the_same_in_a_large_window() {
    pictures([2_560.0, 1_440.0]);
}
