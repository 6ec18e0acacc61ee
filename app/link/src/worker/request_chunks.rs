//! Splits a change into requests that fit the pipe's limits.

use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_FRAME, MAX_ORDERS};
use redial_protocol::message::WireCommand;
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::report::DialReport;
use std::collections::VecDeque;

/// Maximum bytes of patterns in one request; leaves room in the frame for everything else.
const BYTES: usize = MAX_FRAME / 2;

/// Returns the requests of a change, in the order of its orders. Orders with level off are kept; if they were
/// held like the others, a kept dial would come back on when this session ends. With `later`, orders are set
/// even if they match nothing yet.
pub fn requests(orders: Vec<Order>, take: bool, later: bool) -> VecDeque<WireCommand> {
    let mut requests = VecDeque::new();
    let mut orders = orders.into_iter().peekable();
    while let Some(first) = orders.next() {
        let is_off = first.level == Level::Off;
        let mut run = vec![first];
        while let Some(next) = orders.next_if(|next| (next.level == Level::Off) == is_off) {
            run.push(next);
        }
        requests.extend(chunks(run).into_iter().map(|orders| request(orders, is_off, take, later)));
    }
    requests
}

fn request(orders: Vec<Order>, is_off: bool, take: bool, later: bool) -> WireCommand {
    let everywhere = orders.iter().all(|order| order.domain.is_none() && order.copy.is_none());
    match is_off {
        true if everywhere && !later => {
            let patterns = orders.into_iter().map(|order| order.pattern).collect();
            WireCommand::RequestRevert { patterns, take }
        }
        true => WireCommand::RequestReJit { orders, later, take, lifetime: Lifetime::Kept },
        false => WireCommand::RequestReJit { orders, later, take, lifetime: Lifetime::Held },
    }
}

/// Returns whether a plan of these orders fits into one request.
pub fn fit_one(orders: &[Order]) -> bool {
    orders.len() <= MAX_ORDERS && orders.iter().map(length).sum::<usize>() <= BYTES
}

fn length(order: &Order) -> usize {
    order.pattern.len() + order.domain.as_ref().map_or(0, String::len)
}

fn chunks(orders: Vec<Order>) -> Vec<Vec<Order>> {
    let mut chunks: Vec<Vec<Order>> = Vec::new();
    let mut bytes = 0;
    for order in orders {
        let length = length(&order);
        match chunks.last_mut() {
            Some(last) if last.len() < MAX_ORDERS && bytes + length <= BYTES => {
                bytes += length;
                last.push(order);
            }
            _ => {
                bytes = length;
                chunks.push(vec![order]);
            }
        }
    }
    chunks
}

/// Adds the report on one request to the report on the whole change.
pub fn add(total: &mut DialReport, report: DialReport) {
    total.matched = total.matched.saturating_add(report.matched);
    total.accepted = total.accepted.saturating_add(report.accepted);
    total.bodyless = total.bodyless.saturating_add(report.bodyless);
    for (reason, number) in report.refused_by_reason {
        match total.refused_by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sum)) => *sum = sum.saturating_add(number),
            None => total.refused_by_reason.push((reason, number)),
        }
    }
    total.refused.extend(report.refused);
    total.shared.extend(report.shared);
    for warning in report.warnings {
        if !total.warnings.contains(&warning) {
            total.warnings.push(warning);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::diagnostics::ChangeWarning;
    use redial_protocol::message::Request;
    use redial_protocol::packet::ControllerPacket;
    use redial_protocol::reason::Reason;

    fn order(pattern: String, level: Level) -> Order {
        Order::new(pattern, level)
    }

    #[test]
    fn splits_a_large_change_without_loss() {
        let mut orders: Vec<Order> =
            (0..10_000).map(|index| order(format!("Shop!{index:#010x}"), Level::Count)).collect();
        orders.insert(7, order("Shop!Shop.Cart.*".into(), Level::Off));
        let requests = requests(orders, true, false);
        let mut sent = Vec::new();
        for request in &requests {
            match request {
                WireCommand::RequestReJit { orders, later: false, take: true, lifetime: Lifetime::Held } => {
                    assert!(orders.len() <= MAX_ORDERS);
                    sent.extend(orders.iter().map(|order| order.pattern.clone()));
                }
                WireCommand::RequestRevert { patterns, take: true } => sent.extend(patterns.clone()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((requests.len(), sent.len()), (5, 10_001));
        assert_eq!(sent[7], "Shop!Shop.Cart.*", "orders stay in order");
    }

    #[test]
    fn off_in_one_domain_is_limited_and_kept() {
        let off = Order { domain: Some("Second".into()), ..order("Shop!*".into(), Level::Off) };
        let mut requests = requests(vec![order("Shop!*".into(), Level::Off), off], false, false);
        let Some(WireCommand::RequestReJit { orders, lifetime: Lifetime::Kept, .. }) = requests.pop_front()
        else {
            panic!("an order for a domain needs more than its pattern");
        };
        assert!(requests.is_empty());
        assert_eq!(orders[1].domain.as_deref(), Some("Second"));
    }

    #[test]
    fn long_patterns_fit_their_frames() {
        let orders = (0..1_000).map(|_| order("x".repeat(4_096), Level::Count)).collect();
        let requests = requests(orders, false, false);
        assert!(requests.len() > 1);
        for command in requests {
            ControllerPacket::Request(Request { id: 1, command }).to_frame().expect("it fits a frame");
        }
    }

    #[test]
    fn reports_add_up() {
        let one = |reason, number| DialReport {
            matched: 5,
            accepted: 3,
            bodyless: 1,
            refused_by_reason: vec![(reason, number)],
            warnings: vec![ChangeWarning::PausesProgram],
            ..DialReport::default()
        };
        let mut total = DialReport::default();
        for report in [one(Reason::Dynamic, 1), one(Reason::Dynamic, 2), one(Reason::NoBody, 4)] {
            add(&mut total, report);
        }
        assert_eq!((total.matched, total.accepted, total.bodyless), (15, 9, 3));
        assert_eq!(total.refused_by_reason, [(Reason::Dynamic, 3), (Reason::NoBody, 4)]);
        assert_eq!(total.warnings.len(), 1);
    }
}
