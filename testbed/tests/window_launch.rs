//! The launch dialog and *Stop* as used by a user: a real program starts with the agent, is dialled, and is
//! asked to end.

mod window_driver;

use std::process::Command;

use anyhow::{Context, Result, ensure};
use eframe::egui::accesskit::Role;
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use window_driver::Window;

const ADD: &str = "Shop!Shop.Cart.Add(int)";

/// Writes into a field of the dialog.
fn write(window: &mut Window, role: Role, field: &str, text: &str) {
    window.0.get_by_role_and_label(role, field).focus();
    window.0.run_steps(2);
    window.0.get_by_role_and_label(role, field).type_text(text);
    window.0.run_steps(2);
}

/// Fills the dialog with a command and its variables.
fn fill(window: &mut Window, command: &Command) -> Result<()> {
    let text = |word: &std::ffi::OsStr| word.to_str().map(str::to_owned).context("a word that is no text");
    let mut arguments = Vec::new();
    for argument in command.get_args() {
        arguments.push(format!("\"{}\"", text(argument)?));
    }
    let mut variables = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            variables.push(format!("{}={}", text(name)?, text(value)?));
        }
    }
    write(window, Role::TextInput, "Program", &text(command.get_program())?);
    write(window, Role::TextInput, "Arguments", &arguments.join(" "));
    write(window, Role::MultilineTextInput, "Environment", &variables.join("\n"));
    Ok(())
}

#[test]
fn launches_dials_and_stops_a_program() -> Result<()> {
    let command = programs::shop()?.command(Runtime::V8_0)?;
    let mut window = Window::open();
    window.0.key_press_modifiers(Modifiers::COMMAND, Key::N);
    window
        .until("the dialog", |window| window.shows("The program starts with the agent, so you can count"))?;
    fill(&mut window, &command)?;
    write(&mut window, Role::MultilineTextInput, "Dials", "Shop!Shop.Cart.Add=count");
    window.0.get_by_role_and_label(Role::Button, "Launch").click_accesskit();
    // The window shows the program alone, and its dials stand before its first instruction.
    window.until("its methods", |window| {
        !window.shows("The program starts with the agent, so you can count") && window.shows("Hide framework")
    })?;
    window.filter("Shop.Cart.Add");
    window.until("its calls", |window| window.calls(ADD) > Some(0) && window.dial(ADD) == "count, live")?;
    ensure!(window.shows("Running as pid"), "the log says so");
    ensure!(!window.shows("Stopped, ended"), "it was not stopped");

    window.0.get_by_role_and_label(Role::Button, "Stop").click_accesskit();
    window.until("its end", |window| {
        window.shows("Stopped, ended with code") && window.shows("last numbers")
    })?;
    ensure!(window.calls(ADD) > Some(0), "they stay: {}", window.value(ADD));
    ensure!(window.value(ADD).starts_with("was live"), "nothing runs any more: {}", window.value(ADD));
    ensure!(
        window.0.query_by_role_and_label(Role::Button, "Stop").is_none(),
        "there is nothing to be stopped"
    );
    ensure!(!window.shows("failed"), "that it ended is no failure");
    Ok(())
}

/// The demo's program is inside `redial`: nothing is needed but a `dotnet`.
#[test]
fn starts_the_demo() -> Result<()> {
    let mut window = Window::open();
    window.until("the first page", |window| window.shows("Start the demo"))?;
    window.0.get_by_role_and_label(Role::Button, "Start the demo").click();
    window.until("its methods", |window| window.shows("Hide framework"))?;
    ensure!(window.shows("Running as pid"), "the log says so");
    window.filter("Shop.Cart.Add");
    window.until("the method", |window| window.shows(ADD))?;
    window.0.get_by_role_and_label(Role::Button, "Stop").click_accesskit();
    window.until("its end", |window| window.shows("Stopped, ended with code"))
}
