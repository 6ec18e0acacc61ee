//! Patterns near one that matched nothing, from the names that are loaded.
#![forbid(unsafe_code)]

use super::methods::GLOBAL_TYPE;
use super::names::ModuleNames;
use crate::agent::Agent;
use redial_protocol::pattern::{Pattern, suggestions};

/// Methods looked at. Past it suggestions may miss something; they are a courtesy.
const MAX_NAMES: usize = 150_000;

/// The nearest patterns that would match something.
pub fn nearest(agent: &Agent, pattern: &Pattern) -> Vec<String> {
    let mut names: Vec<(String, String, String)> = Vec::new();
    // The program's own assemblies come before the framework's: they load later.
    for module in agent.modules.all().into_iter().rev() {
        if names.len() >= MAX_NAMES {
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
            }
        });
    }
    suggestions(pattern, names.iter().map(|(a, t, m)| (a.as_str(), t.as_str(), m.as_str())))
}
