//! Names near a filter that nothing fits, as the command line finds them for patterns.

use super::catalogue::{Catalogue, Module};
use super::connection::Connection;
use super::ids::{ConnectionId, MethodIx};
use redial_protocol::limits::MAX_SUGGESTIONS;
use redial_protocol::pattern::{Pattern, suggestions};
use std::collections::HashSet;
use std::ops::Range;

/// Methods looked at, for a frame waits for it. Past it a suggestion may be missed; they are a courtesy.
const MAX_NAMES: usize = 10_000;
/// Seconds in which nothing was typed any more before they are looked for.
const REST: f64 = 0.2;

/// What a filter may have meant, found once for each filter.
#[derive(Debug, Default)]
pub struct Near {
    of: Option<Of>,
    /// When that was asked for first, seconds on the window's clock.
    since: f64,
    looked: bool,
    names: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Of {
    connection: ConnectionId,
    edition: u64,
    text: String,
    own: bool,
}

impl Near {
    /// Looks for them, where nothing fits the filter of a list and it stays so for a moment; the program's own methods alone,
    /// where only those are shown. `now` is in seconds on the window's clock; in how many of them it is to be called again.
    pub fn settle(&mut self, list: &Connection, now: f64) -> Option<f64> {
        let filter = list.list.filter();
        if list.list.matches() > 0 {
            *self = Near::default();
            return None;
        }
        let of = Of {
            connection: list.id,
            edition: list.catalogue.edition(),
            text: filter.text.trim().to_owned(),
            own: filter.hide_framework,
        };
        if self.of.as_ref() != Some(&of) {
            *self = Near { of: Some(of), since: now, ..Near::default() };
        }
        let left = (self.since + REST - now).max(0.0);
        if self.looked || left > 0.0 {
            return Some(left).filter(|left| *left > 0.0);
        }
        self.looked = true;
        if let Some(of) = &self.of {
            self.names = near(&list.catalogue, &of.text, of.own);
        }
        None
    }

    /// The nearest first; as a filter each finds something.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

fn near(catalogue: &Catalogue, text: &str, own: bool) -> Vec<String> {
    let Ok(pattern) = Pattern::parse(text) else { return Vec::new() };
    let mut modules = shown(catalogue, own);
    modules.sort_by_key(|module| module.framework);
    let found = |short: bool| {
        let methods =
            modules.iter().flat_map(|module| module.methods.clone().map(|method| (&*module.name, method)));
        let names = methods.take(MAX_NAMES).map(|(module, method)| {
            let owner = catalogue.type_of(MethodIx(method));
            let owner = if short { catalogue.type_own_name(owner) } else { catalogue.type_name(owner) };
            (module, owner, catalogue.method_name(MethodIx(method)))
        });
        suggestions(&pattern, names)
    };
    // A filter finds types without their namespaces, too.
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

/// Modules that the list shows by itself: none that are unloaded, of processes that have ended, or merged into others.
fn shown(catalogue: &Catalogue, own: bool) -> Vec<&Module> {
    let away: HashSet<Range<u32>> = catalogue.merged_away().into_iter().map(|(copy, _)| copy).collect();
    let is_shown = |module: &&Module| {
        let is_over = catalogue.has_lost_rows(module);
        !(own && module.framework || module.unloaded || is_over || away.contains(&module.methods))
    };
    catalogue.modules().iter().filter(is_shown).collect()
}

/// What finds as a filter what a pattern means; None: stars or strange letters are left in it.
fn as_filter(pattern: &str) -> Option<String> {
    let name = pattern.trim_start_matches("*.").trim_end_matches(".*").trim_end_matches('*');
    let is_plain = !name.is_empty() && !name.contains(['*', '\\', ' ']);
    is_plain.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalogue::copies::tests::domains;
    use crate::model::catalogue::tests::{method, small};

    #[test]
    fn a_slip_of_the_keys_finds_what_was_meant() {
        let catalogue = small();
        for (typed, meant) in
            [("Crat", "Cart"), ("Shop.Crat", "Shop.Cart"), ("cart.ad", "Cart.Add"), ("Aply", "Apply")]
        {
            let names = near(&catalogue, typed, false);
            assert!(names.iter().any(|name| name == meant), "{typed}: {names:?}");
        }
        assert!(near(&catalogue, "Zebra", false).is_empty());
    }

    #[test]
    fn what_the_list_does_not_show_is_near_nothing() {
        let mut catalogue = small();
        let add = method(&catalogue, "Shop!Shop.Cart.Add(int)");
        catalogue.unload(&[catalogue.copy_of(add).expect("a copy").module]);
        assert!(near(&catalogue, "Crat", false).is_empty(), "it is unloaded");
        let names = |catalogue: &Catalogue, own| {
            let name = |module: &&Module| format!("{} {:?}", module.name, module.domains);
            shown(catalogue, own).iter().map(name).collect::<Vec<String>>()
        };
        let mut processes = domains();
        assert_eq!(names(&processes, true), ["domains [1]", "domains [2]", "domains [3]"]);
        processes.span_processes();
        assert_eq!(names(&processes, true), ["domains [1]"], "one row for all");
        processes.set_over(2, true);
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
