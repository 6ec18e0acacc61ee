//! Which timed slots were called since somebody looked last. Threads that did nothing meanwhile cost one comparison, and of
//! the others each record is compared with what it was: nothing is added up.
#![forbid(unsafe_code)]

use super::blocks::Slot;
use super::timers::{self, Mark};
use std::collections::HashMap;

/// What was seen of some slots.
#[derive(Default)]
pub struct Changes {
    slots: Vec<Slot>,
    /// By address of the timer, which stays for ever.
    timers: HashMap<usize, Seen>,
}

/// What was seen of a thread.
#[derive(Default)]
struct Seen {
    mark: Option<Mark>,
    /// Its records by place of the slot, ascending, and what tells each of its states from the last one.
    records: Vec<(u32, u64)>,
}

impl Changes {
    /// Nothing seen yet of these slots.
    pub fn of(slots: Vec<Slot>) -> Changes {
        Changes { slots, timers: HashMap::new() }
    }

    /// Places of the slots of which calls began or ended since the last look; all that have some at the first one.
    pub fn look(&mut self) -> Vec<usize> {
        let mut changed = vec![false; self.slots.len()];
        for timer in timers::all() {
            let seen = self.timers.entry(std::ptr::from_ref(timer).addr()).or_default();
            // Before the records: what changes meanwhile makes another mark.
            let mark = Some(timer.mark());
            if std::mem::replace(&mut seen.mark, mark) == mark {
                continue;
            }
            let before = std::mem::take(&mut seen.records);
            let mut before = before.into_iter().peekable();
            let states = self.slots.iter().zip(&mut changed).enumerate();
            for (place, (slot, changed)) in states {
                let Some((begun, ended)) = timer.begun_and_ended(*slot) else { continue };
                // One more of the one does not pass for less of the other.
                let now = (place as u32, begun.rotate_left(32).wrapping_add(ended));
                *changed |= before.next_if(|one| one.0 == now.0) != Some(now);
                seen.records.push(now);
            }
        }
        changed.into_iter().enumerate().filter_map(|(place, changed)| changed.then_some(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::time_leaf::tests::{call, stay};
    use std::sync::mpsc::channel;

    #[test]
    fn whatever_happens_on_a_thread_is_seen_once() {
        let slots = [130, 131, 132].map(Slot);
        let mut changes = Changes::of(slots.to_vec());
        assert!(changes.look().is_empty());
        // A thread that lives on, so that its timer serves nobody else meanwhile.
        let (tell, told) = channel::<fn(&mut usize, &mut usize)>();
        let (done, wait) = channel();
        let thread = std::thread::spawn(move || {
            // The inner one is lower, as on a stack.
            let mut frames = [0; 2];
            for what in told {
                let [inner, outer] = &mut frames;
                what(inner, outer);
                done.send(()).unwrap();
            }
        });
        let mut after = |what: fn(&mut usize, &mut usize)| {
            tell.send(what).unwrap();
            wait.recv().unwrap();
            let seen = changes.look();
            assert!(changes.look().is_empty(), "nothing happened since");
            seen
        };
        assert_eq!(after(|frame, _| call(130, frame, || true)), [0]);
        assert_eq!(after(|frame, _| (0..3).for_each(|_| call(132, frame, || false))), [2]);
        assert!(after(|_, _| ()).is_empty());
        assert_eq!(after(|_, outer| stay(131, outer)), [1], "a call that does not end");
        assert_eq!(after(|frame, _| call(130, frame, || true)), [0], "within it");
        // The address of the one that stays: it is given up.
        assert_eq!(after(|_, outer| call(130, outer, || true)), [0, 1]);
        drop(tell);
        thread.join().unwrap();
        assert!(changes.look().is_empty());
    }

    #[test]
    fn a_call_under_way_at_its_end_and_a_thread_that_dies_in_one_are_seen() {
        let mut changes = Changes::of(vec![Slot(133)]);
        std::thread::spawn(|| stay(133, &mut 0)).join().unwrap();
        assert_eq!(changes.look(), [0]);
        assert_eq!(timers::sum(Slot(133)).in_flight, 0);
        std::thread::spawn(|| call(133, &mut 0, || true)).join().unwrap();
        assert_eq!((changes.look(), timers::sum(Slot(133)).exits), (vec![0], 1));
    }
}
