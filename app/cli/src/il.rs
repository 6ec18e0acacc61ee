//! `redial il`: shows a method's original or instrumented IL.

mod listing;

use super::status::ask_rows;
use super::{arguments, method_source, modules, multi_process};
use crate::output::Out;
use crate::output::json::{IlJson, hex};
use redial_link::connect;
use redial_link::error::{LinkError, nothing_matched};
use redial_link::exit::{Exit, Failure};
use redial_link::session::{ReplyPage, Session};
use redial_protocol::catalogue::{MethodPage, ModuleRow};
use redial_protocol::ids::{CopyKey, MethodToken};
use redial_protocol::il::{IlBody, IlLine};
use redial_protocol::level::Level;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::state::CopyState;
use redial_text::words;
use std::collections::BTreeSet;

/// The number of matches to request: enough to describe an ambiguous pattern.
const ASKED: u64 = 1000;
/// The most matches to name in an error.
const NAMED: usize = 5;

/// Shows the IL of one method.
pub fn run(arguments: &arguments::IlArguments) -> Result<Exit, Failure> {
    arguments::check_pattern(&arguments.pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    multi_process::each(&arguments.target, arguments.json, |pid, out| one(pid, arguments, out))
}

fn one(pid: u32, arguments: &arguments::IlArguments, out: &mut Out) -> Result<Exit, Failure> {
    let mut session = connect::open(pid, "redial il")?;
    let method = find(&mut session, arguments)?;
    let (body, lines) = ask(&mut session, method.copy, arguments.instrumented)?;
    let source = method_source::find(pid, &method.path, method.copy.token.0, &arguments.symbols);
    if arguments.json {
        let signature = words::plain_parameters(&method.signature);
        let names = (method.module.as_str(), method.name.as_str(), signature.as_str());
        out.json(&IlJson::new(pid, method.copy, names, (&body, &lines), &source))?;
    } else {
        let dialled = dialled(&mut session, &method)?;
        let own = if arguments.instrumented { Some(ask(&mut session, method.copy, false)?.0) } else { None };
        let named = (&*method.shown(), method.copy.token.0);
        for line in listing::header(named, dialled, (&body, own.as_ref()), (&lines, &source)) {
            out.line(&line)?;
        }
        for line in listing::instructions(&lines, source.lines(&body, &lines)) {
            out.line(&line)?;
        }
    }
    Ok(Exit::Done)
}

/// Returns the level and state of the method if its dial is on.
fn dialled(session: &mut Session, method: &MethodMatch) -> Result<Option<(Level, CopyState)>, Failure> {
    let rows = ask_rows(session, Some(format!("{}!{:#010x}", method.module, method.copy.token.0)))?;
    let row = rows.iter().map(|dial| &dial.row).find(|row| row.copy == method.copy);
    Ok(row.filter(|row| row.wanted != Level::Off).map(|row| (row.wanted, row.state)))
}

/// A method that matched.
struct MethodMatch {
    copy: CopyKey,
    module: String,
    /// `Namespace.Type.Method`.
    name: String,
    /// `(PARAMS)`, as in a pattern.
    signature: String,
    /// Path of its module; empty if it has none.
    path: String,
}

impl MethodMatch {
    fn pattern(&self) -> String {
        format!("{}!{}{}", self.module, self.name, self.signature)
    }

    fn shown(&self) -> String {
        words::plain_parameters(&self.pattern())
    }
}

/// Finds the only method that matches.
fn find(session: &mut Session, arguments: &arguments::IlArguments) -> Result<MethodMatch, Failure> {
    let mut pages = Vec::new();
    let command = WireCommand::Methods { pattern: Some(arguments.pattern.clone()), limit: ASKED };
    let reply = session.ask(command, &mut |page| {
        if let ReplyPage::Methods(page) = page {
            pages.push(*page);
        }
    })?;
    let Reply::Methods { matched, suggestions } = reply else { return Err(session.wrong_reply().into()) };
    if matched == 0 {
        let why = nothing_matched(Some(&arguments.pattern), &suggestions);
        return Err(Failure::new(Exit::NothingMatched, why));
    }
    let (_, modules) = modules::ask(session)?;
    let incomplete =
        || LinkError::Garbled { pid: session.pid(), why: "a page of methods is incomplete".to_owned() };
    let mut found = Vec::new();
    for page in &pages {
        for index in 0..page.token.len() {
            found.push(read(page, index, &modules).ok_or_else(incomplete)?);
        }
    }
    choose(found, matched, arguments)
}

fn read(page: &MethodPage, index: usize, modules: &[ModuleRow]) -> Option<MethodMatch> {
    let key = *page.modules.get(usize::try_from(*page.module.get(index)?).ok()?)?;
    let type_name = page.type_names.get(usize::try_from(*page.type_index.get(index)?).ok()?)?;
    let module = modules.iter().find(|module| module.key == key);
    Some(MethodMatch {
        copy: CopyKey { module: key, token: MethodToken(*page.token.get(index)?) },
        module: module.map_or_else(|| "(unloaded)".to_owned(), |module| module.name.clone()),
        name: format!("{type_name}.{}", page.name.get(index)?),
        signature: page.signature.get(index)?.to_owned(),
        path: module.map(|module| module.path.clone()).unwrap_or_default(),
    })
}

/// Returns the only match.
///
/// # Errors
/// A sentence with more specific patterns or copies, if there are several matches or none in the given copy.
fn choose(
    found: Vec<MethodMatch>,
    matched: u64,
    arguments: &arguments::IlArguments,
) -> Result<MethodMatch, Failure> {
    let all = found.len();
    let mut candidates: Vec<MethodMatch> = match arguments.copy {
        Some(copy) => found.into_iter().filter(|one| one.copy.module.module_id == copy).collect(),
        None => found,
    };
    let (Some(first), left) = (candidates.pop(), candidates) else {
        let copy = hex(arguments.copy.unwrap_or_default());
        let why = match matched {
            1 => format!("the only matching method is not in module {copy}"),
            matched => {
                format!("none of the {} matching methods is in module {copy}", words::grouped(matched))
            }
        };
        return Err(Failure::new(Exit::NothingMatched, why));
    };
    if left.is_empty() && (matched == all as u64 || arguments.copy.is_some()) {
        return Ok(first);
    }
    let mut names: BTreeSet<String> = left.iter().map(MethodMatch::pattern).collect();
    names.insert(first.pattern());
    let why = if let (1, Some(name)) = (names.len(), names.first()) {
        let mut copies: Vec<String> = left.iter().map(|one| hex(one.copy.module.module_id)).collect();
        copies.push(hex(first.copy.module.module_id));
        let several = copies.iter().collect::<BTreeSet<_>>().len() > 1;
        copies.truncate(NAMED);
        match several {
            true => format!(
                "'{name}' is loaded {} times; choose one with --copy {}",
                left.len() + 1,
                words::either(&copies)
            ),
            // Names do not distinguish them: custom modifiers, for example.
            false => {
                let tokens = left.iter().chain([&first]).take(NAMED);
                let tokens: Vec<String> =
                    tokens.map(|one| format!("'{}!{:#010x}'", one.module, one.copy.token.0)).collect();
                format!("several methods are called '{name}'; use {}", words::either(&tokens))
            }
        }
    } else {
        let mut named: Vec<String> = names.iter().take(NAMED).map(|name| format!("'{name}'")).collect();
        if names.len() > NAMED || matched > all as u64 {
            named.push("another".to_owned());
        }
        let matched = if arguments.copy.is_some() { left.len() as u64 + 1 } else { matched };
        format!("{} match; choose one: {}", words::methods(matched), words::either(&named))
    };
    Err(Failure::new(Exit::Usage, why))
}

fn ask(session: &mut Session, copy: CopyKey, instrumented: bool) -> Result<(IlBody, Vec<IlLine>), Failure> {
    let mut lines = Vec::new();
    let reply = session.ask(WireCommand::Il { copy, instrumented }, &mut |page| {
        if let ReplyPage::Il(page) = page {
            lines.extend(page.lines);
        }
    })?;
    match reply {
        Reply::Il(body) if body.lines == lines.len() as u64 => Ok((body, lines)),
        Reply::Il(_) => {
            let why = "some lines of the body are missing".to_owned();
            Err(LinkError::Garbled { pid: session.pid(), why }.into())
        }
        _ => Err(session.wrong_reply().into()),
    }
}

#[cfg(test)]
#[path = "il_tests.rs"]
mod tests;
