//! Tests the shortening of names.

use super::*;
use crate::ui::theme::DARK;

/// Returns the remaining head and method when the name is `excess` too wide and its parameters are `tail`
/// wide.
fn less(head: &str, excess: f32, tail: f32) -> String {
    let text = format!("{head}Dispose(…)");
    let name = PaintedName {
        text: &text,
        highlights: Vec::new(),
        parts: Vec::new(),
        head: 0..head.len(),
        parameters: 0..0,
        front: String::new(),
        body: None,
        remarks: Vec::new(),
        palette: &DARK,
    };
    let less = name.less(excess, tail, |_| 1.0);
    text.get(less..)
        .and_then(|left| left.strip_suffix("(…)"))
        .unwrap_or("not at a letter boundary")
        .to_owned()
}

#[test]
fn tree_cuts_the_namespace_of_an_explicit_interface() {
    // The tree drops the interface's namespace first, the table the part before it.
    let head = "System.Collections.Generic.IEnumerator<System.String>.";
    assert_eq!(less(head, 20.0, 3.0), "IEnumerator<System.String>.Dispose");
    let head = format!("Shop.Catalog+<Items>d__9.{head}");
    assert_eq!(less(&head, 20.0, 3.0), ">d__9.System.Collections.Generic.IEnumerator<System.String>.Dispose");
    assert_eq!(less(&head, 48.0, 3.0), "eric.IEnumerator<System.String>.Dispose");
}

/// Returns the text shown for a method in a room of `room` characters of equal width.
fn shown(type_name: &str, method: &str, parameters: &str, body: Option<&str>, room: usize) -> String {
    let text = format!("{type_name}.{method}{parameters}");
    let own = type_name.len() + 1;
    let end = own + method.len();
    let name = PaintedName {
        text: &text,
        highlights: Vec::new(),
        parts: [0..own, own..end, end..text.len()].map(|range| (range, Color32::WHITE)).into(),
        head: 0..own,
        parameters: end..text.len(),
        front: String::new(),
        body: body.map(str::to_owned),
        remarks: Vec::new(),
        palette: &DARK,
    };
    let excess = name.job(NameCuts::default()).text.chars().count().saturating_sub(room);
    let less = match excess {
        0 => NameCuts::default(),
        excess => name.fitted(excess as f32, room as f32, |_, _| 1.0),
    };
    let shown = name.job(less).text;
    assert!(shown.chars().count() <= room, "{shown} is too wide for {room}");
    shown
}

#[test]
fn long_name_is_cut_at_its_beginning() {
    let shown = |room| shown("Shop.Sales.Pricing", "Discount", "(Shop.Money, int)", None, room);
    assert_eq!(shown(99), "Shop.Sales.Pricing.Discount(Shop.Money, int)");
    assert_eq!(shown(40), "…Sales.Pricing.Discount(Shop.Money, int)");
    assert_eq!(shown(34), "…Pricing.Discount(Shop.Money, int)");
    assert_eq!(shown(33), "Shop.Sales.Pricing.Discount(…)");
    assert_eq!(shown(29), "…Sales.Pricing.Discount(…)");
    assert_eq!(shown(18), "…cing.Discount(…)");
}

#[test]
fn implemented_method_stays_readable() {
    let body = Some("body of Shop.Sales.Catalog.Items");
    let shown = |room| shown("Shop.Sales.Catalog+<Items>d__9", "MoveNext", "()", body, room);
    assert_eq!(shown(99), "Shop.Sales.Catalog+<Items>d__9.MoveNext()   body of Shop.Sales.Catalog.Items");
    assert_eq!(shown(70), "…Catalog+<Items>d__9.MoveNext()   body of Shop.Sales.Catalog.Items");
    assert_eq!(shown(44), "…og+<Items>d__9.MoveNext()   body of …Items");
    assert_eq!(shown(34), "…d__9.MoveNext()   body of …Items");
}

#[test]
fn long_name_drops_namespaces_first_and_type_last() {
    let head = "System.Linq.Enumerable+<Cast>d__6.";
    for (excess, tail, left) in [
        (0.5, 3.0, "Linq.Enumerable+<Cast>d__6.Dispose"),
        (6.0, 3.0, "Linq.Enumerable+<Cast>d__6.Dispose"),
        (7.0, 3.0, "Enumerable+<Cast>d__6.Dispose"),
        (11.0, 3.0, "Enumerable+<Cast>d__6.Dispose"),
        (13.0, 3.0, "Enumerable+<Cast>d__6.Dispose"),
        (100.0, 90.0, "Enumerable+<Cast>d__6.Dispose"),
        (102.0, 90.0, "umerable+<Cast>d__6.Dispose"),
        (500.0, 3.0, "Dispose"),
    ] {
        assert_eq!(less(head, excess, tail), left, "{excess} {tail}");
    }
    assert_eq!(less("Größe.", 9.0, 9.0), "öße.Dispose");
    assert_eq!(less("Größe.", 1.0, 9.0), "Größe.Dispose", "the parameters are cut instead");
    assert_eq!(less("", 5.0, 5.0), "Dispose");
}
