//! Changes orders for `dial` and `apply`: plans the change, or carries it out, reports it and holds it if requested.

mod cost_estimate;
mod execution;
mod fleet;
mod hold;
mod no_match;
mod outcome;
mod progress;
mod request;
mod suggestions;

use super::multi_process;
use crate::output::{Out, sentence};
use execution::CompletedChange;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;

pub use execution::{open_or_attach, release};
pub use hold::{HeldDials, release_held};
pub use outcome::{ChangeTotals, outcome};
pub use progress::{wait, wait_and_take};
pub use request::ChangeRequest;

/// Catches Ctrl-C. Call this before anything is changed.
pub fn catch_interrupts() -> Result<Interrupts, Failure> {
    Interrupts::catch().map_err(|error| Failure::new(Exit::Failed, error.to_string()))
}

/// Plans the change or carries it out.
pub fn run(wanted: &ChangeRequest<'_>) -> Result<Exit, Failure> {
    if let Some(why) = wanted.contradiction() {
        return Err(Failure::new(Exit::Usage, why));
    }
    let interrupts = catch_interrupts()?;
    let options = wanted.options;
    if options.plan {
        return multi_process::each(wanted.target, options.json, |pid, out| {
            wanted.plan(pid, &interrupts, out)
        });
    }
    match wanted.target.only() {
        Some(pid) => wanted.change_one(pid, &interrupts),
        None => fleet::run(wanted, &interrupts),
    }
}

impl ChangeRequest<'_> {
    fn change_one(&self, pid: u32, interrupts: &Interrupts) -> Result<Exit, Failure> {
        let mut out = Out::new();
        let done = self.carry_out(pid, interrupts, self.options.later, &mut out)?;
        if !self.options.json && done.exit != Exit::Failed {
            out.line(&done.lifetime)?;
        }
        out.flush()?;
        drop(out);
        let CompletedChange { exit, mut session, interrupted, .. } = done;
        if self.options.hold && (interrupted || exit != Exit::Failed) {
            if !interrupted {
                hold::hold(&mut session, self, &|text| sentence(text))?;
            }
            return hold::release_dials(&mut session, self.options.json, exit);
        }
        release(session)?;
        Ok(exit)
    }
}

#[cfg(test)]
#[path = "change/tests.rs"]
mod tests;
