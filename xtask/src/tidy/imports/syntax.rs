//! Reading single items: test attributes and `use` trees.

use syn::{Item, UseTree};

/// Whether an item exists in test builds only.
pub fn is_test(item: &Item) -> bool {
    let attributes = match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                let condition = list.tokens.to_string();
                condition == "test" || condition.starts_with("all (test") || condition.starts_with("all(test")
            })
    })
}

/// Turns a use tree into pairs of visible name and full path.
pub fn flatten(tree: &UseTree, prefix: &mut Vec<String>, into: &mut Vec<(String, Vec<String>)>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, into);
            prefix.pop();
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            let mut path = prefix.clone();
            match name.as_str() {
                "self" => into.push((path.last().cloned().unwrap_or_default(), path)),
                _ => {
                    path.push(name.clone());
                    into.push((name, path));
                }
            }
        }
        UseTree::Rename(rename) => {
            let mut path = prefix.clone();
            path.push(rename.ident.to_string());
            into.push((rename.rename.to_string(), path));
        }
        UseTree::Glob(_) => into.push(("*".to_owned(), prefix.clone())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, into)),
    }
}
