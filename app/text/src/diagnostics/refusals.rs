//! Wording of refusals of a whole command.

use super::{Reader, il_violations, reasons};
use redial_protocol::cost::BudgetParseError;
use redial_protocol::diagnostics::{Limit, PatternProblem, Unavailable, Unsupported};
use redial_protocol::dialset::DialProblem;
use redial_protocol::reason::Reason;

/// Words a problem with the patterns of a command.
pub fn pattern_problem(problem: &PatternProblem) -> String {
    match problem {
        PatternProblem::NoOrders => "the command has no orders".to_owned(),
        PatternProblem::Invalid(error) => error.to_string(),
    }
}

/// Words a limit that a command exceeds.
pub fn limit(limit: &Limit) -> String {
    match limit {
        Limit::Orders { orders, limit } => format!("the command has {orders} orders; the limit is {limit}"),
        Limit::StandingOrders { limit } => {
            format!("{limit} orders already stand; turn some dials off first, or all to clear the orders")
        }
        Limit::PatternLength { limit } => format!("a pattern is longer than {limit} bytes"),
        Limit::DomainLength { limit } => format!("a domain name is longer than {limit} bytes"),
        Limit::Budget => BudgetParseError.to_string(),
        Limit::KeptFor { ms, limit } => format!("dials can be kept for 1 to {limit} milliseconds, not {ms}"),
        Limit::PendingChanges { changes, bytes } => format!(
            "more than {changes} changes, or {bytes} bytes of them, are pending; read the answers first"
        ),
        Limit::IlSize { limit } => {
            format!("its IL is too large to show; the limit is {limit} bytes of code")
        }
        Limit::AnswerLength { limit } => {
            format!("the answer does not fit into a frame; the limit is {limit} bytes")
        }
    }
}

/// Explains why the agent carries out no such command now.
pub fn unavailable(reason: &Unavailable) -> String {
    match reason {
        Unavailable::TooManyControllers { limit } => format!(
            "this agent already serves {limit} controllers; it accepts only hello, status and all off from others"
        ),
        Unavailable::SwitchedOff => {
            "the agent switched itself off after three internal errors; every dial is off".to_owned()
        }
        Unavailable::Interrupted => {
            "an internal error of the agent interrupted this command; check the status for its effect"
                .to_owned()
        }
        Unavailable::NoThread => "the system refused to start the subscription's thread".to_owned(),
        Unavailable::RuntimeSilent { seconds } => format!(
            "the runtime has not answered RequestReJIT for {seconds} seconds; the change may still take effect"
        ),
        Unavailable::AllOffFirst => "all dials were turned off before this change was made".to_owned(),
        Unavailable::NoExceptionEvents => {
            "the runtime has not begun to report exceptions; try again when the process is less busy"
                .to_owned()
        }
    }
}

/// Explains why the agent cannot carry out a command.
pub fn unsupported(reason: &Unsupported, reader: Reader) -> String {
    let text = match reason {
        Unsupported::NoRow => "this row no longer exists",
        Unsupported::CallersNeverCounted => reader.choose(
            "its callers were never counted; dial it with --callers",
            "its callers were never counted; tick “Count callers” and dial it",
        ),
        Unsupported::CallersUnloaded => "its module was unloaded, along with its callers' counts",
        Unsupported::NeverTimed => "its calls were never timed; set its dial to time",
        Unsupported::HistogramUnloaded => "its module was unloaded, along with its histogram",
        Unsupported::TimesUnread => "the agent could not read its times",
        Unsupported::Unloaded => "its module was unloaded",
        Unsupported::NoIl(Reason::PInvoke) => "it has no IL: it is a P/Invoke to native code",
        Unsupported::NoIl(Reason::RuntimeImplemented) => "it has no IL: the runtime supplies its code",
        Unsupported::NoIl(Reason::NoBody) => {
            "it has no IL (abstract, interface or extern); select an implementation"
        }
        Unsupported::NoIl(other) => {
            return format!("cannot show its IL: {}", reasons::sentence(*other, reader));
        }
        Unsupported::InvalidIl(violation) => {
            let violation = il_violations::sentence(violation);
            return format!("cannot show its IL, which violates ECMA-335: {violation}");
        }
        Unsupported::NoInstrumentedBody(reason) => {
            return format!("cannot make an instrumented body: {}", reasons::sentence(*reason, reader));
        }
        Unsupported::Level { wanted, highest, lowered } => {
            let why = if *lowered { ": its program was started with a lower REDIAL_MAX_LEVEL" } else { "" };
            return format!(
                "level {wanted} is not offered by this agent, which allows at most {highest}{why}"
            );
        }
        Unsupported::NoStacks => "stacks of calls can be captured on x86-64 Linux only; dial without them",
        Unsupported::Condition(error) => return error.problem.to_string(),
        Unsupported::OptionsNeedTime(options) if options.needs_trace() => {
            return DialProblem::NeedsTrace { text: options.to_string() }.to_string();
        }
        Unsupported::OptionsNeedTime(options) if options.lacks_calls() => {
            return DialProblem::StackNeedsCalls.to_string();
        }
        Unsupported::OptionsNeedTime(options) => {
            return DialProblem::NeedsTime { text: options.to_string() }.to_string();
        }
    };
    text.to_owned()
}
