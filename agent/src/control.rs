//! Control: at most one controller changes dials at a time. A session has control while its changes run; a session
//! with held dials keeps it until the session ends or releases it. Control held only for running changes is
//! *passing*: others wait for it to end.
#![forbid(unsafe_code)]

use crate::planner::SessionId;
use crate::sync::lock;
use redial_protocol::message::Holder;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes of control kept for sessions that have not reported them to their peer yet. A session further behind
/// reports only the latest ones.
const MAX_REMEMBERED: usize = 64;

/// A session's claim to control.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The session.
    pub session: SessionId,
    /// Its controller.
    pub holder: Holder,
    /// Take control from its present holder.
    pub take: bool,
    /// The change sets held dials, which keep control.
    pub sets_held_dials: bool,
}

/// Control that another session has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlTaken {
    /// Its holder.
    pub by: Holder,
    /// The holder releases control when its changes end.
    pub passing: bool,
}

/// The controller in control.
#[derive(Debug, Default)]
pub struct Control {
    inner: Mutex<Inner>,
    /// Same as `Inner::changes`, readable without the lock.
    changes: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    holder: Option<Held>,
    /// The latest changes, oldest first: a command may take and release control between two checks.
    latest: VecDeque<Option<Holder>>,
    changes: u64,
}

#[derive(Debug)]
struct Held {
    session: SessionId,
    holder: Holder,
    /// Tells this tenure apart from others of the same session.
    term: u64,
    /// Number of running changes.
    changes: u32,
    /// Control stays when they have ended.
    keeps: bool,
    /// One of them sets held dials.
    sets_held_dials: bool,
}

impl Held {
    fn is_passing(&self) -> bool {
        !self.keeps && !self.sets_held_dials
    }
}

/// Control for one change; released when dropped, unless kept.
#[derive(Debug)]
pub struct Lease {
    control: &'static Control,
    term: u64,
    /// The session keeps control after this change.
    pub keeps: bool,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut inner = lock(&self.control.inner);
        // Another session may have taken control meanwhile.
        let Some(held) = inner.holder.as_mut().filter(|held| held.term == self.term) else { return };
        held.changes = held.changes.saturating_sub(1);
        held.keeps |= self.keeps;
        if held.changes == 0 && !held.keeps {
            self.control.change(&mut inner, None);
        }
    }
}

impl Control {
    /// Takes control for a change.
    ///
    /// # Errors
    /// The present holder, if it is another session and the claim does not take control away.
    pub fn acquire(&'static self, claim: &Claim) -> Result<Lease, ControlTaken> {
        let mut inner = lock(&self.inner);
        if let Some(held) = &mut inner.holder {
            if held.session == claim.session {
                held.changes += 1;
                held.sets_held_dials |= claim.sets_held_dials;
                return Ok(Lease { control: self, term: held.term, keeps: false });
            }
            if !claim.take {
                return Err(ControlTaken { by: held.holder.clone(), passing: held.is_passing() });
            }
        }
        let term = inner.changes + 1;
        let Claim { session, holder, sets_held_dials, .. } = claim.clone();
        self.change(
            &mut inner,
            Some(Held { session, holder, term, changes: 1, keeps: false, sets_held_dials }),
        );
        Ok(Lease { control: self, term, keeps: false })
    }

    /// Releases control if `session` has it.
    pub fn release(&self, session: SessionId) {
        let mut inner = lock(&self.inner);
        if inner.holder.as_ref().is_some_and(|held| held.session == session) {
            self.change(&mut inner, None);
        }
    }

    /// Releases control if its session has no running change and, according to `holds`, holds no dial any more.
    pub fn release_if_idle(&self, holds: impl Fn(SessionId) -> bool) {
        let mut inner = lock(&self.inner);
        if inner.holder.as_ref().is_some_and(|held| held.changes == 0 && !holds(held.session)) {
            self.change(&mut inner, None);
        }
    }

    fn change(&self, inner: &mut Inner, holder: Option<Held>) {
        if inner.latest.len() >= MAX_REMEMBERED {
            inner.latest.pop_front();
        }
        inner.latest.push_back(holder.as_ref().map(|held| held.holder.clone()));
        inner.holder = holder;
        inner.changes += 1;
        self.changes.store(inner.changes, Ordering::Release);
    }

    /// Returns the controller in control.
    pub fn holder(&self) -> Option<Holder> {
        lock(&self.inner).holder.as_ref().map(|held| held.holder.clone())
    }

    /// Returns the controller in control, unless control is passing.
    pub fn lasting_holder(&self) -> Option<Holder> {
        lock(&self.inner).holder.as_ref().filter(|held| !held.is_passing()).map(|held| held.holder.clone())
    }

    /// Returns the number of changes so far, so that sessions know whether to report some.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Returns the changes after the first `seen`, oldest first, and their present number.
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

    fn holder(pid: u32) -> Holder {
        Holder { pid, program: format!("p{pid}") }
    }

    fn control() -> &'static Control {
        Box::leak(Box::default())
    }

    fn claim(session: u64, take: bool) -> Claim {
        Claim { session: SessionId(session), holder: holder(session as u32), take, sets_held_dials: false }
    }

    fn taken(by: u32, passing: bool) -> ControlTaken {
        ControlTaken { by: holder(by), passing }
    }

    #[test]
    fn second_session_is_refused_until_it_takes() {
        let control = control();
        let mut first = control.acquire(&claim(1, false)).expect("free");
        assert_eq!(control.acquire(&claim(2, false)).expect_err("held"), taken(1, true));
        let second = control.acquire(&claim(2, true)).expect("taken");
        assert_eq!(control.acquire(&claim(1, false)).expect_err("taken"), taken(2, true));
        first.keeps = true;
        drop(first);
        assert_eq!(control.holder(), Some(holder(2)), "control taken away is not kept");
        control.release(SessionId(1));
        assert_eq!(control.holder(), Some(holder(2)), "only the holder releases it");
        drop(second);
        assert_eq!(control.holder(), None);
    }

    #[test]
    fn last_change_releases_control_unless_one_keeps_it() {
        let control = control();
        let both = [control.acquire(&claim(1, false)), control.acquire(&claim(1, false))];
        let [first, second] = both.map(|lease| lease.expect("it is its own"));
        drop(first);
        assert_eq!(control.holder(), Some(holder(1)));
        drop(second);
        assert_eq!(control.holder(), None);
        let mut kept = control.acquire(&claim(1, false)).expect("free");
        let other = control.acquire(&claim(1, false)).expect("its own");
        kept.keeps = true;
        drop((kept, other));
        assert_eq!(control.holder(), Some(holder(1)));
        control.release(SessionId(1));
        assert_eq!(control.holder(), None);
    }

    #[test]
    fn releases_control_of_idle_sessions_without_held_dials() {
        let control = control();
        let mut lease = control.acquire(&claim(1, false)).expect("free");
        control.release_if_idle(|_| false);
        assert_eq!(control.holder(), Some(holder(1)), "its change is running");
        lease.keeps = true;
        drop(lease);
        control.release_if_idle(|session| session == SessionId(1));
        assert_eq!(control.holder(), Some(holder(1)));
        control.release_if_idle(|_| false);
        assert_eq!(control.holder(), None);
    }

    #[test]
    fn held_dials_make_control_lasting() {
        let control = control();
        let holding = Claim { sets_held_dials: true, ..claim(1, false) };
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
        assert_eq!(control.lasting_holder(), Some(holder(1)));
        control.release(SessionId(1));
        drop(control.acquire(&holding).expect("free"));
        assert_eq!(control.holder(), None, "a failed change holds nothing");
    }

    #[test]
    fn reports_every_change_even_late() {
        let control = control();
        let first = control.acquire(&claim(1, false)).expect("free");
        let (changes, seen) = control.since(0);
        assert_eq!((changes, seen), (vec![Some(holder(1))], control.changes()));
        drop(control.acquire(&claim(2, true)).expect("taken"));
        drop(first);
        let (changes, seen) = control.since(seen);
        assert_eq!(changes, [Some(holder(2)), None]);
        assert_eq!(control.since(seen), (vec![], 3));
        for _ in 0..2 * MAX_REMEMBERED {
            drop(control.acquire(&claim(1, false)).expect("free"));
        }
        assert_eq!(control.since(seen).0.len(), MAX_REMEMBERED);
    }
}
