//! The panel's own state: what is zoomed, expanded, searched and sorted, and the rows that follow from it.

use super::nodes::node_name;
use crate::ui::list::Scroll;
use crate::ui::scroll_bar::ScrollBar;
use redial_model::call_history::{CallHistory, CallSums, CallTree, ROOT, weights};
use redial_model::ids::ConnectionId;
use redial_protocol::ids::RowId;
use std::collections::HashSet;
use std::time::Duration;

/// The shortest time between two states of the tree.
const PACE: Duration = Duration::from_millis(500);
/// Zooms that *Back* remembers.
const MAX_HISTORY: usize = 100;
/// Levels of a tree that are expanded at first, as long as each has one node.
const MAX_UNFOLDED: usize = 40;

/// How the calls are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallsView {
    /// As rows.
    #[default]
    Tree,
    /// As bars.
    Flame,
    /// Callers, as counted without tracing.
    Callers,
}

/// A column of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CallColumn {
    /// The number of calls.
    Calls,
    /// Their durations.
    #[default]
    Total,
    /// Their durations without those of calls below.
    Own,
    /// Calls that an exception left.
    Thrown,
}

/// A row of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRow {
    /// Its node.
    pub node: u32,
    /// Number of rows above it.
    pub depth: usize,
    /// Whether there are calls below; whether those are shown.
    pub expanded: Option<bool>,
}

/// What decides the rows.
#[derive(Clone, Debug, Default, PartialEq)]
struct RowsKey {
    edition: u64,
    search: String,
    top: u32,
    column: CallColumn,
    expansions: u64,
}

/// The view's own state.
#[derive(Debug, Default)]
pub struct CallsState {
    connection: Option<ConnectionId>,
    /// Of several processes, the one that the user chose.
    pub process: Option<ConnectionId>,
    /// How the calls are shown.
    pub view: CallsView,
    /// The text of the search.
    pub search: String,
    /// The column that decides the order.
    pub column: CallColumn,
    /// Whether rows or bars had the focus in the last frame.
    pub has_focus: bool,
    pub(super) selected: Option<u32>,
    pub(super) scroll: Scroll,
    /// Vertical position of the flame graph, points.
    pub(super) offset: f32,
    /// That of the flame graph.
    pub(super) scroll_bar: ScrollBar,
    /// The pointer is over the rows, so they keep their places.
    pub(super) held: bool,
    expanded: HashSet<u32>,
    expansions: u64,
    /// Nodes that had the whole width, and where in them *Back* is.
    visited: Vec<u32>,
    at: usize,
    refreshed: Option<Duration>,
    key: RowsKey,
    weights: Vec<u64>,
    rows: Vec<CallRow>,
    matching: HashSet<u32>,
}

impl CallsState {
    /// Begins again when another process is shown.
    pub fn look_at(&mut self, connection: ConnectionId) {
        if self.connection != Some(connection) {
            let CallsState { process, view, column, .. } = *self;
            *self =
                CallsState { connection: Some(connection), process, view, column, ..CallsState::default() };
        }
    }

    /// Forgets what refers to a tree that was cleared.
    pub fn clear(&mut self) {
        self.connection = None;
    }

    /// Brings the rows up to date; the tree at most twice a second. Returns when to come back.
    pub fn refresh(&mut self, history: &mut CallHistory, now: Duration) -> Option<Duration> {
        let due = self.refreshed.map(|at| at + PACE).filter(|due| *due > now);
        let is_old = self.key.edition != history.nesting().edition();
        if is_old && due.is_none() && !self.held {
            history.refreshed_tree();
            self.weights = weights(history.tree());
            (self.refreshed, self.key.edition) = (Some(now), history.nesting().edition());
            self.unfold(history.tree());
            self.find_rows(history);
        } else if self.key != self.current_key() {
            self.find_rows(history);
        }
        due.filter(|_| is_old).map(|due| due.saturating_sub(now)).or(is_old.then_some(PACE))
    }

    fn current_key(&self) -> RowsKey {
        RowsKey {
            edition: self.key.edition,
            search: self.search.clone(),
            top: self.top(),
            column: self.column,
            expansions: self.expansions,
        }
    }

    /// Expands the levels that have a single node, until the user expands or collapses one. Callers end after the calls that
    /// they make, so they may join the tree later.
    fn unfold(&mut self, tree: &CallTree) {
        let mut node = ROOT;
        if self.expansions > 0 {
            return;
        }
        for _ in 0..MAX_UNFOLDED {
            let children: Vec<u32> = self.children(tree, node);
            let [only] = children[..] else { break };
            self.expanded.insert(only);
            node = only;
        }
    }

    /// Returns the nodes below that have calls, in the order of the column.
    fn children(&self, tree: &CallTree, node: u32) -> Vec<u32> {
        let sums = |node: &u32| tree.node(*node).map_or(CallSums::default(), |node| node.sums);
        let mut children: Vec<u32> = tree.node(node).into_iter().flat_map(|node| node.children()).collect();
        children.retain(|child| sums(child).calls > 0 || self.weight(*child) > 0);
        children.sort_by_key(|child| {
            let sums = sums(child);
            let number = match self.column {
                CallColumn::Calls => sums.calls,
                CallColumn::Total => sums.total_ns,
                CallColumn::Own => sums.self_ns,
                CallColumn::Thrown => sums.thrown,
            };
            (std::cmp::Reverse(number), *child)
        });
        children
    }

    fn find_rows(&mut self, history: &CallHistory) {
        self.key = self.current_key();
        let tree = history.tree();
        let words: Vec<String> = self.search.split_whitespace().map(str::to_lowercase).collect();
        self.matching.clear();
        let mut above = HashSet::new();
        if !words.is_empty() {
            for node in 1..tree.len() as u32 {
                let name = node_name(history, node).to_lowercase();
                let has_calls = tree.node(node).is_some_and(|node| node.sums.calls > 0);
                if has_calls && words.iter().all(|word| name.contains(word.as_str())) {
                    self.matching.insert(node);
                    above.extend(tree.path(node));
                }
            }
        }
        let mut rows = Vec::new();
        let top = self.top();
        let first = if top == ROOT { self.children(tree, ROOT) } else { vec![top] };
        let mut left: Vec<(u32, usize)> = first.into_iter().rev().map(|node| (node, 0)).collect();
        while let Some((node, depth)) = left.pop() {
            if !words.is_empty() && !above.contains(&node) {
                continue;
            }
            let children = self.children(tree, node);
            // What leads to a match is expanded.
            let leads = children.iter().any(|child| above.contains(child));
            let is_open = leads || self.expanded.contains(&node) != (top != ROOT && node == top);
            rows.push(CallRow { node, depth, expanded: (!children.is_empty()).then_some(is_open) });
            if is_open {
                left.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
            }
        }
        self.rows = rows;
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[CallRow] {
        &self.rows
    }

    /// Returns the time below each node.
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// Returns the time that a node's bar stands for.
    pub fn weight(&self, node: u32) -> u64 {
        self.weights.get(node as usize).copied().unwrap_or(0)
    }

    /// Returns the number of calls in the tree.
    pub fn calls(&self) -> u64 {
        self.key.edition
    }

    /// Returns whether methods are searched.
    pub fn has_search(&self) -> bool {
        !self.search.trim().is_empty()
    }

    /// Returns whether a node has a searched method.
    pub fn is_match(&self, node: u32) -> bool {
        self.matching.contains(&node)
    }

    /// Returns the number of nodes with a searched method.
    pub fn matches(&self) -> usize {
        self.matching.len()
    }

    /// Expands or collapses a node.
    pub fn toggle(&mut self, node: u32) {
        if !self.expanded.remove(&node) {
            self.expanded.insert(node);
        }
        self.expansions += 1;
    }

    /// Returns the node that has the whole width.
    pub fn top(&self) -> u32 {
        self.at.checked_sub(1).and_then(|at| self.visited.get(at)).copied().unwrap_or(ROOT)
    }

    /// Gives a node the whole width.
    pub fn zoom(&mut self, node: u32) {
        if node == self.top() {
            return;
        }
        self.visited.truncate(self.at);
        self.visited.push(node);
        if self.visited.len() > MAX_HISTORY {
            self.visited.remove(0);
        }
        self.at = self.visited.len();
        (self.offset, self.scroll) = (0.0, Scroll::default());
    }

    /// Returns whether there is an earlier zoom.
    pub fn can_go_back(&self) -> bool {
        self.at > 0
    }

    /// Returns whether there is a zoom that *Back* left.
    pub fn can_go_forward(&self) -> bool {
        self.at < self.visited.len()
    }

    /// Returns to the zoom before.
    pub fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Goes to the zoom that *Back* left.
    pub fn forward(&mut self) {
        self.at = (self.at + 1).min(self.visited.len());
    }

    /// Returns the row of the selected node's method.
    pub fn selected_row(&self, history: &CallHistory) -> Option<RowId> {
        let node = history.tree().node(self.selected?)?;
        history.method(node.place.method).map(|method| method.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::call_history::{EndedCall, Nesting, Place};

    fn call(method: u32, depth: u32, start: i64, end: i64) -> EndedCall {
        EndedCall {
            place: Place { method, is_async: false },
            number: end as u64,
            thread: 1,
            depth,
            start,
            duration_ns: (end - start) as u64,
            running_ns: 0,
            threw: false,
        }
    }

    #[test]
    fn single_nodes_unfold_until_the_user_toggles_one() {
        let (mut state, mut nesting) = (CallsState::default(), Nesting::default());
        let mut unfolded = |state: &mut CallsState, ended: EndedCall| {
            nesting.add(ended);
            nesting.refresh();
            let tree = nesting.tree();
            state.unfold(tree);
            let methods = state.expanded.iter().filter_map(|node| Some(tree.node(*node)?.place.method));
            methods.collect::<HashSet<u32>>()
        };
        assert_eq!(unfolded(&mut state, call(3, 2, 10, 20)), HashSet::from([3]));
        assert_eq!(unfolded(&mut state, call(2, 1, 5, 30)), HashSet::from([3, 2]));
        assert_eq!(unfolded(&mut state, call(1, 0, 0, 40)), HashSet::from([3, 2, 1]));
        state.toggle(1);
        let toggled = state.expanded.clone();
        unfolded(&mut state, call(4, 0, 50, 60));
        assert_eq!(state.expanded, toggled);
    }

    #[test]
    fn back_and_forward_follow_the_zooms() {
        let mut state = CallsState::default();
        assert!(!state.can_go_back() && state.top() == ROOT);
        state.zoom(5);
        state.zoom(7);
        state.zoom(7);
        state.back();
        assert_eq!((state.top(), state.can_go_forward()), (5, true));
        state.back();
        assert_eq!((state.top(), state.can_go_back()), (ROOT, false));
        state.forward();
        assert_eq!(state.top(), 5);
        state.zoom(9);
        assert!(!state.can_go_forward());
        state.back();
        assert_eq!(state.top(), 5);
        (10..500).for_each(|node| state.zoom(node));
        assert!(state.visited.len() <= MAX_HISTORY);
    }
}
