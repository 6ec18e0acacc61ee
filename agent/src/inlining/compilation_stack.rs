//! Tracks the methods that the current thread is compiling. `JITInlining` names the method whose IL contains the
//! call, which may itself be inlined; the active compilation's code then contains the callee.
#![forbid(unsafe_code)]

use super::method::Method;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

/// Limit of nested compilations tracked per thread; the innermost are kept. (A compilation may run code of the
/// host, such as a resolver, which is itself compiled meanwhile.)
const DEPTH: usize = 16;

/// An active compilation.
#[derive(Clone, Copy, Default)]
struct Compilation {
    /// FunctionID. Query the runtime about it only while it is being compiled: failed compilations are not
    /// reported, and the module may be gone when the thread compiles something else.
    function: usize,
    /// Its method, once queried; `Some(None)` for a dynamic method.
    method: Option<Option<Method>>,
    /// Its number, once an inlining was allowed in it; else 0.
    number: u64,
    /// Address of the thread's stack pointer when it began. A compilation that begins no deeper starts after this
    /// one's end. This detects failed compilations: the runtime does not report their ends.
    stack: usize,
}

/// Callbacks read the stack pointer at slightly different depths; a nested compilation is far deeper than that.
const SLACK: usize = 1024;

/// Number of the last numbered compilation.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static DEPTH_NOW: Cell<usize> = const { Cell::new(0) };
    static COMPILATIONS: RefCell<[Compilation; DEPTH]> =
        const { RefCell::new([Compilation { function: 0, method: None, number: 0, stack: 0 }; DEPTH]) };
}

/// Handles `JITCompilationStarted` and `ReJITCompilationStarted`. Calls `ended` with the numbers of compilations
/// found to be over.
pub fn begin(function: usize, ended: impl FnMut(u64)) {
    enter(Compilation { function, method: None, number: 0, stack: stack_now() }, ended);
}

/// Handles `DynamicMethodJITCompilationStarted`.
pub fn begin_dynamic(function: usize, ended: impl FnMut(u64)) {
    enter(Compilation { function, method: Some(None), number: 0, stack: stack_now() }, ended);
}

/// Returns an address in the present frame; stacks grow downwards wherever the CLR runs.
#[inline(never)]
fn stack_now() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

fn enter(compilation: Compilation, ended: impl FnMut(u64)) {
    let mut numbers = [0; DEPTH];
    with(|all, depth| {
        let over = all
            .iter()
            .take(depth)
            .position(|one| one.stack <= compilation.stack.saturating_add(SLACK))
            .unwrap_or(depth);
        note_numbers(&mut numbers, all, over, depth);
        let depth = over;
        if depth == DEPTH {
            all.rotate_left(1);
        }
        let at = depth.min(DEPTH - 1);
        if let Some(entry) = all.get_mut(at) {
            *entry = compilation;
        }
        at + 1
    });
    numbers.into_iter().filter(|number| *number != 0).for_each(ended);
}

/// Collects the numbers of the compilations from `left` on.
fn note_numbers(numbers: &mut [u64; DEPTH], all: &[Compilation; DEPTH], left: usize, depth: usize) {
    for (number, one) in numbers.iter_mut().zip(all.iter().take(depth).skip(left)) {
        *number = one.number;
    }
}

/// Records that a compilation has ended, along with any that began within it and never finished. Calls `ended` with
/// the numbers of those that had one.
pub fn end(function: usize, mut ended: impl FnMut(u64)) {
    let mut numbers = [0; DEPTH];
    with(|all, depth| {
        let left = all.iter().take(depth).rposition(|one| one.function == function).unwrap_or(depth);
        note_numbers(&mut numbers, all, left, depth);
        left
    });
    numbers.into_iter().filter(|number| *number != 0).for_each(&mut ended);
}

/// Returns the number of the active compilation, in which an inlining was allowed; None if there is none.
pub fn number() -> Option<u64> {
    let mut given = None;
    with(|all, depth| {
        if let Some(one) = depth.checked_sub(1).and_then(|at| all.get_mut(at)) {
            if one.number == 0 {
                one.number = NUMBERS.fetch_add(1, Ordering::Relaxed) + 1;
            }
            given = Some(one.number);
        }
        depth
    });
    given
}

/// Returns the method being compiled, calling `method_of` once per compilation. The inner None means a method
/// without a token, the outer None no active compilation.
pub fn current(method_of: impl FnOnce(usize) -> Option<Method>) -> Option<Option<Method>> {
    let (function, known) = read(|one| (one.function, one.method))?;
    Some(known.unwrap_or_else(|| {
        let method = method_of(function);
        with(|all, depth| {
            if let Some(one) = depth.checked_sub(1).and_then(|at| all.get_mut(at)) {
                one.method = Some(method);
            }
            depth
        });
        method
    }))
}

/// Changes the active compilations; `change` returns their new count.
fn with(change: impl FnOnce(&mut [Compilation; DEPTH], usize) -> usize) {
    // A thread that is ending has no active compilation.
    let _ = COMPILATIONS.try_with(|all| {
        if let Ok(mut all) = all.try_borrow_mut() {
            DEPTH_NOW.set(change(&mut all, DEPTH_NOW.get()));
        }
    });
}

fn read<T>(look: impl FnOnce(&Compilation) -> T) -> Option<T> {
    let at = DEPTH_NOW.get().checked_sub(1)?;
    COMPILATIONS.try_with(|all| all.try_borrow().ok()?.get(at).map(look)).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local!(static STACK: Cell<usize> = const { Cell::new(1 << 30) });

    /// Begins one deeper in the stack than all before.
    fn nested(function: usize, method: Option<Option<Method>>) {
        STACK.set(STACK.get() - 2 * SLACK);
        enter(Compilation { function, method, number: 0, stack: STACK.get() }, |_| panic!("nothing is over"));
    }

    fn begin(function: usize) {
        nested(function, None);
    }

    fn end(function: usize) -> Vec<u64> {
        let mut ended = Vec::new();
        super::end(function, |number| ended.push(number));
        ended
    }

    fn now() -> Option<Method> {
        current(|function| Some((1, function as u32)))?
    }

    #[test]
    fn current_is_the_innermost() {
        assert_eq!(now(), None);
        begin(10);
        assert_eq!(now(), Some((1, 10)));
        begin(20);
        assert_eq!(current(|_| None), Some(None), "queried once");
        assert_eq!(now(), None, "and remembered");
        nested(30, Some(None));
        assert_eq!(now(), None, "it has no token");
        end(30);
        end(20);
        assert_eq!(now(), Some((1, 10)));
        end(10);
        assert_eq!(now(), None);
    }

    #[test]
    fn only_numbered_compilations_report_their_end() {
        assert_eq!(number(), None);
        begin(10);
        begin(20);
        let of = number().expect("one is active");
        assert_eq!(number(), Some(of));
        begin(30);
        assert_eq!(end(30), [0u64; 0]);
        begin(40);
        let lost = number().expect("one is active");
        assert!(lost != of);
        assert_eq!(end(20), [of, lost], "unfinished compilations end with their outer one");
        assert_eq!(end(10), [0u64; 0]);
    }

    #[test]
    fn unfinished_compilations_end_with_their_outer_one() {
        begin(1);
        for lost in 100..200 {
            begin(lost);
        }
        begin(2);
        assert_eq!(now(), Some((1, 2)));
        end(2);
        end(1);
        assert_eq!(now(), Some((1, 199)), "the oldest are forgotten");
        begin(3);
        end(3);
        end(190);
        assert_eq!(now(), Some((1, 189)));
    }

    #[test]
    fn failed_compilations_end_when_another_begins() {
        begin(10);
        let outer = number().expect("one is active");
        begin(20);
        let failed = number().expect("one is active");
        let mut over = Vec::new();
        enter(Compilation { function: 30, stack: STACK.get(), ..Compilation::default() }, |one| {
            over.push(one)
        });
        assert_eq!(over, [failed]);
        assert_eq!(now(), Some((1, 30)));
        enter(
            Compilation { function: 40, stack: STACK.get() + 2 * SLACK, ..Compilation::default() },
            |one| over.push(one),
        );
        assert_eq!(over, [failed, outer]);
    }

    #[test]
    fn stack_addresses_decrease_with_depth() {
        #[inline(never)]
        fn deeper() -> usize {
            let room = std::hint::black_box([0u8; 4096]);
            stack_now().min(room.as_ptr().addr())
        }
        assert!(deeper() < stack_now());
    }
}
