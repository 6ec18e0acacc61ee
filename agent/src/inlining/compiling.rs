//! What this thread compiles at the moment: `JITInlining` names the method whose IL calls, which may itself be inlined;
//! the code that ends up holding the callee is that of the compilation under way.
#![forbid(unsafe_code)]

use super::Method;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

/// Compilations begun on one thread within one another, of which the innermost are kept. (A compilation may run code of
/// the host, a resolver for example, which is compiled meanwhile.)
const DEPTH: usize = 16;

/// A compilation under way.
#[derive(Clone, Copy, Default)]
struct Compilation {
    /// FunctionID. The runtime may be asked about it only while it is compiled: of one that failed we are not told, and
    /// its module may be gone when the thread compiles something else.
    function: usize,
    /// Its method, once somebody asked; none of a dynamic method.
    method: Option<Option<Method>>,
    /// Its number, once an inlining was allowed in it; else 0.
    number: u64,
    /// How deep in its stack the thread was, an address: what begins as deep or less deep begins after its end. So those
    /// that failed, of whose ends nobody tells, are found to be over.
    stack: usize,
}

/// Numbers of compilations given so far.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static DEPTH_NOW: Cell<usize> = const { Cell::new(0) };
    static COMPILATIONS: RefCell<[Compilation; DEPTH]> =
        const { RefCell::new([Compilation { function: 0, method: None, number: 0, stack: 0 }; DEPTH]) };
}

/// `JITCompilationStarted` and `ReJITCompilationStarted`. `ended` is told the numbers of compilations that are found to be
/// over.
pub fn begin(function: usize, ended: impl FnMut(u64)) {
    enter(Compilation { function, method: None, number: 0, stack: stack_now() }, ended);
}

/// `DynamicMethodJITCompilationStarted`.
pub fn begin_dynamic(function: usize, ended: impl FnMut(u64)) {
    enter(Compilation { function, method: Some(None), number: 0, stack: stack_now() }, ended);
}

/// An address in the present frame; stacks grow downwards wherever the CLR runs.
#[inline(never)]
fn stack_now() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

fn enter(compilation: Compilation, ended: impl FnMut(u64)) {
    let mut numbers = [0; DEPTH];
    with(|all, depth| {
        let over = all.iter().take(depth).position(|one| one.stack <= compilation.stack).unwrap_or(depth);
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

/// The numbers of the compilations from `left` on.
fn note_numbers(numbers: &mut [u64; DEPTH], all: &[Compilation; DEPTH], left: usize, depth: usize) {
    for (number, one) in numbers.iter_mut().zip(all.iter().take(depth).skip(left)) {
        *number = one.number;
    }
}

/// The compilation has ended. Any begun within it and never finished end with it. `ended` is told the numbers of those
/// that were given one.
pub fn end(function: usize, mut ended: impl FnMut(u64)) {
    let mut numbers = [0; DEPTH];
    with(|all, depth| {
        let left = all.iter().take(depth).rposition(|one| one.function == function).unwrap_or(depth);
        note_numbers(&mut numbers, all, left, depth);
        left
    });
    numbers.into_iter().filter(|number| *number != 0).for_each(&mut ended);
}

/// The number of the compilation under way, in which an inlining was allowed. None between compilations.
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

/// The method compiled now, asking `method_of` for it once; it may have no token. None between compilations.
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

/// Changes what is under way; `change` answers how many there are.
fn with(change: impl FnOnce(&mut [Compilation; DEPTH], usize) -> usize) {
    // A thread that ends has none.
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

    thread_local!(static STACK: Cell<usize> = const { Cell::new(1_000_000) });

    /// Deeper in the stack than all before.
    fn nested(function: usize, method: Option<Option<Method>>) {
        STACK.set(STACK.get() - 100);
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
    fn the_innermost_is_the_one() {
        assert_eq!(now(), None);
        begin(10);
        assert_eq!(now(), Some((1, 10)));
        begin(20);
        assert_eq!(current(|_| None), Some(None), "asked for once");
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
    fn only_who_allowed_something_has_a_number_and_its_end_is_told() {
        assert_eq!(number(), None);
        begin(10);
        begin(20);
        let of = number().expect("one is under way");
        assert_eq!(number(), Some(of));
        begin(30);
        assert_eq!(end(30), [0u64; 0]);
        begin(40);
        let lost = number().expect("one is under way");
        assert!(lost != of);
        assert_eq!(end(20), [of, lost], "what was never finished ends with its outer one");
        assert_eq!(end(10), [0u64; 0]);
    }

    #[test]
    fn what_is_never_finished_goes_with_its_outer_one_and_never_fills_the_room() {
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
    fn what_failed_is_over_when_the_thread_begins_another_as_deep() {
        begin(10);
        let outer = number().expect("one is under way");
        begin(20);
        let failed = number().expect("one is under way");
        let mut over = Vec::new();
        enter(Compilation { function: 30, stack: STACK.get(), ..Compilation::default() }, |one| {
            over.push(one)
        });
        assert_eq!(over, [failed]);
        assert_eq!(now(), Some((1, 30)));
        enter(Compilation { function: 40, stack: STACK.get() + 500, ..Compilation::default() }, |one| {
            over.push(one)
        });
        assert_eq!(over, [failed, outer]);
    }

    #[test]
    fn the_stack_is_looked_at_where_a_compilation_begins() {
        #[inline(never)]
        fn deeper() -> usize {
            let room = std::hint::black_box([0u8; 4096]);
            stack_now().min(room.as_ptr().addr())
        }
        assert!(deeper() < stack_now());
    }
}
