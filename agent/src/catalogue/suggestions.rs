//! Suggests patterns similar to one that matched nothing, from the loaded names.
#![forbid(unsafe_code)]

use super::modules::{Module, Modules};
use super::names::ModuleNames;
use crate::clr::ProfilerInfo;
use crate::clr::metadata::GLOBAL_TYPE;
use redial_protocol::pattern::{Pattern, suggestions};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Methods searched. Beyond this, suggestions may miss something, which is acceptable.
const MAX_NAMES: usize = 150_000;

/// Returns the most similar patterns that would match something.
pub fn nearest(info: &ProfilerInfo, modules: &Modules, pattern: &Pattern) -> Vec<String> {
    suggest(&names(info, modules, None), pattern)
}

/// Like [`nearest`] for each of these patterns, searching for at most `longest`.
pub fn nearest_within(
    info: &ProfilerInfo,
    modules: &Modules,
    patterns: &[&Pattern],
    longest: Duration,
) -> Vec<Vec<String>> {
    let deadline = Instant::now().checked_add(longest);
    let names = names(info, modules, deadline);
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    // Always handle the first, which is mostly the only one.
    let each = patterns.iter().enumerate();
    each.map(|(at, pattern)| if at > 0 && is_over() { Vec::new() } else { suggest(&names, pattern) })
        .collect()
}

/// Assembly, type and method.
type Name = (String, String, String);

fn suggest(names: &[Name], pattern: &Pattern) -> Vec<String> {
    suggestions(pattern, names.iter().map(|(a, t, m)| (a.as_str(), t.as_str(), m.as_str())))
}

/// Returns the names of methods, stopping at `deadline`.
fn names(info: &ProfilerInfo, modules: &Modules, deadline: Option<Instant>) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    for module in own_first(modules) {
        if names.len() >= MAX_NAMES || is_over() {
            break;
        }
        module.with_metadata(info, |import| {
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

/// Lists the program's own assemblies before the framework's, which share the core library's folder; the latest
/// first within each.
fn own_first(modules: &Modules) -> Vec<Arc<Module>> {
    let mut modules = modules.all();
    modules.reverse();
    let folder = |module: &Module| Path::new(&module.path).parent().map(Path::to_owned);
    let framework = modules.iter().find(|module| module.is_core_library()).and_then(|one| folder(one));
    modules.sort_by_key(|module| folder(module) == framework);
    modules
}
