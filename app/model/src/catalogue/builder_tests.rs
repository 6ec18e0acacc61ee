//! Tests of batches built from pages.

use super::*;
use crate::fixtures::{module, page, without_body};

fn names(batch: &Batch) -> Vec<String> {
    let mut all = Vec::new();
    let mut start = 0;
    for (index, end) in batch.types.iter().enumerate() {
        for method in start..*end {
            let name = batch.names.get(batch.name_of[method as usize] as usize);
            let signature = batch.signatures.get(batch.signature_of[method as usize] as usize);
            all.push(format!("{}{name}{signature}", batch.type_text.get(index)));
        }
        start = *end;
    }
    all
}

#[test]
fn completes_a_module_when_the_next_begins() {
    let (one, two) = (module(1, "Shop", ""), module(2, "Plugin", ""));
    let mut builder = Builder::default();
    builder.set_modules(&[one.clone(), two.clone()]);
    let first = page(
        one.key,
        &[
            ("Shop.Cart", "Take", "(int)", 0x0600_0003),
            ("Shop.Cart+Line", ".ctor", "()", 0x0600_0009),
            ("Shop.Box<T>", "put", "()", 0x0600_0001),
        ],
    );
    assert!(builder.push(&first).expect("whole").is_empty());
    assert!(builder.push(&page(one.key, &[("Shop.Cart", "Add", "()", 7)])).expect("whole").is_empty());
    let batches = builder.push(&page(two.key, &[("P", "M", "()", 1)])).expect("whole");
    let [batch] = batches.as_slice() else { panic!("{batches:?}") };
    assert_eq!(
        names(batch),
        [
            "Shop!Shop.Box<T>.put()",
            "Shop!Shop.Cart.Add()",
            "Shop!Shop.Cart.Take(int)",
            "Shop!Shop.Cart+Line..ctor()"
        ]
    );
    assert_eq!(batch.namespaces, [(4, 3)]);
    assert_eq!((batch.names.len(), batch.signatures.len()), (4, 2), "each once");
    assert_eq!(batch.signature_of, [0, 0, 1, 0]);
    let by_token: Vec<u32> = batch.by_token.iter().map(|index| batch.tokens[*index as usize]).collect();
    assert_eq!(by_token, [7, 0x0600_0001, 0x0600_0003, 0x0600_0009]);
    assert_eq!(builder.finish().map(|batch| names(&batch)), Some(vec!["Plugin!P.M()".into()]));
    assert!(builder.finish().is_none());
    assert!(builder.has(one.key) && builder.has(two.key));
    // A module is delivered once, even if its methods are sent again.
    assert!(builder.push(&first).expect("whole").is_empty() && builder.finish().is_none());
}

/// Sorting moves methods, and a page can end anywhere.
#[test]
fn batches_keep_methods_without_a_body() {
    let shop = module(1, "Shop", "");
    let mut builder = Builder::default();
    builder.set_modules(std::slice::from_ref(&shop));
    let first = page(shop.key, &[("B", "Z", "()", 9), ("B", "A", "()", 8), ("B", "Y", "()", 7)]);
    let first = without_body(first, &[(9, Reason::NoBody), (7, Reason::PInvoke)]);
    builder.push(&first).expect("whole");
    let second = page(shop.key, &[("A", "M", "()", 1), ("A", "L", "()", 2)]);
    builder.push(&without_body(second, &[(1, Reason::RuntimeImplemented)])).expect("whole");
    let batch = builder.finish().expect("a batch");
    assert_eq!(names(&batch), ["Shop!A.L()", "Shop!A.M()", "Shop!B.A()", "Shop!B.Y()", "Shop!B.Z()"]);
    let expected = [(1, Reason::RuntimeImplemented), (3, Reason::PInvoke), (4, Reason::NoBody)];
    assert_eq!(batch.bodyless, expected);
}

#[test]
fn sorts_types_by_namespace_and_name() {
    let modules = [module(1, "B", ""), module(2, "A", "")];
    let mut builder = Builder::default();
    builder.set_modules(&modules);
    let mut batches = Vec::new();
    for (module, types) in modules.iter().zip([["N.Z", "N.M.A", "n.b"], ["N.C", "Top", "N.a"]]) {
        let methods: Vec<_> = types.iter().map(|name| (*name, "M", "()", 1)).collect();
        batches.extend(builder.push(&page(module.key, &methods)).expect("whole"));
    }
    batches.extend(builder.finish());
    let all: Vec<String> = batches
        .iter()
        .flat_map(|batch| (0..batch.types.len()).map(|index| batch.type_text.get(index).to_owned()))
        .collect();
    let ordered: Vec<&str> =
        builder.name_order().types.iter().map(|index| all[*index as usize].as_str()).collect();
    assert_eq!(ordered, ["A!Top.", "A!N.a.", "B!n.b.", "A!N.C.", "B!N.Z.", "B!N.M.A."]);
}

#[test]
fn rejects_torn_pages_and_ignores_unknown_modules() {
    let known = module(1, "Shop", "");
    let mut builder = Builder::default();
    builder.set_modules(std::slice::from_ref(&known));
    let whole = page(known.key, &[("A", "M", "()", 1)]);
    for tear in [
        |page: &mut MethodPage| page.signature = Default::default(),
        |page: &mut MethodPage| page.type_index = vec![5],
        |page: &mut MethodPage| page.module.clear(),
        |page: &mut MethodPage| page.modules.clear(),
        |page: &mut MethodPage| page.name = Default::default(),
        |page: &mut MethodPage| page.bodyless = vec![0],
        |page: &mut MethodPage| (page.bodyless, page.bodyless_reason) = (vec![1], vec![Reason::NoBody]),
    ] {
        let mut torn = whole.clone();
        tear(&mut torn);
        assert_eq!(builder.push(&torn).map(|_| ()), Err(TornPage));
    }
    let strange = page(ModuleKey { module_id: 9, generation: 9 }, &[("A", "M", "()", 1)]);
    assert!(builder.push(&strange).expect("whole").is_empty() && builder.finish().is_none());
}
