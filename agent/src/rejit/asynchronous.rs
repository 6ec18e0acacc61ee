//! Async methods among the rows: what of them a dial at *time* sees, and when that begins and ends.
#![forbid(unsafe_code)]

use super::ledger::Book;
use super::row::Row;
use crate::agent::Agent;
use crate::catalogue::Module;
use crate::catalogue::async_methods::AsyncMethod;
use crate::catalogue::methods::Found;
use crate::catalogue::names::ModuleNames;
use crate::clr::attributes::Waits;
use crate::clr::metadata::{Import, MethodDef};
use crate::eligibility;
use crate::il;
use crate::probes::blocks::Slot;
use crate::probes::completions::Account;
use redial_protocol::ids::{MethodToken, RowId};
use redial_protocol::level::Level;
use std::borrow::Cow;
use std::sync::Arc;

/// What a method that waits is.
#[derive(Clone, Debug)]
pub enum Asynchronous {
    /// An async method: what it does itself is to start.
    Starts(Arc<Account>),
    /// The `MoveNext` of one, in which calls begin and complete.
    Completes(Arc<Account>),
    /// The same, of which the agent cannot see where they do.
    Unseen(Unseen),
}

/// Why there are no completions to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// An async method whose `MoveNext` was not found.
    NoMachine,
    /// A `MoveNext` that is not as known compilers write it.
    Otherwise,
    /// No slots are left.
    NoRoom,
    /// An async iterator.
    Iterator,
    /// The runtime itself makes it wait.
    Runtime,
}

impl Unseen {
    /// One sentence, without a final period.
    fn sentence(self) -> &'static str {
        match self {
            Unseen::NoMachine => {
                "it is async: its times end where it first waits; its state machine was not found, so nothing is known of \
                 when its calls complete"
            }
            Unseen::Otherwise => {
                "its times are of the steps of an async method; where calls of that begin and complete is not told: its \
                 compiler writes state machines otherwise than those that are known"
            }
            Unseen::NoRoom => {
                "its times are of the steps of an async method; no room is left for when calls of that begin and complete"
            }
            Unseen::Iterator => {
                "it is an async iterator: its times are of its starts, and nothing tells when it comes to its end"
            }
            Unseen::Runtime => {
                "it is async in the runtime itself: its times are of its starts, and nothing tells when its calls complete"
            }
        }
    }
}

/// What is missing of the times of a method that waits.
#[derive(Clone, Debug)]
pub enum Missing {
    /// How its calls complete, as long as its `MoveNext` is not dialled.
    Dial(Arc<Account>),
    /// That, for good.
    Unseen(Unseen),
}

impl Missing {
    /// One sentence, without a final period.
    pub fn sentence(&self) -> Cow<'static, str> {
        match self {
            Missing::Dial(account) => Cow::Owned(format!(
                "it is async: its times end where it first waits; to see its calls complete dial {} at time, too",
                account.pattern
            )),
            Missing::Unseen(unseen) => Cow::Borrowed(unseen.sentence()),
        }
    }
}

impl Asynchronous {
    /// What is missing of its times now.
    pub fn missing(&self) -> Option<Missing> {
        match self {
            Asynchronous::Starts(account) => (!account.is_open()).then(|| Missing::Dial(Arc::clone(account))),
            Asynchronous::Completes(_) => None,
            Asynchronous::Unseen(unseen) => Some(Missing::Unseen(*unseen)),
        }
    }

    /// MethodDef token of the `MoveNext` in which its calls complete; None of that itself, and where that is not seen.
    pub fn move_next(&self) -> Option<MethodToken> {
        match self {
            Asynchronous::Starts(account) => Some(MethodToken(account.move_next)),
            Asynchronous::Completes(_) | Asynchronous::Unseen(_) => None,
        }
    }

    /// The account of what it starts or completes.
    pub fn account(&self) -> Option<&Arc<Account>> {
        match self {
            Asynchronous::Starts(account) | Asynchronous::Completes(account) => Some(account),
            Asynchronous::Unseen(_) => None,
        }
    }
}

/// What a method that is to be timed is, if it waits.
pub fn recognise(
    agent: &Agent,
    module: &Module,
    (import, names): (&Import, &ModuleNames),
    token: u32,
    method: &MethodDef,
) -> Option<Asynchronous> {
    if eligibility::is_runtime_async(method.impl_flags) {
        return Some(Asynchronous::Unseen(Unseen::Runtime));
    }
    let all = module.async_methods(import);
    if let Some(one) = all.of(token) {
        let account = account(module, (import, names), one);
        return Some(match (one.waits, account) {
            (Waits::Iterator, _) => Asynchronous::Unseen(Unseen::Iterator),
            (Waits::Async, Some(account)) => Asynchronous::Starts(account),
            (Waits::Async, None) => Asynchronous::Unseen(Unseen::NoMachine),
        });
    }
    let one = all.whose(token).filter(|one| one.waits == Waits::Async)?;
    let is_known = |body: &[u8]| il::decode(body).is_ok_and(|body| il::machine(&body).is_some());
    let known = agent.info.il_body(module.id(), token, is_known).unwrap_or(false);
    let account = account(module, (import, names), one).filter(|_| known);
    Some(account.map_or(Asynchronous::Unseen(Unseen::Otherwise), Asynchronous::Completes))
}

fn account(
    module: &Module,
    (import, names): (&Import, &ModuleNames),
    one: &AsyncMethod,
) -> Option<Arc<Account>> {
    let token = one.move_next?;
    let method = import.method(token).ok()?;
    let type_name = names.type_name(import, method.type_def)?;
    let (type_token, method) = (method.type_def, &method);
    let found = Found { token, type_token, type_place: 0, type_name: &type_name, method };
    Some(one.account(token, || names.display(import, &found).full_name(&module.name)))
}

impl Row {
    /// The account of the async method whose calls complete in it.
    pub fn completes(&self) -> Option<&Arc<Account>> {
        match &self.asynchronous {
            Some(Asynchronous::Completes(account)) => Some(account),
            _ => None,
        }
    }

    /// Whether it is an async method whose calls are not seen to complete, but would be.
    pub fn completes_elsewhere(&self) -> bool {
        matches!(self.asynchronous.as_ref().and_then(Asynchronous::missing), Some(Missing::Dial(_)))
    }
}

/// An account that begins before the body that notes in these slots is asked for.
pub type Begins = (Arc<Account>, Slot);

impl Book {
    /// A row is about to be asked for as what it is: gives a `MoveNext` slots for its account, and answers that.
    pub fn give_account(&mut self, id: RowId, is: Option<Asynchronous>, now: u64) -> Option<Begins> {
        let row = self.row_mut(id)?;
        // What it was found to be it still is where it is only counted: there are last numbers.
        row.asynchronous = is.or(row.asynchronous.take());
        let Some(Asynchronous::Completes(account)) = row.asynchronous.clone() else { return None };
        let (module, has) = (row.what.module.id(), row.noted_in);
        row.timing?;
        let slots = has.or_else(|| self.slots.take_run());
        let row = self.row_mut(id)?;
        row.noted_in = slots;
        let Some(slots) = slots else {
            row.asynchronous = Some(Asynchronous::Unseen(Unseen::NoRoom));
            return None;
        };
        let offset = slots.0 as usize * size_of::<u64>();
        row.timing =
            row.timing.map(|timing| crate::probes::timing::Timing { noted_at: Some(offset), ..timing });
        if account.opens() {
            self.announce_method(module, account.method, now);
        }
        Some((account, slots))
    }

    /// Calls are no more seen to complete in a row's body: it is turned down, or has gone.
    pub fn close_account(&mut self, id: RowId, now: u64) {
        let row = self.row(id);
        let closed = row.and_then(|row| Some((row.what.module.id(), row.completes()?.method)));
        let closed = closed.filter(|_| row.and_then(Row::completes).is_some_and(|account| account.close()));
        if let Some((module, method)) = closed {
            self.announce_method(module, method, now);
        }
    }

    /// What is missing of an async method's times is another thing now.
    fn announce_method(&mut self, module: usize, method: u32, now: u64) {
        let id = self.find(module, method);
        if let Some(id) = id.filter(|id| self.row(*id).is_some_and(|row| row.wanted >= Level::Time)) {
            self.announce(id, now);
        }
    }
}
