//! The import graph between the files of one crate, read from its sources with `syn`. Test code is left out.

mod paths;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use syn::{Item, Visibility};

use syntax::{flatten, is_test};

/// A module's name as path segments below the crate root; empty for the root.
type ModulePath = Vec<String>;

/// One module: its file, the modules declared in it, and the names it re-exports.
struct Module {
    file: PathBuf,
    children: BTreeSet<String>,
    /// Name → path it stands for, for `pub use` in a file that declares the target's module.
    reexports: BTreeMap<String, Vec<String>>,
    syntax: Vec<Item>,
}

/// Files of a crate and the files each one imports from.
pub struct Imports {
    /// File → files it uses, paths as below the crate's `src` folder.
    pub edges: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

impl Imports {
    /// Reads the crate whose root file is `root`, for example `agent/src/lib.rs`.
    ///
    /// # Errors
    /// When a file cannot be read or parsed.
    pub fn read(root: &Path) -> Result<Imports> {
        let mut modules = BTreeMap::new();
        collect(&mut modules, Vec::new(), root)?;
        let mut edges: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for (path, module) in &modules {
            let targets = edges.entry(module.file.clone()).or_default();
            let mentioned = paths::mentioned(path, &module.children, &module.syntax);
            for target in mentioned.iter().filter_map(|target| resolve(&modules, target)) {
                if target != module.file {
                    targets.insert(target);
                }
            }
        }
        Ok(Imports { edges })
    }

    /// Returns every group of files that import each other, directly or through others.
    pub fn circles(&self) -> Vec<Vec<PathBuf>> {
        let mut graph = DiGraphMap::<&Path, ()>::new();
        for (file, targets) in &self.edges {
            graph.add_node(file);
            for target in targets {
                graph.add_edge(file, target, ());
            }
        }
        let mut circles: Vec<Vec<PathBuf>> = tarjan_scc(&graph)
            .into_iter()
            .filter(|group| group.len() > 1)
            .map(|group| {
                let mut group: Vec<PathBuf> = group.into_iter().map(Path::to_owned).collect();
                group.sort();
                group
            })
            .collect();
        circles.sort();
        circles
    }
}

/// Reads a module's file and, in turn, those of the modules it declares.
fn collect(modules: &mut BTreeMap<ModulePath, Module>, path: ModulePath, file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let syntax = syn::parse_file(&text).with_context(|| format!("cannot parse {}", file.display()))?;
    let mut module = Module {
        file: file.to_owned(),
        children: BTreeSet::new(),
        reexports: BTreeMap::new(),
        syntax: Vec::new(),
    };
    for item in syntax.items {
        if is_test(&item) {
            continue;
        }
        match item {
            Item::Mod(declared) if declared.content.is_none() => {
                let name = declared.ident.to_string();
                let Some(child) = module_file(file, path.is_empty(), &name, &declared.attrs) else {
                    continue;
                };
                module.children.insert(name.clone());
                let mut child_path = path.clone();
                child_path.push(name);
                collect(modules, child_path, &child)?;
            }
            Item::Use(declared) if !matches!(declared.vis, Visibility::Inherited) => {
                let mut names = Vec::new();
                flatten(&declared.tree, &mut Vec::new(), &mut names);
                for (name, target) in names {
                    // A re-export of a child is the file's façade; any other one is an import.
                    match paths::absolute(&path, &module.children, &target) {
                        Some(target) if target.len() > path.len() && target.starts_with(&path) => {
                            module.reexports.insert(name, target);
                        }
                        _ => module.syntax.push(Item::Use(declared.clone())),
                    }
                }
            }
            other => module.syntax.push(other),
        }
    }
    modules.insert(path, module);
    Ok(())
}

/// The file of a module declared in `parent`.
fn module_file(parent: &Path, is_root: bool, name: &str, attributes: &[syn::Attribute]) -> Option<PathBuf> {
    let folder = parent.parent()?;
    let own = match parent.file_name()?.to_str()? {
        "mod.rs" => folder.to_owned(),
        _ if is_root => folder.to_owned(),
        _ => folder.join(parent.file_stem()?),
    };
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("path")) {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(named), .. }) = &pair.value
        {
            return Some(folder.join(named.value()));
        }
    }
    [own.join(format!("{name}.rs")), own.join(name).join("mod.rs")].into_iter().find(|file| file.is_file())
}

/// The file in which the item at `target` is defined, re-exports of façades followed.
fn resolve(modules: &BTreeMap<ModulePath, Module>, target: &[String]) -> Option<PathBuf> {
    let mut target = target.to_vec();
    for _ in 0..8 {
        let depth = (0..=target.len()).rev().find(|&depth| modules.contains_key(&target[..depth]))?;
        let module = &modules[&target[..depth]];
        let Some(next) = target.get(depth).and_then(|name| module.reexports.get(name)) else {
            return Some(module.file.clone());
        };
        let rest = target[depth + 1..].to_vec();
        target = next.iter().cloned().chain(rest).collect();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a crate of the given files and returns its import graph.
    fn imports(files: &[(&str, &str)]) -> Imports {
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(format!("redial-imports-{process}-{thread:?}"));
        let _ = std::fs::remove_dir_all(&folder);
        for (name, text) in files {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("it can be made");
            std::fs::write(&file, text).expect("it can be written");
        }
        let read = Imports::read(&folder.join("lib.rs")).expect("it parses");
        let short = |file: &Path| file.strip_prefix(&folder).expect("below it").to_owned();
        let edges = read
            .edges
            .iter()
            .map(|(file, targets)| (short(file), targets.iter().map(|target| short(target)).collect()))
            .collect();
        std::fs::remove_dir_all(&folder).expect("it can be removed");
        Imports { edges }
    }

    fn targets(imports: &Imports, file: &str) -> Vec<String> {
        imports.edges[Path::new(file)].iter().map(|target| target.display().to_string()).collect()
    }

    #[test]
    fn follows_use_paths_expressions_and_macros() {
        let read = imports(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("a.rs", "use crate::b::B;\nfn f() { super::c::g(); println!(\"{}\", crate::d::h()); }\n"),
            ("b.rs", "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a; }\n"),
            ("c.rs", "pub fn g() {}\n"),
            ("d.rs", "pub fn h() -> u8 { 0 }\n"),
        ]);
        assert_eq!(targets(&read, "a.rs"), ["b.rs", "c.rs", "d.rs"]);
        assert!(targets(&read, "b.rs").is_empty(), "test code does not count");
        assert!(read.circles().is_empty());
    }

    #[test]
    fn finds_circles_but_forgives_facades() {
        let facade = imports(&[
            ("lib.rs", "mod shop;\nmod till;\n"),
            ("shop/mod.rs", "mod cart;\nmod item;\npub use cart::Cart;\npub use item::Item;\n"),
            ("shop/cart.rs", "use super::Item;\npub struct Cart(Item);\n"),
            ("shop/item.rs", "pub struct Item;\n"),
            ("till.rs", "use crate::shop::Cart;\npub struct Till(Cart);\n"),
        ]);
        assert_eq!(targets(&facade, "shop/cart.rs"), ["shop/item.rs"]);
        assert_eq!(targets(&facade, "till.rs"), ["shop/cart.rs"]);
        assert!(facade.circles().is_empty());
        let circle = imports(&[
            ("lib.rs", "mod shop;\n"),
            ("shop/mod.rs", "mod cart;\npub fn open() { cart::fill(); }\npub fn close() {}\n"),
            ("shop/cart.rs", "pub fn fill() { super::close(); }\n"),
        ]);
        assert_eq!(circle.circles(), [[PathBuf::from("shop/cart.rs"), PathBuf::from("shop/mod.rs")]]);
    }
}
