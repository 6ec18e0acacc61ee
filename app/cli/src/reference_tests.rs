//! The pages of `docs/reference/commands/`, generated from the command line's definition.
//!
//! `REDIAL_REFERENCE=write cargo test -p redial-cli reference` writes them again.

use super::arguments::Arguments;
use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command, CommandFactory};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

fn folder() -> PathBuf {
    let checkout = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    checkout
        .ancestors()
        .map(|folder| folder.join("docs/reference"))
        .find(|folder| folder.is_dir())
        .expect("docs")
}

fn plain(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// One line of a table, with what Markdown would read as markup escaped.
fn cell(text: &str) -> String {
    let mut cell = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    if !cell.is_empty() && !cell.ends_with(['.', '…']) {
        cell.push('.');
    }
    cell.replace('<', "&lt;").replace('*', "\\*")
}

fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let mut text = cell(&plain(help));
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if !defaults.is_empty() && matches!(argument.get_action(), ArgAction::Set) {
        write!(text, " Default: `{}`.", defaults.join(" ")).expect("a string");
    }
    text
}

fn name(argument: &Arg) -> String {
    let values: Vec<String> = argument
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(|value| if argument.is_positional() { value.to_string() } else { format!("<{value}>") })
        .collect();
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let value = if takes_value { values.join(" ") } else { String::new() };
    let short = argument.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    match argument.get_long() {
        Some(long) if value.is_empty() => format!("{short}--{long}"),
        Some(long) => format!("{short}--{long} {value}"),
        None => value,
    }
}

fn table(heading: &str, arguments: &[&Arg]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let mut text = format!("\n## {heading}s\n\n| {} | meaning |\n|---|---|\n", heading.to_lowercase());
    for argument in arguments {
        writeln!(text, "| `{}` | {} |", name(argument).replace('|', "\\|"), meaning(argument))
            .expect("a string");
    }
    text
}

fn page(command: &mut Command) -> String {
    let full_name = format!("redial {}", command.get_name());
    let usage = command.clone().bin_name(&full_name).render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let about = plain(command.get_long_about().or_else(|| command.get_about()));
    let about = about.trim_end();
    let stop = if about.ends_with('.') { "" } else { "." };
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| {
            !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version")
        })
        .collect();
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        shown.iter().partition(|argument| argument.is_positional());
    let mut text = format!("# {full_name}\n\n{about}{stop}\n\n```\n{usage}\n```\n");
    text += &table("Argument", &positional);
    text += &table("Option", &options);
    let after = plain(command.get_after_long_help().or_else(|| command.get_after_help()));
    if !after.trim().is_empty() {
        write!(text, "\n## Notes\n\n```\n{}\n```\n", after.trim_end()).expect("a string");
    }
    text
}

/// Every page by its path below `docs/reference`.
fn pages() -> BTreeMap<String, String> {
    let mut all = Arguments::command();
    all.build();
    let mut index = String::from(
        "# Reference\n\n<!-- Generated from the command line's definition; see CONTRIBUTING.md. -->\n\n\
         [Patterns](patterns.md), [conditions](conditions.md), [dial sets](dial-sets.md),\n\
         [environment variables](environment.md),\n\
         [exit codes](exit-codes.md), [JSON](json.md).\n\n| command | purpose |\n|---|---|\n\
         | `redial` | Opens the window; `--pid PID` opens it on a process. |\n",
    );
    let mut pages = BTreeMap::new();
    for command in
        all.get_subcommands_mut().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        let name = command.get_name().to_owned();
        let about = cell(&plain(command.get_about()));
        writeln!(index, "| [`redial {name}`](commands/{name}.md) | {about} |").expect("a string");
        pages.insert(format!("commands/{name}.md"), page(command));
    }
    pages.insert("README.md".to_owned(), index);
    pages
}

#[test]
fn reference_pages_match_the_command_line() {
    let (folder, pages) = (folder(), pages());
    assert!(pages.len() > 16, "{:?}", pages.keys());
    if std::env::var_os("REDIAL_REFERENCE").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(folder.join("commands")).expect("a folder");
        for (name, text) in &pages {
            std::fs::write(folder.join(name), text).expect("written");
        }
    }
    for (name, text) in &pages {
        let found = std::fs::read_to_string(folder.join(name)).unwrap_or_default().replace("\r\n", "\n");
        assert!(found == *text, "docs/reference/{name} is out of date; see CONTRIBUTING.md");
    }
    let extra = std::fs::read_dir(folder.join("commands"))
        .expect("a folder")
        .filter_map(Result::ok)
        .find(|entry| !pages.contains_key(&format!("commands/{}", entry.file_name().to_string_lossy())));
    assert!(extra.is_none(), "a page without a command: {extra:?}");
}
