//! The window against an agent that lies: its worker and its model, and whole frames.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use eframe::egui::Key;
use egui_kittest::kittest::Queryable;
use redial_link::worker::{Worker, WorkerCommand};
use redial_model::Model;
use redial_model::connection::Status;
use redial_model::update::Now;
use redial_protocol::limits::{MAX_CATALOGUE_METHODS, MAX_STATUS_ROWS};
use redial_protocol::process;
use redial_testbed::host::DEADLINE;

use crate::captured::problem;
use crate::server::{LyingServer, MakeScript};
use crate::window_driver::Window;

/// Updates after which a connection has seen enough lies.
const ENOUGH: usize = 120;

/// Frames drawn of one liar.
const FRAMES: usize = 60;
/// Pressed one after the other, every few frames.
const KEYS: [Key; 8] =
    [Key::ArrowDown, Key::ArrowRight, Key::ArrowDown, Key::Enter, Key::Num2, Key::End, Key::Num0, Key::Home];

/// Panics of any thread of this process.
fn panics() -> usize {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            report(info);
        }));
    });
    PANICS.load(Ordering::SeqCst)
}

/// Connects the window to this process's lying server until the connection is lost or has sent enough.
///
/// # Errors
/// When a thread panics, the model exceeds its limits, or neither end comes.
pub fn check(scripts: MakeScript) -> Result<()> {
    let before = panics();
    let key = process::own_key()?;
    let _served = LyingServer::get()?.serve(key.pid, scripts);
    let mut worker = Worker::start(Arc::new(|| {}))?;
    let mut model = Model::default();
    let (connection, _) = model.open(key, "liar");
    worker.send(WorkerCommand::Connect { connection, process: key });
    let (begun, mut updates) = (Instant::now(), 0);
    let now = || Now { mono: begun.elapsed(), unix_ms: 0 };
    while updates < ENOUGH {
        ensure!(begun.elapsed() < DEADLINE, "only {updates} updates came");
        let Some(update) = worker.wait(Duration::from_millis(100)) else { continue };
        model.apply(update, now());
        model.refresh(now());
        updates += 1;
        let state = model.current_process_mut().context("the connection is gone")?;
        if updates == 5 {
            let ticket = {
                let redial_model::Model { connections, log, .. } = &mut model;
                connections.get_mut(&connection).context("no connection")?.all_off(log, now())
            };
            worker.send(WorkerCommand::AllOff(connection, ticket));
            continue;
        }
        let (rows, methods) = (state.table.live.rows().count(), state.table.catalogue.len());
        ensure!(
            rows <= MAX_STATUS_ROWS && methods <= MAX_CATALOGUE_METHODS,
            "{rows} rows, {methods} methods"
        );
        if matches!(state.session.status, Status::Lost { .. }) {
            break;
        }
    }
    drop(worker);
    ensure!(panics() == before, "a thread panicked");
    Ok(())
}

/// Selects this process, whose agent lies, in a window, and draws frames while keys are pressed.
///
/// # Errors
/// When a thread panics, or a widget has a text with a character that is not to be drawn.
pub fn check_frames(scripts: MakeScript) -> Result<()> {
    let before = panics();
    let pid = std::process::id();
    let _served = LyingServer::get()?.serve(pid, scripts);
    let mut window = Window::open();
    let row = format!(" {pid}, ");
    window.until("this process", |window| window.shows(&row))?;
    window.0.query_all_by_label_contains(&row).next().context("it is gone")?.click_accesskit();
    for frame in 0..FRAMES {
        // Lies come meanwhile.
        std::thread::sleep(Duration::from_millis(10));
        if frame % 4 == 3 {
            window.0.key_press(KEYS[frame / 4 % KEYS.len()]);
        }
        window.0.step();
        for text in window.labels() {
            if let Some(problem) = text.lines().find_map(problem) {
                bail!("on the screen in frame {frame}: {problem}");
            }
        }
    }
    drop(window);
    ensure!(panics() == before, "a thread panicked");
    Ok(())
}
