//! Ctrl-C and its relatives: passed on to a child, sent to one, or turned into a call. It must not know what is
//! interrupted.

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

use std::sync::{Arc, Mutex, PoisonError};

pub use system::{Forwarding, ask_to_end, kill, left_of, make_askable};

/// What is left of a child that was made askable, and of what it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It runs.
    Child,
    /// It has ended, and so many of its group have not. It was not waited for, so that they can be signalled.
    #[cfg_attr(windows, allow(dead_code, reason = "there it alone is stopped"))]
    Others(usize),
    /// Nothing: it was waited for.
    Nobody(std::process::ExitStatus),
}

/// What a Ctrl-C does from `Interrupts::catch` on: nothing but what `deliver_to` says. A second one ends the
/// program with 130, whatever it waits for.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    seen: bool,
    deliver: Vec<Box<dyn Fn() + Send>>,
}

impl Interrupts {
    /// Catches from now on. To be called before any thread is started: threads inherit what is blocked.
    pub fn catch() -> std::io::Result<Interrupts> {
        let interrupts = Interrupts::default();
        let theirs = interrupts.clone();
        system::catch(move || theirs.interrupt())?;
        Ok(interrupts)
    }

    /// Calls `deliver` at the next Ctrl-C, too, or at once if there has been one.
    pub fn deliver_to(&self, deliver: impl Fn() + Send + 'static) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.seen {
            deliver();
        }
        inner.deliver.push(Box::new(deliver));
    }

    /// Does what a first Ctrl-C does.
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
    fn an_interrupt_is_delivered_whether_it_comes_before_or_after() {
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
    fn an_interrupt_reaches_everyone() {
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
