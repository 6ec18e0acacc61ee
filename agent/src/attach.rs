//! Loaded into a process that runs: what differs from a start with the agent.
//!
//! The thread is the runtime's diagnostics server's. First `InitializeForAttach`: everything that can fail, so that on a
//! failure nothing is left behind. Callbacks begin when it returns; then `ProfilerAttachComplete` enters what was loaded
//! before, and only after that anybody is answered.
#![forbid(unsafe_code)]

use crate::agent::{Agent, StartError, install};
use crate::catalogue::Module;
use crate::clr::ClrError;
use crate::planner::Orders;
use crate::probes::tokens;
use crate::rejit::Job;
use crate::server::endpoint;
use crate::startup::{Inert, Settings};
use redial_protocol::attach::{Attacher, Declined};
use redial_protocol::transport::BindError;
use std::sync::Arc;
use windows_core::{HRESULT, IUnknown};

/// `InitializeForAttach`, with its client data.
///
/// # Errors
/// A code that the diagnostics port hands on: [`Declined`], or what the runtime answered us.
pub fn start(unknown: &IUnknown, data: &[u8]) -> Result<(), HRESULT> {
    // Other tools than ours attach without saying who they are.
    let attacher = Attacher::from_bytes(data)
        .unwrap_or_else(|| Attacher { user: String::new(), program: "diagnostics port".into() });
    let settings = Settings::read_attached(|name| std::env::var_os(name)).map_err(|inert| match inert {
        Inert::Disabled => code(Declined::Disabled),
        Inert::Malformed { name, .. } => code(Declined::malformed(name)),
        Inert::Orders { .. } | Inert::NotLaunched => code(Declined::Fault),
    })?;
    let process = redial_protocol::process::own_key().map_err(|_| code(Declined::NoIdentity))?;
    // Before anything that stays: the library is not pinned yet, and the CLR unloads it.
    let listener = endpoint::make(process).map_err(|error| code(no_endpoint(&error)))?;
    let agent = install(settings, process, unknown).map_err(|error| match error {
        StartError::Clr(ClrError { hresult, .. }) => hresult,
        StartError::Another => code(Declined::Another),
        StartError::Inert(_) | StartError::System(_) | StartError::NoThreads => code(Declined::Fault),
    })?;
    agent.server.offer(listener);
    agent.modules.stock.begin();
    let Attacher { user, program } = attacher;
    agent.server.audit.note_text(&user, &program, "the agent was loaded into the running process".into());
    // The last thing that may fail: from here on a thread of ours runs.
    if !agent.start_turning(Orders::default()) {
        agent.give_up();
        return Err(code(Declined::NoThreads));
    }
    Ok(())
}

/// `ProfilerAttachComplete`: modules load and unload meanwhile, and their callbacks come.
pub fn complete(agent: &'static Agent) {
    // An incomplete catalogue would make dials miss methods without a word.
    if take_stock(agent).is_err() || !agent.start_listening() {
        agent.give_up();
    }
}

fn take_stock(agent: &'static Agent) -> Result<(), ClrError> {
    let mut found = Vec::new();
    for id in agent.info.modules()? {
        let module = agent.modules.stock.while_loaded(id, || {
            let module = agent.modules.read(&agent.info, id, true);
            module.filter(|module| agent.modules.publish(module))
        });
        found.extend(module.flatten());
    }
    agent.modules.stock.end();
    // Making the runtime's own view of metadata writable, and widening it, beside readers ended hosts.
    let opened = agent.info.while_suspended(|| {
        let dialable = found.iter().filter(|module| !module.dynamic && !module.collectible);
        let open = |module: &Arc<Module>| module.while_loaded(|| tokens::open_quietly(agent, module));
        dialable.map(|module| (module, open(module))).collect::<Vec<_>>()
    })?;
    for (module, widened) in opened {
        let applied = widened.and_then(|widened| match widened {
            Ok(false) => Some(Ok(())),
            Ok(true) => module.while_loaded(|| agent.info.apply_metadata(module.id())),
            Err(error) => Some(Err(error)),
        });
        // A failure is kept and becomes the reason of a refusal.
        if let Some(Err(error)) = applied {
            let _ = module.call_sites.set(Err(error));
        }
    }
    for module in found {
        agent.inbox.put(Job::Loaded(module, None));
    }
    Ok(())
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
