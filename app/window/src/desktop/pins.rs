//! Pinned methods: kept by program, and found again when the program returns.

use super::App;
use super::pin_lookup::PinLookup;
use crate::commands::UiCommand;
use redial_model::catalogue::Catalogue;
use redial_model::ids::{MethodIx, Node, TypeIx};
use redial_model::method_table::MethodTable;

impl App {
    /// Pins the selected methods, or unpins them if all are pinned.
    pub(super) fn toggle_pins(&mut self) {
        let Some(table) = self.model.list() else { return };
        let selected: Vec<MethodIx> = selected_methods(table);
        let on = !selected.iter().all(|method| table.list.is_pinned(*method));
        let names: Vec<String> =
            selected.iter().map(|method| table.catalogue.full_name(*method).text).collect();
        for program in self.programs() {
            if let Err(why) = self.settings.programs.pin(&program, &names, on) {
                self.refuse(&UiCommand::Pin, &format!("{program}: {why}"));
            }
        }
        self.refresh_pins();
    }

    /// Returns the names of the programs shown.
    fn programs(&self) -> Vec<String> {
        let mut names: Vec<String> = self.model.members().map(|member| member.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Looks the pins up again if they or the methods changed. While methods are still being read, pins wait.
    pub(super) fn refresh_pins(&mut self) {
        let names: Vec<String> = self
            .programs()
            .iter()
            .filter_map(|program| self.settings.programs.get(program))
            .flat_map(|program| program.pins.iter().cloned())
            .collect();
        let Some(table) = self.model.list().filter(|table| table.catalogue.is_complete()) else { return };
        let editions = (table.catalogue.edition(), table.numbering);
        let now = PinLookup { subject: self.model.current, editions, names };
        if self.pins == now {
            return;
        }
        self.model.change_list(|table| {
            let found: Vec<MethodIx> =
                now.names.iter().filter_map(|name| find(&table.catalogue, name)).collect();
            table.list.set_pins(found.into_iter(), &table.catalogue);
        });
        self.pins = now;
    }
}

/// Returns the selected methods that are shown, one for merged copies.
fn selected_methods(table: &MethodTable) -> Vec<MethodIx> {
    match table.selection.focus() {
        Some(Node::Method(method)) if table.selection.len() <= 1 => vec![method],
        _ => table.targets().iter().collect(),
    }
}

/// Returns the row of the method with a full name.
fn find(catalogue: &Catalogue, name: &str) -> Option<MethodIx> {
    let (module, rest) = name.split_once('!')?;
    catalogue.namesakes(module).find_map(|module| {
        let types = catalogue.modules().get(module.0 as usize)?.types.clone();
        let owners = types.map(TypeIx).filter(|owner| rest.starts_with(catalogue.type_name(*owner)));
        let mut methods = owners.flat_map(|owner| catalogue.methods_of_type(owner)).map(MethodIx);
        let method = methods.find(|method| catalogue.full_name(*method).text == name)?;
        Some(catalogue.row_method(method))
    })
}
