//! The columns that identify a method's copy, shown if a module is loaded more than once.

use crate::modules::DomainNames;
use crate::output::json::module_id;
use crate::output::table::WIDEST;
use redial_protocol::catalogue::{DomainRow, MethodPage, ModuleRow};
use redial_protocol::ids::ModuleKey;
use redial_text::width::{pad_right, width};
use redial_text::words;
use redial_text::words::printable;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most assemblies that the explanation names.
const NAMED: usize = 8;

/// Formats a copy's cell in one column.
type CopyCell<'a> = &'a dyn Fn(&ModuleRow) -> String;

/// The columns for copies; empty if each module is loaded only once.
#[derive(Debug, Default)]
pub struct CopyCells {
    /// The cells of each module, each followed by two spaces.
    cells: HashMap<ModuleKey, String>,
    /// The assemblies that are loaded more than once.
    names: Vec<String>,
    /// The names of the columns.
    columns: Vec<&'static str>,
}

impl CopyCells {
    /// Returns the columns for the modules of these pages.
    pub fn of(pages: &[MethodPage], domains: &[DomainRow], modules: &[ModuleRow]) -> CopyCells {
        let keys: BTreeSet<(u64, u32)> =
            pages.iter().flat_map(|page| &page.modules).map(|key| (key.module_id, key.generation)).collect();
        let is_listed = |module: &&ModuleRow| keys.contains(&(module.key.module_id, module.key.generation));
        let listed: BTreeSet<&str> = modules.iter().filter(is_listed).map(|one| one.name.as_str()).collect();
        let mut by_name: BTreeMap<&str, Vec<&ModuleRow>> = BTreeMap::new();
        for module in modules.iter().filter(|module| listed.contains(module.name.as_str())) {
            by_name.entry(&module.name).or_default().push(module);
        }
        let several: Vec<(&str, &Vec<&ModuleRow>)> = by_name
            .iter()
            .filter(|(_, copies)| copies.len() > 1)
            .map(|(name, copies)| (*name, copies))
            .collect();
        if several.is_empty() {
            return CopyCells::default();
        }
        // Only columns that distinguish copies of one name.
        let differ = |cell: CopyCell<'_>| {
            several
                .iter()
                .any(|(_, copies)| copies.iter().map(|one| cell(one)).collect::<BTreeSet<_>>().len() > 1)
        };
        let domains = DomainNames::of(domains);
        let domain = |module: &ModuleRow| place(module, &domains);
        let path = |module: &ModuleRow| printable(&module.path);
        let mut columns: Vec<(&'static str, CopyCell<'_>)> = vec![("id", &|module| module_id(module.key))];
        if differ(&domain) {
            columns.push(("AppDomain", &domain));
        }
        if differ(&path) {
            columns.push(("path", &path));
        }
        let all: Vec<&ModuleRow> = by_name.values().flatten().copied().collect();
        let mut cells: HashMap<ModuleKey, String> = HashMap::new();
        for (_, cell) in &columns {
            let columns_needed = all.iter().map(|module| width(&cell(module))).max().unwrap_or(0);
            for module in &all {
                let text = format!("{}  ", pad_right(&cell(module), columns_needed.min(WIDEST)));
                cells.entry(module.key).or_default().push_str(&text);
            }
        }
        CopyCells {
            cells,
            names: several.iter().map(|(name, _)| format!("'{}'", printable(name))).collect(),
            columns: columns.into_iter().map(|(name, _)| name).collect(),
        }
    }

    /// Returns the cells before a method of that module.
    pub fn cells(&self, module: ModuleKey) -> &str {
        self.cells.get(&module).map_or("", String::as_str)
    }

    /// Returns the sentence that explains the cells, if there are any.
    pub fn explained(&self) -> Option<String> {
        let columns: Vec<String> = self.columns.iter().map(|name| (*name).to_owned()).collect();
        (!columns.is_empty()).then(|| {
            format!(
                "several copies of {} are loaded; each method starts with its copy's {}; \
                 `redial dial --copy` takes an id",
                words::first(&self.names.iter().map(String::as_str).collect::<Vec<_>>(), NAMED),
                words::all(&columns)
            )
        })
    }
}

fn place(module: &ModuleRow, domains: &DomainNames) -> String {
    if module.shared {
        return "(shared)".to_owned();
    }
    domains.of_module(module, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(id: u64, name: &str, domain: u64, path: &str) -> ModuleRow {
        ModuleRow {
            key: ModuleKey { module_id: id, generation: id as u32 },
            name: name.into(),
            path: path.into(),
            mvid: String::new(),
            assembly: 0,
            domains: vec![domain],
            shared: false,
            dynamic: false,
            collectible: false,
            methods: 1,
        }
    }

    fn copies_and_cells(modules: &[ModuleRow]) -> (CopyCells, Vec<String>) {
        let domains = [(1, "Shop"), (2, "Batch/2")].map(|(id, name)| DomainRow {
            id,
            name: name.into(),
            shared: false,
        });
        let page = MethodPage { modules: vec![modules[0].key], ..MethodPage::default() };
        let copies = CopyCells::of(&[page], &domains, modules);
        let cells = modules.iter().map(|module| copies.cells(module.key).to_owned()).collect();
        (copies, cells)
    }

    #[test]
    fn shows_columns_that_distinguish_copies() {
        let once = [module(1, "A", 1, "/a.dll"), module(2, "B", 1, "/b.dll"), module(3, "B", 1, "/b.dll")];
        let (copies, cells) = copies_and_cells(&once);
        assert_eq!((copies.explained(), cells.concat()), (None, String::new()), "others do not matter");
        let (copies, cells) =
            copies_and_cells(&[module(1, "A", 1, "/a.dll"), module(0x20, "A", 1, "/a.dll")]);
        assert_eq!(cells, ["0x1   ", "0x20  "]);
        assert!(
            copies.explained().is_some_and(|text| text.contains("of 'A' are") && text.contains("copy's id;"))
        );
        let (copies, cells) =
            copies_and_cells(&[module(1, "A", 1, "/a.dll"), module(2, "A", 2, "/new/a.dll")]);
        assert_eq!(cells, ["0x1  Shop     /a.dll      ", "0x2  Batch/2  /new/a.dll  "]);
        assert!(copies.explained().is_some_and(|text| text.contains("copy's id, AppDomain and path;")));
    }
}
