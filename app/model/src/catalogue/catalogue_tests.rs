//! Tests building, looking up and searching catalogues; `small` makes one for other tests, too.

use super::builder::{Builder, NameOrder};
use super::search::Searcher;
use super::synthetic::{PseudoRandom, batches};
use super::*;
use crate::fixtures::{module, page, without_body};
use crate::query::{Query, fold};
use redial_protocol::catalogue::ModuleRow;
use redial_protocol::reason::Reason;

/// Two domains with Shop (in the first), Plugin (in the second) and a framework.
pub fn small() -> Catalogue {
    small_without(&[])
}

/// Like `small`, but Shop's methods with these tokens have no body.
pub fn small_without(bodyless: &[(u32, Reason)]) -> Catalogue {
    let core = "/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.31/System.Private.CoreLib.dll";
    let modules = [
        module(1, "System.Private.CoreLib", core),
        module(2, "Shop", "/opt/shop/Shop.dll"),
        ModuleRow { domains: vec![2], ..module(3, "Plugin", "/opt/shop/Plugin.dll") },
    ];
    let mut builder = Builder::default();
    builder.set_modules(&modules);
    let all = [
        page(
            modules[0].key,
            &[
                ("System.String", "Concat", "(string, string)", 0x0600_0010),
                ("System.String", "Trim", "()", 0x0600_0011),
                ("System.Text.StringBuilder", "Append", "(char)", 0x0600_0020),
            ],
        ),
        without_body(
            page(
                modules[1].key,
                &[
                    ("Shop.Cart", "Add", "(int)", 0x0600_0002),
                    ("Shop.Cart", "Clear", "()", 0x0600_0001),
                    ("Shop.Box<T>", "Put<U>", "(T, U)", 0x0600_0005),
                    ("Program", "<Main>$", "(string[])", 0x0600_0006),
                ],
            ),
            bodyless,
        ),
        page(modules[2].key, &[("Plugin.Tax", "Apply", "(int)", 0x0600_0001)]),
    ];
    let mut catalogue = Catalogue::default();
    let domain = |id, name: &str| DomainRow { id, name: name.into(), shared: false };
    catalogue.set_domains(vec![domain(1, "clrhost"), domain(2, "second")], 8);
    for page in &all {
        for batch in builder.push(page).expect("whole") {
            assert!(catalogue.append(batch));
        }
    }
    assert!(catalogue.append(builder.finish().expect("the last module")));
    catalogue.complete(builder.name_order());
    catalogue
}

/// Returns the method with this full name.
pub fn method(catalogue: &Catalogue, name: &str) -> MethodIx {
    let mut all = (0..catalogue.len() as u32).map(MethodIx);
    all.find(|method| catalogue.full_name(*method).text == name).unwrap_or_else(|| panic!("no {name}"))
}

/// A catalogue with this many modules and methods.
pub fn large(modules: usize, methods: usize) -> Catalogue {
    let (batches, order) = batches(modules, methods);
    let mut catalogue = Catalogue::default();
    catalogue.set_domains(vec![DomainRow { id: 1, name: "clrhost".into(), shared: false }], methods as u64);
    for batch in batches {
        assert!(catalogue.append(batch));
    }
    catalogue.complete(order);
    catalogue
}

#[test]
fn levels_know_their_parents_and_children() {
    let catalogue = small();
    assert_eq!((catalogue.len(), catalogue.modules().len(), catalogue.type_count()), (8, 3, 6));
    assert!(catalogue.is_complete() && catalogue.expected() == 8);
    for index in 0..catalogue.len() as u32 {
        let mut node = Node::Method(MethodIx(index));
        let mut path = vec![catalogue.label(node).to_owned()];
        while let Some(above) = catalogue.parent(node) {
            assert!(catalogue.methods_below(above).iter().any(|range| range.contains(&index)), "{above:?}");
            node = above;
            path.push(catalogue.label(node).to_owned());
        }
        assert_eq!(path.len(), 5, "{path:?}");
    }
    let put = method(&catalogue, "Shop!Shop.Box<T>.Put<U>(T, U)");
    let full = catalogue.full_name(put);
    let parts = [&full.module, &full.type_name, &full.method, &full.signature].map(|part| full.part(part));
    assert_eq!(parts, ["Shop", "Shop.Box<T>", "Put<U>", "(T, U)"]);
    assert_eq!((catalogue.method_name(put), catalogue.signature(put)), ("Put<U>", "(T, U)"));
    let owner = catalogue.type_of(put);
    assert_eq!((catalogue.type_name(owner), catalogue.type_own_name(owner)), ("Shop.Box<T>", "Box<T>"));
    assert_eq!(catalogue.namespace_name(catalogue.namespace_of(owner)), "Shop");
    let main = method(&catalogue, "Shop!Program.<Main>$(string[])");
    assert_eq!(
        catalogue.label(Node::Namespace(catalogue.namespace_of(catalogue.type_of(main)))),
        "(no namespace)"
    );
    let framework: Vec<bool> = catalogue.modules().iter().map(|module| module.framework).collect();
    assert_eq!(framework, [true, false, false]);
    assert_eq!(catalogue.modules()[2].domain, 1);
}

#[test]
fn copies_and_methods_find_each_other() {
    for catalogue in [small(), large(7, 500)] {
        for index in 0..catalogue.len() as u32 {
            let copy = catalogue.copy_of(MethodIx(index)).expect("a copy");
            assert_eq!(catalogue.find(copy), Some(MethodIx(index)));
        }
        let copy = catalogue.copy_of(MethodIx(0)).expect("a copy");
        assert_eq!(catalogue.find(CopyKey { token: MethodToken(0x06ff_ffff), ..copy }), None);
        let module = ModuleKey { generation: 9, ..copy.module };
        assert_eq!(catalogue.find(CopyKey { module, ..copy }), None);
    }
}

#[test]
fn out_of_range_is_empty_without_panic() {
    let catalogue = small();
    for node in [
        Node::Domain(9),
        Node::Module(ModuleIx(9)),
        Node::Namespace(NamespaceIx(99)),
        Node::Type(TypeIx(99)),
        Node::Method(MethodIx(99)),
    ] {
        assert_eq!(
            catalogue.label(node),
            if matches!(node, Node::Namespace(_)) { "(no namespace)" } else { "" }
        );
        let _ = (catalogue.parent(node), catalogue.methods_below(node));
    }
    assert_eq!(catalogue.full_name(MethodIx(99)).text, "");
    assert_eq!(catalogue.copy_of(MethodIx(99)), None);
    let _ = catalogue.name_place(MethodIx(99));
}

#[test]
fn accepts_a_module_once_and_only_whole() {
    let (mut batches, _) = batches(3, 60);
    let mut catalogue = Catalogue::default();
    let mut torn = batches.remove(0);
    torn.tokens.pop();
    assert!(!catalogue.append(torn) && catalogue.is_empty());
    let batch = batches.remove(0);
    assert!(catalogue.append(batch.clone()) && !catalogue.append(batch.clone()));
    assert_eq!(catalogue.len(), 20);
    let edition = catalogue.edition();
    catalogue.unload(&[batch.module.key]);
    assert!(catalogue.modules()[0].unloaded && catalogue.edition() > edition);
}

#[test]
fn ignores_an_invalid_type_order() {
    let mut catalogue = large(4, 200);
    let order: Vec<u32> = catalogue.types_by_name().map(|owner| owner.0).collect();
    assert_ne!(order, (0..order.len() as u32).collect::<Vec<_>>());
    for types in [vec![0, 0], vec![1, 9_999]] {
        catalogue.complete(NameOrder { types });
        assert_eq!(catalogue.types_by_name().map(|owner| owner.0).collect::<Vec<_>>(), order);
    }
    catalogue.complete(NameOrder { types: vec![3, 1] });
    let mut rest: Vec<u32> = catalogue.types_by_name().map(|owner| owner.0).collect();
    assert_eq!(rest[..4], [3, 1, 0, 2]);
    rest.sort_unstable();
    assert_eq!(rest, (0..order.len() as u32).collect::<Vec<_>>());
}

/// The expected result of a search: checks every word against every full name.
fn naive(catalogue: &Catalogue, text: &str) -> Vec<u32> {
    let query = Query::parse(text);
    let holds = |full: &str| {
        let folded = fold(full);
        query.terms().iter().all(|term| if term.exact_case { full } else { &folded }.contains(&term.text))
    };
    (0..catalogue.len() as u32).filter(|index| holds(&catalogue.full_name(MethodIx(*index)).text)).collect()
}

fn found(catalogue: &Catalogue, text: &str) -> Vec<u32> {
    found_by(&mut Searcher::default(), catalogue, text)
}

fn found_by(searcher: &mut Searcher, catalogue: &Catalogue, text: &str) -> Vec<u32> {
    searcher.search(catalogue, &Query::parse(text)).iter_in(0..u32::MAX).collect()
}

#[test]
fn search_agrees_with_checking_every_name() {
    let catalogue = small();
    let mut searcher = Searcher::default();
    for text in [
        "",
        "a",
        "~",
        "ß",
        "cart",
        "Cart",
        "cArt",
        "cart.add",
        "shop!shop.cart.add(int)",
        "!",
        "shop!",
        "p!S",
        "t.c",
        ".",
        "..",
        "(int)",
        "int string",
        "box<t>.put<",
        "program.<main>",
        "zzz",
        "n.a",
        "tax.apply(",
        "string, string)",
        "(",
        ")",
        ".(",
        "d(",
        "d(i",
        ".add(",
        "Cart.Add(i",
        "t.c l",
        "cart",
    ] {
        assert_eq!(found(&catalogue, text), naive(&catalogue, text), "{text:?}");
        assert_eq!(found_by(&mut searcher, &catalogue, text), naive(&catalogue, text), "repeated: {text:?}");
    }
    // Pieces of real names, cut anywhere, across all boundaries.
    let catalogue = large(20, 3_000);
    let mut searcher = Searcher::default();
    let mut chance = PseudoRandom::new(1);
    for _ in 0..300 {
        let full = catalogue.full_name(MethodIx(chance.below(catalogue.len()) as u32)).text;
        let start = chance.below(full.len());
        let mut piece = full[start..(start + 1 + chance.below(12)).min(full.len())].to_owned();
        match chance.below(3) {
            0 => piece.make_ascii_lowercase(),
            1 => {
                piece =
                    format!("{} {}", piece.to_lowercase(), ["order", "get", "3.s", "Async"][chance.below(4)])
            }
            _ => {}
        }
        assert_eq!(found_by(&mut searcher, &catalogue, &piece), naive(&catalogue, &piece), "{piece:?}");
    }
    // Typed letter by letter: each search refines the places of the shorter word.
    for word in
        ["orderservice", "OrderService", "aaab", "contoso.catalog", "(string, int)", "x.get", "ssi", "SS"]
    {
        for end in 1..=word.len() {
            let text = &word[..end];
            assert_eq!(found_by(&mut searcher, &catalogue, text), naive(&catalogue, text), "{text:?}");
        }
    }
    // The same name ends one module and begins the next.
    let twins = [module(1, "A", ""), module(2, "B", "")];
    let mut builder = Builder::default();
    builder.set_modules(&twins);
    let mut catalogue = Catalogue::default();
    for one in &twins {
        for batch in builder.push(&page(one.key, &[("T", "Go", "()", 1)])).expect("whole") {
            assert!(catalogue.append(batch));
        }
    }
    assert!(catalogue.append(builder.finish().expect("the last module")));
    for text in ["t.go(", "t.go()", "go(", "Go", "T.Go("] {
        assert_eq!(found(&catalogue, text), [0, 1], "{text:?}");
    }
    // After the catalogue has grown, earlier results are incomplete.
    let mut catalogue = small();
    let before = found_by(&mut searcher, &catalogue, "int");
    let (batches, _) = batches(1, 100);
    batches.into_iter().for_each(|batch| assert!(catalogue.append(batch)));
    let after = found_by(&mut searcher, &catalogue, "int");
    assert!(after.len() > before.len());
    assert_eq!(after, naive(&catalogue, "int"));
}

#[test]
fn a_million_methods_fit_their_memory_limit() {
    let catalogue = large(500, 1_000_000);
    assert_eq!((catalogue.len(), catalogue.modules().len()), (1_000_000, 500));
    assert!(catalogue.bytes() < 160 << 20, "{} bytes", catalogue.bytes());
    let last = MethodIx(999_999);
    assert_eq!(catalogue.find(catalogue.copy_of(last).expect("a copy")), Some(last));
    let name = catalogue.full_name(last).text;
    assert!(found(&catalogue, &name).contains(&last.0));
    assert_eq!(found(&catalogue, "").len(), 1_000_000);
}

#[test]
fn finds_words_that_overlap_themselves() {
    let one = module(1, "M", "");
    let mut builder = Builder::default();
    builder.set_modules(std::slice::from_ref(&one));
    assert!(builder.push(&page(one.key, &[("T", "Baaab", "()", 1)])).expect("whole").is_empty());
    let mut catalogue = Catalogue::default();
    assert!(catalogue.append(builder.finish().expect("the module")));
    let mut searcher = Searcher::default();
    for text in ["a", "aa", "aab", "aaab", "aaa", "aaaa"] {
        let expected = naive(&catalogue, text);
        assert_eq!(found_by(&mut searcher, &catalogue, text), expected, "{text:?}");
        assert_eq!(expected.len(), usize::from(text != "aaaa"));
    }
}

/// Copies of a file share their hits; another build is searched separately.
#[test]
fn a_search_finds_every_copy() {
    let (batches, _) = batches(7, 2_000);
    let mut catalogue = Catalogue::default();
    // A truncated and an empty module represent no other copies.
    let mut cut = batches[0].clone();
    let (types, kept) = (cut.types.len() - 1, cut.types[cut.types.len() - 2] as usize);
    cut.types.truncate(types);
    let whole = std::mem::take(&mut cut.type_text);
    cut.type_text.append_part(&whole, 0..types as u32);
    cut.namespaces.iter_mut().for_each(|(_, end)| *end = (*end).min(types as u32));
    for all in [&mut cut.name_of, &mut cut.signature_of, &mut cut.tokens] {
        all.truncate(kept);
    }
    cut.by_token.retain(|method| (*method as usize) < kept);
    cut.bodyless.retain(|(method, _)| (*method as usize) < kept);
    cut.generated.retain(|method| (*method as usize) < kept);
    let mut empty = cut.clone();
    (empty.type_text, empty.names, empty.signatures) = Default::default();
    for all in [&mut empty.types, &mut empty.name_of, &mut empty.signature_of, &mut empty.by_token] {
        all.clear();
    }
    empty.tokens.clear();
    (empty.namespaces, empty.bodyless, empty.generated) = Default::default();
    for (id, mut batch) in [(77, cut), (78, empty)] {
        batch.module.key.module_id = id;
        assert!(catalogue.append(batch));
    }
    // Copies arrive as their processes are read: interleaved and in varying order.
    for (copy, module) in [(0, 0), (1, 0), (1, 3), (0, 1), (2, 3), (0, 2), (0, 3), (2, 0), (1, 1), (2, 6)] {
        let mut batch = batches[module].clone();
        batch.module.key.module_id += copy * 1_000;
        if (copy, module) == (2, 0) {
            batch.module.mvid = "another build".to_owned();
        }
        assert!(catalogue.append(batch));
    }
    let once: usize = catalogue.once().methods.iter().map(|range| range.len()).sum();
    let again: usize = [0, 3, 3, 1].map(|module: usize| batches[module].tokens.len()).iter().sum();
    assert_eq!(once, catalogue.len() - again, "copies are not searched");
    let (mut searcher, mut chance) = (Searcher::default(), PseudoRandom::new(3));
    let check = |catalogue: &Catalogue, searcher: &mut Searcher, text: &str| {
        assert_eq!(found_by(searcher, catalogue, text), naive(catalogue, text), "{text:?}");
    };
    for text in ["", "a", "S", "ge", "Ge", "get", "!", "(", "~", "zzz"] {
        check(&catalogue, &mut searcher, text);
    }
    for _ in 0..100 {
        let full = catalogue.full_name(MethodIx(chance.below(catalogue.len()) as u32)).text;
        let start = chance.below(full.len());
        let piece = full[start..(start + 1 + chance.below(14)).min(full.len())].to_owned();
        check(&catalogue, &mut searcher, &piece);
        check(&catalogue, &mut searcher, &piece.to_lowercase());
    }
    // Typed letter by letter: each search refines the places of the shorter word.
    for end in 1..="orderservice".len() {
        check(&catalogue, &mut searcher, &"orderservice"[..end]);
    }
    catalogue.unload(&[batches[0].module.key]);
    check(&catalogue, &mut searcher, "get");
    // When the first copy goes, another takes its place.
    assert!(catalogue.forget(&[batches[0].module.key, batches[3].module.key]).is_some());
    for text in ["get", "order", "t.c", "(string", "Async"] {
        check(&catalogue, &mut searcher, text);
    }
}
