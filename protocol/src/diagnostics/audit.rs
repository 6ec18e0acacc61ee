//! Actions that the audit records.

use super::SteppedDown;
use crate::cost::Share;
use crate::ids::MethodToken;
use serde::{Deserialize, Serialize};

/// An action that the audit records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditAction {
    /// A change was made.
    Changed(AuditedChange),
    /// A change was refused for all its copies.
    Refused(AuditedChange),
    /// A change was cancelled, and what it had done taken back.
    Cancelled(AuditedChange),
    /// A change was undone.
    Undone(AuditedChange),
    /// The undo of a change was cancelled.
    UndoCancelled(AuditedChange),
    /// Further orders of the change in the entries before, which has too many to list.
    MoreOrders {
        /// Number of these orders.
        orders: u64,
    },
    /// Orders ended by themselves.
    Ended {
        /// The first of them, as a dial-set line.
        first: String,
        /// Number of the others.
        more: u64,
        /// Why they ended.
        reason: OrderEnd,
    },
    /// The budget was set.
    Budget {
        /// The budget; absent: none.
        limit: Option<Share>,
    },
    /// The agent was loaded into the running process.
    AgentLoaded,
    /// The runtime reported `ReJITError`.
    RuntimeError {
        /// The method.
        token: MethodToken,
        /// The HRESULT.
        hresult: u32,
    },
}

/// A change of the standing orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditedChange {
    /// Orders were set.
    Orders {
        /// The first of them.
        first: AuditedOrder,
        /// Number of the others.
        more: u64,
    },
    /// All orders were cleared.
    AllOff,
}

impl AuditedChange {
    /// Returns a change by one order, given as a dial-set line.
    pub fn order(line: impl Into<String>) -> AuditedChange {
        AuditedChange::Orders { first: AuditedOrder { line: line.into(), step: None }, more: 0 }
    }
}

/// An order that was set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedOrder {
    /// The order, as a dial-set line.
    pub line: String,
    /// The budget set it, for this cost.
    pub step: Option<SteppedDown>,
}

/// Why orders ended by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderEnd {
    /// Their time was over.
    Expired,
    /// The session that held them ended.
    SessionEnded,
    /// The controller that held them released them.
    Released,
}
