//! Sessions in the window, with a real program: saved, opened offline, and compared with the present numbers.

mod window_driver;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use redial_protocol::level::Level;
use redial_testbed::controller::Lifetime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::selftimes;
use window_driver::Window;

/// A file, removed on drop.
struct SessionFile(PathBuf);

impl Drop for SessionFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Chooses an entry of the menu *Process*, types a file and confirms.
fn choose(window: &mut Window, entry: &str, file: &SessionFile, button: &str) {
    choose_in(window, ("Process", entry), ("Session file", file), button);
}

fn choose_in(
    window: &mut Window,
    (menu, entry): (&str, &str),
    (label, file): (&str, &SessionFile),
    button: &str,
) {
    window.0.get_by_label(menu).click();
    window.0.run_steps(3);
    window.0.get_by_label(entry).click();
    window.0.run_steps(3);
    let field = || Role::TextInput;
    let fill = |window: &mut Window| {
        let text = file.0.display().to_string();
        window.0.get_by_role_and_label(field(), label).focus();
        window.0.run_steps(2);
        window.0.key_press_modifiers(eframe::egui::Modifiers::COMMAND, eframe::egui::Key::A);
        window.0.run_steps(2);
        window.0.get_by_role_and_label(field(), label).type_text(&text);
        window.0.run_steps(3);
    };
    fill(window);
    window.0.get_by_role_and_label(Role::Button, button).click();
    window.0.run_steps(3);
}

#[test]
fn saves_opens_and_compares_a_session() -> Result<()> {
    let file = std::env::temp_dir().join(format!("redial-window-{}.snapshot", std::process::id()));
    let file = SessionFile(file);
    let mut live = selftimes::start(Runtime::V8_0)?;
    live.controller()?.dial("selftimes!Selftimes.*", Level::Time, Lifetime::Kept)?;
    selftimes::known(&mut live.host, "rounds 50 200 20 20")?;
    let mut window = Window::open();
    window.select(live.pid)?;
    choose(&mut window, "Save session…", &file, "Save");
    window.until("the saved file", |window| window.shows("methods saved as "))?;
    ensure!(file.0.is_file());

    choose(&mut window, "Open session…", &file, "Open");
    window.until("saved numbers", |window| {
        window.shows("Saved session, offline") && window.shows("selftimes!Selftimes.Price(int)")
    })?;
    window.0.key_press(eframe::egui::Key::Escape);
    window.0.run_steps(3);
    ensure!(!window.shows("Saved session, offline"), "Escape closes it");

    selftimes::known(&mut live.host, "rounds 50 9000 0 0")?;
    selftimes::known(&mut live.host, "extra 3")?;
    choose(&mut window, "Compare with session…", &file, "Compare");
    window.until("the difference", |window| {
        window.shows("Comparison with a saved session") && window.shows("slower, called more")
    })?;
    ensure!(window.shows("appeared") && window.shows("selftimes!Selftimes.Extra(int)"));
    Ok(())
}

#[test]
fn exports_a_profile_and_a_picture() -> Result<()> {
    let file = |end: &str| {
        let name = format!("redial-export-{}.{end}", std::process::id());
        SessionFile(std::env::temp_dir().join(name))
    };
    let (profile, picture) = (file("speedscope.json"), file("png"));
    let mut live = selftimes::start(Runtime::V8_0)?;
    live.controller()?.dial("selftimes!Selftimes.*", Level::Time, Lifetime::Kept)?;
    selftimes::known(&mut live.host, "rounds 50 200 20 20")?;
    let mut window = Window::open();
    window.select(live.pid)?;
    choose_in(&mut window, ("Process", "Export for speedscope…"), ("File", &profile), "Export");
    window.until("the profile", |window| window.shows("Saved as ") && window.shows("speedscope.json"))?;
    let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&profile.0)?)?;
    ensure!(found["profiles"][0]["type"] == "sampled" && found["shared"]["frames"][0]["name"].is_string());

    choose_in(&mut window, ("View", "Save a picture…"), ("File", &picture), "Save");
    window.until("the picture", |window| window.shows(".png"))?;
    let size = window.0.ctx.content_rect().size();
    let png = std::fs::read(&picture.0)?;
    let side = |at: usize| {
        png.get(at..at + 4).map(|bytes| bytes.iter().fold(0, |all, one| all << 8 | u32::from(*one)))
    };
    ensure!(
        png.starts_with(b"\x89PNG") && (side(16), side(20)) == (Some(size.x as u32), Some(size.y as u32))
    );
    Ok(())
}
