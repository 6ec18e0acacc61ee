//! Benchmarks of the model with a million methods in 500 modules, 20,000 of them dialled: times and memory.
//! Each line has a figure's name, median and worst run.

use fixedbitset::FixedBitSet;
use redial_model::catalogue::bit_set::BitSet;
use redial_model::catalogue::synthetic::{PseudoRandom, batches};
use redial_model::catalogue::{Catalogue, substring_search};
use redial_model::connection::{Connection, Status};
use redial_model::ids::{ConnectionId, MethodIx, Node};
use redial_model::list::{Filter, Sort, SortKey};
use redial_model::log::Log;
use redial_model::method_table::Shape;
use redial_model::update::{CataloguePart, ConnectionUpdate, Now};
use redial_protocol::catalogue::DomainRow;
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::{ProcessKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::order::TimeOptions;
use redial_protocol::state::CopyState;
use std::time::{Duration, Instant};

const METHODS: usize = 1_000_000;
const MODULES: usize = 500;
const DIALLED: usize = 20_000;
/// Parts of names for a long text.
const NAMES: [&str; 8] = [
    "getcustomer",
    "orderservice",
    "repository.",
    "cacheload",
    "tostring()",
    "setitem",
    "moveNext",
    "billing_",
];

fn main() {
    // `cargo test --benches` only checks that it runs.
    let small = !std::env::args().any(|argument| argument == "--bench");
    let methods = if small { 20_000 } else { METHODS };
    let dialled = if small { 500 } else { DIALLED };
    let mut bench = Bench::new(methods, dialled);
    bench.filter();
    bench.sort();
    bench.live(dialled);
    bench.tree();
    bench.memory();
    compare_with_libraries(methods);
}

/// Times of `BitSet` and `substring_search` beside the libraries that could replace them (docs/decisions/0006).
fn compare_with_libraries(methods: usize) {
    let mut chance = PseudoRandom::new(5);
    let indices: Vec<u32> = (0..methods as u32).filter(|_| chance.below(3) == 0).collect();
    let (mut ours, mut theirs) = (BitSet::none(methods), FixedBitSet::with_capacity(methods));
    indices.iter().for_each(|index| ours.set(*index, true));
    theirs.extend(indices.iter().map(|index| *index as usize));
    let (all, all_theirs) = (BitSet::all(methods), FixedBitSet::with_capacity(methods));
    let repeated = |run: &mut dyn FnMut() -> usize| {
        let once = |_| {
            let began = Instant::now();
            std::hint::black_box(run());
            began.elapsed()
        };
        (0..50).map(once).collect::<Vec<_>>()
    };
    report(
        "BitSet: intersect and count",
        repeated(&mut || {
            let mut both = all.clone();
            both.intersect(&ours);
            both.count()
        }),
    );
    report(
        "fixedbitset: intersect and count",
        repeated(&mut || {
            let mut both = all_theirs.clone();
            both.union_with(&theirs);
            both.count_ones(..)
        }),
    );
    report(
        "BitSet: every third bit",
        repeated(&mut || ours.iter_in(0..methods as u32).map(|bit| bit as usize).sum()),
    );
    report("fixedbitset: every third bit", repeated(&mut || theirs.ones().sum()));

    let mut text = Vec::new();
    while text.len() < 32 * methods {
        text.extend_from_slice(NAMES[chance.below(NAMES.len())].as_bytes());
    }
    for word in [*b"get", *b"ord", *b"zzz"] {
        let name = String::from_utf8_lossy(&word).into_owned();
        let ours = || substring_search::places(&text, word);
        let theirs = || memchr::memmem::find_iter(&text, &word).map(|place| place as u32).collect::<Vec<_>>();
        assert_eq!(ours().len(), theirs().len());
        report(
            &format!("substring_search: {name:?}, {} places", ours().len()),
            repeated(&mut || ours().len()),
        );
        report(&format!("memchr: {name:?}"), repeated(&mut || theirs().len()));
    }
}

struct Bench {
    connection: Connection,
    log: Log,
    t_ms: u64,
}

impl Bench {
    fn new(methods: usize, dialled: usize) -> Bench {
        let began = Instant::now();
        let (batches, order) = batches(MODULES, methods);
        report("build batches (worker thread)", vec![began.elapsed()]);
        let process = ProcessKey { pid: 1, start: 1 };
        let mut connection = Connection::new(ConnectionId(1), process, "synthetic");
        let mut log = Log::default();
        connection.session.status = Status::Live;
        let domain = DomainRow { id: 1, name: "clrhost".into(), shared: false };
        let parts =
            std::iter::once(CataloguePart::Domains { domains: vec![domain], methods: methods as u64 })
                .chain(batches.into_iter().map(|batch| CataloguePart::Batch(Box::new(batch))))
                .chain([CataloguePart::Complete(order)]);
        let mut times = Vec::new();
        for part in parts {
            let began = Instant::now();
            connection.apply(vec![ConnectionUpdate::Catalogue(part)], &mut log, Now::default());
            times.push(began.elapsed());
        }
        report("take one part of the catalogue in", times);
        let rows = rows(&connection.table.catalogue, dialled);
        let began = Instant::now();
        connection.apply(
            vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })],
            &mut log,
            Now::default(),
        );
        report(&format!("take {dialled} rows in"), vec![began.elapsed()]);
        let began = Instant::now();
        connection.refresh(Now::default());
        report("refresh for the first time", vec![began.elapsed()]);
        Bench { connection, log, t_ms: 0 }
    }

    fn refresh(&mut self) -> Duration {
        let began = Instant::now();
        self.connection.refresh(Now::default());
        began.elapsed()
    }

    fn set_filter(&mut self, text: &str, only_dialled: bool, hide_framework: bool) -> Duration {
        let filter = Filter {
            text: text.to_owned(),
            only_dialled,
            hide_framework,
            off_again: true,
            hide_generated: true,
        };
        self.connection.table.set_filter(filter);
        self.refresh()
    }

    fn filter(&mut self) {
        for word in
            ["orderservice", "Repository", "getcustomer guid", "cache.load", "contoso!", "zzz", "e", "a b"]
        {
            let mut times = Vec::new();
            for end in 1..=word.len() {
                times.push(self.set_filter(&word[..end], false, false));
            }
            let left = self.connection.table.list.len();
            report(&format!("filter, a keystroke of {word:?} ({left} left)"), times);
        }
        report("filter cleared", vec![self.set_filter("", false, false)]);
        report("hide frameworks", vec![self.set_filter("", false, true)]);
        report("only dialled", vec![self.set_filter("", true, false)]);
        self.set_filter("", false, false);
    }

    fn sort(&mut self) {
        for key in [SortKey::Calls, SortKey::Rate, SortKey::State, SortKey::Wanted, SortKey::Name] {
            let mut times = Vec::new();
            for descending in [true, false, true, false] {
                self.connection.table.set_sort(Sort { key, descending });
                times.push(self.refresh());
            }
            report(&format!("sort by {key:?}"), times);
        }
    }

    fn live(&mut self, dialled: usize) {
        self.connection.table.set_sort(Sort { key: SortKey::Rate, descending: true });
        self.connection.table.select_all();
        let mut chance = PseudoRandom::new(3);
        let (mut folds, mut frames) = (Vec::new(), Vec::new());
        for _ in 0..100 {
            self.t_ms += 250;
            let delta = CounterDelta {
                t_ms: self.t_ms,
                rows: (0..dialled as u32).map(RowId).collect(),
                calls: (0..dialled).map(|_| chance.below(1_000) as u64).collect(),
            };
            let began = Instant::now();
            let updates = vec![ConnectionUpdate::Event(Event::Counters { delta, dropped: 0 })];
            self.connection.apply(updates, &mut self.log, Now::default());
            self.connection.refresh(Now::default());
            folds.push(began.elapsed());
            let began = Instant::now();
            self.read_screen(chance.below(self.connection.table.row_count()));
            frames.push(began.elapsed());
        }
        report(&format!("a fold of {dialled} rows, sorted by rate"), folds);
        report("read what 50 rows of the list show", frames);
    }

    /// Reads 50 rows as a frame does.
    fn read_screen(&self, first: usize) -> usize {
        let mut read = 0;
        for place in first..first + 50 {
            let Some(node) = self.connection.table.row_at(place) else { break };
            if let Node::Method(method) = node {
                let dial = self.connection.table.dial(method);
                let name = self.connection.table.catalogue.full_name(method);
                read += name.text.len() + usize::from(dial.pending);
                read += self.connection.table.list.query().highlights(&name.text).len();
            } else {
                read += self.connection.table.group(node).methods as usize;
                read += self.connection.table.catalogue.label(node).len();
            }
            read += usize::from(self.connection.table.selection.contains(node));
        }
        read
    }

    fn tree(&mut self) {
        self.connection.table.shape = Shape::Tree;
        report("tree for the first time", vec![self.refresh()]);
        self.connection.table.tree.set_expanded(Node::Domain(0), true);
        report("tree, a domain expanded", vec![self.refresh()]);
        let mut times = Vec::new();
        for place in 0..40 {
            times.push({
                let began = Instant::now();
                self.read_screen(place);
                began.elapsed()
            });
        }
        report("read what 50 rows of the tree show", times);
        for owner in 0..self.connection.table.catalogue.type_count() {
            let method =
                self.connection.table.catalogue.methods_of_type(redial_model::ids::TypeIx(owner as u32));
            self.connection
                .table
                .tree
                .reveal(Node::Method(MethodIx(method.start)), &self.connection.table.catalogue);
        }
        report("tree, everything expanded", vec![self.refresh()]);
        let last = self.connection.table.row_at(self.connection.table.row_count() - 1);
        let began = Instant::now();
        self.connection.table.go(usize::MAX, false);
        assert_eq!(self.connection.table.selection.focus(), last);
        report("tree, to the last row", vec![began.elapsed()]);
        self.connection.table.shape = Shape::List;
    }

    fn memory(&self) {
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        println!("{:<60} {:>9.1} MiB", "catalogue", mib(self.connection.table.catalogue.bytes()));
        println!("{:<60} {:>9.1} MiB", "list", mib(self.connection.table.list.bytes()));
        if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
            for line in status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM")) {
                println!("{line}");
            }
        }
    }
}

fn rows(catalogue: &Catalogue, count: usize) -> Vec<StatusRow> {
    let step = (catalogue.len() / count).max(1) as u32;
    (0..count as u32)
        .filter_map(|index| {
            let method = MethodIx(index * step);
            let full = catalogue.full_name(method);
            Some(StatusRow {
                row: RowId(index),
                copy: catalogue.copy_of(method)?,
                method: format!("{}.{}", full.part(&full.type_name), full.part(&full.method)),
                signature: full.part(&full.signature).to_owned(),
                module: full.part(&full.module).to_owned(),
                domain: "clrhost".to_owned(),
                wanted: Level::Count,
                state: if index % 5 == 0 { CopyState::Asked } else { CopyState::Live },
                version: Some(1),
                instances: Vec::new(),
                note: None,
                times_note: None,
                options: TimeOptions::default(),
                calls: u64::from(index) * 37 % 1_009,
            })
        })
        .collect()
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1_000.0);
    let (median, worst) = (ms(times.get(times.len() / 2)), ms(times.last()));
    println!("{what:<60} {median:>9.3} ms median {worst:>9.3} ms worst of {}", times.len());
}
