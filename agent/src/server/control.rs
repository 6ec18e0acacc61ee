//! Control: at most one controller changes dials at a time. A command has it while it runs, a session with held
//! dials until it ends or gives it back.
#![forbid(unsafe_code)]

use crate::planner::SessionId;
use crate::sync::lock;
use redial_protocol::message::Holder;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes kept for sessions that have not told their peer yet. A session further behind tells the latest of them.
const REMEMBERED: usize = 64;

/// Who has control.
#[derive(Debug, Default)]
pub struct Control {
    inner: Mutex<Inner>,
    /// As `Inner::changes`, to look at without the lock.
    changes: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    holder: Option<(SessionId, Holder)>,
    /// The latest changes, oldest first: a command may take control and give it back between two looks.
    latest: VecDeque<Option<Holder>>,
    changes: u64,
}

impl Control {
    /// Takes control for `session`; with `take` from whoever has it.
    ///
    /// # Errors
    /// The present holder.
    pub fn acquire(&self, session: SessionId, who: &Holder, take: bool) -> Result<(), Holder> {
        let mut inner = lock(&self.inner);
        match &inner.holder {
            Some((id, other)) if *id != session && !take => return Err(other.clone()),
            Some((id, _)) if *id == session => return Ok(()),
            _ => {}
        }
        self.change(&mut inner, Some((session, who.clone())));
        Ok(())
    }

    /// Gives control back if `session` has it.
    pub fn release(&self, session: SessionId) {
        let mut inner = lock(&self.inner);
        if inner.holder.as_ref().is_some_and(|(id, _)| *id == session) {
            self.change(&mut inner, None);
        }
    }

    fn change(&self, inner: &mut Inner, holder: Option<(SessionId, Holder)>) {
        if inner.latest.len() >= REMEMBERED {
            inner.latest.pop_front();
        }
        inner.latest.push_back(holder.as_ref().map(|(_, who)| who.clone()));
        inner.holder = holder;
        inner.changes += 1;
        self.changes.store(inner.changes, Ordering::Release);
    }

    /// Whether `session` has it.
    pub fn is_held_by(&self, session: SessionId) -> bool {
        lock(&self.inner).holder.as_ref().is_some_and(|(id, _)| *id == session)
    }

    /// Who has it.
    pub fn holder(&self) -> Option<Holder> {
        lock(&self.inner).holder.as_ref().map(|(_, who)| who.clone())
    }

    /// Number of changes so far, so that sessions can tell whether to report some.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The changes after the first `seen`, oldest first, and how many there are by now.
    pub fn since(&self, seen: u64) -> (Vec<Option<Holder>>, u64) {
        let inner = lock(&self.inner);
        let missed = usize::try_from(inner.changes.saturating_sub(seen)).unwrap_or(usize::MAX);
        let skip = inner.latest.len().saturating_sub(missed);
        (inner.latest.iter().skip(skip).cloned().collect(), inner.changes)
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
    #[test]
    fn every_change_is_told_even_when_the_next_has_come() {
        let control = Control::default();
        let (a, b) = (SessionId(1), SessionId(2));
        assert_eq!(control.acquire(a, &who(1), false), Ok(()));
        let (told, seen) = control.since(0);
        assert_eq!((told, seen), (vec![Some(who(1))], control.changes()));
        assert_eq!(control.acquire(b, &who(2), true), Ok(()));
        control.release(b);
        let (told, seen) = control.since(seen);
        assert_eq!(told, [Some(who(2)), None]);
        assert_eq!(control.since(seen), (vec![], 3));
        for _ in 0..2 * REMEMBERED {
            assert_eq!(control.acquire(a, &who(1), false), Ok(()));
            control.release(a);
        }
        assert_eq!(control.since(seen).0.len(), REMEMBERED);
    }
}
