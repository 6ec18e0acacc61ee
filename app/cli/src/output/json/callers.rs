//! `status --callers` as JSON.

use super::fields::{module_id, token};
use redial_model::dials::DialledCopy;
use redial_protocol::callers::{CallOrigin, Caller, RowCallers};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_text::callers;
use serde::Serialize;

/// The callers of one method.
#[derive(Debug, Serialize)]
pub struct CallersJson<'a> {
    pid: u32,
    method: &'a str,
    signature: &'a str,
    module: &'a str,
    module_id: String,
    token: String,
    domain: &'a str,
    wanted: Level,
    state: CopyState,
    /// Whether callers are counted now.
    callers: bool,
    /// The calls while callers were counted: the sum of `called_by` and `others`.
    calls: u64,
    /// Sorted by descending calls.
    called_by: Vec<CallerJson<'a>>,
    others: u64,
}

#[derive(Debug, Serialize)]
struct CallerJson<'a> {
    /// `method`, `dynamic`, `native` or `gone`.
    kind: &'static str,
    /// Null if the caller has no name.
    method: Option<&'a str>,
    signature: Option<&'a str>,
    module: Option<&'a str>,
    module_id: Option<String>,
    token: Option<String>,
    /// The number of call sites.
    sites: u32,
    calls: u64,
    /// The share of all counted calls, from 0 to 1.
    share: f64,
}

impl<'a> CallersJson<'a> {
    /// Makes the object for a row of process `pid`.
    pub fn new(pid: u32, dial: &'a DialledCopy, counted: &'a RowCallers) -> Self {
        let row = &dial.row;
        let calls = counted.calls();
        CallersJson {
            pid,
            method: &row.method,
            signature: &row.signature,
            module: &row.module,
            module_id: module_id(row.copy.module),
            token: token(row.copy.token.0),
            domain: &row.domain,
            wanted: row.wanted,
            state: row.state,
            callers: row.options.callers,
            calls,
            called_by: counted.callers.iter().map(|caller| CallerJson::new(caller, calls)).collect(),
            others: counted.others,
        }
    }
}

impl<'a> CallerJson<'a> {
    fn new(caller: &'a Caller, all: u64) -> Self {
        let Caller { origin: who, sites, calls } = caller;
        let share = callers::share(*calls, all) / 100.0;
        let of_kind = CallerJson {
            kind: callers::kind(who),
            method: None,
            signature: None,
            module: None,
            module_id: None,
            token: None,
            sites: *sites,
            calls: *calls,
            share: (share * 1e6).round() / 1e6,
        };
        match who {
            CallOrigin::Method { copy, module, method, signature } => CallerJson {
                method: Some(method),
                signature: Some(signature),
                module: Some(module),
                module_id: Some(module_id(copy.module)),
                token: Some(token(copy.token.0)),
                ..of_kind
            },
            CallOrigin::Dynamic { name } => {
                CallerJson { method: Some(name.as_str()).filter(|name| !name.is_empty()), ..of_kind }
            }
            CallOrigin::Native | CallOrigin::Gone => of_kind,
        }
    }
}
