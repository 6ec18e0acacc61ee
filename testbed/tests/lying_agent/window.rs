//! The window without its screen, its worker and its model, against an agent that lies.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redial_link::worker::{Worker, WorkerCommand};
use redial_model::Model;
use redial_model::connection::Status;
use redial_model::update::Now;
use redial_protocol::limits::{MAX_CATALOGUE_METHODS, MAX_STATUS_ROWS};
use redial_protocol::process;
use redial_testbed::host::DEADLINE;

use crate::server::{LyingServer, MakeScript};

/// Updates after which a connection has seen enough lies.
const ENOUGH: usize = 120;

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
