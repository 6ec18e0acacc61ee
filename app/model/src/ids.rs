//! Indices into a connection's catalogue, and ids of connections and requests. An index is valid, and keeps
//! its meaning, as long as its connection's catalogue.

/// The tree's root for merged copies of several AppDomains: `Node::Domain` of this number means all of them.
pub const EVERY_DOMAIN: u32 = u32::MAX;

/// A connection to an agent; numbered by the window and never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u32);

/// A request of the window, until its answer; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A module of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleIx(pub u32);

/// A namespace of one module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamespaceIx(pub u32);

/// A type of one module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeIx(pub u32);

/// A method of one module: a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodIx(pub u32);

/// A row of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// An AppDomain, by its index in `Catalogue::domains`.
    Domain(u32),
    /// A module.
    Module(ModuleIx),
    /// A namespace.
    Namespace(NamespaceIx),
    /// A type.
    Type(TypeIx),
    /// A method.
    Method(MethodIx),
}

/// Names one process or the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SubjectId {
    /// One process.
    Process(ConnectionId),
    /// Several processes together; there is at most one fleet.
    Fleet,
}

impl SubjectId {
    /// The connection, if it is one process.
    pub fn process(self) -> Option<ConnectionId> {
        match self {
            SubjectId::Process(id) => Some(id),
            SubjectId::Fleet => None,
        }
    }
}

impl From<ConnectionId> for SubjectId {
    fn from(id: ConnectionId) -> SubjectId {
        SubjectId::Process(id)
    }
}
