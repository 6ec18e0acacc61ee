//! Imports modules and rows of the processes into the fleet's table, a bounded part in each frame.

use super::import::{ImportProgress, PACE};
use super::{Fleet, MOST_METHODS, Member};
use crate::catalogue::Catalogue;
use crate::connection::Connections;
use crate::ids::ModuleIx;
use crate::live::TICK_MS;
use crate::live::mirror::MirrorTarget;
use crate::update::Now;
use redial_protocol::ids::{CopyKey, ModuleKey, RowId};
use redial_text::words;

/// Methods imported in a frame, roughly: a module is imported as a whole.
const METHODS: usize = 1_000;
/// Rows imported in a frame.
const ROWS: usize = 8_000;
/// The import of modules in one frame.
pub(super) struct ImportedModules {
    /// There is more to do.
    pub more: bool,
    /// The list shows them in the next frame.
    pub is_shown_later: bool,
}

/// The import of rows in one frame.
pub(super) struct ImportedRows {
    /// There is more to do.
    pub more: bool,
    /// RowTotals of new numbers were made.
    pub has_new_sums: bool,
}

impl Fleet {
    /// Imports modules. The frame after one that imports any filters and orders them, and imports none.
    pub(super) fn import_modules(&mut self, connections: &Connections) -> ImportedModules {
        if std::mem::take(&mut self.import.imported_modules) {
            let all_imported = self.members.iter().all(|member| {
                let theirs = connections.get(&member.connection);
                theirs.is_none_or(|theirs| {
                    member.has_imported(theirs.table.catalogue.edition(), theirs.table.numbering)
                })
            });
            if all_imported && self.import.is_unordered {
                self.order_types(connections);
                self.import.imported_modules = true;
                return ImportedModules { more: true, is_shown_later: true };
            }
            let more = !all_imported || self.import.is_unordered;
            return ImportedModules { more, is_shown_later: false };
        }
        let mut budget = METHODS;
        let (mut changed, mut more, mut has_new_file) = (false, false, false);
        let mut gone = Vec::new();
        let (ours, import) = (&mut self.table.catalogue, &mut self.import);
        for member in &mut self.members {
            let Some(connection) = connections.get(&member.connection) else { continue };
            let theirs = &connection.table.catalogue;
            if member.has_imported(theirs.edition(), connection.table.numbering) {
                continue;
            }
            changed = true;
            let forgotten = member.modules.extract_if(|key, _| !theirs.has_module(*key));
            gone.extend(forgotten.map(|(_, key)| key));
            let mut whole = true;
            for (index, module) in (0..).map(ModuleIx).zip(theirs.modules()) {
                if let Some(key) = member.modules.get(&module.key) {
                    let known = ours.by_key(*key).is_some_and(|module| module.unloaded);
                    if module.unloaded && !known {
                        ours.unload(&[*key]);
                    }
                    continue;
                }
                if ours.len() + module.methods.len() > MOST_METHODS {
                    let methods = words::methods(theirs.len() as u64);
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
                import.last_module += 1;
                let key = ModuleKey { module_id: import.last_module, generation: module.key.generation };
                let unloaded = module.unloaded;
                has_new_file |= !ours.has_file(module);
                if ours.import_module(theirs, index, key, member.slot) {
                    import.imported_modules = true;
                    member.modules.insert(module.key, key);
                    self.origins.insert(key, (member.connection, module.key));
                    if unloaded {
                        ours.unload(&[key]);
                    }
                }
            }
            if whole {
                member.imported = Some((theirs.edition(), connection.table.numbering));
            }
            member.changed.extend(std::mem::take(&mut member.unplaced));
        }
        let forgets = !gone.is_empty();
        self.begin_removal(gone);
        if changed {
            self.table.live.place(&self.table.catalogue);
            self.import.is_unordered = true;
        }
        // Copies of known files have no rows of their own: ordering them can wait until no more come.
        let orders = self.import.is_unordered && (has_new_file || !changed);
        if orders {
            self.order_types(connections);
        }
        let ImportProgress { imported_modules, is_unordered, .. } = self.import;
        ImportedModules {
            more: more || is_unordered || imported_modules || forgets,
            // Methods that stay in place can be shown as they were.
            is_shown_later: imported_modules && !forgets && !orders,
        }
    }

    fn order_types(&mut self, connections: &Connections) {
        self.import.is_unordered = false;
        let catalogue =
            |member: &Member| connections.get(&member.connection).map(|theirs| &theirs.table.catalogue);
        if !self.members.iter().filter_map(catalogue).any(Catalogue::is_complete) {
            return;
        }
        let parts = self.members.iter().filter_map(|member| Some((catalogue(member)?, &member.modules)));
        let order = self.table.catalogue.order_of_parts(parts);
        self.table.catalogue.complete(order);
    }

    /// Imports rows that changed.
    pub(super) fn import_rows(&mut self, connections: &mut Connections, now: Now) -> ImportedRows {
        let ms = u64::try_from(now.mono.as_millis()).unwrap_or(u64::MAX);
        let (catalogue, live) = (&self.table.catalogue, &mut self.table.live);
        let mut has_new_numbers = live.tick() != ms / TICK_MS;
        live.pass(ms, false);
        let (mut budget, mut more) = (ROWS, false);
        let (first, members) = (self.import.first_for_rows, self.members.len());
        for at in (0..members).map(|number| (first + number) % members) {
            let Some(member) = self.members.get_mut(at) else { continue };
            let Some(theirs) = connections.get_mut(&member.connection).map(|theirs| &mut theirs.table.live)
            else {
                continue;
            };
            member.changed.extend(theirs.take_changed());
            let tick = theirs.tick();
            while let Some(id) = member.changed.pop_front() {
                let Some(row) = theirs.row(id) else { continue };
                let Some(module) = member.modules.get(&row.copy.module) else {
                    member.unplaced.push(id);
                    continue;
                };
                let copy = CopyKey { module: *module, token: row.copy.token };
                let ours = *member.rows.entry(id).or_insert_with(|| {
                    self.import.last_row += 1;
                    RowId(self.import.last_row)
                });
                let to = MirrorTarget { id: ours, copy, place: &member.title, answers: member.is_live, tick };
                has_new_numbers |= live.mirror(row, to, catalogue);
                budget -= 1;
                if budget == 0 {
                    break;
                }
            }
            member.unplaced.sort_unstable();
            member.unplaced.dedup();
            more |= !member.changed.is_empty();
            if budget == 0 {
                // The next frame begins with the next member, or one that never stops would starve those behind it.
                (self.import.first_for_rows, more) = (at + 1, true);
                break;
            }
        }
        let import = &mut self.import;
        import.has_unsummed |= has_new_numbers;
        let elapsed = import.summed_at.map_or(PACE, |before| now.mono.saturating_sub(before));
        // In tests no time passes between frames.
        let has_new_sums = import.has_unsummed && (elapsed >= PACE || elapsed.is_zero());
        if has_new_sums {
            (import.has_unsummed, import.summed_at) = (false, Some(now.mono));
            live.pass(ms, true);
        }
        ImportedRows { more, has_new_sums }
    }
}

impl Member {
    /// Whether its catalogue was imported as it is.
    pub(super) fn has_imported(&self, edition: u64, numbering: u64) -> bool {
        self.imported == Some((edition, numbering))
    }
}
