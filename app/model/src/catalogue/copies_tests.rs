//! Tests copies in several AppDomains and load contexts; `domains` and `contexts` make catalogues for other
//! tests, too.

use super::*;
use crate::catalogue::builder::Builder;
use crate::catalogue::tests::method;
use crate::fixtures::{module, page};
use redial_protocol::catalogue::{DomainRow, ModuleRow};

/// Type, method, signature, token.
pub type Row = (&'static str, &'static str, &'static str, u32);

/// The methods of `domains`.
pub const WORK: [Row; 3] = [
    ("Domains.Work", "Add", "(int)", 0x0600_0001),
    ("Domains.Work", "Same", "()", 0x0600_0002),
    ("Domains.Box<T>", "Size", "()", 0x0600_0003),
];
const CORE: [Row; 2] =
    [("System.Version", "Parse", "(string)", 0x0600_0011), ("System.String", "Trim", "()", 0x0600_0012)];

/// A catalogue of these modules in domains with these names (ids 1, 2, …), plus a domain with id 99 for
/// shared modules.
pub fn made(names: &[&str], modules: &[(ModuleRow, &[Row])]) -> Catalogue {
    let mut domains: Vec<DomainRow> = (1..)
        .zip(names)
        .map(|(id, name)| DomainRow { id, name: (*name).to_owned(), shared: false })
        .collect();
    domains.push(DomainRow { id: 99, name: "EE Shared Assembly Repository".into(), shared: true });
    let mut catalogue = Catalogue::default();
    catalogue.set_domains(domains, 0);
    let rows: Vec<ModuleRow> = modules.iter().map(|(row, _)| row.clone()).collect();
    let mut builder = Builder::default();
    builder.set_modules(&rows);
    for (row, methods) in modules {
        for batch in builder.push(&page(row.key, methods)).expect("whole") {
            assert!(catalogue.append(batch));
        }
    }
    assert!(catalogue.append(builder.finish().expect("the last")));
    catalogue.complete(builder.name_order());
    catalogue
}

/// A copy of the build `mvid` of an assembly in some domains.
pub fn copy(index: u64, name: &str, mvid: &str, domains: &[u64]) -> ModuleRow {
    let mut row = module(index, name, &format!("/opt/{name}.dll"));
    row.key.generation = index as u32;
    ModuleRow { mvid: mvid.to_owned(), domains: domains.to_vec(), ..row }
}

/// Three domains, each with a copy of `domains`, and the core library that they share.
pub fn domains() -> Catalogue {
    let core = ModuleRow { shared: true, ..copy(1, "System.Private.CoreLib", "core", &[1, 2, 3]) };
    let own = |index: u64| copy(index + 1, "domains", "work", &[index]);
    made(&["First", "Second", "Third"], &[(core, &CORE), (own(1), &WORK), (own(2), &WORK), (own(3), &WORK)])
}

/// Copies in three load contexts of one domain, and one of another build with different tokens.
pub fn contexts() -> Catalogue {
    let own = |index: u64| copy(index, "Copied", "work", &[1]);
    let newer: [Row; 2] =
        [("Domains.Work", "Other", "()", 0x0600_0001), ("Domains.Work", "Add", "(int)", 0x0600_0002)];
    made(
        &["clrhost"],
        &[(own(1), &WORK), (own(2), &WORK), (own(3), &WORK), (copy(4, "Copied", "newer", &[1]), &newer)],
    )
}

#[test]
fn a_single_copy_has_no_location() {
    let catalogue = crate::catalogue::tests::small();
    assert!(!catalogue.has_copies() && catalogue.has_domains());
    let add = method(&catalogue, "Shop!Shop.Cart.Add(int)");
    assert_eq!((catalogue.copies(add), catalogue.place(catalogue.module_of(add))), (vec![add], None));
    let one = made(&["clrhost"], &[(copy(1, "Shop", "a", &[1]), &WORK)]);
    assert!(!one.has_domains());
}

#[test]
fn describes_copies_by_domain_or_number() {
    let domains = domains();
    let place = |catalogue: &Catalogue, index| catalogue.place(ModuleIx(index));
    assert_eq!(place(&domains, 2).as_deref(), Some("in Second"));
    assert_eq!(place(&domains, 0), None, "there is one core library");
    let contexts = contexts();
    assert_eq!(place(&contexts, 1).as_deref(), Some("in clrhost, copy #2"));
    assert!(domains.has_copies() && contexts.has_copies() && !contexts.has_domains());
}

#[test]
fn finds_copies_in_other_builds_by_name() {
    let catalogue = contexts();
    let add = method(&catalogue, "Copied!Domains.Work.Add(int)");
    let copies = catalogue.copies(add);
    let tokens: Vec<u32> = copies.iter().map(|copy| catalogue.token(*copy).0 & 0xff).collect();
    assert_eq!(tokens, [1, 1, 1, 2]);
    assert!(copies.iter().all(|copy| catalogue.method_name(*copy) == "Add"));
    let set: MethodSet = copies.iter().copied().collect();
    assert_eq!(catalogue.with_copies(&MethodSet::one(add)), set);
    assert_eq!(catalogue.with_copies(&MethodSet::one(copies[3])), set, "from any of them");
    let size = method(&catalogue, "Copied!Domains.Box<T>.Size()");
    assert_eq!(catalogue.copies(size).len(), 3, "the newer build has none");
}

#[test]
fn merged_copies_have_one_row_and_one_root() {
    let mut catalogue = domains();
    let (work, third) = (ModuleIx(1), ModuleIx(3));
    assert_eq!(catalogue.parent(Node::Module(third)), Some(Node::Domain(2)));
    assert!(catalogue.merged_away().is_empty());
    let edition = catalogue.edition();
    catalogue.set_merged(true);
    assert!(catalogue.edition() > edition);
    assert_eq!(catalogue.lead(third), work);
    let in_third = catalogue.module(third).expect("there").methods.clone();
    assert_eq!(
        catalogue.row_method(MethodIx(in_third.start + 1)),
        MethodIx(catalogue.modules()[1].methods.start + 1)
    );
    assert_eq!(catalogue.merged_away().len(), 2);
    let root = Node::Domain(EVERY_DOMAIN);
    assert_eq!(
        (catalogue.parent(Node::Module(third)), catalogue.label(root)),
        (Some(root), "all AppDomains")
    );
    let below: u32 = catalogue.methods_below(root).iter().map(|range| range.end - range.start).sum();
    assert_eq!(below as usize, catalogue.len());
    // When the first copy goes, another takes the lead.
    let key = catalogue.modules()[1].key;
    catalogue.unload(&[key]);
    assert_eq!((catalogue.lead(third), catalogue.namesakes("domains").count()), (ModuleIx(2), 2));
    // With a single domain, only the copies are merged.
    let mut contexts = contexts();
    contexts.set_merged(true);
    assert_eq!(contexts.parent(Node::Module(ModuleIx(0))), Some(Node::Domain(0)));
    assert_eq!(contexts.merged_away().len(), 2, "another build has its own rows");
}

#[test]
fn shared_modules_know_their_domains() {
    let catalogue = domains();
    let core = &catalogue.modules()[0];
    assert!(catalogue.is_shared(core) && !catalogue.is_shared(&catalogue.modules()[1]));
    assert_eq!(catalogue.domain_names(core), ["First", "Second", "Third"]);
    assert_eq!((catalogue.shared_in(1), catalogue.shared_in(3)), (vec![ModuleIx(0)], vec![]));
}

#[test]
fn a_prefix_of_another_domain_is_no_scope() {
    let own = |index: u64| copy(index, "domains", "work", &[index]);
    let catalogue = made(
        &["Shop", "Shop2", "/LM/W3SVC/1/ROOT/Shop-2-133"],
        &[(own(1), &WORK), (own(2), &WORK), (own(3), &WORK)],
    );
    assert_eq!((catalogue.domain_scope(0), catalogue.domain_scope(1)), (None, Some("Shop2")));
    assert_eq!(catalogue.domain_title(Node::Domain(2)), "site 1, /Shop");
    assert_eq!(catalogue.domain_title(Node::Domain(1)), "Shop2");
}

#[test]
fn an_iis_scope_survives_a_recycle_unless_it_selects_others() {
    const SHOP: &str = "/LM/W3SVC/1/ROOT/Shop-2-133";
    let scope = |names: &[&str]| {
        let own: Vec<_> =
            (1..=names.len() as u64).map(|id| (copy(id, "Shop", "shop", &[id]), &WORK[..])).collect();
        made(names, &own).domain_scope(0).map(str::to_owned)
    };
    let application = Some("/LM/W3SVC/1/ROOT/Shop-".to_owned());
    assert_eq!(scope(&[SHOP]), application);
    for other in ["/LM/W3SVC/1/ROOT/Shopping-2-133", "/LM/W3SVC/2/ROOT/Shop-2-133", "/LM/W3SVC/1/ROOT-2-133"]
    {
        assert_eq!(scope(&[SHOP, other]), application, "{other}");
    }
    // Another application, and the same one while a recycle starts the next AppDomain.
    for other in ["/LM/W3SVC/1/ROOT/Shop-2-1-133", "/LM/W3SVC/1/ROOT/Shop-3-134"] {
        assert_eq!(scope(&[SHOP, other]).as_deref(), Some(SHOP), "{other}");
    }
}
