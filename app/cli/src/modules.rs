//! `redial modules`: lists AppDomains and modules.

use super::{arguments, multi_process};
use crate::output::json::{ModulesJson, hex};
use crate::output::table::{Table, number, text, wide};
use crate::output::{Out, terminal_columns};
use redial_link::connect;
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::Session;
use redial_model::iis::IisName;
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::ids::ModuleKey;
use redial_protocol::message::{Reply, WireCommand};
use redial_text::width::cut_middle;
use redial_text::words::{self, printable};
use std::collections::HashMap;

/// Lists AppDomains and modules.
pub fn run(arguments: &arguments::ModulesArguments) -> Result<Exit, Failure> {
    multi_process::each(&arguments.target, arguments.json, |pid, out| one(pid, arguments.json, out))
}

fn one(pid: u32, json: bool, out: &mut Out) -> Result<Exit, Failure> {
    let mut session = connect::open(pid, "redial modules")?;
    let (domains, mut modules) = ask(&mut session)?;
    modules.sort_by(|a, b| a.name.cmp(&b.name).then(a.key.generation.cmp(&b.key.generation)));
    if json {
        out.json(&ModulesJson::new(pid, &domains, &modules))?;
    } else {
        for line in lines(&domains, &modules, terminal_columns()) {
            out.line(&line)?;
        }
    }
    Ok(Exit::Done)
}

/// Asks the agent for its AppDomains and modules.
pub fn ask(session: &mut Session) -> Result<(Vec<DomainRow>, Vec<ModuleRow>), LinkError> {
    match session.ask(WireCommand::Modules, &mut |_| {})? {
        Reply::Modules { domains, modules } => Ok((domains, modules)),
        _ => Err(session.wrong_reply()),
    }
}

fn lines(domains: &[DomainRow], modules: &[ModuleRow], columns: Option<usize>) -> Vec<String> {
    let mut lines = domain_lines(domains, columns);
    lines.push(String::new());
    let copies = RepeatedModules::of(modules);
    let names = DomainNames::of(domains);
    let mut table = Table::new(&[
        number("METHODS"),
        text("MODULE"),
        text("NAME"),
        text("DOMAINS"),
        wide("NOTE"),
        wide("PATH"),
    ]);
    for module in modules {
        let path = if module.path.is_empty() { "(in memory)" } else { &module.path };
        let id = crate::output::json::module_id(module.key);
        table.row(vec![
            words::grouped(module.methods.into()),
            id,
            module.name.clone(),
            domains_of(module),
            remark(module, &names, copies.place(module)),
            path.to_owned(),
        ]);
    }
    lines.extend(table.lines(columns));
    lines
}

fn domain_lines(domains: &[DomainRow], columns: Option<usize>) -> Vec<String> {
    let iis = domains.iter().any(|domain| IisName::read(&domain.name).is_some());
    let mut headings = vec![text("DOMAIN"), wide("NAME")];
    headings.extend(iis.then(|| [number("SITE"), text("APPLICATION")]).into_iter().flatten());
    headings.push(text(""));
    let mut table = Table::new(&headings);
    for domain in domains {
        let mut row = vec![hex(domain.id), domain.name.clone()];
        if iis {
            row.extend(IisName::read(&domain.name).map_or_else(
                || [String::new(), String::new()],
                |name| [name.site.to_string(), name.application.to_owned()],
            ));
        }
        row.push(if domain.shared { "shared" } else { "" }.to_owned());
        table.row(row);
    }
    table.lines(columns)
}

fn domains_of(module: &ModuleRow) -> String {
    match (module.shared, module.domains.as_slice()) {
        (true, _) => "shared".to_owned(),
        (false, [only]) => hex(*only),
        (false, several) => words::grouped(several.len() as u64),
    }
}

/// Returns what distinguishes a module and what prevents dialling it.
fn remark(module: &ModuleRow, domains: &DomainNames, place: Option<(usize, usize)>) -> String {
    let mut remarks = Vec::new();
    if let Some((number, of)) = place {
        remarks.push(format!("copy {number} of {of}"));
    }
    if module.shared {
        let names = domains.of_module(module, false);
        if !names.is_empty() {
            remarks.push(format!("used by {names}"));
        }
    }
    remarks.extend(module.dynamic.then(|| "dynamic".to_owned()));
    remarks.extend(module.collectible.then(|| "collectible".to_owned()));
    remarks.join("; ")
}

/// The most AppDomains that a module's line names, and the most columns of each name.
const DOMAINS_NAMED: usize = 8;
const DOMAIN_COLUMNS: usize = 80;

/// Names of AppDomains, short enough for each module's line.
pub struct DomainNames(HashMap<u64, (String, bool)>);

impl DomainNames {
    /// Takes the names of these domains.
    pub fn of(domains: &[DomainRow]) -> DomainNames {
        let short = |domain: &DomainRow| cut_middle(&printable(&domain.name), DOMAIN_COLUMNS);
        DomainNames(domains.iter().map(|domain| (domain.id, (short(domain), domain.shared))).collect())
    }

    /// Lists the AppDomains of a module, with the shared domain only if `with_shared` is set.
    pub fn of_module(&self, module: &ModuleRow, with_shared: bool) -> String {
        let theirs = module.domains.iter().filter_map(|id| self.0.get(id));
        let theirs = theirs.filter(|(_, shared)| with_shared || !shared);
        let names: Vec<&str> = theirs.map(|(name, _)| name.as_str()).collect();
        words::first(&names, DOMAINS_NAMED)
    }
}

/// Modules that are loaded several times in the same AppDomains, for example by load contexts.
struct RepeatedModules<'a>(HashMap<Identity<'a>, Vec<ModuleKey>>);

/// Name, module version id (or path, if it has none), AppDomains.
type Identity<'a> = (&'a str, &'a str, &'a [u64]);

impl<'a> RepeatedModules<'a> {
    fn of(modules: &'a [ModuleRow]) -> Self {
        let mut copies: HashMap<Identity<'a>, Vec<ModuleKey>> = HashMap::new();
        for module in modules {
            if let Some(identity) = identity(module) {
                copies.entry(identity).or_default().push(module.key);
            }
        }
        for keys in copies.values_mut() {
            keys.sort_by_key(|key| key.generation);
        }
        RepeatedModules(copies)
    }

    /// Returns the number of a copy, from 1 in load order, and the total; `None` if there is only one copy.
    fn place(&self, module: &'a ModuleRow) -> Option<(usize, usize)> {
        let keys = self.0.get(&identity(module)?).filter(|keys| keys.len() > 1)?;
        let index = keys.iter().position(|key| *key == module.key)?;
        Some((index + 1, keys.len()))
    }
}

fn identity(module: &ModuleRow) -> Option<Identity<'_>> {
    let file = if module.mvid.is_empty() { &module.path } else { &module.mvid };
    (!file.is_empty()).then_some((module.name.as_str(), file.as_str(), module.domains.as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows() -> (Vec<DomainRow>, Vec<ModuleRow>) {
        let module = ModuleRow {
            key: ModuleKey { module_id: 0x7f10, generation: 1 },
            name: "Shop".into(),
            path: String::new(),
            mvid: "5a0d91e4-7c3b-4e62-9f18-52d1a17e0b6c".into(),
            domains: vec![0x55],
            shared: false,
            dynamic: false,
            collectible: false,
            assembly: 0,
            methods: 1234,
        };
        (vec![DomainRow { id: 0x55, name: "clrhost".into(), shared: false }], vec![module])
    }

    #[test]
    fn the_json_has_the_documented_fields() {
        let (domains, modules) = rows();
        assert_eq!(
            serde_json::to_value(ModulesJson::new(9, &domains, &modules)).expect("JSON"),
            json!({
                "pid": 9,
                "domains": [{
                    "pid": 9, "id": "0x55", "name": "clrhost", "shared": false, "site": null, "application": null,
                }],
                "modules": [{
                    "pid": 9, "id": "0x7f10", "generation": 1, "name": "Shop", "path": null,
                    "mvid": "5a0d91e4-7c3b-4e62-9f18-52d1a17e0b6c", "domains": ["0x55"],
                    "shared": false, "dynamic": false, "collectible": false, "methods": 1234,
                }],
            })
        );
    }

    #[test]
    fn the_table_is_aligned() {
        let (domains, modules) = rows();
        let lines = lines(&domains, &modules, None);
        assert_eq!(
            lines,
            [
                "DOMAIN  NAME",
                "0x55    clrhost",
                "",
                "METHODS  MODULE  NAME  DOMAINS  NOTE  PATH",
                "  1,234  0x7f10  Shop  0x55           (in memory)",
            ]
        );
    }

    #[test]
    fn domains_of_iis_have_site_and_application() {
        let (mut domains, modules) = rows();
        domains.push(DomainRow { id: 0x56, name: "/LM/W3SVC/2/ROOT/Shop-3-1330".into(), shared: false });
        assert_eq!(
            domain_lines(&domains, None),
            [
                "DOMAIN  NAME                          SITE  APPLICATION",
                "0x55    clrhost",
                "0x56    /LM/W3SVC/2/ROOT/Shop-3-1330     2  /Shop",
            ]
        );
        let value = serde_json::to_value(ModulesJson::new(9, &domains, &modules)).expect("JSON");
        assert_eq!(
            (&value["domains"][1]["site"], &value["domains"][1]["application"]),
            (&json!(2), &json!("/Shop"))
        );
    }

    #[test]
    fn numbers_copies_of_one_file() {
        let (_, mut modules) = rows();
        let first = modules[0].clone();
        let copy =
            |generation, module_id| ModuleRow { key: ModuleKey { module_id, generation }, ..first.clone() };
        modules.extend([copy(9, 0x7f05), copy(3, 0x7f20)]);
        modules.push(ModuleRow { domains: vec![0x77], ..copy(4, 0x7f30) });
        modules.push(ModuleRow { mvid: "another".into(), ..copy(5, 0x7f40) });
        modules
            .extend([6, 7].map(|generation| ModuleRow { mvid: String::new(), ..copy(generation, 0x7f50) }));
        let copies = RepeatedModules::of(&modules);
        let places: Vec<_> = modules.iter().map(|module| copies.place(module)).collect();
        assert_eq!(places, [Some((1, 3)), Some((3, 3)), Some((2, 3)), None, None, None, None]);
    }

    #[test]
    fn notes_name_sharing_domains_and_obstacles() {
        let (mut domains, modules) = rows();
        domains.push(DomainRow { id: 0x56, name: "Shop".into(), shared: false });
        domains.push(DomainRow { id: 0x57, name: "EE Shared".into(), shared: true });
        let names = DomainNames::of(&domains);
        let shared = ModuleRow { shared: true, domains: vec![0x55, 0x56, 0x57], ..modules[0].clone() };
        assert_eq!(remark(&shared, &names, None), "used by clrhost and Shop");
        domains.extend((100..120).map(|id| DomainRow { id, name: "d".repeat(9_000), shared: false }));
        let many = ModuleRow { domains: (100..120).collect(), ..shared.clone() };
        let text = remark(&many, &DomainNames::of(&domains), None);
        assert!(text.ends_with(" and 12 more") && text.len() < 1_000, "{text}");
        let both = ModuleRow { dynamic: true, collectible: true, ..modules[0].clone() };
        assert_eq!(remark(&both, &names, Some((2, 3))), "copy 2 of 3; dynamic; collectible");
        assert_eq!(remark(&modules[0], &names, None), "");
    }
}
