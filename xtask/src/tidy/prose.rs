//! The measurable part of `docs/style.md`: few *who/what/whose*, short test names, short paragraphs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use syn::visit::{self, Visit};

use super::markdown;
use crate::process::checkout;

/// Most of [`COUNTED`] in a thousand words of a folder's comments, or of the documents.
const PER_THOUSAND: usize = 3;

/// Words that mark headless clauses where they are frequent.
const COUNTED: [&str; 3] = ["who", "what", "whose"];

/// Longest name of a test function, in characters.
const TEST_NAME: usize = 60;

/// Longest paragraph, in words, of the documents in [`SHORT_PARAGRAPHS`].
const PARAGRAPH: usize = 100;

/// Documents, and folders of documents, that people read first.
const SHORT_PARAGRAPHS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/guide/"];

/// Words of a folder, and how many of them are [`COUNTED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WordCount {
    words: usize,
    hits: usize,
}

impl WordCount {
    fn add(&mut self, text: &str) {
        for word in text.split_whitespace() {
            self.words += 1;
            let letters: String = word.chars().filter(char::is_ascii_alphabetic).collect();
            self.hits += usize::from(COUNTED.contains(&letters.to_ascii_lowercase().as_str()));
        }
    }
}

/// Checks every Rust file and document.
///
/// # Errors
/// When a file cannot be read.
pub fn check(files: &[PathBuf]) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    let mut counts: BTreeMap<String, WordCount> = BTreeMap::new();
    for file in files {
        let extension = file.extension().and_then(|extension| extension.to_str());
        if !matches!(extension, Some("rs" | "md")) {
            continue;
        }
        let text = std::fs::read_to_string(checkout().join(file))?;
        if extension == Some("rs") {
            counts.entry(folder(file)).or_default().add(&comments(&text));
            breaches.extend(long_test_names(file, &text));
        } else {
            counts.entry("documents".to_owned()).or_default().add(&markdown::prose(&text));
            breaches.extend(long_paragraphs(file, &text));
        }
    }
    for (folder, count) in counts {
        if count.hits * 1000 > count.words * PER_THOUSAND {
            breaches.push(format!(
                "{folder}: {} who/what/whose in {} words of comments and documents; the limit is {PER_THOUSAND} in 1,000",
                count.hits, count.words
            ));
        }
    }
    Ok(breaches)
}

/// The folder whose words are counted together.
fn folder(file: &Path) -> String {
    file.iter().next().map_or_else(String::new, |first| first.to_string_lossy().into_owned())
}

/// The text of a source file's line comments, documentation included.
fn comments(text: &str) -> String {
    let lines = text.lines().filter_map(|line| {
        let at = line.match_indices("//").map(|(at, _)| at).find(|&at| {
            let before = &line[..at];
            before.is_empty() || before.ends_with(char::is_whitespace)
        })?;
        Some(line[at..].trim_start_matches(['/', '!']).trim())
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn long_test_names(file: &Path, text: &str) -> Vec<String> {
    struct Names(Vec<String>);
    impl<'ast> Visit<'ast> for Names {
        fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
            let is_test = item.attrs.iter().any(|attribute| {
                attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
            });
            let name = item.sig.ident.to_string();
            if is_test && name.chars().count() > TEST_NAME {
                self.0.push(name);
            }
            visit::visit_item_fn(self, item);
        }
    }
    let Ok(syntax) = syn::parse_file(text) else { return Vec::new() };
    let mut names = Names(Vec::new());
    names.visit_file(&syntax);
    let breach = |name| format!("{}: the test name `{name}` has over {TEST_NAME} characters", file.display());
    names.0.into_iter().map(breach).collect()
}

fn long_paragraphs(file: &Path, text: &str) -> Vec<String> {
    if !SHORT_PARAGRAPHS.iter().any(|start| file.to_string_lossy().starts_with(start)) {
        return Vec::new();
    }
    let long = markdown::paragraphs(text).into_iter().filter_map(|paragraph| {
        let words = paragraph.split_whitespace().count();
        let start: Vec<&str> = paragraph.split_whitespace().take(6).collect();
        (words > PARAGRAPH).then(|| {
            format!(
                "{}: the paragraph “{} …” has {words} words; the limit is {PARAGRAPH}",
                file.display(),
                start.join(" ")
            )
        })
    });
    long.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_comments_but_not_code() {
        let mut count = WordCount::default();
        count.add(&comments("//! Who calls.\nlet what = \"a//b\"; // what it is\nlet who = 1;\n"));
        assert_eq!(count, WordCount { words: 5, hits: 2 });
    }

    #[test]
    fn finds_long_test_names_in_modules() {
        let long = "a".repeat(TEST_NAME + 1);
        let text = format!("mod tests {{ #[test] fn {long}() {{}} fn {long}_helper() {{}} }}");
        assert_eq!(long_test_names(Path::new("x.rs"), &text).len(), 1);
    }

    #[test]
    fn finds_long_paragraphs_in_the_documents_people_read_first() {
        let text = format!("# Title\n\n{}\n\n- {}\n", "word ".repeat(101), "item ".repeat(100));
        assert_eq!(long_paragraphs(Path::new("README.md"), &text).len(), 1);
        assert!(long_paragraphs(Path::new("docs/benchmarks.md"), &text).is_empty());
    }
}
