//! What sessions do with thrown exceptions.

use super::collector::{self, State};
use super::names::Sources;
use super::stream::ExceptionStream;
use crate::probes::thrown::{self, tables};
use crate::sync::lock;
use std::sync::{Arc, Mutex};

/// The sessions' streams of thrown exceptions.
#[derive(Default)]
pub struct ThrownExceptions(Arc<Mutex<State>>);

impl ThrownExceptions {
    /// Adds a stream, which gets every exception from now on; false if no collector can be started.
    pub fn add_stream(&self, of: Sources, stream: Arc<ExceptionStream>) -> bool {
        let mut guard = lock(&self.0);
        let state = &mut *guard;
        if state.streams.is_empty() {
            // What an earlier session left unfinished.
            tables().slots.drain(u64::MAX);
        }
        // Streams that are there get what was thrown before; if there are none, nobody does.
        state.collect(of);
        if !state.runs && !collector::start(Arc::clone(&self.0), of) {
            return false;
        }
        state.runs = true;
        state.streams.push(stream);
        tables().methods.present().for_each(|(_, method)| method.show_next());
        state.follow_streams();
        true
    }

    /// Removes a stream, after it got what was thrown until now.
    pub fn remove_stream(&self, of: Sources, stream: &Arc<ExceptionStream>) {
        let mut state = lock(&self.0);
        state.collect(of);
        state.streams.retain(|other| !Arc::ptr_eq(other, stream));
        state.follow_streams();
    }

    /// Takes what was thrown so far.
    pub fn collect(&self, of: Sources) {
        lock(&self.0).collect(of);
    }

    /// Returns the bytes of the tables.
    pub fn bytes(&self) -> usize {
        thrown::used_bytes()
    }
}
