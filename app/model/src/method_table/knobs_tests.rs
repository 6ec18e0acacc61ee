//! Knobs of methods that cannot be turned on, and of their groups.

use super::*;
use crate::catalogue::tests::{method, small_without};
use crate::connection::Connection;
use crate::connection::tests::{connected_to, row};
use crate::fixtures::now;
use crate::log::Log;
use crate::method_table::{NO_BODIES, Targets};
use crate::orders::ChangeScope;
use crate::update::ConnectionUpdate;
use redial_protocol::message::{Event, StatusRow};
use redial_text::diagnostics::{Reader, reasons};

/// Tokens of `Shop.Cart.Add(int)` and `Shop.Cart.Clear()`.
const ADD: u32 = 0x0600_0002;
const CLEAR: u32 = 0x0600_0001;

struct Case {
    connection: Connection,
    log: Log,
    add: MethodIx,
    clear: MethodIx,
    cart: Node,
}

/// A live connection where these of Cart's two methods have no body.
fn case(bodyless: &[(u32, Reason)]) -> Case {
    let (connection, log) = connected_to(small_without(bodyless));
    let catalogue = &connection.table.catalogue;
    let add = method(catalogue, "Shop!Shop.Cart.Add(int)");
    let clear = method(catalogue, "Shop!Shop.Cart.Clear()");
    let cart = Node::Type(catalogue.type_of(add));
    Case { connection, log, add, clear, cart }
}

impl Case {
    fn take_rows(&mut self, rows: Vec<StatusRow>) {
        self.connection.apply(
            vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })],
            &mut self.log,
            now(1),
        );
        self.connection.refresh(now(1));
    }

    fn set_level(&mut self, targets: &Targets, level: Level) -> Result<Vec<String>, String> {
        let change = self.connection.set_level(targets, level, false, &mut self.log, now(2))?;
        Ok(change.orders.into_iter().map(|order| order.pattern).collect())
    }

    fn copies(&self, methods: &[MethodIx]) -> Targets {
        Targets::new(methods.iter().copied().collect(), ChangeScope::Copies)
    }
}

/// Another controller turned the type on by a wildcard, so the method without a body has no row.
#[test]
fn bodyless_methods_do_not_make_a_group_mixed() {
    let mut case = case(&[(CLEAR, Reason::NoBody)]);
    let rows = vec![row(&case.connection, 0, case.add, CopyState::Live)];
    case.take_rows(rows);
    let targets = case.connection.table.targets_of(case.cart);
    for group in [case.connection.table.group(case.cart), case.connection.table.group_of_set(&targets)] {
        assert_eq!((group.wanted, group.bodyless, group.by_level), (Some(Level::Count), 1, [1, 1, 0, 0]));
        assert!(!group.is_bodyless());
    }
    let mut whole = case.connection.table.group(Node::Method(case.clear));
    assert!(whole.is_bodyless() && whole.wanted == Some(Level::Off));
    // With a body, it would make the group mixed.
    let mut other = self::case(&[]);
    let rows = vec![row(&other.connection, 0, other.add, CopyState::Live)];
    other.take_rows(rows);
    whole = other.connection.table.group(other.cart);
    assert_eq!((whole.wanted, whole.bodyless), (None, 0));
}

#[test]
fn requests_nothing_for_bodyless_methods() {
    let mut case = case(&[(CLEAR, Reason::PInvoke)]);
    let reason = reasons::sentence(Reason::PInvoke, Reader::Window);
    assert_eq!(case.connection.table.dial(case.clear).bodyless, Some(Reason::PInvoke));
    let (one, both) = (case.copies(&[case.clear]), case.copies(&[case.add, case.clear]));
    assert_eq!(case.set_level(&one, Level::Count), Err(reason.to_owned()));
    assert_eq!(case.set_level(&one, Level::Off), Err(reason.to_owned()));
    assert!(case.log.entries().iter().any(|entry| entry.text.ends_with(reason)), "it is said");
    assert_eq!(
        case.set_level(&both, Level::Count),
        Ok(vec!["Shop!Shop.Cart.*".to_owned()]),
        "one order is shorter"
    );
    let dial = case.connection.table.dial(case.clear);
    assert_eq!((dial.wanted, dial.pending), (Level::Off, false), "nothing will come of it");
    assert!(case.connection.table.dial(case.add).pending);
    // By name, only methods with a body are requested.
    let main = method(&case.connection.table.catalogue, "Shop!Program.<Main>$(string[])");
    let mut far = case.copies(&[case.clear, main]);
    assert_eq!(case.set_level(&far, Level::Count), Ok(vec!["Shop!0x06000006".to_owned()]));
    far.methods = MethodSet::one(case.clear);
    assert!(case.set_level(&far, Level::Count).is_err());
}

#[test]
fn group_without_bodies_says_so() {
    let mut case = case(&[(CLEAR, Reason::NoBody), (ADD, Reason::NoBody)]);
    let targets = case.connection.table.turned_by(case.cart);
    assert!(case.connection.table.group(case.cart).is_bodyless());
    assert_eq!(case.set_level(&targets, Level::Count), Err(NO_BODIES.to_owned()));
    assert!(case.connection.table.changes.pending().is_empty());
}

/// Another controller named the method, so it has a refused row. It can be turned off and is then as before.
#[test]
fn refused_bodyless_method_can_be_turned_off() {
    let mut case = case(&[(CLEAR, Reason::NoBody)]);
    let refused = row(&case.connection, 0, case.clear, CopyState::Refused);
    case.take_rows(vec![refused.clone()]);
    let dial = case.connection.table.dial(case.clear);
    assert_eq!((dial.wanted, dial.bodyless), (Level::Count, None));
    assert!(!case.connection.table.is_unavailable(case.clear), "it is wanted on");
    let one = case.copies(&[case.clear]);
    assert_eq!(case.set_level(&one, Level::Off), Ok(vec!["Shop!0x06000001".to_owned()]));
    case.take_rows(vec![StatusRow { wanted: Level::Off, state: CopyState::Off, ..refused }]);
    let dial = case.connection.table.dial(case.clear);
    assert_eq!(
        (dial.bodyless, case.connection.table.is_unavailable(case.clear)),
        (Some(Reason::NoBody), true)
    );
}

/// Refused, failed and lost methods whose level is off do not make a group mixed either.
#[test]
fn unavailable_methods_do_not_make_a_group_mixed() {
    for state in [CopyState::Refused, CopyState::Failed, CopyState::Lost] {
        let mut case = case(&[]);
        let off = StatusRow { wanted: Level::Off, ..row(&case.connection, 1, case.clear, state) };
        let rows = vec![row(&case.connection, 0, case.add, CopyState::Live), off];
        case.take_rows(rows);
        assert_eq!(case.connection.table.group(case.cart).wanted, Some(Level::Count), "{state}");
        assert!(
            case.connection.table.is_unavailable(case.clear)
                && !case.connection.table.is_unavailable(case.add)
        );
    }
}
