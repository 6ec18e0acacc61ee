//! The end-to-end tests of a Windows build, read from their sources with `syn`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token};

use crate::process::checkout;

/// Macros that make one test per runtime of each function, and the names of those tests.
const PER_RUNTIME: [(&str, &[&str]); 2] = [
    ("on_each_runtime", &["net_2_1", "net_3_1", "net_8_0"]),
    ("on_attachable_runtimes", &["net_3_1", "net_8_0"]),
];

/// Suites by name, each with the paths of its tests. A suite that a Windows build leaves out has none.
pub type Suites = BTreeMap<String, BTreeSet<String>>;

/// Reads every suite of `testbed/tests`.
///
/// # Errors
/// When a source cannot be read or has a form that this reader does not know.
pub fn read() -> Result<Suites> {
    let mut suites = Suites::new();
    for entry in std::fs::read_dir(checkout().join("testbed/tests"))? {
        let path = entry?.path();
        let file = if path.is_dir() { path.join("main.rs") } else { path.clone() };
        if file.extension().is_none_or(|extension| extension != "rs") || !file.is_file() {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut tests = BTreeSet::new();
        let folder = file.parent().unwrap_or(&path).to_path_buf();
        of_file(&file, &folder, "", &mut tests).with_context(|| file.display().to_string())?;
        suites.insert(name, tests);
    }
    Ok(suites)
}

/// Returns whether `named`, a test or a function that stands for one test per runtime, means this test.
pub fn means(named: &str, test: &str) -> bool {
    test.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Adds the tests of a file, whose modules without a body are in `folder`.
fn of_file(file: &Path, folder: &Path, prefix: &str, tests: &mut BTreeSet<String>) -> Result<()> {
    let source = syn::parse_file(&std::fs::read_to_string(file)?)?;
    if is_built(&source.attrs)? { of_items(&source.items, folder, prefix, tests) } else { Ok(()) }
}

fn of_items(items: &[Item], folder: &Path, prefix: &str, tests: &mut BTreeSet<String>) -> Result<()> {
    for item in items {
        match item {
            Item::Fn(item) if is_test(&item.attrs) && is_built(&item.attrs)? => {
                tests.insert(format!("{prefix}{}", item.sig.ident));
            }
            Item::Mod(item) if is_built(&item.attrs)? => {
                let name = item.ident.to_string();
                let inside = format!("{prefix}{name}::");
                match &item.content {
                    Some((_, items)) => of_items(items, &folder.join(&name), &inside, tests)?,
                    None => {
                        let file = file_of(folder, &name)?;
                        of_file(&file, &folder.join(&name), &inside, tests)
                            .with_context(|| file.display().to_string())?;
                    }
                }
            }
            Item::Macro(item) if is_built(&item.attrs)? => {
                let Some(called) = item.mac.path.segments.last() else { continue };
                let known = PER_RUNTIME.iter().find(|(name, _)| called.ident == name);
                for function in known.map(|_| idents(item.mac.tokens.clone())).unwrap_or_default() {
                    let runtimes = known.map(|(_, runtimes)| *runtimes).unwrap_or_default();
                    tests.extend(runtimes.iter().map(|runtime| format!("{prefix}{function}::{runtime}")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn file_of(folder: &Path, module: &str) -> Result<PathBuf> {
    let places = [folder.join(format!("{module}.rs")), folder.join(module).join("mod.rs")];
    places.into_iter().find(|file| file.is_file()).with_context(|| format!("no file of module {module}"))
}

fn idents(tokens: TokenStream) -> Vec<String> {
    let ident = |token| if let TokenTree::Ident(ident) = token { Some(ident.to_string()) } else { None };
    tokens.into_iter().filter_map(ident).collect()
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("test"))
}

/// Returns whether a Windows build has an item with these attributes.
fn is_built(attributes: &[Attribute]) -> Result<bool> {
    for attribute in attributes {
        if attribute.path().is_ident("cfg") && !holds(&attribute.parse_args::<Meta>()?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether a condition of `cfg` holds in a Windows build of tests.
fn holds(condition: &Meta) -> Result<bool> {
    let name = condition.path().get_ident().map(ToString::to_string).unwrap_or_default();
    let inner = |list: &syn::MetaList| -> Result<Vec<bool>> {
        let conditions = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
        conditions.iter().map(holds).collect()
    };
    match (name.as_str(), condition) {
        ("windows" | "test", Meta::Path(_)) => Ok(true),
        ("unix", Meta::Path(_)) => Ok(false),
        ("target_os", Meta::NameValue(value)) => Ok(is_text(&value.value, "windows")),
        ("not", Meta::List(list)) => Ok(!inner(list)?.contains(&true)),
        ("any", Meta::List(list)) => Ok(inner(list)?.contains(&true)),
        ("all", Meta::List(list)) => Ok(!inner(list)?.contains(&false)),
        _ => bail!("cfg({name} …) is new here; say in windows_tests.rs whether it holds on Windows"),
    }
}

fn is_text(value: &syn::Expr, expected: &str) -> bool {
    matches!(value, syn::Expr::Lit(literal)
        if matches!(&literal.lit, syn::Lit::Str(text) if text.value() == expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests_of(source: &str) -> Vec<String> {
        let source = syn::parse_file(source).unwrap();
        let mut tests = BTreeSet::new();
        of_items(&source.items, Path::new("."), "", &mut tests).unwrap();
        tests.into_iter().collect()
    }

    #[test]
    fn reads_tests_of_a_windows_build() {
        let source = r#"
            on_each_runtime!(counts, reverts,);
            #[cfg(unix)]
            on_each_runtime!(by_signal);
            #[test]
            fn alone() {}
            fn helper() {}
            #[cfg(target_os = "linux")]
            #[test]
            fn on_linux() {}
            #[cfg(all(windows, not(unix)))]
            mod inner {
                #[test]
                fn one() {}
            }
        "#;
        let expected = ["alone", "counts::net_2_1", "counts::net_3_1", "counts::net_8_0", "inner::one"];
        let read = tests_of(source);
        assert_eq!(read[..5], expected);
        assert_eq!(read.len(), 8, "{read:?}");
    }

    #[test]
    fn names_mean_whole_segments() {
        assert!(means("counts", "counts::net_2_1") && means("counts::net_2_1", "counts::net_2_1"));
        assert!(!means("count", "counts::net_2_1") && !means("counts::net_2", "counts::net_2_1"));
    }

    #[test]
    fn unknown_conditions_are_errors() {
        let source = syn::parse_file("#[test] #[cfg(feature = \"x\")] fn one() {}").unwrap();
        assert!(of_items(&source.items, Path::new("."), "", &mut BTreeSet::new()).is_err());
    }
}
