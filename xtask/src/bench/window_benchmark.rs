//! Running `redial-window-bench`, the window without a screen, and reading its figures.

use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::context::Bench;
use super::figures::Figure;
use crate::process::{cargo, line};

/// Runs the window's benchmark program with `more` arguments and returns the figures it prints.
///
/// # Errors
/// When it does not build, fails, or prints no figure.
pub fn run_benchmark(bench: &Bench, more: &[&str]) -> Result<Vec<Figure>> {
    let mut arguments =
        vec!["run", "--release", "--quiet", "--package", "redial-window-bench", "--", "--tabs"];
    arguments.extend(more);
    if bench.quick {
        arguments.push("--quick");
    }
    let mut command = cargo(&arguments);
    let line = line(&command);
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("`{line}` cannot be started"))?;
    if !output.status.success() {
        bail!("`{line}` ended with {}", output.status);
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<Figure> = said.lines().filter_map(Figure::read).collect();
    if figures.is_empty() {
        bail!("`{line}` measured nothing; it said:\n{said}");
    }
    Ok(figures)
}
