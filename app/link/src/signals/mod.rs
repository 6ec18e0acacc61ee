//! Ctrl-C and other termination signals: forwarded to a child, sent to a child, or delivered as a call. This module
//! must not depend on the interrupted work.

mod remainder;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

use std::sync::{Arc, Mutex, PoisonError};

pub use remainder::Remainder;
pub use system::{Forwarding, kill, lead_process_group, remainder_of, terminate};

/// Catches Ctrl-C. The first one only calls the functions passed to `deliver_to`. The second one exits with code 130.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    seen: bool,
    deliver: Vec<Box<dyn Fn() + Send>>,
}

impl Interrupts {
    /// Starts to catch Ctrl-C. Call this before starting threads, because threads inherit blocked signals.
    pub fn catch() -> std::io::Result<Interrupts> {
        let interrupts = Interrupts::default();
        let theirs = interrupts.clone();
        system::catch(move || theirs.interrupt())?;
        Ok(interrupts)
    }

    /// Also calls `deliver` at the next Ctrl-C, or at once if there has been one.
    pub fn deliver_to(&self, deliver: impl Fn() + Send + 'static) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.seen {
            deliver();
        }
        inner.deliver.push(Box::new(deliver));
    }

    /// Acts like a first Ctrl-C.
    pub fn stop(&self) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut inner.seen, true) {
            inner.deliver.iter().for_each(|deliver| deliver());
        }
    }

    fn interrupt(&self) {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).seen {
            std::process::exit(130);
        }
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn delivers_interrupts_from_before_and_after() {
        for before in [true, false] {
            let interrupts = Interrupts::default();
            let (sender, receiver) = channel();
            if before {
                interrupts.interrupt();
            }
            interrupts.deliver_to(move || sender.send(()).expect("the test listens"));
            if !before {
                assert!(receiver.try_recv().is_err());
                interrupts.interrupt();
            }
            assert_eq!(receiver.try_recv(), Ok(()));
        }
    }

    #[test]
    fn delivers_an_interrupt_to_everyone() {
        let interrupts = Interrupts::default();
        let (sender, receiver) = channel();
        for number in 0..3 {
            let sender = sender.clone();
            interrupts.deliver_to(move || sender.send(number).expect("the test listens"));
        }
        interrupts.interrupt();
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    }
}
