//! Tables for other programs: CSV and Markdown.

/// Formats rows, the headings first, as CSV (RFC 4180).
pub fn csv<'a>(rows: impl IntoIterator<Item = &'a [String]>) -> String {
    let line = |row: &[String]| row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\r\n";
    rows.into_iter().map(line).collect()
}

/// Formats a Markdown table; `is_number` tells which columns are right-aligned.
pub fn markdown<'a>(
    headings: &[String],
    rows: impl IntoIterator<Item = &'a [String]>,
    is_number: impl Fn(usize) -> bool,
) -> String {
    let escaped = |cell: &String| cell.replace('|', "\\|");
    let line = |row: &[String]| format!("| {} |\n", row.iter().map(escaped).collect::<Vec<_>>().join(" | "));
    let side = |column| if is_number(column) { "---:|" } else { "---|" };
    let rule = format!("|{}\n", (0..headings.len()).map(side).collect::<String>());
    std::iter::once(line(headings) + &rule).chain(rows.into_iter().map(line)).collect()
}

/// Returns a field as RFC 4180 requires.
fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cannot_leave_their_column() {
        let rows = [vec!["a,b".to_owned(), "c|d".to_owned()], vec!["say \"x\"".to_owned(), "1".to_owned()]];
        let rows = || rows.iter().map(Vec::as_slice);
        assert_eq!(csv(rows()), "\"a,b\",c|d\r\n\"say \"\"x\"\"\",1\r\n");
        let headings = ["name".to_owned(), "n".to_owned()];
        assert_eq!(
            markdown(&headings, rows(), |column| column == 1),
            "| name | n |\n|---|---:|\n| a,b | c\\|d |\n| say \"x\" | 1 |\n"
        );
    }
}
