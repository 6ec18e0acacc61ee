//! Control: at most one controller changes dials at a time. A command has it while it runs, a session with held
//! dials until it ends or gives it back.
#![forbid(unsafe_code)]

use crate::planner::SessionId;
use crate::sync::lock;
use redial_protocol::message::Holder;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who has control.
#[derive(Debug, Default)]
pub struct Control {
    holder: Mutex<Option<(SessionId, Holder)>>,
    changes: AtomicU64,
}

impl Control {
    /// Takes control for `session`; with `take` from whoever has it.
    ///
    /// # Errors
    /// The present holder.
    pub fn acquire(&self, session: SessionId, who: &Holder, take: bool) -> Result<(), Holder> {
        let mut holder = lock(&self.holder);
        match &*holder {
            Some((id, other)) if *id != session && !take => return Err(other.clone()),
            Some((id, _)) if *id == session => return Ok(()),
            _ => {}
        }
        *holder = Some((session, who.clone()));
        self.changes.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Gives control back if `session` has it.
    pub fn release(&self, session: SessionId) {
        let mut holder = lock(&self.holder);
        if holder.as_ref().is_some_and(|(id, _)| *id == session) {
            *holder = None;
            self.changes.fetch_add(1, Ordering::Release);
        }
    }

    /// Who has it.
    pub fn holder(&self) -> Option<Holder> {
        lock(&self.holder).as_ref().map(|(_, who)| who.clone())
    }

    /// Counts changes, so that sessions can tell whether to report one.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(pid: u32) -> Holder {
        Holder { pid, program: format!("p{pid}") }
    }

    #[test]
    fn one_holds_the_other_is_told_until_it_takes() {
        let control = Control::default();
        let (a, b) = (SessionId(1), SessionId(2));
        assert_eq!(control.acquire(a, &who(1), false), Ok(()));
        assert_eq!(control.acquire(b, &who(2), false), Err(who(1)));
        assert_eq!(control.acquire(b, &who(2), true), Ok(()));
        assert_eq!(control.acquire(a, &who(1), false), Err(who(2)));
        control.release(a);
        assert_eq!(control.holder(), Some(who(2)), "only the holder gives it back");
        control.release(b);
        assert_eq!(control.holder(), None);
    }
}
