//! Passengers: copies that are recompiled, with their original IL, because dialled ones are inlined in the code they
//! had. They get that code back with those dials.
#![forbid(unsafe_code)]

use super::ledger::{Book, HandOver};
use super::row::Row;
use crate::inlining::{Inlined, Method};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use std::collections::{HashMap, HashSet};

/// Passengers remembered that the runtime found itself.
const MAX_STRAYS: usize = 100_000;

/// How a passenger became one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// By us: the rows that need it name it.
    ByUs,
    /// By the runtime, which does not say for whom: some row that is on and was asked for so.
    ByRuntime,
}

/// The passengers there are.
#[derive(Default)]
pub struct Passengers(HashMap<Method, Found>);

/// What turning rows off means for them and for passengers.
#[derive(Default)]
pub struct Leaving {
    /// Rows that get their own code back.
    pub off: Vec<RowId>,
    /// Rows that others need recompiled: passengers from now on.
    pub stay: Vec<(RowId, Method, Found)>,
    /// Passengers that nobody needs any more.
    pub dismissed: Vec<Method>,
    /// Passengers that stay, and can have inlined again what is turned off.
    pub anew: Vec<Method>,
}

impl Passengers {
    /// The CLR asks for the body of a copy that has none of ours.
    pub fn come(&mut self, method: Method) -> HandOver {
        if self.0.contains_key(&method) {
            return HandOver::Nothing;
        }
        if self.0.len() < MAX_STRAYS {
            self.0.insert(method, Found::ByRuntime);
        }
        HandOver::Stray
    }

    /// Notes one more. What was found both ways counts as found by the runtime, which needs it longer.
    pub fn add(&mut self, method: Method, found: Found) {
        let entry = self.0.entry(method).or_insert(found);
        if found == Found::ByRuntime {
            *entry = found;
        }
    }

    /// It is none any more; answers how it became one.
    pub fn remove(&mut self, method: Method) -> Option<Found> {
        self.0.remove(&method)
    }

    /// Whether this is one.
    pub fn has(&self, method: Method) -> bool {
        self.0.contains_key(&method)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Forgets those of an unloaded module.
    pub fn forget(&mut self, module: usize) {
        self.0.retain(|(of, _), _| *of != module);
    }

    /// Bytes used, an estimate.
    pub fn bytes(&self) -> usize {
        // An entry has 24 bytes and one of control; one in eight stays empty.
        self.0.capacity() * 25 * 8 / 7
    }
}

/// Whether a row counts, or will as soon as it is called.
fn counts(row: &Row) -> bool {
    row.wanted > Level::Off && (row.is_on() || row.requesting)
}

/// Which of `of` rows that are on, `leaving` apart, need recompiled.
fn needed(book: &Book, of: &HashSet<Method>, leaving: &HashSet<RowId>) -> HashSet<Method> {
    let mut needed = HashSet::new();
    let mut sought = false;
    for row in book.rows().iter().filter(|row| counts(row) && !leaving.contains(&row.id)) {
        sought |= row.by_runtime;
        needed.extend(row.inliners.iter().filter(|method| of.contains(method)));
    }
    if sought {
        let row_of = |method: &Method| book.find(method.0, method.1).and_then(|id| book.row(id));
        let stray = |method: &&Method| {
            book.passengers.0.get(method) == Some(&Found::ByRuntime)
                || row_of(method).is_some_and(|row| row.stray)
        };
        needed.extend(of.iter().filter(stray));
    }
    needed
}

/// Sorts rows that are to be turned off, and all passengers: who needed them may also have failed meanwhile.
pub fn leaving(book: &Book, rows: &[RowId]) -> Leaving {
    let of_rows: Vec<&Row> = rows.iter().filter_map(|id| book.row(*id)).collect();
    let mut asked: HashSet<Method> = of_rows.iter().map(|row| row.method()).collect();
    asked.extend(book.passengers.0.keys());
    let needed = needed(book, &asked, &rows.iter().copied().collect());
    let theirs: HashSet<&Method> = of_rows.iter().flat_map(|row| row.inliners.iter()).collect();
    let mut leaving = Leaving::default();
    for row in &of_rows {
        let method = row.method();
        asked.remove(&method);
        if needed.contains(&method) {
            let found = if row.stray { Found::ByRuntime } else { Found::ByUs };
            leaving.stay.push((row.id, method, found));
        } else {
            leaving.off.push(row.id);
        }
    }
    let (stay, go): (Vec<Method>, Vec<Method>) =
        asked.into_iter().partition(|method| needed.contains(method));
    leaving.dismissed = go;
    leaving.anew = stay.into_iter().filter(|method| theirs.contains(method)).collect();
    leaving
}

/// Notes who is about to be recompiled for the sake of rows, before the CLR is asked. Rows among them that run a body of
/// ours get it again. `by_runtime`: the runtime will look for more, and may find copies that wait for their first call.
pub fn board(book: &mut Book, methods: &HashSet<Method>, by_runtime: bool) {
    for method in methods {
        let row = book.find(method.0, method.1).and_then(|id| book.row_mut(id));
        match row.filter(|row| counts(row)) {
            Some(row) => row.again |= row.handed,
            None => book.passengers.add(*method, Found::ByUs),
        }
    }
    if by_runtime {
        let waiting = |row: &&Row| counts(row) && !row.handed && !row.requesting;
        let waiting: Vec<RowId> = book.rows().iter().filter(waiting).map(|row| row.id).collect();
        for id in waiting {
            if let Some(row) = book.row_mut(id) {
                row.stray = true;
            }
        }
    }
}

/// Notes that methods cannot be recompiled: calls from them to what they hold inlined are not counted.
pub fn cannot_ride(book: &mut Book, methods: &HashSet<Method>) {
    if methods.is_empty() {
        return;
    }
    book.passengers.0.retain(|method, _| !methods.contains(method));
    let holds = |row: &&Row| row.inliners.iter().any(|method| methods.contains(method));
    let held: Vec<RowId> = book.rows().iter().filter(holds).map(|row| row.id).collect();
    for id in held {
        if let Some(row) = book.row_mut(id) {
            row.inlined = Inlined::Yes;
        }
    }
}
