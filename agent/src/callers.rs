//! Who calls: whose code stands where calls return to. The CLR is asked from threads of ours, soon after a place was seen first
//! (`look_up_new`): code of dynamic methods and of what can be unloaded goes, and then nobody can tell any more whose it was.
//! What is known of a place is kept, so that it is told after that, too.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::catalogue::methods::Found;
use crate::catalogue::names::ModuleNames;
use crate::clr::profiler_info::CodeAt;
use crate::platform::is_native;
use crate::probes::blocks::Slot;
use crate::probes::callers::{Sites, places_seen, sites};
use crate::sync::lock;
use redial_protocol::callers::{Caller, Who};
use redial_protocol::ids::{CopyKey, MethodToken};
use redial_protocol::limits::MAX_CALLERS;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Places that are kept, and methods; those beyond are looked up whenever they are asked for.
const MAX_PLACES: usize = 64 << 10;

/// Bytes of a method with its names.
const METHOD: usize = size_of::<Who>() + 128;

/// How long it is waited for where code is being unloaded.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long places are looked up before anybody asked.
const AT_ONCE: Duration = Duration::from_millis(20);

/// What is known of places in code.
#[derive(Default)]
pub struct Callers {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    places: HashMap<usize, Arc<Who>>,
    /// Of the methods among them.
    methods: HashMap<CopyKey, Arc<Who>>,
    /// Places that threads had seen when all of them were looked up last.
    seen: u64,
    /// The slot with which the look-up goes on for which there was no time.
    from: Option<Slot>,
}

/// Who called, and how often.
#[derive(Debug, Default)]
pub struct Told {
    /// Most calls first.
    pub callers: Vec<Caller>,
    /// Calls whose callers are not among them.
    pub others: u64,
}

impl Callers {
    /// Bytes of it, names taken to be of usual length.
    pub fn bytes(&self) -> usize {
        let known = lock(&self.known);
        known.places.capacity() * size_of::<(usize, Arc<Who>)>()
            + known.methods.capacity() * size_of::<(CopyKey, Arc<Who>)>()
            + known.methods.len() * METHOD
    }

    /// Looks up whatever threads have seen since the last time.
    pub fn look_up_new(&self, agent: &Agent) {
        let seen = places_seen();
        if lock(&self.known).seen == seen {
            return;
        }
        let mut slots: Vec<Slot> = {
            let book = agent.ledger.book();
            book.rows().iter().filter(|row| row.had_callers).filter_map(|row| row.slot).collect()
        };
        slots.sort_unstable();
        // Others wait for this thread: what there is no time for comes first the next time.
        let until = Instant::now() + AT_ONCE;
        let from = lock(&self.known).from;
        let (done, todo) = slots.split_at(slots.partition_point(|slot| Some(*slot) < from));
        for slot in todo.iter().chain(done) {
            if Instant::now() >= until {
                lock(&self.known).from = Some(*slot);
                return;
            }
            let mut places = sites(*slot).calls.into_keys();
            if !places.all(|address| self.at(agent, address, Duration::ZERO).is_some()) {
                return;
            }
        }
        lock(&self.known).seen = seen;
    }

    /// Who called a slot.
    pub fn of(&self, agent: &Agent, slot: Slot) -> Told {
        let Sites { calls, mut others } = sites(slot);
        let gone = Arc::new(Who::Gone);
        let mut by_caller: HashMap<Arc<Who>, Caller> = HashMap::new();
        for (address, calls) in calls {
            let who = self.at(agent, address, PATIENCE).unwrap_or_else(|| Arc::clone(&gone));
            let caller = by_caller.entry(Arc::clone(&who));
            let caller = caller.or_insert_with(|| Caller { who: (*who).clone(), sites: 0, calls: 0 });
            caller.sites += 1;
            caller.calls += calls;
        }
        let mut callers: Vec<Caller> = by_caller.into_values().collect();
        callers.sort_by(|one, other| (other.calls, &one.who).cmp(&(one.calls, &other.who)));
        others += callers.drain(MAX_CALLERS.min(callers.len())..).map(|caller| caller.calls).sum::<u64>();
        Told { callers, others }
    }

    /// Whose code a call returns to; None where that cannot be looked up now.
    fn at(&self, agent: &Agent, address: usize, patience: Duration) -> Option<Arc<Who>> {
        if let Some(known) = lock(&self.known).places.get(&address) {
            return Some(Arc::clone(known));
        }
        // A call may be the last of its method's instructions: what it returns to is another's then.
        let call = address.wrapping_sub(1);
        let who = agent.modules.while_code_stays(patience, || self.look_up(agent, call))?;
        let mut known = lock(&self.known);
        if known.places.len() < MAX_PLACES {
            known.places.insert(address, Arc::clone(&who));
        }
        Some(who)
    }

    fn look_up(&self, agent: &Agent, address: usize) -> Arc<Who> {
        match agent.info.code_at(address) {
            Some(CodeAt::Method(module, token)) => self.method(agent, module, token),
            Some(CodeAt::Dynamic(name)) => Arc::new(Who::Dynamic { name }),
            None if is_native(address) => Arc::new(Who::Native),
            None => Arc::new(Who::Gone),
        }
    }

    fn method(&self, agent: &Agent, module_id: usize, token: u32) -> Arc<Who> {
        let Some(module) = agent.modules.get(module_id) else { return Arc::new(Who::Gone) };
        let copy = CopyKey { module: module.key, token: MethodToken(token) };
        if let Some(known) = lock(&self.known).methods.get(&copy) {
            return Arc::clone(known);
        }
        let names = module.with_metadata(&agent.info, |import| {
            let method = import.method(token).ok()?;
            let names = ModuleNames::default();
            let type_name = names.type_name(import, method.type_def)?;
            let type_token = method.type_def;
            let found = Found { token, type_token, type_place: 0, type_name: &type_name, method: &method };
            let names = names.display(import, &found);
            Some((names.method, names.signature))
        });
        let (method, signature) =
            names.flatten().unwrap_or_else(|| (format!("{token:#010x}"), String::new()));
        let who = Arc::new(Who::Method { copy, module: module.name.clone(), method, signature });
        let mut known = lock(&self.known);
        if known.methods.len() < MAX_PLACES {
            known.methods.insert(copy, Arc::clone(&who));
        }
        who
    }
}
