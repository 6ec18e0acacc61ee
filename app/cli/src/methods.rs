//! `redial methods`: lists the methods of a process, each as a pattern that matches only it.

mod copies;

use super::{arguments, modules, multi_process};
use crate::output::Out;
use crate::output::json::MethodJson;
use copies::CopyCells;
use redial_link::connect;
use redial_link::error::{LinkError, nothing_matched};
use redial_link::exit::{Exit, Failure};
use redial_link::session::ReplyPage;
use redial_protocol::catalogue::{MethodPage, ModuleRow};
use redial_protocol::ids::ModuleKey;
use redial_protocol::message::{Reply, WireCommand};
use redial_text::words::{self, printable};
use std::collections::HashMap;

/// Lists methods.
pub fn run(arguments: &arguments::MethodsArguments) -> Result<Exit, Failure> {
    if let Some(pattern) = &arguments.pattern {
        arguments::check_pattern(pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    multi_process::each(&arguments.target, arguments.json, |pid, out| one(pid, arguments, out))
}

fn one(pid: u32, arguments: &arguments::MethodsArguments, out: &mut Out) -> Result<Exit, Failure> {
    let mut session = connect::open(pid, "redial methods")?;
    let mut pages = Vec::new();
    let command = WireCommand::Methods { pattern: arguments.pattern.clone(), limit: arguments.limit };
    let reply = session.ask(command, &mut |page| {
        if let ReplyPage::Methods(page) = page {
            pages.push(*page);
        }
    })?;
    let Reply::Methods { matched, suggestions } = reply else { return Err(session.wrong_reply().into()) };
    // Ask after the methods, so that the modules of all of them are known.
    let (domains, modules) = modules::ask(&mut session)?;
    let names = AssemblyNames::new(&modules);
    let broken = || LinkError::Garbled { pid, why: "a page of methods is incomplete".to_owned() };
    let shown = if arguments.json {
        print_json(out, pid, &pages, &names)?
    } else {
        let copies = CopyCells::of(&pages, &domains, &modules);
        print_lines(out, pid, &pages, &names, &copies)?
    };
    out.flush()?;
    let sent: u64 = pages.iter().map(|page| page.token.len() as u64).sum();
    if shown != sent {
        return Err(broken().into());
    }
    if matched == 0 {
        return match &arguments.pattern {
            Some(pattern) => {
                Err(Failure::new(Exit::NothingMatched, nothing_matched(Some(pattern), &suggestions)))
            }
            None => Ok(Exit::Done),
        };
    }
    if shown < matched {
        let matched = words::methods(matched);
        out.remark(format!("{} of {matched} listed; use --limit N to list more", words::grouped(shown)));
    }
    Ok(Exit::Done)
}

/// Assembly names by module.
struct AssemblyNames<'a>(HashMap<ModuleKey, &'a str>);

impl<'a> AssemblyNames<'a> {
    fn new(modules: &'a [ModuleRow]) -> Self {
        AssemblyNames(modules.iter().map(|module| (module.key, module.name.as_str())).collect())
    }

    /// Returns the assembly name. A module may have been unloaded since its methods were sent.
    fn of(&self, key: ModuleKey) -> &'a str {
        self.0.get(&key).copied().unwrap_or("(unloaded)")
    }
}

fn print_lines(
    out: &mut Out,
    pid: u32,
    pages: &[MethodPage],
    names: &AssemblyNames<'_>,
    copies: &CopyCells,
) -> Result<u64, Failure> {
    let (mut shown, mut pointers) = (0, false);
    for_each(pid, pages, names, |module, method| {
        shown += 1;
        pointers |= has_pointer(method.signature);
        let signature = words::plain_parameters(method.signature);
        let name = format!("{}!{}{signature}", method.module, method.method);
        let copy = copies.cells(module);
        let body = words::body_of(&method.method).map(|of| format!("  ({of})")).unwrap_or_default();
        out.line(&format!("{}  {copy}{}", method.token, printable(&(name + &body))))
    })?;
    if let Some(explained) = copies.explained() {
        out.flush()?;
        out.remark(explained);
    }
    if pointers {
        out.flush()?;
        out.remark(r"in a pattern, '*' matches anything; write a pointer's star as '\*'");
    }
    Ok(shown)
}

fn has_pointer(signature: &str) -> bool {
    signature.contains(r"\*")
}

fn print_json(
    out: &mut Out,
    pid: u32,
    pages: &[MethodPage],
    names: &AssemblyNames<'_>,
) -> Result<u64, Failure> {
    // Write the array in pieces: a million methods need no second copy in memory.
    let mut shown = 0;
    out.text("[")?;
    for_each(pid, pages, names, |_, method| {
        out.text(if shown == 0 { "" } else { ",\n" })?;
        shown += 1;
        let text = serde_json::to_string(&method)
            .map_err(|error| Failure::new(Exit::Failed, format!("cannot write JSON: {error}")))?;
        out.text(&text)
    })?;
    out.line("]")?;
    Ok(shown)
}

fn for_each(
    pid: u32,
    pages: &[MethodPage],
    names: &AssemblyNames<'_>,
    mut each: impl FnMut(ModuleKey, MethodJson<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for page in pages {
        for index in 0..page.token.len() {
            let mut module = None;
            let name_of = |key| {
                module = Some(key);
                names.of(key)
            };
            let Some(method) = MethodJson::of(pid, page, index, name_of) else { break };
            let Some(module) = module else { break };
            each(module, method)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page() -> MethodPage {
        let mut page = MethodPage {
            modules: vec![ModuleKey { module_id: 0x7f10, generation: 2 }],
            module: vec![0, 0],
            token: vec![0x0600_0012, 0x0600_0013],
            type_index: vec![0, 0],
            ..MethodPage::default()
        };
        page.type_names.push("Shop.Box<T>");
        for (name, signature) in [("Put<U>", "(T, U)"), (".ctor", "()")] {
            page.name.push(name);
            page.signature.push(signature);
        }
        page
    }

    #[test]
    fn rows_have_the_documented_fields() {
        let page = page();
        let row = MethodJson::of(9, &page, 0, |_| "Shop").expect("a whole row");
        assert_eq!(
            serde_json::to_value(row).expect("JSON"),
            json!({
                "pid": 9, "module": "Shop", "module_id": "0x7f10", "token": "0x06000012",
                "method": "Shop.Box<T>.Put<U>", "signature": "(T, U)",
            })
        );
    }

    #[test]
    fn tells_pointers_from_arrays() {
        assert!(has_pointer(r"(byte\*)") && !has_pointer("(byte[])"));
    }

    #[test]
    fn notices_an_incomplete_page() {
        let mut page = page();
        page.signature = Default::default();
        let mut seen = 0;
        for_each(9, &[page], &AssemblyNames::new(&[]), |_, _| {
            seen += 1;
            Ok(())
        })
        .expect("no output, no failure");
        assert_eq!(seen, 0);
    }
}
