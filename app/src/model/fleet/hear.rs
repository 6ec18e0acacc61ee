//! What became of turns of several processes: one answer, put together of theirs.

use super::turning::processes;
use super::{Connections, Fleet};
use crate::model::connection::{Connection, Outcome};
use crate::model::ids::{ConnectionId, FLEET, Ticket};
use crate::model::log::{Kind, Log};
use crate::model::methodset::MethodSet;
use crate::model::update::{Now, Refused};
use crate::output::words;
use redial_protocol::report::DialReport;
use std::collections::BTreeMap;

/// Refusals that rows show, at most: the newest.
const SHOWN: usize = 200;

/// A turn that some processes have not answered.
#[derive(Debug)]
pub(super) struct Sent {
    pub ticket: Ticket,
    words: String,
    pub methods: MethodSet,
    /// Whether it turns everything off.
    pub is_off: bool,
    /// What it is once it is done.
    pub is_done: Kind,
    /// Copies that are on again then, where it takes back that all were turned off.
    pub on_again: Option<u64>,
    waiting: Vec<(ConnectionId, Ticket)>,
    done: Vec<(ConnectionId, Ticket)>,
    refused: Vec<(ConnectionId, Refused)>,
    reports: Vec<(ConnectionId, DialReport)>,
    off: (u64, u64),
}

/// Methods that one process was not turned in, whatever the others did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untaken {
    /// Which.
    pub connection: ConnectionId,
    /// What it is called.
    pub title: String,
    /// The methods, in the merged connection's numbers.
    pub methods: MethodSet,
    /// Why, as a sentence.
    pub why: String,
    /// Somebody else has control there, so that taking it would help.
    pub held: bool,
}

impl Sent {
    pub fn new(ticket: Ticket, words: String, methods: MethodSet) -> Sent {
        Sent {
            ticket,
            words,
            methods,
            is_off: false,
            is_done: Kind::Answer,
            on_again: None,
            waiting: Vec::new(),
            done: Vec::new(),
            refused: Vec::new(),
            reports: Vec::new(),
            off: (0, 0),
        }
    }

    pub fn wait_for(&mut self, connection: ConnectionId, part: Ticket) {
        self.waiting.push((connection, part));
    }

    pub fn refused(&mut self, connection: ConnectionId, refused: Refused) {
        self.refused.push((connection, refused));
    }

    pub fn waiting(&self) -> impl Iterator<Item = (ConnectionId, Ticket)> + '_ {
        self.waiting.iter().copied()
    }

    /// Takes in what is answered.
    fn listen(&mut self, connections: &mut Connections) {
        for (id, part) in std::mem::take(&mut self.waiting) {
            let outcome = match connections.get_mut(&id) {
                Some(theirs) => theirs.outcome(part),
                None => Outcome::Refused(Refused { why: "it was closed".to_owned(), holder: None }),
            };
            match outcome {
                Outcome::Waiting => self.waiting.push((id, part)),
                Outcome::Done(report) => {
                    self.done.push((id, part));
                    self.reports.push((id, *report));
                }
                Outcome::Off(reverted, remaining) => {
                    self.done.push((id, part));
                    self.off = (self.off.0 + reverted, self.off.1 + remaining);
                }
                Outcome::Refused(refused) => self.refused.push((id, refused)),
            }
        }
    }

    /// Copies asked for, of how many, over all processes.
    fn progress(&self, connections: &Connections) -> Option<(u64, u64)> {
        let part = |(id, part): (ConnectionId, Ticket)| {
            let pending = connections.get(&id)?.turns.pending();
            pending.iter().find(|pending| pending.ticket == part)?.progress
        };
        self.waiting().filter_map(part).reduce(|one, other| (one.0 + other.0, one.1 + other.1))
    }
}

impl Fleet {
    /// Takes in what the processes answered, and tells of what is over.
    pub(super) fn hear(
        &mut self,
        all: &mut Connection,
        connections: &mut Connections,
        log: &mut Log,
        now: Now,
    ) {
        for mut sent in std::mem::take(&mut self.sent) {
            sent.listen(connections);
            if sent.waiting.is_empty() {
                self.over(sent, all, log, now);
                continue;
            }
            if let Some((done, total)) = sent.progress(connections) {
                all.turns.progressed(sent.ticket, done, total);
            }
            self.sent.push(sent);
        }
    }

    fn over(&mut self, sent: Sent, all: &mut Connection, log: &mut Log, now: Now) {
        if sent.done.is_empty() && !sent.refused.is_empty() {
            all.turns.failed(sent.ticket);
            self.follow.failed(sent.ticket);
        } else if sent.is_off && sent.off == (0, 0) && sent.refused.is_empty() {
            // There is nothing to undo.
            all.turns.failed(sent.ticket);
        } else {
            all.turns.accepted(sent.ticket, now);
        }
        if let Some(made) = self.made.get_mut(&sent.ticket) {
            made.retain(|part| sent.done.contains(part));
        }
        // Turns that can neither be undone nor done again need not be known.
        if self.made.len() > 400 {
            self.made.pop_first();
        }
        self.tell(&sent, log, now);
        if sent.is_off && sent.off.1 == 0 && sent.refused.is_empty() {
            self.went.told_all_off(now.mono);
        }
        for (id, refused) in sent.refused {
            let held = refused.holder.is_some();
            if held {
                all.set_refused(sent.ticket, refused.clone());
            }
            if !sent.methods.is_empty() {
                let title = self.title_of(id).to_owned();
                let methods = self.methods_of(all, id, &sent.methods);
                all.untaken.push(Untaken { connection: id, title, methods, why: refused.why, held });
            }
        }
        let extra = all.untaken.len().saturating_sub(SHOWN);
        all.untaken.drain(..extra);
    }

    /// Those methods of the merged connection that are one process's.
    fn methods_of(&self, all: &Connection, id: ConnectionId, methods: &MethodSet) -> MethodSet {
        let of_it = all.catalogue.modules().iter().filter(|module| self.owner(module.key) == Some(id));
        let inside = of_it.flat_map(|module| methods.within(&module.methods));
        inside.fold(MethodSet::default(), |mut set, range| {
            set.insert(range);
            set
        })
    }

    fn tell(&self, sent: &Sent, log: &mut Log, now: Now) {
        let (done, all) = (sent.done.len(), sent.done.len() + sent.refused.len());
        let (accepted, matched, bodyless) = sent.reports.iter().fold((0, 0, 0), |sums, (_, report)| {
            (sums.0 + report.accepted, sums.1 + report.matched, sums.2 + report.bodyless)
        });
        let not = sent.reports.iter().flat_map(|(_, report)| &report.refused_by_reason);
        let refused: u64 = not.map(|(_, number)| number).sum();
        // The agents count what is off again as well.
        let on_again = sent.on_again.filter(|_| done == all && refused == 0);
        let (kind, mut text) = match (sent.is_off, sent.off) {
            (true, (reverted, 0)) if done == all => {
                let reverted = words::grouped(reverted);
                let text = format!(
                    "all off in {}: every dial is off, {reverted} reverted to the original IL",
                    processes(all)
                );
                (Kind::AllOff, text)
            }
            (true, (reverted, remaining)) => {
                let (reverted, remaining) = (words::grouped(reverted), words::grouped(remaining));
                let text = format!(
                    "{}: done in {done} of {all}, {reverted} reverted to the original IL, {remaining} not",
                    sent.words
                );
                (Kind::Refusal, text)
            }
            (false, _) if all == 0 => (sent.is_done, format!("{}: nothing was left to do", sent.words)),
            (false, _) => {
                let nobody = done == 0 || accepted == 0 && refused > 0;
                let kind = if nobody { Kind::Refusal } else { sent.is_done };
                let methods = match (matched, on_again) {
                    _ if done == 0 => None,
                    (0, _) => Some("nothing was left to do".to_owned()),
                    (_, Some(on)) => Some(format!("{} on again", words::count(on, "copy is", "copies are"))),
                    (_, None) => {
                        let (accepted, matched) = (words::grouped(accepted), words::grouped(matched));
                        Some(format!("{accepted} of {matched} copies accepted"))
                    }
                };
                let whole = (done < all).then(|| format!("done in {done} of {all}"));
                let said: Vec<String> = whole.into_iter().chain(methods).collect();
                (kind, format!("{}: {}", sent.words, said.join(", ")))
            }
        };
        if bodyless > 0 && on_again.is_none() {
            text.push_str(&format!(", {} without a body", words::grouped(bodyless)));
        }
        log.add(now, Some(FLEET), kind, text);
        let mut reasons: BTreeMap<String, Vec<ConnectionId>> = BTreeMap::new();
        for (id, refused) in &sent.refused {
            reasons.entry(refused.why.clone()).or_default().push(*id);
        }
        for (id, report) in &sent.reports {
            for (reason, _) in &report.refused_by_reason {
                let mut named = report.refused.iter().filter(|one| one.reason == *reason);
                let method = named.next().map(|one| words::plain_parameters(&one.method));
                let method = method.map(|method| format!("{method}: ")).unwrap_or_default();
                reasons.entry(format!("{method}{}", reason.sentence())).or_default().push(*id);
            }
            for warning in &report.warnings {
                log.add(now, Some(*id), Kind::Notice, format!("{}: {warning}", self.title_of(*id)));
            }
        }
        for (why, ids) in reasons {
            log.add(now, Some(FLEET), Kind::Refusal, format!("refused in {}: {why}", self.titles(&ids)));
        }
    }

    /// `Shop.dll (12), Shop.dll (14) and 3 more`.
    pub(super) fn titles(&self, ids: &[ConnectionId]) -> String {
        let mut ids = ids.to_vec();
        ids.dedup();
        let first: Vec<&str> = ids.iter().take(3).map(|id| self.title_of(*id)).collect();
        match ids.len().saturating_sub(first.len()) {
            0 => first.join(", "),
            more => format!("{} and {more} more", first.join(", ")),
        }
    }
}
