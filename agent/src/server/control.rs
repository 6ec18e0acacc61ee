//! Control: at most one controller changes dials at a time. A session has it while turns of its are on their way, one
//! with held dials until it ends or gives it back. Who has it for turns alone is *passing*: others wait for that.
#![forbid(unsafe_code)]

use crate::planner::SessionId;
use crate::sync::lock;
use redial_protocol::message::Holder;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes kept for sessions that have not told their peer yet. A session further behind tells the latest of them.
const REMEMBERED: usize = 64;

/// Who wants control.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The session.
    pub session: SessionId,
    /// Its controller.
    pub who: Holder,
    /// Take it from whoever has it.
    pub take: bool,
    /// Its dials will be held, and control kept for them.
    pub stays: bool,
}

/// Control that another has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The other.
    pub by: Holder,
    /// It gives control back once its turns have ended.
    pub passing: bool,
}

/// Who has control.
#[derive(Debug, Default)]
pub struct Control {
    inner: Mutex<Inner>,
    /// As `Inner::changes`, to look at without the lock.
    changes: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    holder: Option<Held>,
    /// The latest changes, oldest first: a command may take control and give it back between two looks.
    latest: VecDeque<Option<Holder>>,
    changes: u64,
}

#[derive(Debug)]
struct Held {
    session: SessionId,
    who: Holder,
    /// Tells this time of holding it from others of the same session.
    term: u64,
    /// Turns on their way.
    turns: u32,
    /// It stays when they have ended.
    keeps: bool,
    /// One of them is for held dials.
    stays: bool,
}

impl Held {
    fn is_passing(&self) -> bool {
        !self.keeps && !self.stays
    }
}

/// Control for one turn; given back when dropped, unless it is kept.
#[derive(Debug)]
pub struct Lease {
    control: &'static Control,
    term: u64,
    /// The session keeps control after this turn.
    pub keeps: bool,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut inner = lock(&self.control.inner);
        // Another may have taken it meanwhile.
        let Some(held) = inner.holder.as_mut().filter(|held| held.term == self.term) else { return };
        held.turns = held.turns.saturating_sub(1);
        held.keeps |= self.keeps;
        if held.turns == 0 && !held.keeps {
            self.control.change(&mut inner, None);
        }
    }
}

impl Control {
    /// Takes control for a turn.
    ///
    /// # Errors
    /// Who has it, when it is another and the claim does not take control away.
    pub fn acquire(&'static self, claim: &Claim) -> Result<Lease, Taken> {
        let mut inner = lock(&self.inner);
        if let Some(held) = &mut inner.holder {
            if held.session == claim.session {
                held.turns += 1;
                held.stays |= claim.stays;
                return Ok(Lease { control: self, term: held.term, keeps: false });
            }
            if !claim.take {
                return Err(Taken { by: held.who.clone(), passing: held.is_passing() });
            }
        }
        let term = inner.changes + 1;
        let Claim { session, who, stays, .. } = claim.clone();
        self.change(&mut inner, Some(Held { session, who, term, turns: 1, keeps: false, stays }));
        Ok(Lease { control: self, term, keeps: false })
    }

    /// Gives control back if `session` has it.
    pub fn release(&self, session: SessionId) {
        let mut inner = lock(&self.inner);
        if inner.holder.as_ref().is_some_and(|held| held.session == session) {
            self.change(&mut inner, None);
        }
    }

    /// Gives control back for a session that has no turn on its way and, as `holds` says, no dial it holds any more.
    pub fn settle(&self, holds: impl Fn(SessionId) -> bool) {
        let mut inner = lock(&self.inner);
        if inner.holder.as_ref().is_some_and(|held| held.turns == 0 && !holds(held.session)) {
            self.change(&mut inner, None);
        }
    }

    fn change(&self, inner: &mut Inner, holder: Option<Held>) {
        if inner.latest.len() >= REMEMBERED {
            inner.latest.pop_front();
        }
        inner.latest.push_back(holder.as_ref().map(|held| held.who.clone()));
        inner.holder = holder;
        inner.changes += 1;
        self.changes.store(inner.changes, Ordering::Release);
    }

    /// Who has it.
    pub fn holder(&self) -> Option<Holder> {
        lock(&self.inner).holder.as_ref().map(|held| held.who.clone())
    }

    /// Who has it for longer than turns that are on their way.
    pub fn lasting_holder(&self) -> Option<Holder> {
        lock(&self.inner).holder.as_ref().filter(|held| !held.is_passing()).map(|held| held.who.clone())
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

    fn control() -> &'static Control {
        Box::leak(Box::default())
    }

    fn claim(session: u64, take: bool) -> Claim {
        Claim { session: SessionId(session), who: who(session as u32), take, stays: false }
    }

    fn taken(by: u32, passing: bool) -> Taken {
        Taken { by: who(by), passing }
    }

    #[test]
    fn one_holds_the_other_is_told_until_it_takes() {
        let control = control();
        let mut first = control.acquire(&claim(1, false)).expect("free");
        assert_eq!(control.acquire(&claim(2, false)).expect_err("held"), taken(1, true));
        let second = control.acquire(&claim(2, true)).expect("taken");
        assert_eq!(control.acquire(&claim(1, false)).expect_err("taken"), taken(2, true));
        first.keeps = true;
        drop(first);
        assert_eq!(control.holder(), Some(who(2)), "what was taken is not kept");
        control.release(SessionId(1));
        assert_eq!(control.holder(), Some(who(2)), "only the holder gives it back");
        drop(second);
        assert_eq!(control.holder(), None);
    }

    #[test]
    fn the_last_of_several_turns_gives_it_back_unless_one_keeps_it() {
        let control = control();
        let both = [control.acquire(&claim(1, false)), control.acquire(&claim(1, false))];
        let [first, second] = both.map(|lease| lease.expect("it is its own"));
        drop(first);
        assert_eq!(control.holder(), Some(who(1)));
        drop(second);
        assert_eq!(control.holder(), None);
        let mut kept = control.acquire(&claim(1, false)).expect("free");
        let other = control.acquire(&claim(1, false)).expect("its own");
        kept.keeps = true;
        drop((kept, other));
        assert_eq!(control.holder(), Some(who(1)));
        control.release(SessionId(1));
        assert_eq!(control.holder(), None);
    }

    #[test]
    fn who_holds_nothing_any_more_has_no_control() {
        let control = control();
        let mut lease = control.acquire(&claim(1, false)).expect("free");
        control.settle(|_| false);
        assert_eq!(control.holder(), Some(who(1)), "its turn is on its way");
        lease.keeps = true;
        drop(lease);
        control.settle(|session| session == SessionId(1));
        assert_eq!(control.holder(), Some(who(1)));
        control.settle(|_| false);
        assert_eq!(control.holder(), None);
    }

    #[test]
    fn whose_dials_are_held_is_not_passing() {
        let control = control();
        let holding = Claim { stays: true, ..claim(1, false) };
        let kept = control.acquire(&claim(1, false)).expect("free");
        assert_eq!(control.lasting_holder(), None);
        let mut held = control.acquire(&holding).expect("its own");
        assert_eq!(
            control.acquire(&claim(2, false)).expect_err("held"),
            taken(1, false),
            "from its start on"
        );
        held.keeps = true;
        drop((kept, held));
        assert_eq!(control.acquire(&claim(2, false)).expect_err("held"), taken(1, false));
        assert_eq!(control.lasting_holder(), Some(who(1)));
        control.release(SessionId(1));
        drop(control.acquire(&holding).expect("free"));
        assert_eq!(control.holder(), None, "a turn that failed holds nothing");
    }

    #[test]
    fn every_change_is_told_even_when_the_next_has_come() {
        let control = control();
        let first = control.acquire(&claim(1, false)).expect("free");
        let (told, seen) = control.since(0);
        assert_eq!((told, seen), (vec![Some(who(1))], control.changes()));
        drop(control.acquire(&claim(2, true)).expect("taken"));
        drop(first);
        let (told, seen) = control.since(seen);
        assert_eq!(told, [Some(who(2)), None]);
        assert_eq!(control.since(seen), (vec![], 3));
        for _ in 0..2 * REMEMBERED {
            drop(control.acquire(&claim(1, false)).expect("free"));
        }
        assert_eq!(control.since(seen).0.len(), REMEMBERED);
    }
}
