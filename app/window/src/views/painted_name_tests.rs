//! Tests the shortening of names.

use super::*;
use crate::ui::theme::DARK;

/// Returns the text shown for a method in a room of `room` characters of equal width.
fn shown_of(type_name: &str, method: &str, parameters: &str, room: usize) -> String {
    let text = format!("{type_name}.{method}{parameters}");
    let own = type_name.len() + 1;
    let mut name = PaintedName {
        text: &text,
        highlights: Vec::new(),
        pieces: Vec::new(),
        front: String::new(),
        remarks: Vec::new(),
        palette: &DARK,
    };
    name.method(0..own + method.len(), own, || StateMachine::Async);
    name.push(Content::Part(own + method.len()..text.len()), DARK.weak, Role::Parameters);
    name.push(Content::Part(0..namespace_length(type_name)), DARK.weak, Role::Namespace);
    let excess = name.job(NameCuts::default()).text.chars().count().saturating_sub(room);
    let cuts = match excess {
        0 => NameCuts::default(),
        excess => name.fitted(excess as f32, |_, _| 1.0),
    };
    name.job(cuts).text
}

#[test]
fn namespace_goes_first_and_the_type_last() {
    let shown = |room| shown_of("Shop.Sales.Outer+Pricing", "Discount", "(Shop.Money, int)", room);
    for (room, text) in [
        (99, "Outer+Pricing.Discount(Shop.Money, int)   Shop.Sales"),
        (51, "Outer+Pricing.Discount(Shop.Money, int)   …Sales"),
        (47, "Outer+Pricing.Discount(Shop.Money, int)"),
        (39, "Outer+Pricing.Discount(Shop.Money, int)"),
        (38, "Outer+Pricing.Discount(…)"),
        (25, "Outer+Pricing.Discount(…)"),
        (24, "…ter+Pricing.Discount(…)"),
        (15, "…ng.Discount(…)"),
    ] {
        assert_eq!(shown(room), text, "{room}");
        assert!(shown(room).chars().count() <= room);
    }
}

#[test]
fn namespace_in_the_tree_keeps_its_last_part() {
    let text = "Microsoft.AspNetCore.Http";
    let mut name = PaintedName {
        text,
        highlights: Vec::new(),
        pieces: Vec::new(),
        front: String::new(),
        remarks: Vec::new(),
        palette: &DARK,
    };
    name.namespace_group(0..text.len());
    for (room, shown) in [(25, text), (24, "…AspNetCore.Http"), (15, "…spNetCore.Http"), (5, "…Http")] {
        let cuts = match text.len() - room {
            0 => NameCuts::default(),
            excess => name.fitted(excess as f32, |_, _| 1.0),
        };
        assert_eq!(name.job(cuts).text, shown, "{room}");
    }
}

#[test]
fn names_are_cut_between_letters_of_several_bytes() {
    assert_eq!(shown_of("Größe", "Ändern", "()", 14), "Größe.Ändern()");
    assert_eq!(shown_of("Größe", "Ändern", "()", 13), "…öße.Ändern()");
}

#[test]
fn generated_code_keeps_its_method() {
    let shown = |room| shown_of("Shop.Cart+<AddAsync>d__9", "MoveNext", "()", room);
    assert_eq!(shown(99), "Cart.AddAsync (async)()   Shop");
    assert_eq!(shown(24), "Cart.AddAsync (async)()");
}

#[test]
fn interface_loses_its_namespace_before_the_type_loses_letters() {
    let shown = |room| shown_of("Shop.Bag", "System.Collections.IEnumerator.get_Current", "()", room);
    assert_eq!(shown(99), "Bag.System.Collections.IEnumerator.get_Current()   Shop");
    assert_eq!(shown(48), "Bag.System.Collections.IEnumerator.get_Current()");
    assert_eq!(shown(45), "Bag.…Collections.IEnumerator.get_Current()");
    assert_eq!(shown(32), "Bag.…IEnumerator.get_Current()");
    assert_eq!(shown(25), "Bag.…erator.get_Current()");
}

#[test]
fn hits_in_hidden_parts_mark_the_sign_in_their_place() {
    let text = "Shop.Cart.Add(Shop.Money, int)";
    let mut name = PaintedName {
        text,
        highlights: std::iter::once(19..24).collect(),
        pieces: Vec::new(),
        front: String::new(),
        remarks: Vec::new(),
        palette: &DARK,
    };
    name.method(0..13, 10, || StateMachine::Unknown);
    name.push(Content::Part(13..text.len()), DARK.weak, Role::Parameters);
    let job = name.job(NameCuts { parameters: true, ..NameCuts::default() });
    assert_eq!(job.text, "Cart.Add(…)");
    let marked = job.sections.iter().filter(|section| section.format.background == DARK.mark);
    let marked: Vec<&str> =
        marked.map(|section| &job.text[section.byte_range.start.0..section.byte_range.end.0]).collect();
    assert_eq!(marked, ["(…)"]);
}
