//! Tests the planner against a reference that checks every order for every copy, newest first.

use super::matcher::Matcher;
use super::orders::{NewOrder, OrderAuthor, OrderLifetime, OrderSeq, Orders, SessionId, Standing};
use super::plan::{CopyFacts, Tally};
use super::scope::{ModulePlace, ScopedOrders};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use redial_protocol::ids::ModuleKey;
use redial_protocol::level::Level;
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::pattern::Pattern;
use redial_protocol::reason::Reason;
use std::sync::Arc;
use std::time::Instant;

const ASSEMBLIES: [&str; 3] = ["Shop", "Shop.Core", "Till"];
const TYPES: [&str; 5] = ["Shop.Cart", "Shop.Cart+Line", "Shop.Till.Roll", "Roll", "Globals"];
const METHODS: [&str; 5] = ["Add", ".ctor", "get_Total", "Shop.ICart.Add", "Ad"];
const DOMAINS: [&str; 4] = ["/LM/W3SVC/1/ROOT-1", "/LM/W3SVC/1/ROOT-2", "/LM/W3SVC/2/ROOT-1", "Main"];

/// A module in which every type has every method. Includes shared user modules, which none of the test runtimes can
/// produce.
#[derive(Clone, Debug)]
struct Module {
    assembly: &'static str,
    place: ModulePlace,
}

fn module() -> impl Strategy<Value = Module> {
    let domains = proptest::sample::subsequence(DOMAINS.to_vec(), 1..=DOMAINS.len());
    (select(&ASSEMBLIES[..]), domains, any::<bool>(), 0..4u64).prop_map(
        |(assembly, mut domains, shared, id)| {
            if !shared {
                domains.truncate(1);
            }
            let domains = domains.into_iter().map(str::to_owned).collect();
            let key = ModuleKey { module_id: id, generation: 1 };
            Module { assembly, place: ModulePlace { key, domains, shared } }
        },
    )
}

#[derive(Clone, Debug)]
struct Line {
    pattern: String,
    level: Level,
    domain: Option<&'static str>,
    copy: Option<u64>,
    all_domains: bool,
    owner: OrderLifetime,
}

/// Returns a name with parts replaced by stars.
fn glob(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    (select(names), any::<Index>(), any::<Index>(), 0..4u8).prop_map(|(name, from, to, form)| {
        let (from, to) = (from.index(name.len() + 1), to.index(name.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        match form {
            0 => name.to_owned(),
            1 => format!("{}*", &name[..from]),
            2 => format!("*{}", &name[from..]),
            _ => format!("{}*{}", &name[..from], &name[to..]),
        }
    })
}

fn line() -> impl Strategy<Value = Line> {
    let body = prop_oneof![
        1 => Just("*".to_owned()),
        5 => (glob(&TYPES), glob(&METHODS)).prop_map(|(name, method)| format!("{name}.{method}")),
    ];
    let assembly = prop_oneof![Just(None), glob(&ASSEMBLIES).prop_map(Some)];
    let domain =
        select(vec![None, None, Some("/LM"), Some("/LM/W3SVC/1"), Some("/LM/W3SVC/2"), Some("Main")]);
    let copy = prop_oneof![3 => Just(None), 1 => (0..4u64).prop_map(Some)];
    let owner = select(vec![
        OrderLifetime::Kept,
        OrderLifetime::Held(SessionId(1)),
        OrderLifetime::Held(SessionId(2)),
    ]);
    let level = select(vec![Level::Off, Level::Count, Level::Time]);
    (assembly, body, level, domain, copy, any::<bool>(), owner).prop_map(
        |(assembly, body, level, domain, copy, all_domains, owner)| {
            let pattern = assembly.map_or(body.clone(), |assembly| format!("{assembly}!{body}"));
            Line { pattern, level, domain, copy, all_domains, owner }
        },
    )
}

/// Matches stars against runs of bytes; simple rather than fast.
fn runs(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skip| runs(rest, &name[skip..])),
        Some((first, rest)) => name.first() == Some(first) && runs(rest, &name[1..]),
    }
}

fn reference_matches(pattern: &str, assembly: &str, type_name: &str, method: &str) -> bool {
    let is = |pattern: &str, name: &str| runs(pattern.as_bytes(), name.as_bytes());
    let (of_assembly, body) = pattern.split_once('!').unwrap_or(("*", pattern));
    let split = |dot: usize| is(&body[..dot], type_name) && is(&body[dot + 1..], method);
    is(of_assembly, assembly) && (body == "*" || body.match_indices('.').any(|(dot, _)| split(dot)))
}

/// Returns the wanted level of a copy, and whether an order that names part of its domains was refused while no
/// other applies.
fn reference(lines: &[Line], module: &Module, type_name: &str, method: &str) -> (Level, bool) {
    let mut refused = false;
    for line in lines.iter().rev() {
        let Module { assembly, place } = module;
        if !reference_matches(&line.pattern, assembly, type_name, method)
            || line.copy.is_some_and(|copy| copy != place.key.module_id)
        {
            continue;
        }
        let Some(prefix) = line.domain else { return (line.level, false) };
        let inside = place.domains.iter().filter(|domain| domain.starts_with(prefix)).count();
        if inside == place.domains.len() || (inside > 0 && line.all_domains) {
            return (line.level, false);
        }
        refused |= inside > 0;
    }
    (Level::Off, refused)
}

fn entered(lines: &[Line]) -> (Orders, Vec<OrderSeq>) {
    let mut orders = Orders::default();
    let seqs = lines.iter().map(|line| {
        let order = Order {
            domain: line.domain.map(str::to_owned),
            copy: line.copy,
            all_domains: line.all_domains,
            ..Order::new(line.pattern.clone(), line.level)
        };
        let new = NewOrder {
            pattern: Arc::new(Pattern::parse(&line.pattern).unwrap()),
            order,
            copy: line.copy.map(|module_id| ModuleKey { module_id, generation: 1 }),
            owner: line.owner,
            by: Arc::default(),
            stepped: None,
        };
        orders.add(new).unwrap().seq
    });
    let seqs = seqs.collect();
    (orders, seqs)
}

/// Visits every copy that orders match, as the agent does.
fn each_match(
    orders: &Orders,
    modules: &[Module],
    mut visit: impl FnMut(usize, &str, &str, &[&Standing], &[&Standing]),
) {
    for (index, module) in modules.iter().enumerate() {
        let aimed = ScopedOrders::at(orders.for_assembly(module.assembly), || module.place.clone());
        let all: Vec<&Standing> = aimed.here.iter().chain(&aimed.refused).copied().collect();
        let mut matcher = Matcher::new(all.iter().map(|standing| &*standing.pattern).collect());
        for type_name in TYPES {
            if !matcher.enter_type(type_name) {
                continue;
            }
            for (token, method) in METHODS.into_iter().enumerate() {
                let hits = matcher.hits(token as u32, method, 0, || "()".to_owned());
                if hits.is_empty() {
                    continue;
                }
                let (here, refused): (Vec<usize>, Vec<usize>) =
                    hits.iter().partition(|hit| **hit < aimed.here.len());
                let named = |hits: Vec<usize>| hits.into_iter().map(|hit| all[hit]).collect::<Vec<_>>();
                visit(index, type_name, method, &named(here), &named(refused));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn fifty_overlapping_lines_match_the_reference(
        lines in proptest::collection::vec(line(), 1..=50),
        modules in proptest::collection::vec(module(), 1..=6),
    ) {
        let (orders, _) = entered(&lines);
        let mut found = std::collections::HashMap::new();
        each_match(&orders, &modules, |index, type_name, method, here, refused| {
            let decides = here.last().map(|standing| standing.seq);
            let result = (orders.wanted(decides).0, here.is_empty() && !refused.is_empty());
            found.insert((index, type_name.to_owned(), method.to_owned()), result);
        });
        for (index, module) in modules.iter().enumerate() {
            for (type_name, method) in TYPES.iter().flat_map(|one| METHODS.iter().map(move |m| (one, m))) {
                let key = (index, type_name.to_string(), method.to_string());
                let fast = found.get(&key).copied().unwrap_or((Level::Off, false));
                let slow = reference(&lines, module, type_name, method);
                prop_assert_eq!(fast, slow, "{:?} in {:?}", key, module);
            }
        }
    }

    #[test]
    fn plans_add_up(
        lines in proptest::collection::vec(line(), 1..=20),
        modules in proptest::collection::vec(module(), 1..=6),
        on in any::<u64>(),
        broken in any::<u64>(),
    ) {
        let (orders, seqs) = entered(&lines);
        let mut tally = Tally::new(&seqs);
        let (mut expected, mut number) = ([0u64; 4], 0u32);
        each_match(&orders, &modules, |index, type_name, method, here, refused| {
            number += 1;
            let bit = |bits: u64| bits & 1 << (number % 64) != 0;
            let refusal = bit(broken).then_some(Reason::BadIl);
            let runs = if bit(on) && refusal.is_none() { Level::Count } else { Level::Off };
            let options = TimeOptions::default();
            let copy = CopyFacts { runs, options, callers_and_stacks: None, refusal, bodyless: false, generic: false };
            tally.add((copy, None), (here, refused), || format!("{type_name}.{method}"));
            let (wanted, shared) = reference(&lines, &modules[index], type_name, method);
            let which = match (wanted > Level::Off, runs > Level::Off, refusal) {
                _ if shared => 3,
                (true, _, Some(_)) => 3,
                (true, _, None) if wanted != runs => 0,
                (false, true, _) => 1,
                _ => 2,
            };
            expected[which] += 1;
        });
        let plan = tally.finish();
        let refused: u64 = plan.refused_by_reason.iter().map(|(_, number)| number).sum();
        prop_assert_eq!([plan.to_request, plan.to_revert, plan.unchanged, refused], expected);
        prop_assert_eq!(plan.matched, expected.iter().sum::<u64>());
    }

    #[test]
    fn take_back_is_exact(
        before in proptest::collection::vec(line(), 0..10),
        change in proptest::collection::vec(line(), 1..10),
    ) {
        let (mut orders, _) = entered(&before);
        let wire_form = |orders: &Orders| {
            let now = Instant::now();
            orders.all().iter().map(|one| (one.seq, one.message(now))).collect::<Vec<_>>()
        };
        let was = wire_form(&orders);
        let (other, _) = entered(&change);
        let new = other.all().iter().map(|standing| {
            let Standing { pattern, order, copy, owner, by, stepped, .. } = Standing::clone(standing);
            NewOrder { pattern, order, copy, owner, by, stepped }
        });
        let added = orders.add_all(new).unwrap();
        orders.take_back(&added.seqs, &added.replaced);
        prop_assert_eq!(wire_form(&orders), was);
    }
}

#[test]
fn same_controller_takes_back_its_off_order() {
    let new = |pattern: &str, level, owner, pid| {
        let by = Arc::new(OrderAuthor { user: "0".into(), program: "redial app".into(), pid });
        let parsed = Arc::new(Pattern::parse(pattern).unwrap());
        NewOrder { pattern: parsed, order: Order::new(pattern, level), copy: None, owner, by, stepped: None }
    };
    let window = SessionId(7);
    let (held, one) = (OrderLifetime::Held(window), "Shop!Shop.Cart.Add(int)");
    // The controller that turned it off, the pattern turned on then, and whether the `off` order stays.
    for (pid, again, stays) in [
        (7, one, false),
        (7, "Shop!*", false),
        (8, one, true),
        (7, "Shop!Shop.Cart.Peek(int)", true),
        (7, "Shop.Core!*", true),
    ] {
        let mut orders = Orders::default();
        orders.add(new("Shop!*", Level::Count, OrderLifetime::Kept, 1)).unwrap();
        orders.add(new(one, Level::Off, OrderLifetime::Kept, pid)).unwrap();
        let before = orders.clone();
        let added = orders.add(new(again, Level::Time, held, 7)).unwrap();
        assert_eq!(added.replaced.len(), usize::from(!stays), "{again} by {pid}");
        let mut taken_back = orders.clone();
        taken_back.take_back(&[added.seq], &added.replaced);
        assert!(taken_back.not_in(&before).is_empty() && before.not_in(&taken_back).is_empty());
        orders.end_session(window);
        let levels: Vec<Level> = orders.all().iter().map(|one| one.order.level).collect();
        assert_eq!(levels.contains(&Level::Off), stays, "{again} by {pid}: {levels:?}");
    }
}

#[test]
fn other_options_at_same_level_need_no_request() {
    let mut orders = Orders::default();
    let options = TimeOptions { failed_only: true, ..TimeOptions::default() };
    let order = Order { options, ..Order::new("A.B", Level::Time) };
    let pattern = Arc::new(Pattern::parse("A.B").unwrap());
    let (owner, by) = (OrderLifetime::Kept, Arc::default());
    let seq = orders.add(NewOrder { pattern, order, copy: None, owner, by, stepped: None }).unwrap().seq;
    assert_eq!((orders.options(Some(seq)), orders.options(None)), (options, TimeOptions::default()));
    let plan = |runs, before| {
        let mut tally = Tally::new(&[seq]);
        let copy = CopyFacts {
            runs,
            options: before,
            callers_and_stacks: None,
            refusal: None,
            bodyless: false,
            generic: false,
        };
        tally.add((copy, None), (&[orders.get(seq).unwrap()], &[]), String::new);
        let plan = tally.finish();
        [plan.to_request, plan.to_adjust, plan.unchanged]
    };
    assert_eq!(plan(Level::Time, TimeOptions::default()), [0, 1, 0]);
    assert_eq!(plan(Level::Time, options), [0, 0, 1]);
    assert_eq!(plan(Level::Count, TimeOptions::default()), [1, 0, 0]);
}
