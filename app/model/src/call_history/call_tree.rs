//! A tree of methods by their callers, with sums of the calls in each place.

/// Most nodes of a tree. Calls in further places count in one node for all of them.
pub const MAX_NODES: usize = 100_000;
/// The root: all calls without a traced caller are below it.
pub const ROOT: u32 = 0;
/// Stands for the methods of all places beyond [`MAX_NODES`].
pub const OTHER: u32 = u32::MAX;

/// What calls in one place of the tree took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSums {
    /// The number of calls.
    pub calls: u64,
    /// Of those, calls that an exception left.
    pub thrown: u64,
    /// Their durations in nanoseconds.
    pub total_ns: u64,
    /// Their durations without those of the calls below; for async calls, the time in which they ran.
    pub self_ns: u64,
}

impl CallSums {
    fn add(&mut self, other: CallSums) {
        self.calls = self.calls.saturating_add(other.calls);
        self.thrown = self.thrown.saturating_add(other.thrown);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
    }

    fn subtract(&mut self, other: CallSums) {
        self.calls = self.calls.saturating_sub(other.calls);
        self.thrown = self.thrown.saturating_sub(other.thrown);
        self.total_ns = self.total_ns.saturating_sub(other.total_ns);
        self.self_ns = self.self_ns.saturating_sub(other.self_ns);
    }
}

/// A method in one place of a tree. Async calls that had to wait have nodes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index of the method, or [`OTHER`].
    pub method: u32,
    /// Whether the calls left their thread while they waited.
    pub is_async: bool,
}

/// A node: a method below the same callers.
#[derive(Clone, Debug)]
pub struct CallNode {
    /// The method.
    pub place: Place,
    /// What its calls here took.
    pub sums: CallSums,
    /// The node above.
    pub parent: u32,
    /// The nodes below, by their places.
    children: Vec<(Place, u32)>,
}

impl CallNode {
    /// Returns the nodes below, in no particular order. Some may have no calls.
    pub fn children(&self) -> impl ExactSizeIterator<Item = u32> {
        self.children.iter().map(|(_, node)| *node)
    }
}

/// Whether sums are added or taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

/// A tree of methods. Nodes keep their numbers; those above have smaller ones.
#[derive(Clone, Debug)]
pub struct CallTree {
    nodes: Vec<CallNode>,
    limit: usize,
}

impl Default for CallTree {
    fn default() -> CallTree {
        CallTree::with_limit(MAX_NODES)
    }
}

impl CallTree {
    /// Returns an empty tree of at most `limit` nodes, and one for what does not fit.
    pub fn with_limit(limit: usize) -> CallTree {
        let root = CallNode {
            place: Place { method: OTHER, is_async: false },
            sums: CallSums::default(),
            parent: ROOT,
            children: Vec::new(),
        };
        CallTree { nodes: vec![root], limit }
    }

    /// Returns a node.
    pub fn node(&self, node: u32) -> Option<&CallNode> {
        self.nodes.get(node as usize)
    }

    /// Returns the number of nodes, the root included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether it has no node but the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// Returns whether some calls are not in their places, since there are too many of those.
    pub fn is_full(&self) -> bool {
        self.nodes.len() > self.limit
    }

    /// Returns the nodes above a node and itself, the outermost first; without the root.
    pub fn path(&self, node: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = node;
        while at != ROOT
            && let Some(node) = self.node(at)
        {
            path.push(at);
            at = node.parent;
        }
        path.reverse();
        path
    }

    /// Returns the node of a place below another one. Makes it if there is room, else returns the node for other methods.
    pub(super) fn child(&mut self, parent: u32, place: Place) -> u32 {
        let number = self.nodes.len() as u32;
        let is_full = self.nodes.len() >= self.limit;
        let Some(node) = self.nodes.get_mut(parent as usize) else { return ROOT };
        let at = node.children.binary_search_by_key(&place, |(place, _)| *place);
        let at = match at {
            Ok(at) => return node.children.get(at).map_or(ROOT, |(_, child)| *child),
            Err(at) => at,
        };
        let other = Place { method: OTHER, is_async: false };
        if is_full && place != other {
            return self.child(ROOT, other);
        }
        node.children.insert(at, (place, number));
        self.nodes.push(CallNode { place, sums: CallSums::default(), parent, children: Vec::new() });
        number
    }

    pub(super) fn change(&mut self, node: u32, sums: CallSums, sign: Sign) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            match sign {
                Sign::Plus => node.sums.add(sums),
                Sign::Minus => node.sums.subtract(sums),
            }
        }
    }

    /// Adds the calls of a branch below the root, or takes them back.
    pub(super) fn merge(&mut self, branch: &Branch, sign: Sign) {
        let mut left = vec![(branch.root, ROOT)];
        while let Some((from, parent)) = left.pop() {
            let Some(node) = branch.nodes.get(from as usize) else { continue };
            let to = self.child(parent, node.place);
            self.change(to, node.sums, sign);
            left.extend(node.children.iter().map(|(_, child)| (*child, to)));
        }
    }
}

/// One call and all below it, while its caller may still come: a small tree whose root changes.
#[derive(Debug)]
pub(super) struct Branch {
    nodes: Vec<BranchNode>,
    root: u32,
}

#[derive(Debug)]
struct BranchNode {
    place: Place,
    sums: CallSums,
    children: Vec<(Place, u32)>,
}

impl Branch {
    /// Returns a call with the calls below it.
    pub fn new(place: Place, sums: CallSums, mut below: Vec<Branch>) -> Branch {
        let largest = (0..below.len()).max_by_key(|index| below.get(*index).map_or(0, Branch::len));
        // The largest one is extended, so deep recursion is not copied at each level.
        let mut branch = match largest {
            Some(index) => below.swap_remove(index),
            None => Branch { nodes: Vec::new(), root: 0 },
        };
        let children: Vec<(Place, u32)> =
            branch.nodes.get(branch.root as usize).map(|top| (top.place, branch.root)).into_iter().collect();
        let root = branch.nodes.len() as u32;
        branch.nodes.push(BranchNode { place, sums, children });
        branch.root = root;
        for other in below {
            branch.graft(&other);
        }
        branch
    }

    /// Returns the number of its nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a call below a path of places, of which the first is this branch's root. Returns whether there was one.
    pub fn insert(&mut self, path: &[Place], sums: CallSums) -> bool {
        let mut path = path.iter();
        if self.nodes.get(self.root as usize).map(|top| top.place) != path.next().copied() {
            return false;
        }
        let node = path.fold(self.root, |node, place| self.child(node, *place));
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.sums.add(sums);
        }
        true
    }

    fn graft(&mut self, other: &Branch) {
        let mut left = vec![(other.root, self.root)];
        while let Some((from, parent)) = left.pop() {
            let Some(node) = other.nodes.get(from as usize) else { continue };
            let to = self.child(parent, node.place);
            if let Some(to) = self.nodes.get_mut(to as usize) {
                to.sums.add(node.sums);
            }
            left.extend(node.children.iter().map(|(_, child)| (*child, to)));
        }
    }

    fn child(&mut self, parent: u32, place: Place) -> u32 {
        let number = self.nodes.len() as u32;
        let Some(node) = self.nodes.get_mut(parent as usize) else { return number };
        match node.children.binary_search_by_key(&place, |(place, _)| *place) {
            Ok(at) => node.children.get(at).map_or(number, |(_, child)| *child),
            Err(at) => {
                node.children.insert(at, (place, number));
                self.nodes.push(BranchNode { place, sums: CallSums::default(), children: Vec::new() });
                number
            }
        }
    }
}
