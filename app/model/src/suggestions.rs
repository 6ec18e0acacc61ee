//! Suggests similar names for a filter without matches, as the command line does for patterns.

use super::catalogue::{Catalogue, Module};
use super::ids::MethodIx;
use super::ids::SubjectId;
use super::subject::Subject;
use redial_protocol::limits::MAX_SUGGESTIONS;
use redial_protocol::pattern::{Pattern, suggestions};
use std::collections::HashSet;
use std::ops::Range;

/// Maximum number of methods to compare, because a frame waits for it; more could be missed.
const MAX_NAMES: usize = 10_000;
/// Seconds without typing before the search starts.
const TYPING_PAUSE: f64 = 0.2;

/// Suggestions for a filter, computed once per filter.
#[derive(Debug, Default)]
pub struct Suggestions {
    of: Option<SuggestionInputs>,
    /// When the filter was first seen, in seconds on the window's clock.
    since: f64,
    looked: bool,
    names: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct SuggestionInputs {
    subject: SubjectId,
    edition: u64,
    text: String,
    rows: ShownRows,
}

/// Which methods are worth suggesting: those that the list may show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ShownRows {
    /// Only the program's own methods.
    own: bool,
    /// Only methods that the compiler did not write.
    written: bool,
}

impl Suggestions {
    /// Computes suggestions once a filter has had no matches for a moment; only among the program's own
    /// methods if only those are shown. `now` is in seconds on the window's clock. Returns in how many
    /// seconds to call it again.
    pub fn refresh(&mut self, subject: Subject<'_>, now: f64) -> Option<f64> {
        let table = subject.table();
        let filter = table.list.filter();
        if table.list.matches() > 0 {
            *self = Suggestions::default();
            return None;
        }
        let of = SuggestionInputs {
            subject: subject.id(),
            edition: table.catalogue.edition(),
            text: filter.text.trim().to_owned(),
            rows: ShownRows { own: filter.hide_framework, written: filter.hide_generated },
        };
        if self.of.as_ref() != Some(&of) {
            *self = Suggestions { of: Some(of), since: now, ..Suggestions::default() };
        }
        let left = (self.since + TYPING_PAUSE - now).max(0.0);
        if self.looked || left > 0.0 {
            return Some(left).filter(|left| *left > 0.0);
        }
        self.looked = true;
        if let Some(of) = &self.of {
            self.names = similar_names(&table.catalogue, &of.text, of.rows);
        }
        None
    }

    /// Returns the suggestions, nearest first; each one matches something as a filter.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

fn similar_names(catalogue: &Catalogue, text: &str, rows: ShownRows) -> Vec<String> {
    let Ok(pattern) = Pattern::parse(text) else { return Vec::new() };
    let mut modules = shown(catalogue, rows.own);
    modules.sort_by_key(|module| module.framework);
    let found = |short: bool| {
        let methods =
            modules.iter().flat_map(|module| module.methods.clone().map(|method| (&*module.name, method)));
        let is_shown = |method: &u32| !(rows.written && catalogue.is_generated(MethodIx(*method)));
        let methods = methods.filter(|(_, method)| is_shown(method));
        let names = methods.take(MAX_NAMES).map(|(module, method)| {
            let owner = catalogue.type_of(MethodIx(method));
            let owner = if short { catalogue.type_own_name(owner) } else { catalogue.type_name(owner) };
            (module, owner, catalogue.method_name(MethodIx(method)))
        });
        suggestions(&pattern, names)
    };
    // A filter matches types without their namespaces, too.
    let (whole, short) = (found(false), found(true));
    let mut names: Vec<String> = Vec::new();
    for name in whole.iter().chain(&short).filter_map(|pattern| as_filter(pattern)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(MAX_SUGGESTIONS);
    names
}

/// Returns the modules with rows of their own: loaded, in running processes, and not merged into others.
fn shown(catalogue: &Catalogue, own: bool) -> Vec<&Module> {
    let away: HashSet<Range<u32>> = catalogue.merged_away().into_iter().map(|(copy, _)| copy).collect();
    let is_shown = |module: &&Module| {
        let is_over = catalogue.has_lost_rows(module);
        !(own && module.framework || module.unloaded || is_over || away.contains(&module.methods))
    };
    catalogue.modules().iter().filter(is_shown).collect()
}

/// Converts a pattern to a filter; `None` if stars or special characters remain.
fn as_filter(pattern: &str) -> Option<String> {
    let name = pattern.trim_start_matches("*.").trim_end_matches(".*").trim_end_matches('*');
    let is_plain = !name.is_empty() && !name.contains(['*', '\\', ' ']);
    is_plain.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::copies::tests::domains;
    use crate::catalogue::tests::{method, small};

    #[test]
    fn suggests_names_for_typing_errors() {
        let catalogue = small();
        for (typed, meant) in
            [("Crat", "Cart"), ("Shop.Crat", "Shop.Cart"), ("cart.ad", "Cart.Add"), ("Aply", "Apply")]
        {
            let names = similar_names(&catalogue, typed, ShownRows::default());
            assert!(names.iter().any(|name| name == meant), "{typed}: {names:?}");
        }
        assert!(similar_names(&catalogue, "Zebra", ShownRows::default()).is_empty());
    }

    #[test]
    fn suggests_only_names_that_the_list_shows() {
        let mut catalogue = small();
        let add = method(&catalogue, "Shop!Shop.Cart.Add(int)");
        catalogue.unload(&[catalogue.copy_of(add).expect("a copy").module]);
        assert!(similar_names(&catalogue, "Crat", ShownRows::default()).is_empty(), "it is unloaded");
        let names = |catalogue: &Catalogue, own| {
            let name = |module: &&Module| format!("{} {:?}", module.name, module.domains);
            shown(catalogue, own).iter().map(name).collect::<Vec<String>>()
        };
        let mut processes = domains();
        assert_eq!(names(&processes, true), ["domains [1]", "domains [2]", "domains [3]"]);
        processes.span_processes();
        assert_eq!(names(&processes, true), ["domains [1]"], "one row for all");
        processes.set_process_ended(2, true);
        processes.set_merged(false);
        assert_eq!(names(&processes, true), ["domains [1]", "domains [3]"], "the second has ended");
    }

    #[test]
    fn patterns_become_filters() {
        for (pattern, filter) in
            [("*.Add", Some("Add")), ("Shop.Cart.*", Some("Shop.Cart")), ("Shop!*", Some("Shop!"))]
        {
            assert_eq!(as_filter(pattern).as_deref(), filter);
        }
        assert_eq!(as_filter("Shop.C*t.Add"), None);
    }
}
