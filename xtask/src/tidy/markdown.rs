//! Prose, paragraphs, links and headings of Markdown documents.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// Returns the words of a document, without code and link targets.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for event in events(text) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(words) if !in_code => out.push_str(&words),
            Event::SoftBreak | Event::HardBreak | Event::End(_) => out.push('\n'),
            _ => {}
        }
    }
    out
}

/// Returns every paragraph and list item, without code blocks, tables and headings.
pub fn paragraphs(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut current = String::new();
    let mut skipped = 0_usize;
    for event in events(text) {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::Table(_) | Tag::Heading { .. }) => skipped += 1,
            Event::End(TagEnd::CodeBlock | TagEnd::Table | TagEnd::Heading(_)) => {
                skipped = skipped.saturating_sub(1);
                current.clear();
            }
            Event::Text(words) | Event::Code(words) if skipped == 0 => current.push_str(&words),
            Event::SoftBreak | Event::HardBreak => current.push(' '),
            Event::Start(Tag::Paragraph | Tag::Item | Tag::List(_))
            | Event::End(TagEnd::Paragraph | TagEnd::Item)
                if !current.trim().is_empty() =>
            {
                all.push(std::mem::take(&mut current));
            }
            _ => {}
        }
    }
    all
}

/// Returns the targets of all links and pictures.
pub fn links(text: &str) -> Vec<String> {
    let target = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    };
    events(text).filter_map(target).collect()
}

/// Returns the anchors of all headings, as public forges make them.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|text| anchor(&text))),
            _ => {}
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# What it costs\n\nOne `who` two\nthree.\n\n- item [link](a.md#b)\n- other\n\n```\nwhat\n```\n\n\
                        | a | b |\n|---|---|\n| cell | cell |\n";

    #[test]
    fn prose_leaves_out_code() {
        let words: Vec<String> = prose(TEXT).split_whitespace().map(str::to_owned).collect();
        assert_eq!(words.join(" "), "What it costs One two three. item link other a b cell cell");
    }

    #[test]
    fn items_are_paragraphs_and_tables_are_not() {
        assert_eq!(paragraphs(TEXT), ["One who two three.", "item link", "other"]);
    }

    #[test]
    fn links_and_anchors_are_found() {
        assert_eq!(links(TEXT), ["a.md#b"]);
        assert!(anchors(TEXT).contains("what-it-costs"));
    }
}
