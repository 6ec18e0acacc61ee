//! Tests of the tree of callers, against known counts.

use super::*;
use crate::catalogue::tests::small;
use crate::fixtures::row;
use crate::ids::MethodIx;
use redial_protocol::callers::Caller;
use redial_protocol::message::StatusRow;
use redial_protocol::order::TimeOptions;

const SECOND: Duration = Duration::from_secs(1);

/// A table with callers counted for the first three methods, called 30, 20 and 10 times.
fn table() -> MethodTable {
    let mut table = MethodTable::default();
    table.catalogue = small();
    table.live.place(&table.catalogue);
    let options = TimeOptions { callers: true, ..TimeOptions::default() };
    let rows = (0..4_u32).map(|index| {
        let copy = table.catalogue.copy_of(MethodIx(index)).expect("a copy");
        let options = if index < 3 { options } else { TimeOptions::default() };
        StatusRow { copy, options, ..row(index, &format!("M{index}"), u64::from(30 - 10 * index.min(2))) }
    });
    let rows = rows.collect();
    table.live.take_rows(rows, &table.catalogue);
    table
}

fn caller(table: &MethodTable, method: u32, calls: u64) -> Caller {
    let copy = table.catalogue.copy_of(MethodIx(method)).expect("a copy");
    let origin = CallOrigin::Method {
        copy,
        module: "Shop".into(),
        method: format!("M{method}"),
        signature: "()".into(),
    };
    Caller { origin, sites: 1, calls }
}

fn answered(tree: &mut CallerTree, row: u32, callers: Vec<Caller>, others: u64) {
    tree.take(RowId(row), &Ok(Box::new(RowCallers { row: RowId(row), callers, others })));
}

fn text(tree: &CallerTree, table: &MethodTable) -> Vec<String> {
    let line = |line: CallerLine| {
        let sign = match line.expanded {
            Some(true) => "-",
            Some(false) => "+",
            None => " ",
        };
        let name = line.name.split('!').next_back().unwrap_or_default().to_owned();
        format!("{}{sign}{name} {}/{}", "  ".repeat(line.depth), line.calls, line.of)
    };
    tree.lines(table).into_iter().map(line).collect()
}

#[test]
fn lines_expand_towards_callers() {
    let table = table();
    let mut tree = CallerTree::default();
    assert_eq!(tree.ask(&table, SECOND), [RowId(0), RowId(1), RowId(2)]);
    assert!(tree.ask(&table, 2 * SECOND).is_empty(), "no call since, and the answers are pending");
    answered(&mut tree, 0, vec![caller(&table, 1, 20), caller(&table, 3, 7)], 3);
    answered(&mut tree, 1, vec![caller(&table, 2, 15), caller(&table, 1, 5)], 0);
    assert_eq!(text(&tree, &table), ["+M0() 30/30", "+M1() 20/20", "+M2() 10/10"]);
    let path = |line: usize, tree: &CallerTree| tree.lines(&table)[line].path.clone();
    tree.toggle(&path(0, &tree));
    let callers = &text(&tree, &table)[..4];
    assert_eq!(
        callers[..3],
        ["-M0() 30/30", "  +M1() 20/30", "   M3() 7/30"],
        "M3's callers are not counted"
    );
    assert!(callers[3].ends_with(" 3/30"));
    tree.toggle(&path(1, &tree));
    let callers = text(&tree, &table);
    assert_eq!(callers[1..4], ["  -M1() 20/30", "    +M2() 15/20", "     M1() 5/20"], "no endless recursion");
    tree.toggle(&path(0, &tree));
    assert_eq!(text(&tree, &table).len(), 3);
}

#[test]
fn a_selection_limits_the_top() {
    let mut table = table();
    let node = crate::ids::Node::Method(MethodIx(1));
    table.list.refresh(&table.catalogue, &table.live);
    table.click(node, crate::selection::SelectionMode::Replace);
    let tree = CallerTree::default();
    assert_eq!(text(&tree, &table), ["+M1() 20/20"]);
}

#[test]
fn later_calls_are_asked_about_again() {
    let mut table = table();
    let mut tree = CallerTree::default();
    tree.ask(&table, SECOND);
    for row in 0..3 {
        answered(&mut tree, row, vec![], 1);
    }
    assert!(tree.ask(&table, 9 * SECOND).is_empty());
    let mut again = row(1, "M1", 21);
    again.copy = table.catalogue.copy_of(MethodIx(1)).expect("a copy");
    again.options.callers = true;
    table.live.take_rows(vec![again], &table.catalogue);
    assert_eq!(tree.ask(&table, 9 * SECOND), [RowId(1)]);
    tree.begin_session();
    assert_eq!(tree.ask(&table, 9 * SECOND).len(), 3);
}
