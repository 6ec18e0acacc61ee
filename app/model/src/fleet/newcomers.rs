//! Makes the fleet's changes in processes that join.

use super::Fleet;
use super::requests::SentChange;
use crate::changes::DialChange;
use crate::connection::{Connections, Status};
use crate::log::{Log, LogKind};
use crate::update::Now;
use redial_text::words;

impl Fleet {
    /// Makes the fleet's changes in members that joined, as soon as they answer: returns the requests to send.
    pub(super) fn set_up_newcomers(
        &mut self,
        connections: &mut Connections,
        log: &mut Log,
        now: Now,
    ) -> Vec<DialChange> {
        let mut changes = Vec::new();
        for member in self.members.iter_mut().filter(|member| member.is_new || !member.missed.is_empty()) {
            let Some(theirs) = connections.get_mut(&member.connection) else { continue };
            if theirs.session.status != Status::Live {
                continue;
            }
            let (is_new, missed) = (std::mem::take(&mut member.is_new), std::mem::take(&mut member.missed));
            let mut standing = self.auto_join.standing();
            standing.retain(|(ticket, ..)| is_new || missed.contains(ticket));
            if is_new {
                let set = match standing.as_slice() {
                    [] => "nothing is set there, for nothing was turned on in all of them".to_owned(),
                    [(_, only, _)] => format!("set there as in the others: {only}"),
                    [(_, first, _), rest @ ..] => {
                        let more = words::count(rest.len() as u64, "more turn", "more turns");
                        format!("set there as in the others: {first}, and {more}")
                    }
                };
                let text = format!("{} has started and joins; {set}", theirs.title());
                Fleet::log_line(log, now, LogKind::Connection, text);
            }
            for (ticket, words, orders) in standing {
                let change = theirs.set_later(orders, words, now);
                let requests = &mut self.requests;
                requests.made.entry(ticket).or_default().push((member.connection, change.ticket));
                let text = format!("{words} in {}", member.title);
                let mut sent = SentChange::new(requests.tickets.issue(), text, Default::default());
                sent.wait_for(member.connection, change.ticket);
                requests.sent.push(sent);
                changes.push(change);
            }
        }
        changes
    }
}
