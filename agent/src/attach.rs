//! Loaded into a process that runs: what differs from a start with the agent.
//!
//! The thread is the runtime's diagnostics server's. First `InitializeForAttach`: everything that can fail, so that on a
//! failure nothing is left behind. Callbacks begin when it returns; then `ProfilerAttachComplete` enters what was loaded
//! before, and only after that anybody is answered.
#![forbid(unsafe_code)]

use crate::agent::{Agent, StartError, install};
use crate::clr::ClrError;
use crate::planner::Orders;
use crate::startup::{Inert, Settings};
use redial_protocol::attach::Declined;
use redial_protocol::transport::{BindError, Listener};
use windows_core::{HRESULT, IUnknown};

/// What the attach is called in the audit ring.
const PROGRAM: &str = "redial attach";

/// `InitializeForAttach`.
///
/// # Errors
/// A code that the diagnostics port hands on: [`Declined`], or what the runtime answered us.
pub fn start(unknown: &IUnknown) -> Result<(), HRESULT> {
    let settings = Settings::read_attached(|name| std::env::var_os(name)).map_err(|inert| match inert {
        Inert::Disabled => code(Declined::Disabled),
        Inert::Malformed { name, .. } => code(Declined::malformed(name)),
        Inert::Orders { .. } | Inert::NotLaunched => code(Declined::Fault),
    })?;
    let process = redial_protocol::process::own_key().map_err(|_| code(Declined::NoIdentity))?;
    // Before anything that stays: the library is not pinned yet, and the CLR unloads it.
    let listener = Listener::bind(process).map_err(|error| code(no_endpoint(&error)))?;
    let agent = install(settings, process, unknown).map_err(|error| match error {
        StartError::Clr(ClrError { hresult, .. }) => hresult,
        StartError::Another => code(Declined::Another),
        StartError::Inert(_) | StartError::System(_) | StartError::NoThreads => code(Declined::Fault),
    })?;
    agent.server.offer(listener);
    agent.modules.stock.begin();
    agent.server.audit.note_text("", PROGRAM, "the agent was loaded into the running process".into());
    // The last thing that may fail: from here on a thread of ours runs.
    if !agent.start_turning(Orders::default()) {
        agent.give_up();
        return Err(code(Declined::NoThreads));
    }
    Ok(())
}

/// `ProfilerAttachComplete`: modules load and unload meanwhile, and their callbacks come.
pub fn complete(agent: &'static Agent) {
    let found = agent.info.modules();
    for id in found.iter().flatten() {
        agent.modules.stock.while_loaded(*id, || agent.module_found(*id));
    }
    agent.modules.stock.end();
    // An incomplete catalogue would make dials miss methods without a word.
    if found.is_err() || !agent.start_listening() {
        agent.give_up();
    }
}

/// What `InitializeForAttach` answers after a panic.
pub fn fault() -> HRESULT {
    code(Declined::Fault)
}

fn code(declined: Declined) -> HRESULT {
    HRESULT(declined.code() as i32)
}

fn no_endpoint(error: &BindError) -> Declined {
    let number = match error {
        BindError::Io { source, .. } => source.raw_os_error(),
        _ => None,
    };
    Declined::NoEndpoint(number.and_then(|number| u16::try_from(number).ok()))
}
