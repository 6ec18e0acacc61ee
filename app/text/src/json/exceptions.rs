//! Thrown exceptions as JSON.

use super::traced_calls::{InnerJson, rfc3339};
use super::values::ValueJson;
use redial_protocol::exceptions::{ThrownException, ThrownRow, ThrownTotals};
use redial_protocol::trace::Value;
use serde::Serialize;

/// A line of `exceptions`: one exception.
#[derive(Debug, Serialize)]
pub struct ExceptionJson<'a> {
    /// `exception`.
    event: &'static str,
    /// When it was thrown: RFC 3339 with nanoseconds, UTC.
    start: String,
    /// The name of this machine.
    host: Option<&'a str>,
    pid: u32,
    /// The operating system's thread id; null if unknown.
    thread: Option<u32>,
    /// Null if its module was unloaded too soon.
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    message: ValueJson<'a>,
    /// Its inner exception, then that one's, and so on.
    inner: Vec<InnerJson<'a>>,
    /// Whether it was thrown before.
    rethrown: bool,
    #[serde(flatten)]
    method: MethodJson<'a>,
}

/// The method that throws; its fields are null if the runtime names none.
#[derive(Debug, Serialize)]
struct MethodJson<'a> {
    /// `Namespace.Type.Method`.
    method: Option<&'a str>,
    /// `(PARAMS)`.
    signature: Option<&'a str>,
    /// The assembly's simple name.
    module: Option<&'a str>,
}

/// A line at the end of `exceptions`: all exceptions of a type that a method threw.
#[derive(Debug, Serialize)]
pub struct ExceptionRowJson<'a> {
    /// `count`.
    event: &'static str,
    host: Option<&'a str>,
    pid: u32,
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    #[serde(flatten)]
    method: MethodJson<'a>,
    /// Every throw, including the rethrown ones.
    thrown: u64,
    rethrown: u64,
    /// The message of the latest one that was printed.
    message: Option<ValueJson<'a>>,
}

/// The last line of `exceptions`: the sums of a process.
#[derive(Debug, Serialize)]
pub struct ExceptionTotalsJson<'a> {
    /// `total`.
    event: &'static str,
    host: Option<&'a str>,
    pid: u32,
    thrown: u64,
    rethrown: u64,
    /// Those without a line of their own, because there are too many types and methods.
    others: u64,
    /// Exceptions that were counted but not printed.
    dropped: u64,
}

impl<'a> MethodJson<'a> {
    fn of(row: &'a ThrownRow) -> MethodJson<'a> {
        let method = row.method.as_ref();
        MethodJson {
            method: method.map(|method| method.method.as_str()),
            signature: method.map(|method| method.signature.as_str()),
            module: method.map(|method| method.module.as_str()),
        }
    }
}

impl<'a> ExceptionJson<'a> {
    /// Makes the line of an exception in process `pid`.
    pub fn new(
        (host, pid): (Option<&'a str>, u32),
        row: &'a ThrownRow,
        exception: &'a ThrownException,
    ) -> ExceptionJson<'a> {
        ExceptionJson {
            event: "exception",
            start: rfc3339(exception.unix_ns),
            host,
            pid,
            thread: Some(exception.thread).filter(|thread| *thread != 0),
            type_name: row.type_name.as_deref(),
            message: ValueJson(&exception.message),
            inner: exception.inner.iter().map(InnerJson::of).collect(),
            rethrown: exception.rethrown,
            method: MethodJson::of(row),
        }
    }
}

impl<'a> ExceptionRowJson<'a> {
    /// Makes the line of a row in process `pid`.
    pub fn new(
        (host, pid): (Option<&'a str>, u32),
        row: &'a ThrownRow,
        (thrown, rethrown): (u64, u64),
        message: Option<&'a Value>,
    ) -> ExceptionRowJson<'a> {
        ExceptionRowJson {
            event: "count",
            host,
            pid,
            type_name: row.type_name.as_deref(),
            method: MethodJson::of(row),
            thrown,
            rethrown,
            message: message.map(ValueJson),
        }
    }
}

impl<'a> ExceptionTotalsJson<'a> {
    /// Makes the last line of process `pid`.
    pub fn new(
        (host, pid): (Option<&'a str>, u32),
        totals: &ThrownTotals,
        dropped: u64,
    ) -> ExceptionTotalsJson<'a> {
        let ThrownTotals { thrown, rethrown, others, .. } = *totals;
        ExceptionTotalsJson { event: "total", host, pid, thrown, rethrown, others, dropped }
    }
}
