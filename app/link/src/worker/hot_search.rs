//! A search for hot methods. It has a thread and a session of its own, so that it delays no other request.

use super::update_sender::UpdateSender;
use crate::connect;
use crate::hot::{HotOutcome, find_hot};
use crate::signals::Interrupts;
use redial_model::hot::{HotOptions, HotUpdate};
use redial_model::ids::ConnectionId;
use redial_model::update::ConnectionUpdate;
use redial_protocol::ids::ProcessKey;
use redial_text::words;
use std::thread::JoinHandle;

/// The name of this program for the agent, during a search.
const PROGRAM: &str = "Redial window, search for hot methods";

/// A search. Dropping it cancels it, which turns its dials off.
pub struct HotSearchThread {
    cancel: Interrupts,
    thread: Option<JoinHandle<()>>,
}

impl HotSearchThread {
    /// Starts a search in the process of a connection.
    pub fn start(
        connection: ConnectionId,
        process: ProcessKey,
        options: HotOptions,
        sender: UpdateSender,
    ) -> HotSearchThread {
        let cancel = Interrupts::default();
        let interrupts = cancel.clone();
        let report = move |update| drop(sender.report(connection, vec![ConnectionUpdate::Hot(update)]));
        let failed = report.clone();
        let started = std::thread::Builder::new()
            .name("hot methods".into())
            .spawn(move || report(search(process, options, &interrupts, &report)));
        let failed = |error| failed(HotUpdate::Failed(format!("cannot start a thread: {error}")));
        HotSearchThread { cancel, thread: started.map_err(failed).ok() }
    }

    /// Stops the search; its dials go off.
    pub fn cancel(&self) {
        self.cancel.stop();
    }

    /// Returns whether the search is over.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for HotSearchThread {
    fn drop(&mut self) {
        self.cancel();
    }
}

fn search(
    process: ProcessKey,
    options: HotOptions,
    interrupts: &Interrupts,
    report: &dyn Fn(HotUpdate),
) -> HotUpdate {
    let found = connect::open(process.pid, PROGRAM).and_then(|mut session| {
        interrupts.deliver_to(session.interrupter());
        find_hot(&mut session, options, &mut |step| report(HotUpdate::Step(step)))
    });
    match found {
        Ok(HotOutcome::Found(found)) => HotUpdate::Found(Box::new(found)),
        Ok(HotOutcome::NothingMatched { .. }) => {
            HotUpdate::Failed("no module of the program itself is loaded".to_owned())
        }
        Ok(HotOutcome::NothingCalled(report)) => HotUpdate::Failed(format!(
            "none of {} was called; search again while the program works",
            words::methods(report.counted)
        )),
        Ok(HotOutcome::TurnedOff) => {
            HotUpdate::Failed("someone turned the dials off during the search; nothing stays on".to_owned())
        }
        Ok(HotOutcome::Cancelled { remaining: 0, .. }) => HotUpdate::Cancelled,
        Ok(HotOutcome::Cancelled { remaining, .. }) => {
            HotUpdate::Failed(format!("stopped; {} could not be turned off", words::methods(remaining)))
        }
        Err(error) => HotUpdate::Failed(error.to_string()),
    }
}
