//! `status --callers`.

use super::{module_id, token};
use crate::model::dials::Dial;
use crate::output::callers;
use redial_protocol::callers::{Caller, RowCallers, Who};
use redial_protocol::level::Level;
use redial_protocol::state::State;
use serde::Serialize;

/// Who calls one method.
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
    state: State,
    /// Whether callers are counted now.
    callers: bool,
    /// Calls while they were: the sum of those below and of `others`.
    calls: u64,
    /// Most calls first.
    called_by: Vec<CallerJson<'a>>,
    others: u64,
}

#[derive(Debug, Serialize)]
struct CallerJson<'a> {
    /// `method`, `dynamic`, `native` or `gone`.
    kind: &'static str,
    /// Null where there is none.
    method: Option<&'a str>,
    signature: Option<&'a str>,
    module: Option<&'a str>,
    module_id: Option<String>,
    token: Option<String>,
    /// Places in its code.
    sites: u32,
    calls: u64,
    /// Of all these calls, from 0 to 1.
    share: f64,
}

impl<'a> CallersJson<'a> {
    /// The object for a row of process `pid`.
    pub fn new(pid: u32, dial: &'a Dial, told: &'a RowCallers) -> Self {
        let row = &dial.row;
        let calls = told.calls();
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
            called_by: told.callers.iter().map(|caller| CallerJson::new(caller, calls)).collect(),
            others: told.others,
        }
    }
}

impl<'a> CallerJson<'a> {
    fn new(caller: &'a Caller, all: u64) -> Self {
        let Caller { who, sites, calls } = caller;
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
            Who::Method { copy, module, method, signature } => CallerJson {
                method: Some(method),
                signature: Some(signature),
                module: Some(module),
                module_id: Some(module_id(copy.module)),
                token: Some(token(copy.token.0)),
                ..of_kind
            },
            Who::Dynamic { name } => {
                CallerJson { method: Some(name.as_str()).filter(|name| !name.is_empty()), ..of_kind }
            }
            Who::Native | Who::Gone => of_kind,
        }
    }
}
