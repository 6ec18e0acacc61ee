//! A flag that ends the threads of a change in several processes.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A flag that Ctrl-C sets and that ends every pause.
#[derive(Clone, Default)]
pub struct StopFlag(Arc<(Mutex<bool>, Condvar)>);

impl StopFlag {
    /// Sets the flag and ends all pauses.
    pub fn set(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Returns whether the flag is set.
    pub fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `time`; returns false if the flag is set earlier.
    pub fn pause(&self, time: Duration) -> bool {
        let set = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(set, time, |set| !*set);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_when_the_flag_is_set() {
        let stop = StopFlag::default();
        assert!(!stop.is_set() && stop.pause(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            let pausing = scope.spawn(|| stop.pause(Duration::from_secs(600)));
            stop.set();
            assert!(!pausing.join().expect("it paused"));
        });
        assert!(stop.is_set() && !stop.pause(Duration::from_secs(600)));
    }
}
