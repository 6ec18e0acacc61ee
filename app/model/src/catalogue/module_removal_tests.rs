//! Tests that removed modules leave no trace and that the others remain accessible.

use super::*;
use crate::catalogue::builder::{Batch, Builder, NameOrder};
use crate::catalogue::synthetic::batches;
use redial_protocol::catalogue::{DomainRow, ModuleRow};

fn name(catalogue: &Catalogue, method: u32) -> String {
    catalogue.full_name(MethodIx(method)).text
}

/// Describes all methods of a catalogue by name.
fn description(catalogue: &Catalogue) -> Vec<(String, u32, Option<MethodIx>)> {
    assert_eq!(catalogue.bodyless().len(), catalogue.len());
    let one = |index: u32| {
        let method = MethodIx(index);
        let copy = catalogue.copy_of(method).expect("it has a module");
        assert_eq!(catalogue.find(copy), Some(method));
        let bodyless = catalogue.without_body(method).is_some();
        assert_eq!(
            (bodyless, catalogue.bodyless().get(index)),
            ((copy.token.0 - 0x0600_0001).is_multiple_of(12), bodyless)
        );
        (name(catalogue, index), catalogue.token(method).0, Some(method))
    };
    (0..catalogue.len() as u32).map(one).collect()
}

fn catalogue() -> (Catalogue, Vec<Batch>) {
    let (batches, order) = batches(9, 900);
    let mut catalogue = Catalogue::default();
    catalogue.set_domains(vec![DomainRow { id: 1, name: "clrhost".into(), shared: false }], 900);
    batches.iter().for_each(|batch| assert!(catalogue.append(batch.clone())));
    catalogue.complete(order);
    (catalogue, batches)
}

fn batches_of(catalogue: &Catalogue) -> impl Iterator<Item = &str> {
    catalogue.modules().iter().map(|module| module.name.as_str())
}

#[test]
fn equals_a_catalogue_without_removed_modules() {
    for gone in [vec![0], vec![3, 4, 7], vec![8], (0..9).collect::<Vec<usize>>()] {
        let (mut catalogue, batches) = catalogue();
        let before = description(&catalogue);
        let in_order: Vec<String> =
            catalogue.types_by_name().map(|owner| catalogue.type_text(owner).to_owned()).collect();
        let keys: Vec<ModuleKey> = gone.iter().map(|index| batches[*index].module.key).collect();
        catalogue.unload(&keys);
        let renumbering = catalogue.forget(&keys).expect("they are known");
        let mut fresh = Catalogue::default();
        fresh.set_domains(catalogue.domains().to_vec(), 900);
        let stay = batches.iter().enumerate().filter(|(index, _)| !gone.contains(index));
        stay.for_each(|(_, batch)| assert!(fresh.append(batch.clone())));
        assert_eq!(description(&catalogue), description(&fresh), "{gone:?}");
        let texts = |one: &Catalogue| [&one.type_text, &one.names, &one.signatures].map(Clone::clone);
        assert_eq!(texts(&catalogue), texts(&fresh), "including the bits of the texts");
        let by_name = |one: &Catalogue| -> Vec<String> {
            one.types_by_name().map(|owner| one.type_text(owner).to_owned()).collect()
        };
        let stays = |text: &String| batches_of(&fresh).any(|name| text.starts_with(&format!("{name}!")));
        assert_eq!(
            by_name(&catalogue),
            in_order.iter().filter(|one| stays(one)).cloned().collect::<Vec<_>>()
        );
        assert!(catalogue.modules().iter().all(|module| !module.unloaded));
        for (full, token, method) in before {
            let method = method.expect("there");
            match renumbering.method(method) {
                Some(now) => {
                    assert_eq!((name(&catalogue, now.0), catalogue.token(now).0), (full, token));
                    assert_eq!(renumbering.methods(&MethodSet::one(method)), MethodSet::one(now));
                    let node = renumbering.node(Node::Method(method));
                    assert_eq!(node, Some(Node::Method(now)));
                }
                None => assert!(renumbering.methods(&MethodSet::one(method)).is_empty()),
            }
        }
        assert_eq!(catalogue.forget(&keys).map(drop), None, "they are gone");
    }
}

#[test]
fn groups_keep_their_names() {
    let (mut catalogue, batches) = catalogue();
    let owner = catalogue.type_of(MethodIx(catalogue.modules()[5].methods.start));
    let (label, namespace) = (catalogue.type_text(owner).to_owned(), catalogue.namespace_of(owner));
    let space = catalogue.namespace_name(namespace).to_owned();
    let renumbering = catalogue.forget(&[batches[2].module.key]).expect("known");
    let Some(Node::Type(now)) = renumbering.node(Node::Type(owner)) else { panic!("it stayed") };
    assert_eq!(catalogue.type_text(now), label);
    let Some(Node::Namespace(now)) = renumbering.node(Node::Namespace(namespace)) else {
        panic!("it stayed")
    };
    assert_eq!(catalogue.namespace_name(now), space);
    assert_eq!(renumbering.node(Node::Module(ModuleIx(2))), None);
    assert_eq!(renumbering.node(Node::Module(ModuleIx(5))), Some(Node::Module(ModuleIx(4))));
    assert_eq!(renumbering.node(Node::Domain(0)), Some(Node::Domain(0)));
}

/// The builder forgets the same modules, so that its order fits again.
#[test]
fn the_name_order_fits_after_removal() {
    use crate::fixtures::{module, page};
    let rows: Vec<ModuleRow> = (1..=4).map(|index| module(index, &format!("M{index}"), "")).collect();
    let (mut builder, mut catalogue) = (Builder::default(), Catalogue::default());
    builder.set_modules(&rows);
    for (index, row) in rows.iter().enumerate() {
        let types = [format!("Z{index}.A"), format!("A{index}.B")];
        let methods: Vec<_> = types.iter().map(|one| (one.as_str(), "M", "()", 0x0600_0001)).collect();
        for batch in builder.push(&page(row.key, &methods)).expect("whole") {
            catalogue.append(batch);
        }
    }
    catalogue.append(builder.finish().expect("the last"));
    let gone = [rows[1].key, rows[2].key];
    builder.forget(&gone);
    catalogue.forget(&gone);
    catalogue.complete(builder.name_order());
    let names: Vec<&str> = catalogue.types_by_name().map(|owner| catalogue.type_name(owner)).collect();
    assert_eq!(names, ["A0.B", "A3.B", "Z0.A", "Z3.A"]);
    assert_ne!(builder.name_order(), NameOrder::default());
    assert!(!builder.has(gone[0]) && builder.has(rows[3].key));
}

#[test]
fn a_domain_goes_with_its_last_module() {
    let (mut catalogue, batches) = catalogue();
    let domain = |id, name: &str| DomainRow { id, name: name.into(), shared: false };
    catalogue.set_domains(vec![domain(1, "clrhost"), domain(2, "Second")], 900);
    catalogue.set_domains(vec![domain(1, "clrhost"), domain(3, "Third")], 900);
    assert_eq!(catalogue.domains().len(), 3, "places are kept until something is forgotten");
    let renumbering = catalogue.forget(&[batches[0].module.key]).expect("known");
    assert_eq!(catalogue.domains().len(), 2);
    assert_eq!(renumbering.node(Node::Domain(1)), None);
    assert_eq!(renumbering.node(Node::Domain(2)), Some(Node::Domain(1)));
}

#[test]
fn shared_names_stay_until_the_last_copy_is_removed() {
    let (batches, _) = batches(3, 300);
    let copies = |ids: &[u64]| {
        let mut catalogue = Catalogue::default();
        for id in ids {
            for batch in &batches {
                let mut batch = batch.clone();
                batch.module.key.module_id += id * 1_000;
                assert!(catalogue.append(batch));
            }
        }
        catalogue
    };
    let texts = |catalogue: &Catalogue| (catalogue.names.len(), catalogue.signatures.len());
    let names = |catalogue: &Catalogue| -> Vec<String> {
        (0..catalogue.len() as u32).map(|index| name(catalogue, index)).collect()
    };
    let one = copies(&[0]);
    let of = |copies: usize| vec![names(&one); copies].concat();
    let mut three = copies(&[0, 1, 2]);
    assert_eq!(texts(&three), texts(&one), "they are stored once");
    assert_eq!(names(&three), of(3));
    for gone in [0, 2, 1] {
        let mut keys: Vec<ModuleKey> = batches.iter().map(|batch| batch.module.key).collect();
        keys.iter_mut().for_each(|key| key.module_id += gone * 1_000);
        assert!(three.forget(&keys).is_some());
        let left = three.modules().len() / batches.len();
        assert_eq!(names(&three), of(left), "{gone} is gone");
        assert_eq!(texts(&three), if left > 0 { texts(&one) } else { (0, 0) });
    }
}

/// Modules without methods lie between the others.
#[test]
fn empty_modules_keep_their_places() {
    let (batches, _) = batches(4, 200);
    let mut catalogue = Catalogue::default();
    for (at, batch) in batches.iter().enumerate() {
        assert!(catalogue.append(batch.clone()));
        let key = ModuleKey { module_id: 1_000 + at as u64, generation: 1 };
        let module = ModuleRow { key, name: format!("Empty{at}"), methods: 0, ..batch.module.clone() };
        let empty = Batch {
            module,
            framework: false,
            namespaces: Vec::new(),
            types: Vec::new(),
            type_text: Default::default(),
            names: Default::default(),
            signatures: Default::default(),
            name_of: Vec::new(),
            signature_of: Vec::new(),
            tokens: Vec::new(),
            by_token: Vec::new(),
            bodyless: Vec::new(),
            generated: Vec::new(),
        };
        assert!(catalogue.append(empty));
    }
    let stayed = [1, 3].map(|at| batches[at].module.clone());
    catalogue.forget(&[0, 2].map(|at| batches[at].module.key)).expect("known");
    let names: Vec<&str> = batches_of(&catalogue).collect();
    assert_eq!(names, ["Empty0", &stayed[0].name, "Empty1", "Empty2", &stayed[1].name, "Empty3"]);
    for method in (0..catalogue.len() as u32).map(MethodIx) {
        let own = catalogue.module(catalogue.module_of(method)).expect("it has one");
        assert!(own.methods.contains(&method.0), "{method:?}");
    }
    assert_eq!(catalogue.len(), stayed.iter().map(|module| module.methods as usize).sum::<usize>());
}

#[test]
fn another_build_of_a_file_has_names_of_its_own() {
    let (batches, _) = batches(1, 50);
    let mut catalogue = Catalogue::default();
    assert!(catalogue.append(batches[0].clone()));
    let texts = catalogue.names.len();
    let mut other = batches[0].clone();
    other.module.key.module_id += 1;
    other.module.mvid = "another".to_owned();
    assert!(catalogue.append(other) && catalogue.names.len() == 2 * texts);
}
