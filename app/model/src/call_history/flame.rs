//! The rows of a flame graph: a bar for each node of a call tree, as wide as the time below it.

use super::call_tree::{CallTree, ROOT};

/// A bar of a flame graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlameBar {
    /// Its node; for several narrow ones, the first.
    pub node: u32,
    /// Its left side as a share of the width.
    pub left: f64,
    /// Its width as a share of the width.
    pub width: f64,
    /// The number of nodes in it: more than one where each is too narrow to be seen.
    pub count: u32,
}

/// The rows of a flame graph, the outermost calls first.
pub type FlameRows = Vec<Vec<FlameBar>>;

/// Returns the time that each node's bar stands for: its own time and that of all below it, in nanoseconds.
pub fn weights(tree: &CallTree) -> Vec<u64> {
    let mut weights = vec![0_u64; tree.len()];
    // Nodes above have smaller numbers.
    for number in (0..tree.len() as u32).rev() {
        let Some(node) = tree.node(number) else { continue };
        let own = if number == ROOT { 0 } else { node.sums.self_ns };
        let Some(weight) = weights.get_mut(number as usize) else { continue };
        *weight = weight.saturating_add(own);
        let weight = *weight;
        if number != ROOT
            && let Some(above) = weights.get_mut(node.parent as usize)
        {
            *above = above.saturating_add(weight);
        }
    }
    weights
}

/// Returns the rows of the tree below `top`, which has the whole width. Bars narrower than `narrowest` (a share of the width)
/// stand together, and nothing below them is shown.
pub fn flame_rows(tree: &CallTree, weights: &[u64], top: u32, narrowest: f64) -> FlameRows {
    let weight = |node: u32| weights.get(node as usize).copied().unwrap_or(0);
    let whole = weight(top).max(1) as f64;
    let mut rows: FlameRows = Vec::new();
    let mut level: Vec<(u32, f64)> = vec![(top, 0.0)];
    if top != ROOT {
        rows.push(vec![FlameBar { node: top, left: 0.0, width: 1.0, count: 1 }]);
    }
    while !level.is_empty() {
        let mut row: Vec<FlameBar> = Vec::new();
        let mut next = Vec::new();
        for (parent, left) in level {
            let Some(node) = tree.node(parent) else { continue };
            let mut children: Vec<(u64, u32)> = node
                .children()
                .map(|child| (weight(child), child))
                .filter(|(weight, _)| *weight > 0)
                .collect();
            children.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
            let mut left = left;
            let mut rest: Option<FlameBar> = None;
            for (weight, child) in children {
                let width = weight as f64 / whole;
                if width >= narrowest {
                    row.push(FlameBar { node: child, left, width, count: 1 });
                    next.push((child, left));
                } else {
                    let rest = rest.get_or_insert(FlameBar { node: child, left, width: 0.0, count: 0 });
                    rest.width += width;
                    rest.count += 1;
                }
                left += width;
            }
            row.extend(rest.filter(|rest| rest.width >= narrowest));
        }
        if !row.is_empty() {
            rows.push(row);
        }
        level = next;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::call_tree::Place;
    use super::super::nesting::{EndedCall, Nesting};
    use super::*;

    fn tree() -> CallTree {
        let mut nesting = Nesting::default();
        let call = |method, depth, start: i64, end: i64| EndedCall {
            place: Place { method, is_async: false },
            number: 0,
            thread: 1,
            depth,
            start,
            duration_ns: (end - start) as u64,
            running_ns: 0,
            threw: false,
        };
        for one in [
            call(3, 2, 10, 30),
            call(2, 1, 0, 60),
            call(4, 1, 60, 62),
            call(5, 1, 62, 63),
            call(1, 0, 0, 100),
        ] {
            nesting.add(one);
        }
        nesting.add(call(6, 0, 200, 300));
        nesting.tree().clone()
    }

    #[test]
    fn bars_are_as_wide_as_their_time_and_stand_below_their_callers() {
        let tree = tree();
        let weights = weights(&tree);
        assert_eq!(weights[0], 200);
        let rows = flame_rows(&tree, &weights, ROOT, 0.02);
        let shown = |row: usize| {
            let bars = rows[row].iter();
            bars.map(|bar| {
                let method = tree.node(bar.node).map(|node| node.place.method);
                (method, (bar.left * 200.0).round(), (bar.width * 200.0).round(), bar.count)
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(shown(0), [(Some(1), 0.0, 100.0, 1), (Some(6), 100.0, 100.0, 1)]);
        assert_eq!(shown(1), [(Some(2), 0.0, 60.0, 1)], "two narrow ones are too narrow even together");
        assert_eq!(shown(2), [(Some(3), 0.0, 20.0, 1)]);
        assert_eq!(rows.len(), 3);
        let finer = flame_rows(&tree, &weights, ROOT, 0.012);
        assert_eq!(finer[1].last().map(|bar| bar.count), Some(2));
    }

    #[test]
    fn a_zoomed_node_has_the_whole_width() {
        let tree = tree();
        let weights = weights(&tree);
        let node = |method| {
            (1..tree.len() as u32).find(|node| tree.node(*node).is_some_and(|one| one.place.method == method))
        };
        let two = node(2).expect("method 2");
        let rows = flame_rows(&tree, &weights, two, 0.001);
        assert_eq!((rows.len(), rows[0][0].width), (2, 1.0));
        assert!((rows[1][0].width - 20.0 / 60.0).abs() < 1e-9);
    }
}
