//! The one way out of the worker threads.

use super::Wake;
use crate::model::ids::ConnectionId;
use crate::model::update::{Told, Update};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Updates that may wait; a thread that has more to tell waits itself.
const WAITING: usize = 64;

/// Sends updates and wakes whoever takes them.
#[derive(Clone)]
pub struct Outlet {
    to: SyncSender<Update>,
    wake: Wake,
}

/// Nobody takes updates any more.
#[derive(Debug)]
pub struct Gone;

impl Outlet {
    /// An outlet and the other end.
    pub fn new(wake: Wake) -> (Outlet, Receiver<Update>) {
        let (to, from) = sync_channel(WAITING);
        (Outlet { to, wake }, from)
    }

    /// Sends an update; waits while too many wait already.
    pub fn send(&self, update: Update) -> Result<(), Gone> {
        self.leave(update)?;
        (self.wake)();
        Ok(())
    }

    /// Leaves an update to be taken with the next, and wakes nobody.
    pub fn leave(&self, update: Update) -> Result<(), Gone> {
        self.to.send(update).map_err(|_| Gone)
    }

    /// Sends what a connection has to tell, if anything.
    pub fn tell(&self, connection: ConnectionId, told: Vec<Told>) -> Result<(), Gone> {
        if told.is_empty() { Ok(()) } else { self.send(Update::Connection(connection, told)) }
    }
}
