//! Tests that orders match exactly the intended methods.

use super::*;
use crate::catalogue::builder::Builder;
use crate::catalogue::copies::tests::{WORK, contexts, copy, domains, made};
use crate::catalogue::synthetic::PseudoRandom;
use crate::catalogue::tests::{large, method, small};
use crate::fixtures::{module, page};

fn patterns(catalogue: &Catalogue, set: MethodSet) -> Vec<String> {
    let orders = orders(catalogue, &[(Level::Count, set)], ChangeScope::Copies, &BitSet::default())
        .expect("not too many");
    assert!(orders.iter().all(|order| order.level == Level::Count && order.copy.is_none()));
    orders.into_iter().map(|order| order.pattern).collect()
}

/// Returns the methods that a pattern matches, using the protocol's own matching.
fn matched(catalogue: &Catalogue, pattern: &str) -> Vec<u32> {
    let parsed = Pattern::parse(pattern).expect("a pattern");
    let matches = |index: &u32| {
        let method = MethodIx(*index);
        let module = catalogue.module(catalogue.module_of(method)).expect("a module");
        if !parsed.matches_assembly(&module.name) {
            return false;
        }
        if let Some(token) = parsed.token() {
            return catalogue.token(method).0 == token;
        }
        let owner = catalogue.type_name(catalogue.type_of(method));
        parsed.for_type(owner).is_some_and(|of_type| {
            let params = || catalogue.signature(method).replace(", ", ",");
            of_type.matches(catalogue.method_name(method), 0, params)
        })
    };
    (0..catalogue.len() as u32).filter(matches).collect()
}

#[test]
fn whole_modules_and_types_are_one_pattern_each() {
    let catalogue = small();
    let shop = catalogue.modules()[1].methods.clone();
    assert_eq!(patterns(&catalogue, MethodSet::range(shop.clone())), ["Shop!*"]);
    let cart = catalogue.methods_of_type(catalogue.type_of(method(&catalogue, "Shop!Shop.Cart.Add(int)")));
    assert_eq!(patterns(&catalogue, MethodSet::range(cart)), ["Shop!Shop.Cart.*"]);
    let add = method(&catalogue, "Shop!Shop.Cart.Add(int)");
    assert_eq!(patterns(&catalogue, MethodSet::one(add)), ["Shop!0x06000002"]);
    let mut most = MethodSet::range(shop);
    most.remove(add.0..add.0 + 1);
    assert_eq!(patterns(&catalogue, most).len(), 3);
    assert_eq!(
        patterns(&catalogue, MethodSet::range(0..8)),
        ["System.Private.CoreLib!*", "Shop!*", "Plugin!0x06000001"],
        "a single method is named by itself"
    );
}

#[test]
fn orders_name_exactly_the_methods_meant() {
    let catalogue = large(8, 800);
    let mut chance = PseudoRandom::new(2);
    for _ in 0..60 {
        let mut set = MethodSet::default();
        for _ in 0..=chance.below(6) {
            let start = chance.below(800) as u32;
            set.insert(start..(start + chance.below(150) as u32 + 1).min(800));
        }
        let mut named: Vec<u32> =
            patterns(&catalogue, set.clone()).iter().flat_map(|one| matched(&catalogue, one)).collect();
        named.sort_unstable();
        assert_eq!(named, set.iter().map(|method| method.0).collect::<Vec<_>>(), "each once");
    }
}

#[test]
fn names_distinguish_builds_of_an_assembly() {
    let rows = [module(1, "Shop", "/a/Shop.dll"), module(2, "Shop", "/b/Shop.dll"), module(3, "Od*d", "")];
    let mut builder = Builder::default();
    builder.set_modules(&rows);
    let mut catalogue = Catalogue::default();
    for row in &rows {
        let methods = [("N.A", "M", "(int)", 0x0600_0001), ("N.A", "O", "()", 0x0600_0002)];
        for batch in builder.push(&page(row.key, &methods)).expect("whole") {
            catalogue.append(batch);
        }
    }
    catalogue.append(builder.finish().expect("the last"));
    assert_eq!(one_method(&catalogue, MethodIx(0)), "Shop!N.A.M(int)");
    // A star is a wildcard in a pattern, but the method's name still identifies it.
    assert_eq!(one_method(&catalogue, MethodIx(4)), "Od*d!N.A.M(int)");
}

/// The displayed name differs from the pattern: a pointer's star is no wildcard.
#[test]
fn only_patterns_escape_the_star_of_a_pointer() {
    use crate::catalogue::builder::Builder;
    use crate::fixtures::{module, page};
    let builds = [module(1, "Shop", "a.dll"), module(2, "Shop", "b.dll")];
    let mut catalogue = Catalogue::default();
    let mut builder = Builder::default();
    builder.set_modules(&builds);
    let mut batches = Vec::new();
    for build in &builds {
        let methods = [("Shop.Raw", "Copy", r"(byte\*, int)", 0x0600_0001)];
        batches.extend(builder.push(&page(build.key, &methods)).expect("whole"));
    }
    batches.extend(builder.finish());
    assert!(batches.into_iter().all(|batch| catalogue.append(batch)));
    let method = MethodIx(0);
    assert_eq!(catalogue.full_name(method).text, "Shop!Shop.Raw.Copy(byte*, int)");
    let pattern = one_method(&catalogue, method);
    assert_eq!(
        pattern, r"Shop!Shop.Raw.Copy(byte\*, int)",
        "another build may have another method at its token"
    );
    let parsed = Pattern::parse(&pattern).expect("a pattern");
    assert!(!parsed.has_wildcard());
}

#[test]
fn refuses_too_many_orders() {
    let catalogue = large(10, 10_000);
    let set: MethodSet = (0..10_000).step_by(2).map(MethodIx).collect();
    let why = orders(&catalogue, &[(Level::Count, set)], ChangeScope::Copies, &BitSet::default())
        .expect_err("5,000 single methods");
    assert!(why.contains("4,096"), "{why}");
}

fn sent(catalogue: &Catalogue, wishes: &[WantedLevel], reach: ChangeScope) -> Vec<String> {
    let orders = orders(catalogue, wishes, reach, &BitSet::default()).expect("not too many");
    orders.iter().map(redial_protocol::dialset::print_order).collect()
}

fn count(set: MethodSet) -> [WantedLevel; 1] {
    [(Level::Count, set)]
}

#[test]
fn a_domain_scope_selects_its_only_copy() {
    let catalogue = domains();
    let second = catalogue.modules()[2].methods.clone();
    let add = MethodSet::range(second.start + 1..second.start + 2);
    assert_eq!(
        sent(&catalogue, &count(add.clone()), ChangeScope::Copies),
        ["domains!0x06000001 = count domain=Second"]
    );
    assert_eq!(
        sent(&catalogue, &count(MethodSet::range(second)), ChangeScope::Copies),
        ["domains!* = count domain=Second"]
    );
    // Merged: all copies give one order, which also applies to later ones.
    let all = catalogue.with_copies(&add);
    assert_eq!(all.len(), 3);
    assert_eq!(sent(&catalogue, &count(all), ChangeScope::Everywhere), ["domains!0x06000001 = count"]);
    // A module that is loaded once needs no restriction, whatever domains there are.
    let core = MethodSet::range(catalogue.modules()[0].methods.clone());
    assert_eq!(sent(&catalogue, &count(core), ChangeScope::Copies), ["System.Private.CoreLib!* = count"]);
}

/// A recycle may load another build, where the token may belong to another method.
#[test]
fn iis_orders_survive_recycles_and_name_methods() {
    let own = |index: u64| copy(index, "domains", "work", &[index]);
    let names = ["/LM/W3SVC/1/ROOT/Shop-2-133", "/LM/W3SVC/1/ROOT-2-133"];
    let catalogue = made(&names, &[(own(1), &WORK), (own(2), &WORK)]);
    let shop = catalogue.modules()[0].methods.clone();
    let add = MethodSet::range(shop.start + 1..shop.start + 2);
    for reach in [ChangeScope::Copies, ChangeScope::Domain(0)] {
        assert_eq!(
            sent(&catalogue, &count(add.clone()), reach),
            ["domains!Domains.Work.Add(int) = count domain=/LM/W3SVC/1/ROOT/Shop-"]
        );
    }
    let whole = count(MethodSet::range(shop));
    assert_eq!(sent(&catalogue, &whole, ChangeScope::Domain(0)), ["* = count domain=/LM/W3SVC/1/ROOT/Shop-"]);
}

#[test]
fn a_module_id_selects_one_of_several_copies() {
    let catalogue = contexts();
    let [first, .., newer] = catalogue.modules() else { panic!("there are four") };
    let add = |module: &crate::catalogue::Module| {
        let mut methods = module.methods.clone().map(MethodIx);
        MethodSet::one(methods.find(|method| catalogue.method_name(*method) == "Add").expect("there"))
    };
    let [one] =
        &orders(&catalogue, &count(add(first)), ChangeScope::Copies, &BitSet::default()).expect("one")[..]
    else {
        panic!("one")
    };
    assert_eq!((one.pattern.as_str(), one.copy), ("Copied!0x06000001", Some(first.key.module_id)));
    let [one] =
        &orders(&catalogue, &count(add(newer)), ChangeScope::Copies, &BitSet::default()).expect("one")[..]
    else {
        panic!("one")
    };
    assert_eq!((one.pattern.as_str(), one.copy), ("Copied!0x06000002", Some(newer.key.module_id)));
    let all = catalogue.with_copies(&add(newer));
    assert_eq!(
        sent(&catalogue, &count(all), ChangeScope::Everywhere),
        ["Copied!Domains.Work.Add(int) = count"],
        "by name if builds differ"
    );
}

#[test]
fn a_whole_domain_is_one_order() {
    let catalogue = domains();
    let core = catalogue.modules()[0].methods.clone();
    let first = catalogue.modules()[1].methods.clone();
    let own = MethodSet::range(first.clone());
    let reach = ChangeScope::Domain(0);
    assert_eq!(
        sent(&catalogue, &count(own.clone()), reach),
        ["domains!* = count domain=First"],
        "without the shared core library"
    );
    let mut with_core = own.clone();
    with_core.insert(core.clone());
    assert_eq!(sent(&catalogue, &count(with_core), reach), ["* = count domain=First all-domains"]);
    let mut some = own;
    some.insert(core.start..core.start + 1);
    assert_eq!(
        sent(&catalogue, &count(some), reach),
        [
            "System.Private.CoreLib!0x06000012 = count domain=First all-domains",
            "domains!* = count domain=First"
        ]
    );
}

#[test]
fn descriptions_replace_tokens_with_names() {
    let catalogue = small();
    for (order, said) in [
        ("Shop!0x06000002 = off", "Shop!Shop.Cart.Add(int) = off"),
        ("undo of Shop!0x06000002 = off (and 1 more)", "undo of Shop!Shop.Cart.Add(int) = off (and 1 more)"),
        ("Shop!0x06000002 = off domain=A!0x1 é", "Shop!Shop.Cart.Add(int) = off domain=A!0x1 é"),
        ("Shop!0x06000099 = count", "Shop!0x06000099 = count"),
        ("Gone!0x06000002 = count", "Gone!0x06000002 = count"),
        ("Shop!0x0600 = count", "Shop!0x0600 = count"),
        ("Shop!0x", "Shop!0x"),
        ("Shop!0xéééééééé", "Shop!0xéééééééé"),
        ("Shop.Cart.* = count", "Shop.Cart.* = count"),
        ("all off", "all off"),
    ] {
        assert_eq!(readable(&catalogue, order), said);
    }
}
