//! Indices into a connection's catalogue, and the names of connections and requests. An index stays valid, and
//! means the same thing, as long as its connection's catalogue.

/// A connection to an agent, as the window numbers them; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u32);

/// What several processes look like merged: no connection of its own, but looked at and turned like one.
pub const FLEET: ConnectionId = ConnectionId(u32::MAX);

/// A request of the window's, until its answer; never reused.
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

/// A method of one module: a copy, in the agent's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodIx(pub u32);

/// A row of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// An AppDomain, by its place in `Catalogue::domains`.
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
