//! What the processes have, taken over into the merged connection: a bounded part of it each frame.

use super::{Connections, Fleet, MOST_METHODS, Member};
use crate::model::catalogue::Catalogue;
use crate::model::connection::Connection;
use crate::model::ids::{ConnectionId, ModuleIx, Node};
use crate::model::live::mirror::As;
use crate::model::methodset::MethodSet;
use crate::model::selection::Mode;
use crate::model::update::Now;
use crate::output::words;
use redial_protocol::ids::{CopyKey, ModuleKey, RowId};
use std::time::Duration;

/// Methods and rows taken over in a frame, about; a module is taken as a whole.
const METHODS: usize = 1_000;
const ROWS: usize = 8_000;
/// Sums and orders follow numbers that often: twenty agents say theirs eighty times a second.
const PACE: Duration = Duration::from_millis(100);

impl Fleet {
    /// Takes modules over; whether there is more to do. What one frame takes over is filtered and put in order in the next,
    /// which takes nothing.
    pub(super) fn take_modules(&mut self, all: &mut Connection, connections: &Connections) -> bool {
        all.modules_are_new = false;
        if std::mem::take(&mut self.took) {
            let all_seen = self.members.iter().all(|member| {
                let theirs = connections.get(&member.connection);
                theirs
                    .is_none_or(|theirs| member.seen == Some((theirs.catalogue.edition(), theirs.numbering)))
            });
            if all_seen && self.unordered {
                self.order(all, connections);
                // The list follows in the next frame.
                (all.modules_are_new, self.took) = (true, true);
                return true;
            }
            return !all_seen || self.unordered;
        }
        let mut budget = METHODS;
        let (mut changed, mut more, mut first) = (false, false, false);
        let mut gone = Vec::new();
        for member in &mut self.members {
            let Some(theirs) = connections.get(&member.connection) else { continue };
            let now = (theirs.catalogue.edition(), theirs.numbering);
            if member.seen == Some(now) {
                continue;
            }
            changed = true;
            let forgotten = member.modules.extract_if(|key, _| !theirs.catalogue.has_module(*key));
            gone.extend(forgotten.map(|(_, ours)| ours));
            let mut whole = true;
            for (index, module) in (0..).map(ModuleIx).zip(theirs.catalogue.modules()) {
                if let Some(ours) = member.modules.get(&module.key) {
                    let known = all.catalogue.by_key(*ours).is_some_and(|ours| ours.unloaded);
                    if module.unloaded && !known {
                        all.catalogue.unload(&[*ours]);
                    }
                    continue;
                }
                if all.catalogue.len() + module.methods.len() > MOST_METHODS {
                    let methods = words::methods(theirs.catalogue.len() as u64);
                    let most = words::grouped(MOST_METHODS as u64);
                    member.left_out = Some(format!(
                        "not all of its {methods} fit into the merged list, which holds {most}; look at it by itself"
                    ));
                    continue;
                }
                if budget == 0 {
                    (whole, more) = (false, true);
                    break;
                }
                budget = budget.saturating_sub(module.methods.len());
                self.last_module += 1;
                let ours = ModuleKey { module_id: self.last_module, generation: module.key.generation };
                let unloaded = module.unloaded;
                first |= !all.catalogue.has_file(module);
                if all.catalogue.take_over(&theirs.catalogue, index, ours, member.slot) {
                    self.took = true;
                    member.modules.insert(module.key, ours);
                    self.origins.insert(ours, (member.connection, module.key));
                    if unloaded {
                        all.catalogue.unload(&[ours]);
                    }
                }
            }
            if whole {
                member.seen = Some(now);
            }
            member.changed.extend(std::mem::take(&mut member.unplaced));
        }
        let forgets = !gone.is_empty();
        self.leave_behind(all, gone);
        if changed {
            all.live.place(&all.catalogue);
            self.unordered = true;
        }
        // Copies have no rows of their own: their order can wait until no more of them come.
        let orders = self.unordered && (first || !changed);
        if orders {
            self.order(all, connections);
        }
        // Methods that stay where they are can be shown as they were.
        all.modules_are_new = self.took && !forgets && !orders;
        more || self.unordered || self.took || forgets
    }

    fn order(&mut self, all: &mut Connection, connections: &Connections) {
        self.unordered = false;
        let of_member = |member: &Member| connections.get(&member.connection).map(|theirs| &theirs.catalogue);
        if !self.members.iter().filter_map(of_member).any(Catalogue::is_complete) {
            return;
        }
        let parts = self.members.iter().filter_map(|member| Some((of_member(member)?, &member.modules)));
        let order = all.catalogue.order_of_parts(parts);
        all.catalogue.complete(order);
    }

    /// Takes rows over that changed; whether there are more.
    pub(super) fn take_rows(
        &mut self,
        all: &mut Connection,
        connections: &mut Connections,
        now: Now,
    ) -> bool {
        let ms = u64::try_from(now.mono.as_millis()).unwrap_or(u64::MAX);
        let mut counted = all.live.tick() != ms / crate::model::live::TICK_MS;
        all.live.pass(ms, false);
        let (mut budget, mut more) = (ROWS, false);
        let (first, members) = (self.first_for_rows, self.members.len());
        for at in (0..members).map(|number| (first + number) % members) {
            let Some(member) = self.members.get_mut(at) else { continue };
            let Some(theirs) = connections.get_mut(&member.connection) else { continue };
            member.changed.extend(theirs.live.take_changed());
            let tick = theirs.live.tick();
            while let Some(id) = member.changed.pop_front() {
                let Some(row) = theirs.live.row(id) else { continue };
                let Some(module) = member.modules.get(&row.copy.module) else {
                    member.unplaced.push(id);
                    continue;
                };
                let copy = CopyKey { module: *module, token: row.copy.token };
                let ours = *member.rows.entry(id).or_insert_with(|| {
                    self.last_row += 1;
                    RowId(self.last_row)
                });
                let to = As { id: ours, copy, place: &member.title, answers: member.answers, tick };
                counted |= all.live.mirror(row, to, &all.catalogue);
                budget -= 1;
                if budget == 0 {
                    break;
                }
            }
            member.unplaced.sort_unstable();
            member.unplaced.dedup();
            more |= !member.changed.is_empty();
            if budget == 0 {
                // The next frame begins behind it, or one that never stops would keep those behind it from their turn.
                (self.first_for_rows, more) = (at + 1, true);
                break;
            }
        }
        self.uncounted |= counted;
        let elapsed = self.counted_at.map_or(PACE, |before| now.mono.saturating_sub(before));
        // (The time of tests stands.)
        all.numbers_are_new = self.uncounted && (elapsed >= PACE || elapsed.is_zero());
        if all.numbers_are_new {
            (self.uncounted, self.counted_at) = (false, Some(now.mono));
            all.live.pass(ms, true);
        }
        more
    }

    /// When sums of new numbers will be made, on `Now::mono`'s clock; None: there are no new ones.
    pub(super) fn sums_due(&self) -> Option<Duration> {
        self.counted_at.filter(|_| self.uncounted).map(|before| before + PACE)
    }

    /// What methods of the merged connection are in one of the processes.
    pub fn part_of(&self, all: &Connection, theirs: &Connection, methods: &MethodSet) -> MethodSet {
        let mut part = MethodSet::default();
        for ours in all.catalogue.modules() {
            let Some((connection, key)) = self.origins.get(&ours.key) else { continue };
            if *connection != theirs.id || !methods.touches(&ours.methods) {
                continue;
            }
            let Some(module) = theirs.catalogue.by_key(*key) else { continue };
            let shift = |at: u32| at - ours.methods.start + module.methods.start;
            for range in methods.within(&ours.methods) {
                part.insert(shift(range.start)..shift(range.end));
            }
        }
        part
    }

    /// The process that a module of the merged connection is from.
    pub fn owner(&self, module: ModuleKey) -> Option<ConnectionId> {
        self.origins.get(&module).map(|(connection, _)| *connection)
    }
}

/// Before modules are taken out: a method that is looked at and goes with them is looked at in another process.
pub(super) fn keep_selection(all: &mut Connection, gone: &[ModuleKey]) {
    let Some(Node::Method(focus)) = all.selection.focus() else { return };
    let catalogue = &all.catalogue;
    let goes = |method| {
        let module = catalogue.module(catalogue.module_of(method));
        module.is_some_and(|module| gone.contains(&module.key))
    };
    if !goes(focus) || all.selection.len() != 1 {
        return;
    }
    if let Some(copy) = catalogue.copies(focus).into_iter().find(|copy| !goes(*copy)) {
        all.click(Node::Method(copy), Mode::Replace);
    }
}
