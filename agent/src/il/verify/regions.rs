//! Try regions, filters and handlers as a tree.

use super::super::maxstack::Depths;
use super::super::{Body, ClauseKind, Label};
use super::violation::Violation;

/// Kind of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Try,
    Filter,
    /// The handler of a catch or filter clause.
    Catch,
    /// The handler of a finally or fault clause.
    Finally,
}

/// One region. Clauses that share a try region share its node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) kind: Kind,
    pub(super) start: Label,
    pub(super) end: Label,
    /// Clause of the region; for a shared try region, the last one.
    pub(super) clause: u32,
    /// First clause of a shared try region.
    first_clause: u32,
    pub(super) parent: Option<usize>,
    /// Number of enclosing regions.
    level: u32,
}

/// The tree, and the innermost region of each instruction.
pub(super) struct Regions {
    nodes: Vec<Region>,
    innermost: Vec<Option<usize>>,
    /// Try region of each clause.
    try_of: Vec<Option<usize>>,
}

impl Regions {
    pub(super) fn of(body: &Body) -> Result<Regions, Violation> {
        let mut list = list(body)?;
        // Outer regions first; the order of equal ones does not matter.
        list.sort_by_key(|region| (region.start, std::cmp::Reverse(region.end)));
        let mut regions = Regions {
            nodes: Vec::with_capacity(list.len()),
            innermost: vec![None; body.instructions.len()],
            try_of: vec![None; body.clauses.len()],
        };
        for region in list {
            regions.add(region)?;
        }
        regions.fill();
        regions.check_handlers()?;
        Ok(regions)
    }

    /// Adds a region that starts at or after all earlier ones.
    fn add(&mut self, mut region: Region) -> Result<(), Violation> {
        let mut parent = self.nodes.len().checked_sub(1);
        while let Some(node) = parent.and_then(|index| self.nodes.get_mut(index)) {
            if node.end <= region.start {
                parent = node.parent;
                continue;
            }
            let same_bounds = (node.start, node.end) == (region.start, region.end);
            if same_bounds && node.kind == Kind::Try && region.kind == Kind::Try {
                node.first_clause = node.first_clause.min(region.clause);
                node.clause = node.clause.max(region.clause);
                self.note_try(region.clause, parent);
                return Ok(());
            }
            if node.end < region.end || same_bounds {
                return Err(Violation::Overlap { first: node.clause, second: region.clause });
            }
            break;
        }
        region.parent = parent;
        region.level = parent.and_then(|parent| self.node(parent)).map_or(0, |parent| parent.level + 1);
        if region.kind == Kind::Try {
            self.note_try(region.clause, Some(self.nodes.len()));
        }
        self.nodes.push(region);
        Ok(())
    }

    fn note_try(&mut self, clause: u32, node: Option<usize>) {
        if let Some(entry) = self.try_of.get_mut(clause as usize) {
            *entry = node;
        }
    }

    /// Computes the innermost regions in time proportional to instructions plus regions.
    fn fill(&mut self) {
        let mut open: Vec<(usize, Label)> = Vec::new();
        let mut nodes = self.nodes.iter().enumerate().peekable();
        for (index, entry) in self.innermost.iter_mut().enumerate() {
            let here = Label(index as u32);
            while open.last().is_some_and(|(_, end)| *end <= here) {
                open.pop();
            }
            while let Some((number, node)) = nodes.next_if(|(_, node)| node.start <= here) {
                open.push((number, node.end));
            }
            *entry = open.last().map(|(number, _)| *number);
        }
    }

    /// Checks that a clause's try and handler are in the same region, and that inner clauses come first.
    fn check_handlers(&self) -> Result<(), Violation> {
        for node in &self.nodes {
            if node.kind == Kind::Try {
                let mut outer = node.parent.and_then(|parent| self.node(parent));
                while let Some(enclosing) = outer {
                    if enclosing.kind == Kind::Try && enclosing.first_clause < node.clause {
                        return Err(Violation::ClauseOrder {
                            outer: enclosing.first_clause,
                            inner: node.clause,
                        });
                    }
                    // Only the nearest enclosing try region matters: outer ones are compared with it.
                    outer = match enclosing.kind {
                        Kind::Try => None,
                        _ => enclosing.parent.and_then(|parent| self.node(parent)),
                    };
                }
                continue;
            }
            let guarded = self.try_of.get(node.clause as usize).copied().flatten();
            if guarded.and_then(|guarded| self.node(guarded)).map(|guarded| guarded.parent)
                != Some(node.parent)
            {
                return Err(Violation::HandlerElsewhere { clause: node.clause });
            }
        }
        Ok(())
    }

    /// Checks that every try region is entered with an empty stack.
    pub(super) fn check_entry_depths(&self, depths: &Depths) -> Result<(), Violation> {
        for node in self.nodes.iter().filter(|node| node.kind == Kind::Try) {
            match depths.before.get(node.start.0 as usize) {
                Some(Some(depth)) if *depth != 0 => {
                    return Err(Violation::TryStack { at: node.start, depth: *depth });
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn node(&self, index: usize) -> Option<&Region> {
        self.nodes.get(index)
    }

    /// Returns the innermost region of an instruction.
    pub(super) fn innermost(&self, at: Label) -> Option<usize> {
        self.innermost.get(at.0 as usize).copied().flatten()
    }

    /// Iterates over a region and its enclosing regions, from the inside out.
    pub(super) fn outwards(&self, from: Option<usize>) -> impl Iterator<Item = (usize, &Region)> {
        let with_node = |index: usize| self.node(index).map(|node| (index, node));
        std::iter::successors(from.and_then(with_node), move |(_, node)| node.parent.and_then(with_node))
    }

    /// Returns the innermost region that contains both.
    pub(super) fn common(&self, mut one: Option<usize>, mut other: Option<usize>) -> Option<usize> {
        while one != other {
            let level =
                |index: Option<usize>| index.and_then(|index| self.node(index)).map(|node| node.level);
            if level(one) >= level(other) {
                one = one.and_then(|index| self.node(index)).and_then(|node| node.parent);
            } else {
                other = other.and_then(|index| self.node(index)).and_then(|node| node.parent);
            }
        }
        one
    }

    /// Returns the try region of a clause.
    pub(super) fn try_of(&self, clause: u32) -> Option<usize> {
        self.try_of.get(clause as usize).copied().flatten()
    }
}

fn list(body: &Body) -> Result<Vec<Region>, Violation> {
    let mut list = Vec::with_capacity(2 * body.clauses.len());
    for (number, clause) in body.clauses.iter().enumerate() {
        let number = number as u32;
        let mut add = |kind, start: Label, end: Label, region| {
            if start >= end {
                return Err(Violation::EmptyRegion { clause: number, region });
            }
            list.push(Region {
                kind,
                start,
                end,
                clause: number,
                first_clause: number,
                parent: None,
                level: 0,
            });
            Ok(())
        };
        add(Kind::Try, clause.try_region.start, clause.try_region.end, "try region")?;
        let kind = match clause.kind {
            ClauseKind::Catch { .. } => Kind::Catch,
            ClauseKind::Filter { start } => {
                add(Kind::Filter, start, clause.handler.start, "filter")?;
                Kind::Catch
            }
            ClauseKind::Finally { .. } | ClauseKind::Fault { .. } => Kind::Finally,
        };
        add(kind, clause.handler.start, clause.handler.end, "handler")?;
    }
    Ok(list)
}
