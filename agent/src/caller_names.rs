//! Finds callers: the methods that contain the return addresses of calls. Agent threads ask the CLR soon after a
//! call site was first seen (`look_up_new`), because dynamic methods and collectible code disappear, and with them
//! any way to name the caller. Known call sites stay cached, so that they can be reported after that.
#![forbid(unsafe_code)]

use crate::catalogue::Modules;
use crate::catalogue::code_queries::CODE_PAUSE;
use crate::catalogue::matched_method::MatchedMethod;
use crate::catalogue::names::ModuleNames;
use crate::clr::ProfilerInfo;
use crate::clr::code_owner::CodeAt;
use crate::platform::is_native;
use crate::probes::blocks::Slot;
use crate::probes::callers::{Sites, places_seen, sites};
use crate::probes::slowest_calls::{self, stacks_kept};
use crate::sync::lock;
use redial_protocol::callers::{CallOrigin, Caller};
use redial_protocol::ids::{CopyKey, MethodToken};
use redial_protocol::limits::MAX_CALLERS;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Limit for cached call sites, and for cached methods; those beyond are looked up on every request.
const MAX_CACHED: usize = 64 << 10;

/// How long a request waits in all while code is being unloaded.
const UNLOAD_WAIT: Duration = Duration::from_secs(1);
/// How long one round may look up call sites that no client has asked for yet.
const ROUND: Duration = Duration::from_millis(20);

/// Cache of the callers at call sites.
#[derive(Default)]
pub struct CallerNames {
    known: Mutex<CallerCache>,
}

#[derive(Default)]
struct CallerCache {
    places: HashMap<usize, Arc<CallOrigin>>,
    /// The methods among the callers.
    methods: HashMap<CopyKey, Arc<CallOrigin>>,
    /// Number of call sites that threads had seen when all of them were last looked up.
    seen: u64,
    /// Number of stacks that slowest calls had when all of them were last looked up.
    stacks: u64,
    /// The slot to continue with, when the last round ran out of time.
    from: Option<Slot>,
}

/// The owner of the code at a call site, as far as it can be found now.
enum Found {
    /// The owner.
    Known(Arc<CallOrigin>),
    /// Modules are being unloaded or dynamic methods destroyed, so nothing can be asked for.
    Nothing,
}

/// The callers of a method, with their numbers of calls.
#[derive(Debug, Default)]
pub struct CallerCounts {
    /// Sorted by calls, highest first.
    pub callers: Vec<Caller>,
    /// Calls by callers that `callers` omits.
    pub others: u64,
}

impl CallerNames {
    /// Looks up all call sites that threads have seen since the last time. `slots` are those of the rows with
    /// callers counted at any time.
    pub fn look_up_new(&self, info: &ProfilerInfo, modules: &Modules, slots: impl FnOnce() -> Vec<Slot>) {
        let seen = places_seen();
        if lock(&self.known).seen == seen {
            return;
        }
        let mut slots = slots();
        slots.sort_unstable();
        // Other work waits for this thread: the next round starts where this one runs out of time.
        let until = Instant::now() + ROUND;
        let from = lock(&self.known).from;
        let (done, todo) = slots.split_at(slots.partition_point(|slot| Some(*slot) < from));
        for slot in todo.iter().chain(done) {
            if Instant::now() >= until {
                lock(&self.known).from = Some(*slot);
                return;
            }
            for address in sites(*slot).calls.into_keys() {
                match self.at(info, modules, address, Instant::now()) {
                    Found::Known(_) => {}
                    Found::Nothing => return,
                }
            }
        }
        lock(&self.known).seen = seen;
    }

    /// Looks up the stacks of slowest calls that were kept since the last time. `slots` are those of the rows that keep
    /// stacks.
    pub fn look_up_stacks(&self, info: &ProfilerInfo, modules: &Modules, slots: impl FnOnce() -> Vec<Slot>) {
        let kept = stacks_kept();
        if lock(&self.known).stacks == kept {
            return;
        }
        let until = Instant::now() + ROUND;
        let calls = slots().into_iter().flat_map(|slot| slowest_calls::read(slot).calls);
        for address in calls.flat_map(|call| call.stack.addresses().to_vec()) {
            if Instant::now() >= until {
                return;
            }
            match self.at(info, modules, address, Instant::now()) {
                Found::Known(_) => {}
                Found::Nothing => return,
            }
        }
        lock(&self.known).stacks = kept;
    }

    /// Returns the callers of a slot.
    pub fn of(&self, info: &ProfilerInfo, modules: &Modules, slot: Slot) -> CallerCounts {
        let Sites { calls, mut others } = sites(slot);
        let gone = Arc::new(CallOrigin::Gone);
        let until = Instant::now() + UNLOAD_WAIT;
        let mut by_caller: HashMap<Arc<CallOrigin>, Caller> = HashMap::new();
        for (address, calls) in calls {
            let origin = match self.at(info, modules, address, until) {
                Found::Known(origin) => origin,
                Found::Nothing => Arc::clone(&gone),
            };
            let caller = by_caller.entry(Arc::clone(&origin));
            let caller = caller.or_insert_with(|| Caller { origin: (*origin).clone(), sites: 0, calls: 0 });
            caller.sites += 1;
            caller.calls += calls;
        }
        let mut callers: Vec<Caller> = by_caller.into_values().collect();
        callers.sort_by(|one, other| (other.calls, &one.origin).cmp(&(one.calls, &other.origin)));
        others += callers.drain(MAX_CALLERS.min(callers.len())..).map(|caller| caller.calls).sum::<u64>();
        CallerCounts { callers, others }
    }

    /// Returns the owners of the code at the return addresses of a stack. Native code in a row is one frame, and none at
    /// the outer end.
    pub fn stack(
        &self,
        info: &ProfilerInfo,
        modules: &Modules,
        addresses: impl Iterator<Item = usize>,
    ) -> Vec<CallOrigin> {
        let mut stack: Vec<CallOrigin> =
            addresses.map(|address| self.origin(info, modules, address)).collect();
        stack.dedup_by(|one, before| *one == CallOrigin::Native && *before == CallOrigin::Native);
        stack.truncate(stack.iter().rposition(|one| *one != CallOrigin::Native).map_or(0, |last| last + 1));
        stack
    }

    /// Returns the owner of the code at a return address, as far as it can be found now.
    pub fn origin(&self, info: &ProfilerInfo, modules: &Modules, address: usize) -> CallOrigin {
        match self.at(info, modules, address, Instant::now()) {
            Found::Known(origin) => (*origin).clone(),
            Found::Nothing => CallOrigin::Gone,
        }
    }

    /// Returns the owner of the code at a return address, and waits until a time for code that is being unloaded.
    fn at(&self, info: &ProfilerInfo, modules: &Modules, address: usize, until: Instant) -> Found {
        if let Some(known) = lock(&self.known).places.get(&address) {
            return Found::Known(Arc::clone(known));
        }
        // If the call is its method's last instruction, its return address belongs to another method.
        let call = address.wrapping_sub(1);
        let origin = loop {
            // The runtime reads what it frees with a dynamic method, to find the owner of any code.
            let look_up = || self.look_up(info, modules, call);
            let query = || modules.code.while_dynamic_methods_stay(look_up);
            match modules.code.while_modules_stay(until, query) {
                None => return Found::Nothing,
                Some(Some(origin)) => break origin,
                Some(None) if Instant::now() >= until => return Found::Nothing,
                Some(None) => std::thread::sleep(CODE_PAUSE),
            }
        };
        let mut known = lock(&self.known);
        if known.places.len() < MAX_CACHED {
            known.places.insert(address, Arc::clone(&origin));
        }
        Found::Known(origin)
    }

    /// Returns the owner of the code at an address. The caller keeps modules and dynamic methods.
    fn look_up(&self, info: &ProfilerInfo, modules: &Modules, address: usize) -> Arc<CallOrigin> {
        let name = || match info.reports_destroyed_methods() {
            true => info.dynamic_name_at(address),
            false => Some(String::new()),
        };
        match info.code_at(address) {
            Some(CodeAt::Method(module, token)) => self.method(info, modules, module, token),
            Some(CodeAt::Dynamic) => match name() {
                Some(name) => Arc::new(CallOrigin::Dynamic { name }),
                None => Arc::new(CallOrigin::Gone),
            },
            None if is_native(address) => Arc::new(CallOrigin::Native),
            None => Arc::new(CallOrigin::Gone),
        }
    }

    /// Returns a method of a loaded module.
    pub fn method(
        &self,
        info: &ProfilerInfo,
        modules: &Modules,
        module_id: usize,
        token: u32,
    ) -> Arc<CallOrigin> {
        let Some(module) = modules.get(module_id) else { return Arc::new(CallOrigin::Gone) };
        let copy = CopyKey { module: module.key, token: MethodToken(token) };
        if let Some(known) = lock(&self.known).methods.get(&copy) {
            return Arc::clone(known);
        }
        let names = module.with_metadata(info, |import| {
            let method = import.method(token).ok()?;
            let names = ModuleNames::default();
            let type_name = names.type_name(import, method.type_def)?;
            let type_token = method.type_def;
            let found =
                MatchedMethod { token, type_token, type_place: 0, type_name: &type_name, method: &method };
            let names = names.display(import, &found);
            Some((names.method, names.signature))
        });
        let (method, signature) =
            names.flatten().unwrap_or_else(|| (format!("{token:#010x}"), String::new()));
        let origin = Arc::new(CallOrigin::Method { copy, module: module.name.clone(), method, signature });
        let mut known = lock(&self.known);
        if known.methods.len() < MAX_CACHED {
            known.methods.insert(copy, Arc::clone(&origin));
        }
        origin
    }
}
