//! The classes that helpers have seen, by the address that the CLR knows them by (ClassID), with their programs.
//! Looking up and adding a class takes no lock.

use super::program::ClassProgram;
use crate::capture::record::MAX_NUMBER;
use crate::capture::shape::ClassShape;
use crate::probes::address_space;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// Entries of the table, a power of two.
const ENTRIES: usize = 1 << 14;
/// Places for programs by number.
const PROGRAMS: usize = 32 << 10;
/// Entries that a look-up visits at most.
const MAX_VISITS: usize = 64;
/// Instead of a class: it was forgotten, and the entry may be used again.
const FORGOTTEN: usize = 1;

/// An entry. Zeroed memory is an unused one.
#[repr(C)]
struct Entry {
    class: AtomicUsize,
    /// Number of the class; 0 while the class is being added.
    number: AtomicU32,
    program: AtomicPtr<ClassProgram>,
}

static TABLE: AtomicPtr<Entry> = AtomicPtr::new(std::ptr::null_mut());
/// Programs by the remainder of their number: few programs are ever made, so a newer one rarely takes an older one's place.
static BY_NUMBER: [AtomicPtr<ClassProgram>; PROGRAMS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; PROGRAMS];
/// Number of the latest class.
static NUMBERS: AtomicU32 = AtomicU32::new(0);
/// Classes ever added.
static ADDED: AtomicU32 = AtomicU32::new(0);

/// A class without a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its ClassID.
    pub class: usize,
    /// Its number. A class that was forgotten and is seen again gets another one.
    pub number: u32,
}

/// What the table knows about a class.
pub(super) enum Known {
    Program(&'static ClassProgram),
    /// Its program is wanted; the number.
    Wanted(u32),
    /// There is no room for it.
    Nothing,
}

/// Makes the table at the first call; false if memory is refused. On one thread.
pub fn prepare() -> bool {
    if !TABLE.load(Ordering::Acquire).is_null() {
        return true;
    }
    match address_space::allocate(ENTRIES * size_of::<Entry>()) {
        Some(table) => TABLE.store(table.as_ptr().cast(), Ordering::Release),
        None => return false,
    }
    true
}

fn entries() -> &'static [Entry] {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() {
        return &[];
    }
    // SAFETY: a table of that many entries, which are zeroed at first; it is never given back.
    unsafe { std::slice::from_raw_parts(table, ENTRIES) }
}

/// Iterates over the entries that a class may have.
fn visits(class: usize) -> impl Iterator<Item = &'static Entry> {
    let hash = (class as u64 >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let entries = entries();
    (0..MAX_VISITS).filter_map(move |visit| entries.get((hash as usize + visit) % ENTRIES))
}

/// Looks a class up, and adds it if it is not in the table.
#[inline]
pub(super) fn look_up(class: usize) -> Known {
    if class <= FORGOTTEN {
        return Known::Nothing;
    }
    for entry in visits(class) {
        match entry.class.load(Ordering::Acquire) {
            found if found == class => return known(entry),
            0 => break,
            _ => {}
        }
    }
    add(class)
}

/// Returns the program of a class that is in the table and has one. Takes any word.
pub(super) fn find(class: usize) -> Option<&'static ClassProgram> {
    if class <= FORGOTTEN {
        return None;
    }
    let mut used = visits(class)
        .map(|entry| (entry, entry.class.load(Ordering::Acquire)))
        .take_while(|(_, found)| *found != 0);
    match used.find(|(_, found)| *found == class).map(|(entry, _)| known(entry)) {
        Some(Known::Program(program)) => Some(program),
        _ => None,
    }
}

/// Returns the shape of the class with a number, if it has a program.
pub fn shape(number: u32) -> Option<&'static ClassShape> {
    // SAFETY: null or a program, which is never freed.
    let program = unsafe { BY_NUMBER.get(number as usize % PROGRAMS)?.load(Ordering::Acquire).as_ref() };
    program.filter(|program| program.number == number).map(|program| &*program.shape)
}

fn known(entry: &'static Entry) -> Known {
    // SAFETY: null or a program, which is never freed.
    match unsafe { entry.program.load(Ordering::Acquire).as_ref() } {
        Some(program) => Known::Program(program),
        None => Known::Wanted(entry.number.load(Ordering::Relaxed)),
    }
}

#[cold]
fn add(class: usize) -> Known {
    for entry in visits(class) {
        let found = entry.class.load(Ordering::Acquire);
        if found == class {
            return known(entry);
        }
        let is_free = found == 0 || found == FORGOTTEN;
        if !is_free {
            continue;
        }
        match entry.class.compare_exchange(found, class, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                let number = NUMBERS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
                if number >= MAX_NUMBER {
                    // 268 million classes later: no more of them.
                    NUMBERS.store(MAX_NUMBER, Ordering::Relaxed);
                    return Known::Nothing;
                }
                entry.number.store(number, Ordering::Release);
                ADDED.fetch_add(1, Ordering::Release);
                return Known::Wanted(number);
            }
            Err(now) if now == class => return known(entry),
            Err(_) => {}
        }
    }
    Known::Nothing
}

/// Returns the number of classes ever added: if it grew, programs are wanted.
pub fn added() -> u32 {
    ADDED.load(Ordering::Acquire)
}

/// Returns the classes without programs.
pub fn wanted() -> Vec<Wanted> {
    let wanted = |entry: &Entry| {
        let class = entry.class.load(Ordering::Acquire);
        let number = entry.number.load(Ordering::Acquire);
        let is_wanted = class > FORGOTTEN && number != 0 && entry.program.load(Ordering::Relaxed).is_null();
        is_wanted.then_some(Wanted { class, number })
    };
    entries().iter().filter_map(wanted).collect()
}

/// Adds a class that no helper may have seen yet, so that its program is made in advance.
pub fn expect(class: usize) {
    look_up(class);
}

fn entry_of(wanted: Wanted) -> Option<&'static Entry> {
    visits(wanted.class).find(|entry| {
        entry.class.load(Ordering::Acquire) == wanted.class
            && entry.number.load(Ordering::Acquire) == wanted.number
    })
}

/// Whether the class is still in the table. The caller keeps [`forget`] from running beside this.
pub fn is_known(wanted: Wanted) -> bool {
    entry_of(wanted).is_some()
}

/// Sets the program of a class that is still in the table. The caller keeps [`forget`] from running beside this.
pub fn set_program(wanted: Wanted, program: &'static ClassProgram) {
    if let Some(entry) = entry_of(wanted) {
        if let Some(place) = BY_NUMBER.get(wanted.number as usize % PROGRAMS) {
            place.store(std::ptr::from_ref(program).cast_mut(), Ordering::Release);
        }
        entry.program.store(std::ptr::from_ref(program).cast_mut(), Ordering::Release);
    }
}

/// Forgets all classes whose numbers match, and those without a program. No object of them may exist any more, or else
/// they are only added again.
pub fn forget(matches: impl Fn(u32) -> bool) {
    for entry in entries() {
        let class = entry.class.load(Ordering::Acquire);
        let number = entry.number.load(Ordering::Acquire);
        if class > FORGOTTEN
            && number != 0
            && (entry.program.load(Ordering::Relaxed).is_null() || matches(number))
        {
            entry.program.store(std::ptr::null_mut(), Ordering::Relaxed);
            entry.number.store(0, Ordering::Relaxed);
            entry.class.store(FORGOTTEN, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::shape::ClassForm;

    /// One test, because there is one table.
    #[test]
    fn classes_are_added_once_and_forgotten() {
        assert!(prepare() && prepare());
        let number = |class| match look_up(class) {
            Known::Wanted(number) => number,
            Known::Program(_) => panic!("{class:x} has a program"),
            Known::Nothing => panic!("{class:x} has no room"),
        };
        let before = added();
        let first = number(0x7000_0000);
        assert_eq!((number(0x7000_0000), added()), (first, before + 1));
        let second = number(0x7000_0008);
        assert_ne!(first, second);
        let of = |class, number| Wanted { class, number };
        assert!(wanted().contains(&of(0x7000_0000, first)));

        let shape = ClassShape { type_name: "string".into(), form: ClassForm::String };
        let program: &'static ClassProgram = Box::leak(Box::new(ClassProgram::new(first, shape.into())));
        set_program(of(0x7000_0000, first), program);
        assert!(matches!(look_up(0x7000_0000), Known::Program(found) if std::ptr::eq(found, program)));
        assert!(!wanted().contains(&of(0x7000_0000, first)));
        forget(|_| false);
        assert!(is_known(of(0x7000_0000, first)), "it has a program");
        assert!(!is_known(of(0x7000_0008, second)), "nobody knows its module");
        forget(|number| number == first);
        let again = number(0x7000_0000);
        assert_ne!(again, first);
        set_program(of(0x7000_0000, first), program);
        assert!(matches!(look_up(0x7000_0000), Known::Wanted(number) if number == again));
        assert!(matches!(look_up(0), Known::Nothing));

        // Threads that add the same classes at once agree.
        let add = || (0..2000).map(|at| number(0x4000_0000 + at * 8)).collect::<Vec<_>>();
        let all: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
        });
        let settled = add();
        assert!(all.iter().all(|numbers| {
            // 0: another thread was just adding it.
            numbers.iter().zip(&settled).all(|(number, settled)| *number == 0 || number == settled)
        }));
    }
}
