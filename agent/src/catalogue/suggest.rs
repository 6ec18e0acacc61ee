//! Patterns near one that matched nothing, from the names that are loaded.
#![forbid(unsafe_code)]

use super::Module;
use super::methods::GLOBAL_TYPE;
use super::names::ModuleNames;
use crate::agent::Agent;
use redial_protocol::pattern::{Pattern, suggestions};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Methods looked at. Past it suggestions may miss something; they are a courtesy.
const MAX_NAMES: usize = 150_000;

/// The nearest patterns that would match something.
pub fn nearest(agent: &Agent, pattern: &Pattern) -> Vec<String> {
    near(&names(agent, None), pattern)
}

/// As [`nearest`] for each of these, looking at names for so long at most.
pub fn nearest_within(agent: &Agent, patterns: &[&Pattern], longest: Duration) -> Vec<Vec<String>> {
    let deadline = Instant::now().checked_add(longest);
    let names = names(agent, deadline);
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    // One of them at least: most often it is the only one.
    let each = patterns.iter().enumerate();
    each.map(|(at, pattern)| if at > 0 && is_over() { Vec::new() } else { near(&names, pattern) }).collect()
}

/// Assembly, type and method.
type Name = (String, String, String);

fn near(names: &[Name], pattern: &Pattern) -> Vec<String> {
    suggestions(pattern, names.iter().map(|(a, t, m)| (a.as_str(), t.as_str(), m.as_str())))
}

/// Names of methods, until `deadline` at most.
fn names(agent: &Agent, deadline: Option<Instant>) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    for module in own_first(agent) {
        if names.len() >= MAX_NAMES || is_over() {
            break;
        }
        module.with_metadata(&agent.info, |import| {
            let types = ModuleNames::default();
            for type_token in std::iter::once(GLOBAL_TYPE).chain(import.type_defs()) {
                let Some(type_name) = types.type_name(import, type_token) else { continue };
                for token in import.methods_of(type_token) {
                    if let Ok(method) = import.method(token) {
                        names.push((module.name.clone(), type_name.to_string(), method.name));
                    }
                }
                if is_over() {
                    return;
                }
            }
        });
    }
    names
}

/// The program's own assemblies before the framework's, which are where the core library is; of each the latest first.
fn own_first(agent: &Agent) -> Vec<Arc<Module>> {
    let mut modules = agent.modules.all();
    modules.reverse();
    let folder = |module: &Module| Path::new(&module.path).parent().map(Path::to_owned);
    let framework = modules.iter().find(|module| agent.is_core_library(module)).and_then(|one| folder(one));
    modules.sort_by_key(|module| folder(module) == framework);
    modules
}
