//! Tests the flattened tree.

use super::*;
use crate::catalogue::tests::{large, method, small};
use crate::selection::{Selection, SelectionMode};

fn label(catalogue: &Catalogue, node: Node) -> String {
    let parameters = match node {
        Node::Method(method) => catalogue.signature(method),
        _ => "",
    };
    format!("{}{parameters}", catalogue.label(node))
}

fn drawn(tree: &Tree, catalogue: &Catalogue) -> Vec<String> {
    let row = |row: &TreeRow| {
        let mark = match (row.node, row.expanded) {
            (Node::Method(_), _) => " ",
            (_, true) => "-",
            (_, false) => "+",
        };
        format!("{}{mark}{} {}", "  ".repeat(row.depth.into()), label(catalogue, row.node), row.methods)
    };
    tree.rows().iter().map(row).collect()
}

#[test]
fn groups_open_one_by_one() {
    let catalogue = small();
    let visible = BitSet::all(catalogue.len());
    let mut tree = Tree::default();
    assert!(tree.refresh(&catalogue, &visible, 1, "") && !tree.refresh(&catalogue, &visible, 1, ""));
    assert_eq!(drawn(&tree, &catalogue), ["+clrhost 7", "+second 1"]);
    tree.toggle(Node::Domain(0));
    tree.refresh(&catalogue, &visible, 1, "");
    let modules = ["-clrhost 7", "  +Shop 4", "  +System.Private.CoreLib 3", "+second 1"];
    assert_eq!(drawn(&tree, &catalogue), modules, "frameworks come last");
    tree.reveal(Node::Method(method(&catalogue, "Shop!Shop.Cart.Add(int)")), &catalogue);
    tree.refresh(&catalogue, &visible, 1, "");
    assert_eq!(
        drawn(&tree, &catalogue),
        [
            "-clrhost 7",
            "  -Shop 4",
            "    +(no namespace) 1",
            "    -Shop 3",
            "      +Box<T> 1",
            "      -Cart 2",
            "         Add(int) 1",
            "         Clear() 1",
            "  +System.Private.CoreLib 3",
            "+second 1",
        ]
    );
    tree.close_all();
    tree.refresh(&catalogue, &visible, 1, "");
    assert_eq!(tree.rows().len(), 2);
}

#[test]
fn the_only_domain_has_no_row() {
    let catalogue = large(2, 20);
    let visible = BitSet::all(catalogue.len());
    let mut tree = Tree::default();
    tree.refresh(&catalogue, &visible, 1, "");
    assert!(tree.rows().iter().all(|row| row.depth == 0 && matches!(row.node, Node::Module(_))));
    assert_eq!(tree.rows().len(), 2);
    tree.reveal(Node::Method(MethodIx(0)), &catalogue);
    tree.refresh(&catalogue, &visible, 1, "");
    let depth = tree.rows().iter().find(|row| row.node == Node::Method(MethodIx(0))).map(|row| row.depth);
    assert_eq!(depth, Some(3), "below module, namespace and type");
    let module = Node::Module(catalogue.module_of(MethodIx(0)));
    assert_eq!(tree.parent_row(module, &catalogue), None, "there is nothing to go to");
    let namespace = catalogue.parent(catalogue.parent(Node::Method(MethodIx(0))).expect("a type"));
    assert_eq!(tree.parent_row(namespace.expect("a namespace"), &catalogue), Some(module));
}

#[test]
fn a_search_expands_its_matches_for_itself_only() {
    let catalogue = small();
    let mut visible = BitSet::none(catalogue.len());
    let tax = method(&catalogue, "Plugin!Plugin.Tax.Apply(int)");
    visible.set(tax.0, true);
    let mut tree = Tree::default();
    tree.refresh(&catalogue, &visible, 1, "tax");
    let open = ["-second 1", "  -Plugin 1", "    -Plugin 1", "      -Tax 1", "         Apply(int) 1"];
    assert_eq!(drawn(&tree, &catalogue), open);
    let module = catalogue.module_of(tax);
    tree.toggle(Node::Module(module));
    tree.refresh(&catalogue, &visible, 1, "tax");
    assert_eq!(drawn(&tree, &catalogue), ["-second 1", "  +Plugin 1"]);
    tree.refresh(&catalogue, &visible, 2, "tax.");
    assert_eq!(drawn(&tree, &catalogue), open, "another search starts over");
    tree.refresh(&catalogue, &BitSet::all(catalogue.len()), 3, "");
    assert_eq!(tree.rows().len(), 2, "groups expanded by the search collapse again");
}

#[test]
fn an_expanded_tree_contains_every_method_once() {
    let catalogue = large(9, 900);
    let visible = BitSet::all(catalogue.len());
    let mut tree = Tree::default();
    for index in 0..catalogue.len() as u32 {
        tree.reveal(Node::Method(MethodIx(index)), &catalogue);
    }
    tree.refresh(&catalogue, &visible, 1, "");
    let mut methods: Vec<u32> = tree
        .rows()
        .iter()
        .filter_map(|row| match row.node {
            Node::Method(method) => Some(method.0),
            _ => None,
        })
        .collect();
    methods.sort_unstable();
    assert_eq!(methods, (0..900).collect::<Vec<_>>());
    let rows = TreeRows { tree: &tree, catalogue: &catalogue };
    for place in (0..rows.len()).step_by(7) {
        let node = rows.at(place).expect("a row");
        assert_eq!(rows.place_near(node), place);
    }
    let mut selection = Selection::default();
    selection.click(&rows, Node::Domain(0), SelectionMode::Replace);
    assert_eq!(selection.targets(&catalogue, &visible).len(), 900);
    tree.close_all();
    tree.refresh(&catalogue, &visible, 1, "");
    let rows = TreeRows { tree: &tree, catalogue: &catalogue };
    let place = rows.place_near(Node::Method(MethodIx(5)));
    let module = Node::Module(catalogue.module_of(MethodIx(5)));
    assert_eq!(rows.at(place), Some(module), "its nearest visible group");
}

#[test]
fn an_order_lasts_for_a_while_and_while_held() {
    use crate::list::SortKey;
    let catalogue = small();
    let (add, clear) =
        (method(&catalogue, "Shop!Shop.Cart.Add(int)"), method(&catalogue, "Shop!Shop.Cart.Clear()"));
    let mut live = crate::list::tests::live(&catalogue, &[add.0, clear.0], |place| 9 - u64::from(place));
    let visible = BitSet::all(catalogue.len());
    let mut tree = Tree::default();
    tree.reveal(Node::Method(add), &catalogue);
    let sort = Sort { key: SortKey::Calls, descending: true };
    let mut first = |live: &Live, frozen: bool, seconds: u64| {
        let at = Duration::from_secs(seconds);
        tree.arrange((sort, frozen), (&visible, 1), &catalogue, live, at);
        tree.refresh(&catalogue, &visible, 1, "");
        let first = tree.rows().iter().find_map(|row| match row.node {
            Node::Method(method) => Some(method),
            _ => None,
        });
        (first, tree.due())
    };
    assert_eq!(first(&live, false, 10), (Some(add), None));
    let delta = redial_protocol::counters::CounterDelta {
        t_ms: 1_000,
        rows: vec![redial_protocol::ids::RowId(1)],
        calls: vec![100],
    };
    live.take_counters(&delta, 0);
    assert_eq!(first(&live, false, 11), (Some(add), Some(Duration::from_secs(12))), "not yet");
    assert_eq!(first(&live, true, 13), (Some(add), None), "frozen");
    assert_eq!(first(&live, false, 13), (Some(clear), None));
}
