//! The paths that a file's items mention, made absolute below the crate root.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, Macro, Path};

use super::syntax::{flatten, is_test};

/// Returns every path of `items`, in module `module` with these child modules, that can lie in this crate.
pub fn mentioned(module: &[String], children: &BTreeSet<String>, items: &[Item]) -> Vec<Vec<String>> {
    let mut visitor = Visitor { module: module.to_vec(), children, inline: 0, found: Vec::new() };
    for item in items {
        visitor.visit_item(item);
    }
    visitor.found
}

/// Makes a path as written in `module` absolute; nothing where it leads out of the crate.
pub fn absolute(module: &[String], children: &BTreeSet<String>, path: &[String]) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {}
        name if children.contains(name) => {}
        _ => return None,
    }
    while rest.first().is_some_and(|name| name == "super") {
        base.pop()?;
        rest = &rest[1..];
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

struct Visitor<'a> {
    module: Vec<String>,
    children: &'a BTreeSet<String>,
    /// Depth of inline modules, from which the first `super`s lead back into the same file.
    inline: usize,
    found: Vec<Vec<String>>,
}

impl Visitor<'_> {
    fn mention(&mut self, path: &[String]) {
        let own = path.iter().take_while(|name| *name == "super").count().min(self.inline);
        let path = match own {
            0 => path.to_vec(),
            // The rest is relative to this file's module.
            _ => std::iter::once("self".to_owned()).chain(path[own..].iter().cloned()).collect(),
        };
        self.found.extend(absolute(&self.module, self.children, &path));
    }

    /// Finds `crate::a::b` and `super::a` among a macro's tokens, which `syn` does not parse.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    let name = name.to_string();
                    if colons != 2 || path.is_empty() {
                        self.finish(&mut path);
                        if matches!(name.as_str(), "crate" | "super" | "self")
                            || self.children.contains(&name)
                        {
                            path.push(name);
                        }
                    } else {
                        path.push(name);
                    }
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                other => {
                    self.finish(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.finish(&mut path);
    }

    fn finish(&mut self, path: &mut Vec<String>) {
        if path.len() > 1 {
            self.mention(path);
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut names = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut names);
        for (_, path) in names {
            self.mention(&path);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if is_test(&Item::Mod(item.clone())) {
            return;
        }
        self.inline += 1;
        visit::visit_item_mod(self, item);
        self.inline -= 1;
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() && names.len() > 1 {
            self.mention(&names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'ast Macro) {
        self.tokens(invoked.tokens.clone());
        visit::visit_macro(self, invoked);
    }
}
