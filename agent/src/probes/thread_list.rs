//! A list of the memory that threads own, and leave to the next thread when they end. The oldest comes first and is taken
//! first: it has grown most already, so what only a peak of threads needed stays small.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What a list needs of its items.
pub(super) trait ThreadItem: Sized + 'static {
    /// Whether a thread owns it.
    fn owned(&self) -> &AtomicBool;
    /// The next item; only for the list.
    fn next(&self) -> &AtomicPtr<Self>;
}

/// A list that only grows.
pub(super) struct ThreadList<T>(AtomicPtr<T>);

impl<T: ThreadItem> ThreadList<T> {
    /// Returns an empty list.
    pub const fn new() -> ThreadList<T> {
        ThreadList(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// Iterates over every item, including those without a thread.
    pub fn all(&'static self) -> impl Iterator<Item = &'static T> {
        let mut place = &self.0;
        std::iter::from_fn(move || {
            // SAFETY: items are complete when appended, and never freed.
            let item: &'static T = unsafe { place.load(Ordering::SeqCst).as_ref() }?;
            place = item.next();
            Some(item)
        })
    }

    /// Claims the oldest item that no thread owns; None if there is none.
    pub fn claim(&'static self) -> Option<&'static T> {
        self.all().find(|item| {
            let owned = item.owned();
            // A failed exchange would disturb the owner.
            !owned.load(Ordering::Relaxed)
                && owned.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// Appends an item. Later looks at the list see it.
    ///
    /// # Safety
    /// The item is complete, has no next one, is never freed, and nobody else knows it.
    pub unsafe fn append(&'static self, item: NonNull<T>) -> &'static T {
        let mut place = &self.0;
        loop {
            let next = match place.load(Ordering::Acquire) {
                next if !next.is_null() => next,
                none => {
                    match place.compare_exchange(none, item.as_ptr(), Ordering::SeqCst, Ordering::Acquire) {
                        // SAFETY: the caller's contract.
                        Ok(_) => return unsafe { item.as_ref() },
                        Err(other) => other,
                    }
                }
            };
            // SAFETY: items are complete when appended, and never freed.
            match unsafe { next.as_ref() } {
                Some(next) => place = next.next(),
                None => continue,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Item {
        number: u32,
        owned: AtomicBool,
        next: AtomicPtr<Item>,
    }

    impl ThreadItem for Item {
        fn owned(&self) -> &AtomicBool {
            &self.owned
        }

        fn next(&self) -> &AtomicPtr<Item> {
            &self.next
        }
    }

    fn append(list: &'static ThreadList<Item>, number: u32) {
        let next = AtomicPtr::new(std::ptr::null_mut());
        let item = Box::leak(Box::new(Item { number, owned: AtomicBool::new(false), next }));
        // SAFETY: leaked, complete, and known to nobody.
        unsafe { list.append(NonNull::from(item)) };
    }

    #[test]
    fn the_oldest_is_taken_first() {
        static LIST: ThreadList<Item> = ThreadList::new();
        assert!(LIST.claim().is_none());
        (1..=3).for_each(|number| append(&LIST, number));
        let claimed = || LIST.claim().map(|item| item.number);
        assert_eq!([claimed(), claimed()], [Some(1), Some(2)]);
        LIST.all().next().expect("the first").owned.store(false, Ordering::Release);
        assert_eq!([claimed(), claimed(), claimed()], [Some(1), Some(3), None]);
    }

    #[test]
    fn threads_that_append_at_once_lose_nothing() {
        static LIST: ThreadList<Item> = ThreadList::new();
        const EACH: u32 = 1_000;
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || (0..EACH).for_each(|number| append(&LIST, thread * EACH + number)));
            }
        });
        let mut numbers: Vec<u32> = LIST.all().map(|item| item.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..4 * EACH).collect::<Vec<_>>());
    }
}
