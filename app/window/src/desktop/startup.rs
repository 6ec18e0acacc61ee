//! Opens the window, or explains why it cannot.

use super::clock::Clock;
use super::options::Options;
use super::{App, geometry};
use crate::settings;
use redial_link::stderr::sentence;

const TITLE: &str = "Redial";

/// Opens the window and returns the exit code after it was closed.
pub fn open(pid: Option<u32>, dialled: bool) -> i32 {
    if let Some(why) = no_display(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        sentence(why);
        return 1;
    }
    end_with_the_window();
    let options = Options { pid, dialled, settings: settings::place(), scan: true, clock: Clock::default() };
    // The window's geometry is needed before the settings are loaded; loading reports errors in them.
    let settings = options.settings.as_deref().and_then(settings::glance).unwrap_or_default();
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

/// When the desktop destroys the window but keeps running, the toolkit panics at its next request, with a
/// line of its source as message. There is nothing left to show then, and the held dials end with their
/// connections.
fn end_with_the_window() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|location| asks_the_desktop(location.file())) {
            return others(panic);
        }
        sentence("the desktop closed the window; agents turn off the dials it held");
        std::process::exit(1);
    }));
}

/// Returns whether a source file of the toolkit is one that talks to the desktop.
fn asks_the_desktop(file: &str) -> bool {
    file.replace('\\', "/").split_once("/winit-").is_some_and(|(_, rest)| rest.contains("/platform_impl/"))
}

/// Returns the display named by the environment; empty if it names none.
fn display() -> String {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let set = ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().filter_map(|name| Some((name, named(name)?)));
    let set: Vec<String> = set.map(|(name, value)| format!("{name}={value}")).collect();
    set.join(", ")
}

/// Returns why no window could be opened. The toolkit's message about displays only names a place in its
/// source.
fn trouble(error: &eframe::Error, display: String) -> String {
    match error {
        eframe::Error::Winit(_) | eframe::Error::WinitEventLoop(_)
            if let Some(library) = missing_library(&format!("{error:?}")) =>
        {
            format!(
                "cannot open a window: {library} cannot be loaded; the install guide lists the libraries that the window needs"
            )
        }
        eframe::Error::Winit(_) | eframe::Error::WinitEventLoop(_) if display.is_empty() => {
            "cannot open a window: the desktop refused it".to_owned()
        }
        eframe::Error::Winit(_) | eframe::Error::WinitEventLoop(_) => {
            format!("cannot open a window: no display answers at {display}, or this user may not use it")
        }
        eframe::Error::Glutin(_) | eframe::Error::NoGlutinConfigs(..) | eframe::Error::OpenGL(_) => {
            let first = error.to_string();
            let first = first.lines().next().unwrap_or_default();
            format!("cannot open a window: OpenGL is missing or too old ({first})")
        }
        error => format!("cannot open a window: {error}"),
    }
}

/// Returns the first library that an error names. The toolkit's message leaves it out; its debug form has it.
fn missing_library(error: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let mut words = error.split(|c| !is_part(c));
    words.find(|word| word.starts_with("lib") && word.contains(".so"))
}

/// Returns why no window can be opened, if that is known beforehand.
fn no_display(set: impl Fn(&str) -> bool) -> Option<String> {
    if !cfg!(target_os = "linux") || set("DISPLAY") || set("WAYLAND_DISPLAY") || set("WAYLAND_SOCKET") {
        return None;
    }
    Some(
        "cannot open a window: neither DISPLAY nor WAYLAND_DISPLAY is set. Use the command line instead: \
        `redial ps`, `redial dial`, `redial watch` (see `redial --help`)"
            .to_owned(),
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_desktop_code_ends_with_the_window() {
        let crates = "/cargo/registry/src/index/";
        assert!(asks_the_desktop(&format!("{crates}winit-0.30.13/src/platform_impl/linux/x11/window.rs")));
        for other in ["winit-0.30.13/src/event_loop.rs", "egui-0.37.0/src/context.rs"] {
            assert!(!asks_the_desktop(&format!("{crates}{other}")));
        }
        assert!(!asks_the_desktop("app/window/src/desktop/mod.rs"));
    }

    #[test]
    fn missing_libraries_are_named() {
        let opened = r#"XNotSupported(LibraryOpenError(OpenError { kind: Library, detail: "libXi.so.6: cannot open" }))"#;
        assert_eq!(missing_library(opened), Some("libXi.so.6"));
        assert_eq!(
            missing_library("Os(OsError { line: 788, error: XNotSupported(XOpenDisplayFailed) })"),
            None
        );
    }

    #[test]
    fn without_display_the_error_names_alternatives() {
        let why = no_display(|_| false).expect("there is none");
        assert!(why.contains("DISPLAY") && why.contains("redial ps"), "{why}");
        for name in ["DISPLAY", "WAYLAND_DISPLAY"] {
            assert_eq!(no_display(|asked| asked == name), None);
        }
    }
}
