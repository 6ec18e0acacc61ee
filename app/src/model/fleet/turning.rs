//! What is asked of several processes at once: one turn, made of a turn in each.

use super::hear::Sent;
use super::{Connections, Fleet};
use crate::model::connection::{Connection, Status, Step, Targets};
use crate::model::ids::{ConnectionId, FLEET, Ticket};
use crate::model::log::{Kind, Log};
use crate::model::methodset::MethodSet;
use crate::model::orders::{Reach, orders_for_later, with_options};
use crate::model::turns::Turn;
use crate::model::update::{Now, Refused};
use crate::output::words;
use redial_protocol::level::Level;

/// Something to be sent to one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// To whom.
    pub connection: ConnectionId,
    /// What.
    pub step: Step,
}

impl Fleet {
    /// Turns methods in every process that has them: what to send. With `take` only where it was refused because
    /// somebody else has control. Processes that refuse at once are told of when the others have answered.
    ///
    /// # Errors
    /// Why nothing can be turned anywhere, as a sentence; it is in the log already.
    pub fn turn(
        &mut self,
        connections: &mut Connections,
        (targets, level, take): (&Targets, Level, bool),
        log: &mut Log,
        now: Now,
    ) -> Result<(Ticket, Vec<Errand>), String> {
        let Some(mut all) = connections.remove(&FLEET) else { return Err("no process is chosen".to_owned()) };
        let result = self.turn_all(&mut all, connections, (targets, level, take), log, now);
        connections.insert(FLEET, all);
        result
    }

    fn turn_all(
        &mut self,
        all: &mut Connection,
        connections: &mut Connections,
        (targets, level, take): (&Targets, Level, bool),
        log: &mut Log,
        now: Now,
    ) -> Result<(Ticket, Vec<Errand>), String> {
        let whole = self.part_wanted(all, connections, targets, take);
        let what = format!("{} on {}", targets.words_at(level), words_of(all, &targets.methods));
        let wishes = vec![(level, targets.methods.clone())];
        let everywhere = targets.reach == Reach::Everywhere;
        let by_name = orders_for_later(&all.catalogue, &wishes, all.off_for_want_of_a_body())
            .map(|orders| with_options(orders, targets.options_at(level)));
        let by_name = Some(by_name).filter(|_| everywhere && !take);
        let unread = match &by_name {
            Some(Ok(_)) => self.unread(connections, &whole),
            _ => Vec::new(),
        };
        let text = match (whole.as_slice(), unread.len()) {
            ([(only, _)], 0) => format!("{what} in {}", self.title_of(*only)),
            (several, more) => format!("{what} in {}", processes(several.len() + more)),
        };
        let possible = all.possible(&targets.methods, level).and_then(|()| match whole.is_empty() {
            true => Err("no process that has it can be turned".to_owned()),
            false => Ok(()),
        });
        if let Err(why) = possible {
            log.add(now, Some(FLEET), Kind::Refusal, format!("{text} refused: {why}"));
            return Err(why);
        }
        let ticket = all.ticket();
        log.add(now, Some(FLEET), Kind::Request, text.clone());
        let reach = if everywhere { Reach::Everywhere } else { Reach::Copies };
        let mut errands = Vec::new();
        let mut sent = Sent::new(ticket, text.clone(), targets.methods.clone());
        let mut send = |sent: &mut Sent, turn: Turn| {
            sent.wait_for(turn.connection, turn.ticket);
            errands.push(Errand { connection: turn.connection, step: Step::Turn(turn) });
        };
        for (id, methods) in whole {
            let Some(theirs) = connections.get_mut(&id) else { continue };
            match theirs.turn_part(&Targets { methods, reach, options: targets.options }, level, take, now) {
                Ok(turn) => send(&mut sent, turn),
                Err(why) => sent.refused(id, Refused { why, holder: None }),
            }
        }
        match by_name {
            Some(Ok(orders)) => {
                for id in unread {
                    let Some(theirs) = connections.get_mut(&id) else { continue };
                    send(&mut sent, theirs.turn_later(orders.clone(), &what, now));
                }
                self.owe(connections, ticket);
                self.follow.note(ticket, &what, orders);
            }
            Some(Err(why)) => {
                let text = format!("{what} will not be set in processes that start later: {why}");
                log.add(now, Some(FLEET), Kind::Notice, text);
            }
            None => {}
        }
        all.untaken.iter_mut().for_each(|untaken| {
            targets.methods.ranges().for_each(|range| untaken.methods.remove(range));
        });
        all.untaken.retain(|untaken| !untaken.methods.is_empty());
        all.turns.begin((ticket, text), wishes, targets.reach, &all.live, now);
        all.turns.has_options(targets.options_at(level));
        self.made.insert(ticket, sent.waiting().collect());
        self.sent.push(sent);
        Ok((ticket, errands))
    }

    /// Processes that may have what is turned though it is not known of them: what they have loaded is still being
    /// read, or they run the same program as those that have it, and may load it later.
    fn unread(&self, connections: &Connections, known: &[(ConnectionId, MethodSet)]) -> Vec<ConnectionId> {
        let has = |id: ConnectionId| known.iter().any(|(one, _)| *one == id);
        let names: Vec<&str> =
            known.iter().filter_map(|(id, _)| Some(connections.get(id)?.name.as_str())).collect();
        let may_have = |id: ConnectionId| {
            let read =
                |theirs: &Connection| theirs.catalogue.is_complete() && !names.contains(&&*theirs.name);
            connections.get(&id).is_some_and(|theirs| !read(theirs))
        };
        let members = self.members.iter().filter(|member| member.answers).map(|member| member.connection);
        members.filter(|id| !has(*id) && may_have(*id)).collect()
    }

    /// Processes that were chosen and have not answered for the first time yet get the turn when they do.
    fn owe(&mut self, connections: &Connections, ticket: Ticket) {
        for member in self.members.iter_mut().filter(|member| !member.answers && !member.is_new) {
            let never = connections.get(&member.connection).is_some_and(|theirs| {
                theirs.facts.is_none() && matches!(theirs.status, Status::Connecting | Status::Attaching)
            });
            if never {
                member.owed.push(ticket);
            }
        }
    }

    /// The processes that a turn concerns, each with its methods.
    pub(super) fn part_wanted(
        &self,
        all: &Connection,
        connections: &Connections,
        targets: &Targets,
        take: bool,
    ) -> Vec<(ConnectionId, MethodSet)> {
        let untaken = |id: ConnectionId| {
            let of_it = |one: &&super::Untaken| one.connection == id && one.held;
            all.untaken
                .iter()
                .filter(of_it)
                .any(|one| targets.methods.ranges().any(|range| one.methods.touches(&range)))
        };
        let members = self.members.iter().filter(|member| member.answers);
        let wanted = members.filter(|member| !take || untaken(member.connection));
        let part = |id: ConnectionId| {
            let methods = self.part_of(all, connections.get(&id)?, &targets.methods);
            (!methods.is_empty()).then_some((id, methods))
        };
        wanted.filter_map(|member| part(member.connection)).collect()
    }

    /// Undoes the last turn of all of them, or does again what was undone last: what to send.
    pub fn undo(
        &mut self,
        connections: &mut Connections,
        redo: bool,
        log: &mut Log,
        now: Now,
    ) -> Vec<Errand> {
        let Some(mut all) = connections.remove(&FLEET) else { return Vec::new() };
        let errands = self.undo_all(&mut all, connections, redo, log, now);
        connections.insert(FLEET, all);
        errands
    }

    fn undo_all(
        &mut self,
        all: &mut Connection,
        connections: &mut Connections,
        redo: bool,
        log: &mut Log,
        now: Now,
    ) -> Vec<Errand> {
        let what = if redo { "redo" } else { "undo" };
        let made = all.turns.last_made(redo).filter(|_| all.obstacle().is_none());
        let ticket = all.ticket();
        let Some((made, undo)) =
            made.and_then(|made| Some((made, all.turns.begin_undo_of(made, ticket, redo, now)?)))
        else {
            let why = all.obstacle().map_or(format!("there is nothing to {what}"), str::to_owned);
            log.add(now, Some(FLEET), Kind::Refusal, format!("{what} refused: {why}"));
            return Vec::new();
        };
        log.add(now, Some(FLEET), Kind::Request, undo.words.clone());
        let methods = undo.wishes.iter().flat_map(|(_, set)| set.ranges()).fold(
            MethodSet::default(),
            |mut set, range| {
                set.insert(range);
                set
            },
        );
        let on = all.on_by(&undo.wishes);
        let mut sent = Sent::new(ticket, undo.words, methods);
        (sent.is_off, sent.is_done) = (undo.all_off && redo, Kind::Undone);
        sent.on_again = (undo.all_off && !redo).then_some(on);
        let mut errands = Vec::new();
        for (id, part) in self.made.get(&made).cloned().unwrap_or_default() {
            // Whoever is gone has nothing left to undo; what was undone there by itself neither.
            let Some(theirs) = connections.get_mut(&id) else { continue };
            match theirs.undo_part(part, redo, now) {
                Some(Ok((part, step))) => {
                    sent.wait_for(id, part);
                    errands.push(Errand { connection: id, step });
                }
                Some(Err(why)) => sent.refused(id, Refused { why, holder: None }),
                None => {}
            }
        }
        if redo {
            self.made.insert(ticket, sent.waiting().collect());
        }
        self.follow.undone(made, ticket, redo);
        self.sent.push(sent);
        errands
    }

    /// Turns everything off in all of them that answer or may: what to send.
    pub fn all_off(&mut self, connections: &mut Connections, log: &mut Log, now: Now) -> Vec<Errand> {
        let Some(mut all) = connections.remove(&FLEET) else { return Vec::new() };
        let ids: Vec<ConnectionId> = self.members.iter().map(|member| member.connection).collect();
        let here = |id: &ConnectionId| {
            connections
                .get(id)
                .is_some_and(|one| one.status.retry() != Some(crate::model::update::Retry::Never))
        };
        let ids: Vec<ConnectionId> = ids.into_iter().filter(here).collect();
        let ticket = all.all_off(&mut Log::default(), now);
        let words = format!("all dials off in {}", processes(ids.len()));
        log.add(now, Some(FLEET), Kind::Request, words.clone());
        let mut sent = Sent::new(ticket, words, MethodSet::default());
        sent.is_off = true;
        let mut errands = Vec::new();
        for id in ids {
            let Some(theirs) = connections.get_mut(&id) else { continue };
            let part = theirs.all_off_part(now);
            sent.wait_for(id, part);
            errands.push(Errand { connection: id, step: Step::AllOff(part) });
        }
        self.follow.all_off(ticket);
        self.made.insert(ticket, sent.waiting().collect());
        self.sent.push(sent);
        connections.insert(FLEET, all);
        errands
    }

    /// What a turn is in each process, as far as it is not answered there.
    pub fn parts(&self, ticket: Ticket) -> Vec<(ConnectionId, Ticket)> {
        self.sent.iter().filter(|sent| sent.ticket == ticket).flat_map(Sent::waiting).collect()
    }
}

/// A number of processes.
pub(super) fn processes(number: usize) -> String {
    words::count(number as u64, "process", "processes")
}

/// Methods in a few words, each told once however many processes have it.
fn words_of(all: &Connection, methods: &MethodSet) -> String {
    let rows: MethodSet = methods.iter().map(|method| all.catalogue.shown_for(method)).collect();
    all.name_of(&rows)
}
