//! Changes that a user asks several processes for: one change, made of a part in each process.

use super::requests::{PartialRefusal, SentChange};
use super::{Fleet, Member, has_ended};
use crate::changes::DialChange;
use crate::connection::Connections;
use crate::connection::{Connection, Status, UndoStep};
use crate::ids::{ConnectionId, Ticket};
use crate::log::{Log, LogKind};
use crate::method_set::MethodSet;
use crate::method_table::Targets;
use crate::orders::{ChangeScope, orders_for_later, with_options};
use crate::update::{Now, RefusedRequest};
use redial_protocol::level::Level;
use redial_text::words;

/// A request to send to one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRequest {
    /// The process.
    pub connection: ConnectionId,
    /// The request.
    pub step: UndoStep,
}

impl Fleet {
    /// Turns methods in every process that has them: returns the requests to send. With `take`, only where another
    /// controller's control was the reason of a refusal.
    /// Refusals by single processes are logged when the others have answered.
    ///
    /// # Errors
    /// Why nothing can be turned anywhere, as a sentence; it is in the log already.
    pub fn set_level(
        &mut self,
        connections: &mut Connections,
        (targets, level, take): (&Targets, Level, bool),
        log: &mut Log,
        now: Now,
    ) -> Result<(Ticket, Vec<MemberRequest>), String> {
        let parts = self.parts_of(connections, targets, take);
        let change = format!("{} on {}", targets.words_at(level), self.name_of(&targets.methods));
        let wishes = vec![(level, targets.methods.clone())];
        let everywhere = targets.scope == ChangeScope::Everywhere;
        let by_name = orders_for_later(&self.table.catalogue, &wishes, self.table.off_and_bodyless())
            .map(|orders| with_options(orders, targets.options_at(level), targets.when_at(level)));
        let by_name = Some(by_name).filter(|_| everywhere && !take);
        let unread = match &by_name {
            Some(Ok(_)) => self.unread(connections, &parts),
            _ => Vec::new(),
        };
        let text = match (parts.as_slice(), unread.len()) {
            ([(only, _)], 0) => format!("{change} in {}", self.title_of(*only)),
            (several, more) => format!("{change} in {}", words::processes(several.len() + more)),
        };
        let possible = self.check(&targets.methods, level).and_then(|()| match parts.is_empty() {
            true => Err("no process that has it can be turned".to_owned()),
            false => Ok(()),
        });
        if let Err(why) = possible {
            Fleet::log_line(log, now, LogKind::Refusal, format!("{text} refused: {why}"));
            return Err(why);
        }
        let ticket = self.requests.tickets.issue();
        Fleet::log_line(log, now, LogKind::Request, text.clone());
        let scope = if everywhere { ChangeScope::Everywhere } else { ChangeScope::Copies };
        let mut requests = Vec::new();
        let mut sent = SentChange::new(ticket, text.clone(), targets.methods.clone());
        let mut send = |sent: &mut SentChange, change: DialChange| {
            sent.wait_for(change.connection, change.ticket);
            requests.push(MemberRequest { connection: change.connection, step: UndoStep::Change(change) });
        };
        for (id, methods) in parts {
            let Some(theirs) = connections.get_mut(&id) else { continue };
            match theirs.set_part_level(
                &Targets { methods, scope, options: targets.options, when: targets.when.clone() },
                level,
                take,
                now,
            ) {
                Ok(change) => send(&mut sent, change),
                Err(why) => sent.add_refusal(id, RefusedRequest { why, holder: None }),
            }
        }
        match by_name {
            Some(Ok(orders)) => {
                for id in unread {
                    let Some(theirs) = connections.get_mut(&id) else { continue };
                    send(&mut sent, theirs.set_later(orders.clone(), &change, now));
                }
                self.note_missed(connections, ticket);
                self.auto_join.note(ticket, &change, orders);
            }
            Some(Err(why)) => {
                let text = format!("{change} will not be set in processes that start later: {why}");
                Fleet::log_line(log, now, LogKind::Notice, text);
            }
            None => {}
        }
        let refusals = &mut self.requests.partial_refusals;
        refusals.iter_mut().for_each(|refusal| {
            targets.methods.ranges().for_each(|range| refusal.methods.remove(range));
        });
        refusals.retain(|refusal| !refusal.methods.is_empty());
        self.table.begin_change((ticket, text), targets, level, now);
        self.requests.made.insert(ticket, sent.waiting().collect());
        self.requests.sent.push(sent);
        Ok((ticket, requests))
    }

    /// Returns processes that may have the methods though it is not known: their methods are still being read, or they
    /// run the same program as those that have them, and may load them later.
    fn unread(&self, connections: &Connections, known: &[(ConnectionId, MethodSet)]) -> Vec<ConnectionId> {
        let has = |id: ConnectionId| known.iter().any(|(one, _)| *one == id);
        let names: Vec<&str> =
            known.iter().filter_map(|(id, _)| Some(connections.get(id)?.name.as_str())).collect();
        let may_have = |id: ConnectionId| {
            let has_none =
                |theirs: &Connection| theirs.table.catalogue.is_complete() && !names.contains(&&*theirs.name);
            connections.get(&id).is_some_and(|theirs| !has_none(theirs))
        };
        let live = self.members.iter().filter(|member| member.is_live).map(|member| member.connection);
        live.filter(|id| !has(*id) && may_have(*id)).collect()
    }

    /// Remembers a change for processes that were chosen and have never answered: they get it when they do.
    fn note_missed(&mut self, connections: &Connections, ticket: Ticket) {
        for member in self.members.iter_mut().filter(|member| !member.is_live && !member.is_new) {
            let never_answered = connections.get(&member.connection).is_some_and(|theirs| {
                let is_trying = matches!(theirs.session.status, Status::Connecting | Status::Attaching);
                theirs.session.facts.is_none() && is_trying
            });
            if never_answered {
                member.missed.push(ticket);
            }
        }
    }

    /// Returns the processes that a change concerns, each with its methods.
    pub(super) fn parts_of(
        &self,
        connections: &Connections,
        targets: &Targets,
        take: bool,
    ) -> Vec<(ConnectionId, MethodSet)> {
        let held_elsewhere = |member: &Member| {
            let of_it = |one: &&PartialRefusal| one.connection == member.connection && one.held;
            let mut refusals = self.partial_refusals().iter().filter(of_it);
            refusals.any(|one| targets.methods.ranges().any(|range| one.methods.touches(&range)))
        };
        let live = self.members.iter().filter(|member| member.is_live);
        let wanted = live.filter(|member| !take || held_elsewhere(member));
        let part = |id: ConnectionId| {
            let methods = self.part_of(connections.get(&id)?, &targets.methods);
            (!methods.is_empty()).then_some((id, methods))
        };
        wanted.filter_map(|member| part(member.connection)).collect()
    }

    /// Undoes the fleet's last change, or makes the last undone one again: returns the requests to send.
    pub fn undo(
        &mut self,
        connections: &mut Connections,
        redo: bool,
        log: &mut Log,
        now: Now,
    ) -> Vec<MemberRequest> {
        let verb = if redo { "redo" } else { "undo" };
        let obstacle = self.status.obstacle();
        let made = self.table.changes.last_made(redo).filter(|_| obstacle.is_none());
        let ticket = self.requests.tickets.issue();
        let undo =
            made.and_then(|made| Some((made, self.table.changes.begin_undo_of(made, ticket, redo, now)?)));
        let Some((made, undo)) = undo else {
            let why = obstacle.map_or(format!("there is nothing to {verb}"), str::to_owned);
            Fleet::log_line(log, now, LogKind::Refusal, format!("{verb} refused: {why}"));
            return Vec::new();
        };
        Fleet::log_line(log, now, LogKind::Request, undo.words.clone());
        let methods = undo.wishes.iter().flat_map(|(_, set)| set.ranges()).fold(
            MethodSet::default(),
            |mut set, range| {
                set.insert(range);
                set
            },
        );
        let on = self.table.on_by(&undo.wishes);
        let mut sent = SentChange::new(ticket, undo.words, methods);
        (sent.is_off, sent.done_kind) = (undo.all_off && redo, LogKind::Undone);
        sent.on_again = (undo.all_off && !redo).then_some(on);
        let mut requests = Vec::new();
        for (id, part) in self.requests.made.get(&made).cloned().unwrap_or_default() {
            // There is nothing to undo in processes that are gone, or where it has been undone alone.
            let Some(theirs) = connections.get_mut(&id) else { continue };
            match theirs.undo_part(part, redo, now) {
                Some(Ok((part, step))) => {
                    sent.wait_for(id, part);
                    requests.push(MemberRequest { connection: id, step });
                }
                Some(Err(why)) => sent.add_refusal(id, RefusedRequest { why, holder: None }),
                None => {}
            }
        }
        if redo {
            self.requests.made.insert(ticket, sent.waiting().collect());
        }
        self.auto_join.undone(made, ticket, redo);
        self.requests.sent.push(sent);
        requests
    }

    /// Turns everything off in all processes that answer or may answer yet: returns the requests to send.
    pub fn all_off(&mut self, connections: &mut Connections, log: &mut Log, now: Now) -> Vec<MemberRequest> {
        let ids = self.members.iter().map(|member| member.connection);
        let runs = |id: &ConnectionId| connections.get(id).is_some_and(|one| !has_ended(&one.session.status));
        let ids: Vec<ConnectionId> = ids.filter(runs).collect();
        let ticket = self.requests.tickets.issue();
        self.table.begin_all_off(ticket, now);
        let words = format!("all dials off in {}", words::processes(ids.len()));
        Fleet::log_line(log, now, LogKind::Request, words.clone());
        let mut sent = SentChange::new(ticket, words, MethodSet::default());
        sent.is_off = true;
        let mut requests = Vec::new();
        for id in ids {
            let Some(theirs) = connections.get_mut(&id) else { continue };
            let part = theirs.all_off_part(now);
            sent.wait_for(id, part);
            requests.push(MemberRequest { connection: id, step: UndoStep::AllOff(part) });
        }
        self.auto_join.all_off(ticket);
        self.requests.made.insert(ticket, sent.waiting().collect());
        self.requests.sent.push(sent);
        requests
    }

    /// The unanswered parts of a change.
    pub fn parts(&self, ticket: Ticket) -> Vec<(ConnectionId, Ticket)> {
        let sent = self.requests.sent.iter().filter(|sent| sent.ticket == ticket);
        sent.flat_map(SentChange::waiting).collect()
    }

    /// Names methods in a few words, each once however many processes have it.
    fn name_of(&self, methods: &MethodSet) -> String {
        let rows: MethodSet = methods.iter().map(|method| self.table.catalogue.row_method(method)).collect();
        self.table.name_of(&rows)
    }
}
