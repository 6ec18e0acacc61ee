//! Widths of text in terminal columns: wide East Asian characters take two, combining ones none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the width of `text` in columns.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Pads `text` with spaces on its right to `columns`.
pub fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Pads `text` with spaces on its left to `columns`.
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Shortens `text` to at most `columns` by replacing its middle with `…`.
pub fn cut_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept = columns.saturating_sub(1);
    let tail = kept * 2 / 3; // the end of a qualified name identifies it better than its start
    let head: String = fitting(text.chars(), kept - tail).collect();
    let end: Vec<char> = fitting(text.chars().rev(), tail).collect();
    format!("{head}…{}", end.into_iter().rev().collect::<String>())
}

/// Shortens `text` to at most `columns` by replacing its end with `…`.
pub fn cut_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let head: String = fitting(text.chars(), columns.saturating_sub(1)).collect();
    format!("{head}…")
}

/// The leading characters that fit into `columns`.
fn fitting(characters: impl Iterator<Item = char>, columns: usize) -> impl Iterator<Item = char> {
    let mut left = columns;
    characters.take_while(move |character| {
        let needed = character.width().unwrap_or(0);
        let fits = needed <= left;
        left = left.saturating_sub(needed);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_columns_and_not_characters() {
        assert_eq!((width("Cart"), width("注文"), width("e\u{301}")), (4, 4, 1));
        assert_eq!((pad_right("注", 4), pad_left("注", 4)), ("注  ".to_owned(), "  注".to_owned()));
    }

    #[test]
    fn cuts_wide_characters_whole() {
        for columns in 0..12 {
            assert!(width(&cut_middle("注文.カート.追加", columns)) <= columns.max(1), "{columns}");
        }
        assert_eq!(cut_middle("注文", 4), "注文");
        assert_eq!([4, 3, 2, 1].map(|columns| cut_end("注文", columns)), ["注文", "注…", "…", "…"]);
    }
}
