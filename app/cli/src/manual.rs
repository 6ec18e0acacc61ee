//! `redial manual`: one page per command, for packages.

use super::arguments::ManualArguments;
use super::usage;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use redial_link::exit::{Exit, Failure};
use std::io;
use std::path::Path;

/// The line of the help with which the exit codes begin.
const EXIT_CODES: &str = "Exit codes: ";

/// Writes `redial.1` and one page per command into a folder.
pub fn run(arguments: &ManualArguments, version: &'static str) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    let mut command =
        usage::command(version).disable_help_subcommand(true).subcommand_help_heading("COMMANDS");
    command.build();
    let number = version.split(' ').next().unwrap_or(version);
    write(&command, &format!("redial {number}"), folder).map_err(|error| {
        Failure::new(Exit::Failed, format!("the manual cannot be written to {}: {error}", folder.display()))
    })?;
    Ok(Exit::Done)
}

/// Writes the page of a command, with `source` in its last line, and those of its subcommands.
fn write(command: &Command, source: &str, folder: &Path) -> io::Result<()> {
    let man = Man::new(command.clone()).source(source);
    std::fs::write(folder.join(man.get_filename()), page(command, &man)?)?;
    command.get_subcommands().filter(|one| !one.is_hide_set()).try_for_each(|one| write(one, source, folder))
}

/// Returns a page. `clap_mangen` has sections of its own for the usage and the text behind the options; they lose the form of
/// both.
fn page(command: &Command, man: &Man) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    let usage = command.clone().render_usage().to_string();
    let lines = usage.strip_prefix("Usage:").unwrap_or(&usage).lines().map(str::trim);
    section(&mut page, "SYNOPSIS", lines)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (notes, codes) = after.split_once(EXIT_CODES).unwrap_or((&after, ""));
    section(&mut page, "NOTES", notes.trim().lines())?;
    section(&mut page, "EXIT STATUS", codes.trim().lines())?;
    Ok(page)
}

/// Adds a section of lines as they are, if there are any.
fn section<'a>(page: &mut Vec<u8>, heading: &str, lines: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return Ok(());
    }
    let mut roff = Roff::default();
    roff.control("SH", [heading]).control("nf", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff.to_writer(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_usage_notes_and_exit_codes() {
        let folder = std::env::temp_dir().join(format!("redial-manual-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let arguments = ManualArguments { folder: folder.clone() };
        assert_eq!(run(&arguments, "1.0 (of today)").unwrap(), Exit::Done);
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let main = text("redial.1");
        for part in
            [".SH COMMANDS", ".SH NOTES\n.nf\nPATTERN is", ".SH \"EXIT STATUS\"\n.nf\n0 done, 1 failed"]
        {
            assert!(main.contains(part), "no {part:?} in\n{main}");
        }
        assert!(!main.contains("manual"), "hidden commands have no pages");
        for page in ["redial.1", "redial-dial.1"] {
            assert!(text(page).contains("\"redial 1.0\""), "{}", text(page));
        }
        assert!(text("redial-dial.1").contains("redial dial [OPTIONS] <PID> <PATTERN> [LEVEL]"));
        assert!(!folder.join("redial-manual.1").exists());
        std::fs::remove_dir_all(&folder).unwrap();
        let nowhere = ManualArguments { folder };
        assert!(run(&nowhere, "1.0").unwrap_err().to_string().contains("cannot be written to"));
    }
}
