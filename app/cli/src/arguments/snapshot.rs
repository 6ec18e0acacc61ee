//! Arguments of `redial snapshot` and `redial diff`.

use super::values::{number, pid};
use clap::Args;
use std::path::PathBuf;

/// `snapshot`
#[derive(Debug, Args)]
pub struct SnapshotArguments {
    /// Process id
    #[arg(value_parser = pid, required_unless_present = "show")]
    pub pid: Option<u32>,
    /// Save the snapshot as FILE, which only this user can read
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with = "show")]
    pub output: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Show a saved snapshot instead
    #[arg(long, value_name = "FILE", conflicts_with = "pid")]
    pub show: Option<PathBuf>,
    /// Print a file for speedscope: traced calls by thread, and self times of timed methods
    #[arg(long, conflicts_with_all = ["csv", "markdown", "json", "limit"])]
    pub speedscope: bool,
    /// How to print the numbers
    #[command(flatten)]
    pub form: FormArguments,
}

/// `diff`
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// A saved snapshot, or a process id for its present numbers
    #[arg(value_name = "A")]
    pub before: String,
    /// What to compare with it: a saved snapshot, or a process id
    #[arg(value_name = "B")]
    pub after: String,
    /// How to print the numbers
    #[command(flatten)]
    pub form: FormArguments,
}

/// How to print numbers.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct FormArguments {
    /// List at most N methods; without it, a terminal shows those that fit
    #[arg(long, value_name = "N", value_parser = number(1, u64::MAX))]
    pub limit: Option<u64>,
    /// Print comma-separated values, with times in nanoseconds
    #[arg(long, conflicts_with_all = ["markdown", "json"])]
    pub csv: bool,
    /// Print a Markdown table
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The form of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// For people.
    Text,
    /// Comma-separated values.
    Csv,
    /// A Markdown table.
    Markdown,
    /// JSON.
    Json,
}

impl FormArguments {
    /// Returns the form.
    pub fn form(self) -> TableForm {
        match self {
            FormArguments { csv: true, .. } => TableForm::Csv,
            FormArguments { markdown: true, .. } => TableForm::Markdown,
            FormArguments { json: true, .. } => TableForm::Json,
            _ => TableForm::Text,
        }
    }
}
