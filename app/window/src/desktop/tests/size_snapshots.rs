//! Pictures of every panel at the sizes of common windows, in both themes; compared as in `snapshots`.

use super::scenes::panels;
use super::sizes::SIZES;
use super::snapshots::compare;
use egui_kittest::SnapshotResults;

/// Compares the small size in the gate; all sizes under `cargo xtask soak`, and when the pictures are renewed.
#[test]
fn panels_look_the_same_at_every_size() {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let sizes = if is_set("REDIAL_SOAK") || is_set("UPDATE_SNAPSHOTS") { SIZES.len() } else { 1 };
    let mut results = SnapshotResults::new();
    for size in SIZES.into_iter().take(sizes) {
        for scene in panels() {
            let name = format!("sizes/{}_{}x{}", scene.name.replace(' ', "_"), size[0], size[1]);
            compare(&mut results, &name, |theme| (scene.build)(theme, size));
        }
    }
}
