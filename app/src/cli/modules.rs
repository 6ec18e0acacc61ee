//! `redial modules`: AppDomains and modules.

use super::arguments;
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::link::error::LinkError;
use crate::link::session::Session;
use crate::output::json::{ModulesJson, hex};
use crate::output::table::{Table, number, text, wide};
use crate::output::{Out, terminal_columns, words};
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::message::{Command, Reply};

/// Lists AppDomains and modules.
pub fn run(arguments: &arguments::Modules) -> Result<Exit, Failure> {
    let mut session = connect::open(arguments.pid, "redial modules")?;
    let (domains, mut modules) = ask(&mut session)?;
    modules.sort_by(|a, b| a.name.cmp(&b.name).then(a.key.cmp(&b.key)));
    let mut out = Out::new();
    if arguments.json {
        out.json(&ModulesJson::new(arguments.pid, &domains, &modules))?;
    } else {
        for line in lines(&domains, &modules, terminal_columns()) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Asks an agent for its AppDomains and modules.
pub fn ask(session: &mut Session) -> Result<(Vec<DomainRow>, Vec<ModuleRow>), LinkError> {
    match session.ask(Command::Modules, &mut |_| {})? {
        Reply::Modules { domains, modules } => Ok((domains, modules)),
        _ => Err(session.wrong_reply()),
    }
}

fn lines(domains: &[DomainRow], modules: &[ModuleRow], columns: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut table = Table::new(&[text("DOMAIN"), wide("NAME"), text("")]);
    for domain in domains {
        let note = if domain.shared { "shared" } else { "" };
        table.row(vec![hex(domain.id), domain.name.clone(), note.to_owned()]);
    }
    lines.extend(table.lines(columns));
    lines.push(String::new());
    let mut table =
        Table::new(&[number("METHODS"), text("MODULE"), text("NAME"), text("DOMAINS"), wide("PATH")]);
    for module in modules {
        let domains = match (module.shared, module.domains.as_slice()) {
            (true, _) => "shared".to_owned(),
            (false, [only]) => hex(*only),
            (false, several) => words::grouped(several.len() as u64),
        };
        let path = match (module.dynamic || module.collectible, module.path.as_str()) {
            (true, _) => "(dynamic or collectible)",
            (false, "") => "(in memory)",
            (false, path) => path,
        };
        let id = crate::output::json::module_id(module.key);
        table.row(vec![
            words::grouped(module.methods.into()),
            id,
            module.name.clone(),
            domains,
            path.to_owned(),
        ]);
    }
    lines.extend(table.lines(columns));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::ModuleKey;
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
                "domains": [{"pid": 9, "id": "0x55", "name": "clrhost", "shared": false}],
                "modules": [{
                    "pid": 9, "id": "0x7f10", "name": "Shop", "path": null,
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
                "METHODS  MODULE  NAME  DOMAINS  PATH",
                "  1,234  0x7f10  Shop  0x55     (in memory)",
            ]
        );
    }
}
