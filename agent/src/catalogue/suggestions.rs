//! Suggests patterns similar to one that matched nothing, from the loaded names.
#![forbid(unsafe_code)]

use super::modules::{Module, Modules};
use super::names::ModuleNames;
use crate::clr::ProfilerInfo;
use crate::clr::metadata::GLOBAL_TYPE;
use redial_protocol::pattern::{Pattern, suggestions};
use std::ops::Range;
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

fn suggest(names: &Names, pattern: &Pattern) -> Vec<String> {
    suggestions(pattern, names.iter())
}

/// Names of methods. Those of a large program are hundreds of thousands of strings, which would leave tens of megabytes in
/// glibc's arenas; two large blocks return to the system.
#[derive(Default)]
struct Names {
    modules: Vec<String>,
    /// The names of types and methods, one after the other.
    text: String,
    methods: Vec<MethodPlace>,
}

/// The assembly of a method, as an index, and its names in the text.
struct MethodPlace {
    module: u32,
    type_name: Range<u32>,
    name: Range<u32>,
}

impl Names {
    fn add_text(&mut self, text: &str) -> Range<u32> {
        let begin = self.text.len() as u32;
        self.text.push_str(text);
        begin..self.text.len() as u32
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let part = |range: &Range<u32>| self.text.get(range.start as usize..range.end as usize);
        self.methods.iter().filter_map(move |method| {
            let module = self.modules.get(method.module as usize)?;
            Some((module.as_str(), part(&method.type_name)?, part(&method.name)?))
        })
    }

    /// Adds the methods of a module until `is_over`.
    fn add_module(&mut self, info: &ProfilerInfo, module: &Module, is_over: impl Fn() -> bool) {
        let index = self.modules.len() as u32;
        self.modules.push(module.name.clone());
        module.with_metadata(info, |import| {
            let types = ModuleNames::default();
            for type_token in std::iter::once(GLOBAL_TYPE).chain(import.type_defs()) {
                let Some(type_name) = types.type_name(import, type_token) else { continue };
                let type_name = self.add_text(&type_name);
                for token in import.methods_of(type_token) {
                    if let Ok(method) = import.method(token) {
                        let name = self.add_text(&method.name);
                        self.methods.push(MethodPlace { module: index, type_name: type_name.clone(), name });
                    }
                }
                if is_over() {
                    return;
                }
            }
        });
    }
}

/// Returns the names of methods, stopping at `deadline`.
fn names(info: &ProfilerInfo, modules: &Modules, deadline: Option<Instant>) -> Names {
    let mut names = Names::default();
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    for module in own_first(modules) {
        if names.methods.len() >= MAX_NAMES || is_over() {
            break;
        }
        names.add_module(info, &module, is_over);
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
