//! The channel through which worker threads send updates.

use redial_model::ids::ConnectionId;
use redial_model::update::{ConnectionUpdate, Update};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Updates waiting in the channel; a thread with more blocks.
const WAITING: usize = 64;

/// Called from any thread when updates are waiting, for example to request a repaint.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Sends updates and wakes their receiver.
#[derive(Clone)]
pub struct UpdateSender {
    to: SyncSender<Update>,
    wake: Wake,
}

/// The receiver of updates is gone.
#[derive(Debug)]
pub struct ReceiverGone;

impl UpdateSender {
    /// Creates a sender and its receiver.
    pub fn new(wake: Wake) -> (UpdateSender, Receiver<Update>) {
        let (to, from) = sync_channel(WAITING);
        (UpdateSender { to, wake }, from)
    }

    /// Sends an update; blocks while the channel is full.
    pub fn send(&self, update: Update) -> Result<(), ReceiverGone> {
        self.queue(update)?;
        (self.wake)();
        Ok(())
    }

    /// Queues an update to be taken with the next one, without waking the receiver.
    pub fn queue(&self, update: Update) -> Result<(), ReceiverGone> {
        self.to.send(update).map_err(|_| ReceiverGone)
    }

    /// Sends a connection's updates, if there are any.
    pub fn report(
        &self,
        connection: ConnectionId,
        updates: Vec<ConnectionUpdate>,
    ) -> Result<(), ReceiverGone> {
        if updates.is_empty() { Ok(()) } else { self.send(Update::Connection(connection, updates)) }
    }
}
