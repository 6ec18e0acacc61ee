//! Tests that methods which the compiler wrote are hidden, counted, and shown once they are dialled.

use super::{Filter, List};
use crate::catalogue::Catalogue;
use crate::catalogue::builder::Builder;
use crate::catalogue::tests::method;
use crate::fixtures::{module, page};
use crate::ids::ModuleIx;
use crate::list::tests::live;
use crate::live::Live;
use redial_protocol::catalogue::DomainRow;
use redial_protocol::ids::ModuleKey;

const CLOSURE: &str = "Till!Till.Desk+<>c..ctor()";

fn till() -> Catalogue {
    let row = module(1, "Till", "/opt/shop/Till.dll");
    let mut builder = Builder::default();
    builder.set_modules(std::slice::from_ref(&row));
    let methods = [
        ("Till.Desk", "Ring", "(int)", 0x0600_0001),
        ("Till.Desk+<>c", ".ctor", "()", 0x0600_0002),
        ("Till.Desk+<>c", "<Ring>b__0_0", "(int)", 0x0600_0003),
        ("Till.Desk+<Close>d__1", "MoveNext", "()", 0x0600_0004),
        ("Till.Desk+<Close>d__1", "SetStateMachine", "()", 0x0600_0005),
    ];
    let mut catalogue = Catalogue::default();
    catalogue.set_domains(vec![DomainRow { id: 1, name: "clrhost".into(), shared: false }], 5);
    let batches = builder.push(&page(row.key, &methods)).expect("whole");
    for batch in batches.into_iter().chain(builder.finish()) {
        assert!(catalogue.append(batch));
    }
    catalogue.complete(builder.name_order());
    catalogue
}

fn names(list: &List, catalogue: &Catalogue) -> Vec<String> {
    let shown = (0..list.len()).filter_map(|place| list.at(place));
    shown.map(|method| catalogue.full_name(method).text).collect()
}

#[test]
fn hides_what_the_compiler_wrote_and_counts_it() {
    let catalogue = till();
    let nothing = Live::default();
    let mut list = List::default();
    list.set_filter(Filter { hide_generated: true, ..Filter::default() });
    assert!(list.refresh(&catalogue, &nothing) && list.filter().is_active());
    let written = [
        "Till!Till.Desk.Ring(int)",
        "Till!Till.Desk+<>c.<Ring>b__0_0(int)",
        "Till!Till.Desk+<Close>d__1.MoveNext()",
    ];
    assert_eq!(names(&list, &catalogue), written);
    assert_eq!((list.shown(), list.generated(), list.all()), (3, 2, 5));
    list.set_filter(Filter { text: "ring".into(), ..list.filter().clone() });
    list.refresh(&catalogue, &nothing);
    assert_eq!((list.shown(), list.generated()), (2, 0), "only hidden matches count");
    list.set_filter(Filter::default());
    list.refresh(&catalogue, &nothing);
    assert_eq!((list.shown(), list.generated()), (5, 0));
    let hiding = Filter { hide_generated: true, ..Filter::default() };
    assert_eq!(list.would_show(&hiding, &catalogue, &nothing), 3);
}

#[test]
fn dialled_methods_stay() {
    let catalogue = till();
    let closure = method(&catalogue, CLOSURE);
    let mut list = List::default();
    list.set_filter(Filter { hide_generated: true, ..Filter::default() });
    list.refresh(&catalogue, &Live::default());
    assert!(!list.visible().get(closure.0));
    // Its row says level off: it was dialled.
    assert!(list.refresh(&catalogue, &live(&catalogue, &[closure.0], |_| 1)));
    assert!(list.visible().get(closure.0));
    assert_eq!((list.shown(), list.generated()), (4, 1));
}

#[test]
fn marks_survive_import_and_removal() {
    let till = till();
    let mut all = Catalogue::default();
    let key = |module_id| ModuleKey { module_id, generation: 1 };
    assert!(all.import_module(&till, ModuleIx(0), key(7), 1));
    assert!(all.import_module(&till, ModuleIx(0), key(8), 1));
    let marks = |catalogue: &Catalogue| catalogue.generated().iter_in(0..u32::MAX).collect::<Vec<_>>();
    let once = marks(&till);
    let again: Vec<u32> = once.iter().map(|method| method + till.len() as u32).collect();
    assert_eq!(marks(&all), [once.clone(), again].concat());
    assert!(all.forget(&[key(7)]).is_some());
    assert_eq!(marks(&all), once);
}
