//! Finds the timed slots that were called since the last look. An idle thread costs one comparison; for others
//! each record is compared with its earlier state. Nothing is summed.
#![forbid(unsafe_code)]

use super::blocks::Slot;
use super::timers::{self, Mark};
use std::collections::HashMap;

/// State of some slots at the last look.
#[derive(Default)]
pub struct SlotChanges {
    slots: Vec<Slot>,
    /// By address of the timer; timers are never freed.
    timers: HashMap<usize, SeenTimer>,
}

/// State of one thread at the last look.
#[derive(Default)]
struct SeenTimer {
    mark: Option<Mark>,
    /// Its records by position of the slot, ascending, with a value that differs between successive states.
    records: Vec<(u32, u64)>,
}

impl SlotChanges {
    /// Starts with nothing seen of these slots.
    pub fn of(slots: Vec<Slot>) -> SlotChanges {
        SlotChanges { slots, timers: HashMap::new() }
    }

    /// Returns the positions of slots with calls that began or ended since the last look; at the first look, of
    /// all slots with calls.
    pub fn take(&mut self) -> Vec<usize> {
        let mut changed = vec![false; self.slots.len()];
        for timer in timers::all() {
            let seen = self.timers.entry(std::ptr::from_ref(timer).addr()).or_default();
            // Before the records: a later change results in another mark.
            let mark = Some(timer.mark());
            if std::mem::replace(&mut seen.mark, mark) == mark {
                continue;
            }
            let before = std::mem::take(&mut seen.records);
            let mut before = before.into_iter().peekable();
            let states = self.slots.iter().zip(&mut changed).enumerate();
            for (place, (slot, changed)) in states {
                let Some((begun, ended)) = timer.begun_and_ended(*slot) else { continue };
                // An increase of one cannot cancel a decrease of the other.
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
    use crate::probes::time_helper::tests::{call, stay};
    use std::sync::mpsc::channel;

    #[test]
    fn sees_each_change_on_a_thread_once() {
        let slots = [130, 131, 132].map(Slot);
        let mut changes = SlotChanges::of(slots.to_vec());
        assert!(changes.take().is_empty());
        // A thread that stays alive, so that no other gets its timer meanwhile.
        let (send, actions) = channel::<fn(&mut usize, &mut usize)>();
        let (done, wait) = channel();
        let thread = std::thread::spawn(move || {
            // The inner frame is lower, as on a stack.
            let mut frames = [0; 2];
            for action in actions {
                let [inner, outer] = &mut frames;
                action(inner, outer);
                done.send(()).unwrap();
            }
        });
        let mut after = |action: fn(&mut usize, &mut usize)| {
            send.send(action).unwrap();
            wait.recv().unwrap();
            let seen = changes.take();
            assert!(changes.take().is_empty(), "nothing happened since");
            seen
        };
        assert_eq!(after(|frame, _| call(130, frame, || true)), [0]);
        assert_eq!(after(|frame, _| (0..3).for_each(|_| call(132, frame, || false))), [2]);
        assert!(after(|_, _| ()).is_empty());
        assert_eq!(after(|_, outer| stay(131, outer)), [1], "an unfinished call");
        assert_eq!(after(|frame, _| call(130, frame, || true)), [0], "within it");
        // At the address of the unfinished call, which is given up.
        assert_eq!(after(|_, outer| call(130, outer, || true)), [0, 1]);
        drop(send);
        thread.join().unwrap();
        assert!(changes.take().is_empty());
    }

    #[test]
    fn sees_calls_of_threads_that_die() {
        let mut changes = SlotChanges::of(vec![Slot(133)]);
        std::thread::spawn(|| stay(133, &mut 0)).join().unwrap();
        assert_eq!(changes.take(), [0]);
        assert_eq!(timers::sum(Slot(133)).in_flight, 0);
        std::thread::spawn(|| call(133, &mut 0, || true)).join().unwrap();
        assert_eq!((changes.take(), timers::sum(Slot(133)).exits), (vec![0], 1));
    }
}
