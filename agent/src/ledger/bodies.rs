//! The bodies passed to the CLR for a row, and the instances compiled from them.
#![forbid(unsafe_code)]

use redial_protocol::ids::InstanceId;
use redial_protocol::message::Instance;
use redial_protocol::state::CopyState;
use std::time::Instant;

/// Limit of instances listed per copy; a generic method in a large program may have thousands.
const MAX_INSTANCES: usize = 256;
/// Limit of instances among them that are no longer called, once there are new ones: a dial may be turned a
/// thousand times.
const MAX_STALE: usize = 4;

/// A compiled instance with an instrumented body.
#[derive(Clone, Debug)]
pub struct CompiledInstance {
    /// (FunctionID, ReJITID).
    pub id: InstanceId,
    /// The number of the body it was compiled from.
    pub version: u32,
    /// `Asked` while compiling, then live, off or failed.
    pub state: CopyState,
    /// Compilations started and not finished, by thread: tiers and on-stack replacement may overlap.
    pub open: Vec<OpenCompilation>,
}

/// A compilation that has started and not finished.
#[derive(Clone, Copy, Debug)]
pub struct OpenCompilation {
    /// Its thread.
    pub thread: ThreadMark,
    /// Its start.
    pub since: Instant,
    /// The thread has started it once more since.
    pub restarted: bool,
}

/// Identifies a live thread.
pub type ThreadMark = usize;

/// Whether the CLR has got the body of the last request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BodyDelivery {
    /// Not yet, or there is no request.
    #[default]
    Due,
    /// It has got it.
    Done,
    /// It has got it, and will get the same body again: the agent requests the row once more, to undo its own
    /// inlining of others.
    DueAgain,
}

/// The bodies passed to the CLR for a row, and the instances compiled from them.
#[derive(Default)]
pub struct Bodies {
    /// Number of bodies passed to the CLR so far.
    number: u32,
    delivery: BodyDelivery,
    /// Compiled instances.
    instances: Vec<CompiledInstance>,
    /// The largest ReJITID of a body that was turned off. ReJITIDs grow, so a later compilation of it is known to
    /// be old.
    retired_rejit_id: u64,
}

impl Bodies {
    /// Returns the number of the newest body.
    pub fn newest(&self) -> u32 {
        self.number
    }

    /// Returns the compiled instances.
    pub fn instances(&self) -> &[CompiledInstance] {
        &self.instances
    }

    /// Returns the compiled instances for the wire.
    pub fn shown_instances(&self) -> Vec<Instance> {
        self.instances.iter().map(|c| Instance { id: c.id, state: c.state }).collect()
    }

    /// Whether the CLR has got the body of the last request.
    pub fn is_delivered(&self) -> bool {
        self.delivery != BodyDelivery::Due
    }

    /// Expects the CLR to ask for a new body.
    pub fn expect(&mut self) {
        self.delivery = BodyDelivery::Due;
    }

    /// Expects the CLR to ask for the same body again, if it has got it.
    pub(super) fn expect_again(&mut self) {
        if self.is_delivered() {
            self.delivery = BodyDelivery::DueAgain;
        }
    }

    /// Records that the CLR asked for the body. Returns whether the agent expected that.
    pub(super) fn deliver(&mut self) -> bool {
        let before = std::mem::replace(&mut self.delivery, BodyDelivery::Done);
        self.number += u32::from(before == BodyDelivery::Due);
        before != BodyDelivery::Done
    }

    /// Prepares a request at another level: later compilations of the present body count as old.
    pub fn supersede_body(&mut self) {
        let newest = self.instances.iter().map(|compiled| compiled.id.rejit_id).max();
        self.retired_rejit_id = self.retired_rejit_id.max(newest.unwrap_or(0));
    }

    /// Returns the instance with these ids, creating it if new. None if the list is full.
    pub fn instance(&mut self, id: InstanceId) -> Option<&mut CompiledInstance> {
        if let Some(at) = self.instances.iter().position(|compiled| compiled.id == id) {
            return self.instances.get_mut(at);
        }
        let is_stale =
            |compiled: &CompiledInstance| compiled.state == CopyState::Off && compiled.open.is_empty();
        let stale = self.instances.iter().filter(|compiled| is_stale(compiled)).count();
        let mut surplus = stale.saturating_sub(MAX_STALE);
        if self.instances.len() - surplus >= MAX_INSTANCES {
            surplus = stale;
        }
        // Oldest first.
        self.instances.extract_if(.., |compiled| is_stale(compiled)).take(surplus).for_each(drop);
        if self.instances.len() >= MAX_INSTANCES {
            return None;
        }
        let version = if id.rejit_id > self.retired_rejit_id { self.number } else { 0 };
        self.instances.push(CompiledInstance { id, version, state: CopyState::Asked, open: Vec::new() });
        self.instances.last_mut()
    }

    /// Marks the instance `id` as the one called now, and those of older bodies as no longer called.
    pub(super) fn supersede(&mut self, id: InstanceId) {
        for other in &mut self.instances {
            if other.id == id {
                other.state = CopyState::Live;
            } else if other.version < self.number && other.state == CopyState::Live {
                other.state = CopyState::Off;
            }
        }
    }

    /// Marks every instance as no longer called.
    pub(super) fn retire_instances(&mut self) {
        for compiled in &mut self.instances {
            self.retired_rejit_id = self.retired_rejit_id.max(compiled.id.rejit_id);
            compiled.open = Vec::new();
            if compiled.state != CopyState::Failed {
                compiled.state = CopyState::Off;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_each_body_once_however_often_the_clr_asks() {
        let mut bodies = Bodies::default();
        assert!(bodies.deliver(), "the first request");
        assert!(!bodies.deliver(), "the runtime found it among inliners");
        bodies.expect_again();
        assert!(bodies.deliver() && !bodies.deliver(), "requested once more");
        assert_eq!((bodies.newest(), bodies.is_delivered()), (1, true));
        bodies.expect();
        // Nothing to repeat: the CLR has not got it.
        bodies.expect_again();
        assert!(!bodies.is_delivered() && bodies.deliver());
        assert_eq!(bodies.newest(), 2);
    }

    #[test]
    fn compilations_of_superseded_bodies_count_as_old() {
        let mut bodies = Bodies::default();
        let version = |bodies: &mut Bodies, rejit_id| {
            bodies.instance(InstanceId { function_id: 1, rejit_id }).map(|compiled| compiled.version)
        };
        bodies.deliver();
        assert_eq!(version(&mut bodies, 5), Some(1));
        bodies.supersede_body();
        bodies.expect();
        bodies.deliver();
        assert_eq!((version(&mut bodies, 4), version(&mut bodies, 6)), (Some(0), Some(2)));
    }
}
