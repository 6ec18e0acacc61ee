//! The documents in packages. Their links work there; links to other documents become text, and sections that need the repository
//! are left out.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::process::checkout;

/// Single documents.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// Folders of documents.
const GUIDES: [&str; 3] = ["docs/guide", "docs/reference", "docs/reference/commands"];

/// Sections, by their headings, that are of use in the repository only.
const LEFT_OUT: [(&str, &str); 3] = [
    ("README.md", "## Start"),
    ("docs/guide/install.md", "## Build from source"),
    ("docs/guide/install.md", "## A `dotnet` to try"),
];
/// Added to what was a link.
const ELSEWHERE: &str = " (in the repository)";

/// Documents by path.
#[derive(Clone, Debug)]
pub struct Documents(BTreeMap<String, String>);

impl Documents {
    /// Reads the documents of this checkout.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn read() -> Result<Documents> {
        let mut paths: Vec<String> = DOCUMENTS.map(str::to_owned).into();
        for folder in GUIDES {
            let from = checkout().join(folder);
            for entry in std::fs::read_dir(&from).with_context(|| from.display().to_string())? {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    paths.push(format!("{folder}/{}", entry.file_name().to_string_lossy()));
                }
            }
        }
        let read = |path: String| {
            let text = std::fs::read_to_string(checkout().join(&path)).with_context(|| path.clone())?;
            Ok((path, text))
        };
        Ok(Documents(paths.into_iter().map(read).collect::<Result<_>>()?))
    }

    /// Returns each path and text.
    pub fn files(&self) -> impl Iterator<Item = (&str, String)> {
        self.0.iter().map(|(path, text)| (path.as_str(), self.with_live_links(path, text)))
    }

    /// Returns the instructions for installing, with links as from the top of an archive.
    pub fn instructions(&self) -> String {
        const PATH: &str = "docs/guide/install.md";
        let text = self.0.get(PATH).map(|text| self.with_live_links(PATH, text)).unwrap_or_default();
        text.replace("](", "](docs/guide/").replace("](docs/guide/#", "](#")
    }

    /// Returns the text at `path` without pictures and links that the package lacks.
    fn with_live_links(&self, path: &str, text: &str) -> String {
        if !path.ends_with(".md") {
            return text.to_owned();
        }
        let mut live = without_sections(path, text);
        let text = live.clone();
        let events: Vec<_> = Parser::new_ext(&text, Options::ENABLE_TABLES).into_offset_iter().collect();
        for (event, range) in events.into_iter().rev() {
            let (target, is_link) = match &event {
                Event::Start(Tag::Link { dest_url, .. }) => (dest_url, true),
                Event::Start(Tag::Image { dest_url, .. }) => (dest_url, false),
                _ => continue,
            };
            if target.contains("://") || self.has(path, target) {
                continue;
            }
            let source = text.get(range.clone()).unwrap_or_default();
            let words =
                source.strip_prefix('[').and_then(|rest| rest.rsplit_once("](")).map(|(words, _)| words);
            let words = words.filter(|_| is_link).map(|words| format!("{words}{ELSEWHERE}"));
            live.replace_range(range, &words.unwrap_or_default());
        }
        while live.contains("\n\n\n") {
            live = live.replace("\n\n\n", "\n\n");
        }
        live
    }

    /// Returns whether a link in the document at `path` leads to one of these documents.
    fn has(&self, path: &str, target: &str) -> bool {
        let file = target.split('#').next().unwrap_or_default();
        let mut folders: Vec<&str> = path.split('/').collect();
        folders.pop();
        for part in file.split('/') {
            match part {
                ".." => drop(folders.pop()),
                part => folders.push(part),
            }
        }
        file.is_empty() || self.0.contains_key(&folders.join("/"))
    }
}

/// Returns the document at `path` without the sections that packages leave out.
fn without_sections(path: &str, text: &str) -> String {
    let mut is_left_out = false;
    let lines = text.split_inclusive('\n').filter(|line| {
        if line.starts_with("## ") {
            is_left_out = LEFT_OUT.contains(&(path, line.trim_end()));
        }
        !is_left_out
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_for_the_repository_are_left_out() {
        let documents = Documents::read().unwrap();
        for (path, heading) in LEFT_OUT {
            let whole = documents.0.get(path).unwrap();
            assert!(whole.contains(&format!("\n{heading}\n")), "{path} has no {heading}");
            let packed = documents.with_live_links(path, whole);
            assert!(!packed.contains(heading) && packed.len() > whole.len() / 2, "{path}:\n{packed}");
        }
        assert_eq!(without_sections("a.md", "# A\n## Start\nx\n"), "# A\n## Start\nx\n");
        assert_eq!(without_sections("README.md", "# A\n## Start\nx\n## Then\ny"), "# A\n## Then\ny");
    }

    #[test]
    fn links_to_other_documents_become_text() {
        let text = |text: &str| (String::from("docs/guide/a.md"), text.to_owned());
        let documents = Documents(BTreeMap::from([
            text(
                "![Window](../../assets/a.png)\n[A `b` c](../design/d.md) [one](#top), [two](../../README.md#x).\n",
            ),
            (
                "README.md".to_owned(),
                "[guide](docs/guide/a.md), [forge](forge://x/y.md), [all](docs)\n".to_owned(),
            ),
            ("LICENSE".to_owned(), "[a](b)".to_owned()),
        ]));
        let live: Vec<String> = documents.files().map(|(_, text)| text).collect();
        assert_eq!(
            live,
            [
                "[a](b)",
                "[guide](docs/guide/a.md), [forge](forge://x/y.md), all (in the repository)\n",
                "\nA `b` c (in the repository) [one](#top), [two](../../README.md#x).\n",
            ]
        );
    }
}
