//! Opening the window, or saying why there is none.

use super::clock::Clock;
use super::{App, geometry};
use crate::output::sentence;
use crate::persist;
use std::path::PathBuf;

const TITLE: &str = "Redial";

/// How the window begins.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A process to connect to at once.
    pub pid: Option<u32>,
    /// Of that process the dialled methods first: only they, the most called on top.
    pub dialled: bool,
    /// Where the layout is kept; None: nowhere.
    pub settings: Option<PathBuf>,
    /// Whether to look for processes.
    pub scan: bool,
    /// Where the time is read.
    pub clock: Clock,
}

/// Opens the window and stays until it is closed; the exit code.
pub fn open(pid: Option<u32>, dialled: bool) -> i32 {
    if let Some(why) = no_display(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        sentence(why);
        return 1;
    }
    end_with_the_window();
    let options = Options { pid, dialled, settings: persist::place(), scan: true, clock: Clock::default() };
    // The window is made before the settings are read for good, which says what is wrong with them.
    let settings = options.settings.as_deref().and_then(persist::glance).unwrap_or_default();
    let native = eframe::NativeOptions {
        viewport: geometry::restored(&settings).with_title(TITLE).with_app_id("redial"),
        ..eframe::NativeOptions::default()
    };
    let built = eframe::run_native(
        TITLE,
        native,
        Box::new(move |creation| {
            geometry::onto_a_screen(creation);
            Ok(Box::new(App::new(&creation.egui_ctx, options)))
        }),
    );
    match built {
        Ok(()) => 0,
        Err(error) => {
            sentence(format!(
                "{}; without a window, `redial --help` lists commands",
                trouble(&error, display())
            ));
            1
        }
    }
}

/// Where the desktop takes the window away and goes on, the toolkit panics at its next question about it; its words name a line
/// of its source. There is nothing left to be shown then, and what the window holds goes with its connections.
fn end_with_the_window() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|location| asks_the_desktop(location.file())) {
            return others(panic);
        }
        sentence("the desktop took the window away; dials that it held are turned off by their agents");
        std::process::exit(1);
    }));
}

/// Whether a file of the toolkit is one of those that speak to the desktop.
fn asks_the_desktop(file: &str) -> bool {
    file.replace('\\', "/").split_once("/winit-").is_some_and(|(_, rest)| rest.contains("/platform_impl/"))
}

/// The display a window would be opened on, as the environment names it; empty where there are no such names.
fn display() -> String {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let set = ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().filter_map(|name| Some((name, named(name)?)));
    let set: Vec<String> = set.map(|(name, value)| format!("{name}={value}")).collect();
    set.join(", ")
}

/// Why no window could be opened. What the toolkit says of displays is where in its source it gave up.
fn trouble(error: &eframe::Error, display: String) -> String {
    match error {
        eframe::Error::Winit(_) | eframe::Error::WinitEventLoop(_) if display.is_empty() => {
            "no window can be opened: the desktop refuses one".to_owned()
        }
        eframe::Error::Winit(_) | eframe::Error::WinitEventLoop(_) => {
            format!("no window can be opened: no display answers at {display}, or this user may not use it")
        }
        eframe::Error::Glutin(_) | eframe::Error::NoGlutinConfigs(..) | eframe::Error::OpenGL(_) => {
            let first = error.to_string();
            let first = first.lines().next().unwrap_or_default();
            format!("no window can be opened: OpenGL is missing here or too old ({first})")
        }
        error => format!("no window can be opened: {error}"),
    }
}

/// Why no window can be opened, where that is known beforehand.
fn no_display(set: impl Fn(&str) -> bool) -> Option<String> {
    if !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY") || set("WAYLAND_SOCKET") {
        return None;
    }
    Some(
        "there is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set); the same can be done \
         without one: `redial ps`, `redial dial`, `redial watch` (see `redial --help`)"
            .to_owned(),
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_speaks_to_the_desktop_ends_with_the_window() {
        let crates = "/cargo/registry/src/index/";
        assert!(asks_the_desktop(&format!("{crates}winit-0.30.13/src/platform_impl/linux/x11/window.rs")));
        for other in ["winit-0.30.13/src/event_loop.rs", "egui-0.37.0/src/context.rs"] {
            assert!(!asks_the_desktop(&format!("{crates}{other}")));
        }
        assert!(!asks_the_desktop("app/src/desktop/mod.rs"));
    }

    #[test]
    fn without_a_display_a_sentence_says_what_else_there_is() {
        let why = no_display(|_| false).expect("there is none");
        assert!(why.contains("DISPLAY") && why.contains("redial ps"), "{why}");
        for name in ["DISPLAY", "WAYLAND_DISPLAY"] {
            assert_eq!(no_display(|asked| asked == name), None);
        }
    }
}
