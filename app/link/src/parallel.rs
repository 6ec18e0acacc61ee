//! Maps items on several threads, so that a slow item does not delay the others.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the results of `map` in the order of the items. Runs it on the calling thread if `threads` is at most 1,
/// else on that many threads, each of which takes one item after another.
///
/// # Panics
/// If `map` panics.
pub fn map<T: Sync, R: Send>(items: &[T], threads: usize, map: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if threads <= 1 {
        return items.iter().map(map).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return results };
            results.push((index, map(item)));
        }
    };
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads.min(items.len())).map(|_| scope.spawn(work)).collect();
        let results = running.into_iter().map(std::thread::ScopedJoinHandle::join);
        results.flat_map(|joined| joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn keeps_the_order_and_runs_items_at_the_same_time() {
        let numbers: Vec<u32> = (0..100).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(
                map(&numbers, threads, |number| number * 2),
                numbers.iter().map(|n| n * 2).collect::<Vec<_>>()
            );
        }
        let both = Barrier::new(2);
        let leaders = map(&[1, 2], 2, |_| both.wait().is_leader());
        assert_eq!(leaders.iter().filter(|leader| **leader).count(), 1);
        assert!(map(&[] as &[u32], 8, |number| *number).is_empty());
    }
}
