//! Counters by key. Any thread finds or adds one without a lock; the memory is fixed.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Places in which a key is looked for.
const PLACES: usize = 32;

const FREE: u8 = 0;
const WRITING: u8 = 1;
const USED: u8 = 2;
/// Its module unloads: nothing finds it any more.
const RETIRED: u8 = 3;

/// A class, or a method that throws exceptions of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountKey {
    /// ModuleID; 0: unknown.
    pub module: usize,
    /// TypeDef or MethodDef token.
    pub token: u32,
    /// Index of the exceptions' class if this is a method.
    pub class: Option<u32>,
}

/// The throws of a key. A class has none of its own.
#[derive(Debug, Default)]
pub struct Counter {
    state: AtomicU8,
    /// Whether anybody wants the class, as [`Verdict`].
    verdict: AtomicU8,
    /// Whether one of its exceptions was sent since the latest session began to ask.
    is_shown: AtomicBool,
    module: AtomicUsize,
    token: AtomicU32,
    /// Index of the class + 1; 0 for none.
    class: AtomicU32,
    generation: AtomicU32,
    thrown: AtomicU64,
    rethrown: AtomicU64,
}

/// Whether anybody wants exceptions of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// Its name has not been read yet.
    Unknown = 0,
    /// Somebody does.
    Wanted = 1,
    /// Nobody does.
    Unwanted = 2,
}

/// There is no place for a key.
struct NoPlace;

/// The counters, by index.
pub struct Counts(Box<[Counter]>);

impl Counts {
    /// Makes a table of this many counters.
    pub(super) fn new(capacity: usize) -> Counts {
        Counts((0..capacity).map(|_| Counter::default()).collect())
    }

    /// Returns the counter with an index.
    pub fn get(&self, index: u32) -> Option<&Counter> {
        self.0.get(index as usize)
    }

    /// Returns the index of a key's counter; None if there is no place for it. `generation`: the last one
    /// that a module got.
    pub(super) fn find_or_add(&self, key: CountKey, generation: u32) -> Option<u32> {
        // Each failure is another thread's success.
        (0..PLACES).find_map(|_| self.try_find_or_add(key, generation).transpose())?.ok()
    }

    /// As [`Counts::find_or_add`]; None if another thread took the place meanwhile, an error if there is none.
    fn try_find_or_add(&self, key: CountKey, generation: u32) -> Result<Option<u32>, NoPlace> {
        let first = hash(key);
        let mut free = None;
        for place in 0..PLACES.min(self.0.len()) {
            let index = first.wrapping_add(place) % self.0.len();
            let counter = self.0.get(index).ok_or(NoPlace)?;
            match counter.state.load(Ordering::Acquire) {
                USED if counter.key() == key => return Ok(Some(index as u32)),
                FREE => free = free.or(Some(index)),
                _ => {}
            }
        }
        // Two threads may add the same key at once: whoever reads the counters adds them up.
        let free = free.ok_or(NoPlace)?;
        let counter = self.0.get(free).ok_or(NoPlace)?;
        if counter.state.compare_exchange(FREE, WRITING, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Ok(None);
        }
        counter.module.store(key.module, Ordering::Relaxed);
        counter.token.store(key.token, Ordering::Relaxed);
        counter.class.store(key.class.map_or(0, |class| class + 1), Ordering::Relaxed);
        counter.generation.store(generation, Ordering::Relaxed);
        counter.verdict.store(Verdict::Unknown as u8, Ordering::Relaxed);
        counter.is_shown.store(false, Ordering::Relaxed);
        counter.state.store(USED, Ordering::Release);
        Ok(Some(free as u32))
    }

    /// Retires the counters whose keys are gone.
    pub(super) fn retire(&self, is_gone: impl Fn(u32, CountKey) -> bool) {
        for (index, counter) in self.all() {
            if counter.state.load(Ordering::Acquire) == USED && is_gone(index, counter.key()) {
                counter.state.store(RETIRED, Ordering::Release);
            }
        }
    }

    /// Iterates over all counters in use or retired.
    pub fn present(&self) -> impl Iterator<Item = (u32, &Counter)> {
        self.all().filter(|(_, counter)| counter.state.load(Ordering::Acquire) >= USED)
    }

    fn all(&self) -> impl Iterator<Item = (u32, &Counter)> {
        (0..).zip(self.0.iter())
    }
}

impl Counter {
    /// Returns the key.
    pub fn key(&self) -> CountKey {
        CountKey {
            module: self.module.load(Ordering::Relaxed),
            token: self.token.load(Ordering::Relaxed),
            class: self.class.load(Ordering::Relaxed).checked_sub(1),
        }
    }

    /// Returns the last generation that a module had when the counter was added.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Whether its module unloads or has unloaded.
    pub fn is_retired(&self) -> bool {
        self.state.load(Ordering::Acquire) == RETIRED
    }

    /// Counts a throw.
    pub(super) fn add(&self, rethrown: bool) {
        self.rethrown.fetch_add(u64::from(rethrown), Ordering::Relaxed);
        self.thrown.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether none of its exceptions was sent before. From now on one is.
    pub(super) fn shows_first(&self) -> bool {
        !self.is_shown.swap(true, Ordering::Relaxed)
    }

    /// Has the next exception sent in any case.
    pub fn show_next(&self) {
        self.is_shown.store(false, Ordering::Relaxed);
    }

    /// Takes the throws counted since the last time: all, and the rethrown ones.
    pub fn take(&self) -> (u64, u64) {
        (self.thrown.swap(0, Ordering::Relaxed), self.rethrown.swap(0, Ordering::Relaxed))
    }

    /// Whether anybody wants the class.
    pub fn is_wanted(&self) -> bool {
        self.verdict.load(Ordering::Relaxed) != Verdict::Unwanted as u8
    }

    /// Sets whether anybody wants the class.
    pub fn set_verdict(&self, verdict: Verdict) {
        self.verdict.store(verdict as u8, Ordering::Relaxed);
    }

    /// Gives a retired counter back, whose throws have been taken.
    pub fn free(&self) {
        let _ = self.state.compare_exchange(RETIRED, FREE, Ordering::AcqRel, Ordering::Relaxed);
    }
}

fn hash(key: CountKey) -> usize {
    let mixed = (key.module as u64 >> 4)
        .wrapping_add(u64::from(key.token) << 17)
        .wrapping_add(key.class.map_or(0, |class| u64::from(class) + 1) << 40);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(token: u32) -> CountKey {
        CountKey { module: 0x7f00_1000, token, class: None }
    }

    #[test]
    fn threads_count_exactly() {
        let counts = Counts::new(256);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for round in 0..10_000 {
                        let index = counts.find_or_add(key(round % 20), 1).expect("there is room");
                        counts.get(index).expect("it exists").add(round % 2 == 0);
                    }
                });
            }
        });
        let mut sums = [(0, 0); 20];
        for (_, counter) in counts.present() {
            let (thrown, rethrown) = counter.take();
            let sum = &mut sums[counter.key().token as usize];
            *sum = (sum.0 + thrown, sum.1 + rethrown);
        }
        for (token, sum) in sums.into_iter().enumerate() {
            assert_eq!(sum, (4_000, if token % 2 == 0 { 4_000 } else { 0 }));
        }
        assert!(counts.present().all(|(_, counter)| counter.take() == (0, 0)), "taken once");
    }

    #[test]
    fn full_tables_refuse_and_retired_counters_make_room() {
        let counts = Counts::new(16);
        let added: Vec<_> = (0..16).filter_map(|token| counts.find_or_add(key(token), 1)).collect();
        assert_eq!((added.len(), counts.find_or_add(key(99), 1)), (16, None));
        counts.retire(|_, of| of.token == 7);
        assert_eq!(counts.find_or_add(key(7), 2), None, "its throws have not been taken yet");
        let retired: Vec<_> = counts.present().filter(|(_, counter)| counter.is_retired()).collect();
        assert_eq!(retired.len(), 1);
        retired[0].1.free();
        assert_eq!(counts.find_or_add(key(7), 2), Some(retired[0].0), "another one");
        assert_eq!(counts.get(retired[0].0).expect("it exists").generation(), 2);
    }
}
