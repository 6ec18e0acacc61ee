//! Starts the agent in a process that is already running.
//!
//! The runtime's diagnostics server provides the thread. `InitializeForAttach` does everything that can fail, and a
//! failure leaves nothing behind: the CLR unloads the library, and a later attach starts anew. Callbacks begin when it
//! returns. Then `ProfilerAttachComplete` records the modules loaded earlier, and only after that does the agent
//! answer clients.
#![forbid(unsafe_code)]

use crate::agent::{Agent, StartError, install};
use crate::catalogue::Module;
use crate::clr::ClrError;
use crate::context::Context;
use crate::inbox::Job;
use crate::instrument::tokens;
use crate::planner::Orders;
use crate::server::endpoint;
use crate::startup::{InertReason, Settings};
use redial_protocol::attach::{AttachRefusal, Attacher};
use redial_protocol::diagnostics::AuditAction;
use redial_protocol::transport::BindError;
use windows_core::{HRESULT, IUnknown};

/// Handles `InitializeForAttach` with its client data.
///
/// # Errors
/// A code that the diagnostics port passes on: [`AttachRefusal`], or the runtime's own error.
pub fn start(unknown: &IUnknown, data: &[u8]) -> Result<(), HRESULT> {
    // Other tools attach without identifying themselves.
    let attacher = Attacher::from_bytes(data)
        .unwrap_or_else(|| Attacher { user: String::new(), program: "diagnostics port".into() });
    let settings = Settings::read_attached(|name| std::env::var_os(name)).map_err(|inert| match inert {
        InertReason::Disabled => code(AttachRefusal::Disabled),
        InertReason::Malformed { name, .. } => code(AttachRefusal::malformed(name)),
        InertReason::Orders { .. } | InertReason::NotLaunched => code(AttachRefusal::Fault),
    })?;
    let process = redial_protocol::process::own_key().map_err(|_| code(AttachRefusal::NoIdentity))?;
    // Before any lasting effect: the library is not pinned yet, so the CLR can unload it.
    let listener = endpoint::make(process).map_err(|error| code(no_endpoint(&error)))?;
    let agent = install(settings, process, unknown).map_err(|error| match error {
        StartError::Clr(ClrError { hresult, .. }) => hresult,
        StartError::Another => code(AttachRefusal::Another),
        StartError::Inert(_) | StartError::System(_) | StartError::NoThreads => code(AttachRefusal::Fault),
    })?;
    agent.server.offer(listener);
    agent.context.modules.enumeration.begin();
    let Attacher { user, program } = attacher;
    agent.context.audit.note(&user, &program, AuditAction::AgentLoaded);
    // The last step that may fail: from here on an agent thread runs.
    if !agent.start_worker(Orders::default()) {
        agent.give_up();
        return Err(code(AttachRefusal::NoThreads));
    }
    agent.publish();
    Ok(())
}

/// Handles `ProfilerAttachComplete`. Modules load and unload meanwhile, with callbacks.
pub fn complete(agent: &'static Agent) {
    // With an incomplete catalogue, dials would silently miss methods.
    if enumerate_modules(agent).is_err() || !agent.start_listening() {
        agent.give_up();
    }
}

fn enumerate_modules(agent: &'static Agent) -> Result<(), ClrError> {
    let Context { info, modules, instrumentation, inbox, .. } = agent.context;
    let mut found = Vec::new();
    for id in info.modules()? {
        let module = modules.enumeration.while_loaded(id, |loaded| {
            let module = modules.read(info, loaded, true)?;
            let tokens = instrumentation.add(module.key);
            if modules.publish(&module) {
                return Some((module, tokens));
            }
            instrumentation.forget(module.key);
            None
        });
        found.extend(module.flatten());
    }
    modules.enumeration.end();
    // Changing the runtime's view of metadata to writable while others read it crashed hosts.
    let dialable = || found.iter().filter(|(module, _)| !module.dynamic && !module.collectible);
    let opened = info.while_suspended(|| {
        let open = |module: &Module| module.while_loaded(|loaded| tokens::open(info, loaded));
        dialable().map(|(module, tokens)| (tokens, open(module))).collect::<Vec<_>>()
    });
    let opened = opened.unwrap_or_else(|error| {
        // The attach has succeeded: an agent that refuses dials with this reason is better than a silent one.
        dialable().for_each(|(_, tokens)| {
            let _ = tokens.call_sites.set(Err(error));
        });
        Vec::new()
    });
    for (tokens, opened) in opened {
        // A failure is kept and becomes the reason of a refusal.
        if let Some(Err(error)) = opened {
            let _ = tokens.call_sites.set(Err(error));
        }
    }
    for (module, _) in found {
        inbox.put(Job::Loaded(module, None));
    }
    Ok(())
}

/// The result of `InitializeForAttach` after a panic.
pub fn fault() -> HRESULT {
    code(AttachRefusal::Fault)
}

fn code(declined: AttachRefusal) -> HRESULT {
    HRESULT(declined.code() as i32)
}

fn no_endpoint(error: &BindError) -> AttachRefusal {
    let number = match error {
        BindError::Io { source, .. } => source.raw_os_error(),
        _ => None,
    };
    AttachRefusal::NoEndpoint(number.and_then(|number| u16::try_from(number).ok()))
}
