//! One or more samples of every code, for tests of layouts and wordings.

use super::{
    AuditAction, AuditedChange, AuditedOrder, BodyPart, BudgetProblem, ChangeWarning, ClauseBound,
    IlViolation, Limit, MissingTimes, OrderEnd, PatternProblem, Remainder, Resource, RowNote, RuntimeDefect,
    SteppedDown, TimesNote, Unavailable, UnseenCompletions, Unsupported, UntimedReason,
};
use crate::condition::{ConditionError, ConditionProblem};
use crate::cost::Share;
use crate::ids::MethodToken;
use crate::level::Level;
use crate::order::TimeOptions;
use crate::pattern::PatternError;
use crate::reason::Reason;

/// Samples of notes about a row.
pub const ROW_NOTES: [RowNote; 6] = [
    RowNote::NotDialled { reason: Reason::NoBody, hresult: 0 },
    RowNote::NotDialled { reason: Reason::Hresult, hresult: 0x8013_137c },
    RowNote::RequestIgnored,
    RowNote::Inlined,
    RowNote::PerhapsInlined,
    RowNote::CallsReplaced,
];

/// Every reason for missing times.
pub const UNTIMED: [UntimedReason; 5] = [
    UntimedReason::GivesFrameAway,
    UntimedReason::EndsInItself,
    UntimedReason::Signature,
    UntimedReason::NoRoom,
    UntimedReason::NoMemory,
];

/// Every reason for unknown completions.
pub const UNSEEN_COMPLETIONS: [UnseenCompletions; 5] = [
    UnseenCompletions::NoMachine,
    UnseenCompletions::UnknownForm,
    UnseenCompletions::NoRoom,
    UnseenCompletions::Iterator,
    UnseenCompletions::Runtime,
];

/// Samples of limits.
pub const LIMITS: [Limit; 9] = [
    Limit::Orders { orders: 4097, limit: 4096 },
    Limit::StandingOrders { limit: 4096 },
    Limit::PatternLength { limit: 4095 },
    Limit::DomainLength { limit: 4094 },
    Limit::Budget,
    Limit::KeptFor { ms: 0, limit: 1000 },
    Limit::PendingChanges { changes: 256, bytes: 1 << 22 },
    Limit::IlSize { limit: 1 << 20 },
    Limit::AnswerLength { limit: 1 << 21 },
];

/// Samples of reasons why the agent carries out no command.
pub const UNAVAILABLE: [Unavailable; 7] = [
    Unavailable::TooManyControllers { limit: 16 },
    Unavailable::SwitchedOff,
    Unavailable::Interrupted,
    Unavailable::NoThread,
    Unavailable::RuntimeSilent { seconds: 30 },
    Unavailable::AllOffFirst,
    Unavailable::NoExceptionEvents,
];

/// Samples of remaining effects.
pub const REMAINDERS: [Remainder; 15] = [
    Remainder::KeptByRuntime { bytes: 1500, recompilations: 1 },
    Remainder::WaitsForCompilation,
    Remainder::RuntimeSilent { seconds: 12 },
    Remainder::RuntimeDefect(RuntimeDefect::TieringDelay),
    Remainder::RuntimeDefect(RuntimeDefect::StackTraceLines),
    Remainder::RecompiledCallers { methods: 1 },
    Remainder::RecompiledCallers { methods: 2 },
    Remainder::RestrainedInlining { methods: 1 },
    Remainder::RestrainedInlining { methods: 3 },
    Remainder::UnfinishedReads { unloads: 1 },
    Remainder::UnfinishedReads { unloads: 2 },
    Remainder::AwaitedReverts { methods: 1 },
    Remainder::AwaitedReverts { methods: 2 },
    Remainder::CancelledRequests { methods: 1 },
    Remainder::CancelledRequests { methods: 2 },
];

/// Every limited resource.
pub const RESOURCES: [Resource; 3] = [Resource::DialledMethods, Resource::KnownMethods, Resource::TimesBytes];

/// Samples of problems of the budget.
pub const BUDGET_PROBLEMS: [BudgetProblem; 2] =
    [BudgetProblem::NoRoomForOrder { limit: 4096 }, BudgetProblem::OrdersRefused];

/// Samples of violations of ECMA-335.
pub const IL_VIOLATIONS: [IlViolation; 19] = [
    IlViolation::Truncated { part: BodyPart::Header },
    IlViolation::Truncated { part: BodyPart::Code },
    IlViolation::Truncated { part: BodyPart::Instruction },
    IlViolation::Truncated { part: BodyPart::Operand },
    IlViolation::Truncated { part: BodyPart::Section },
    IlViolation::Truncated { part: BodyPart::Clause },
    IlViolation::BadHeader { first: 0x01 },
    IlViolation::BadHeaderSize { words: 2 },
    IlViolation::NoCode,
    IlViolation::BadOpcode { value: 0xfe24, offset: 300 },
    IlViolation::BadTarget { offset: 1, target: -1 },
    IlViolation::BadClauseBound { clause: 2, bound: ClauseBound::TryStart, offset: 3 },
    IlViolation::BadClauseBound { clause: 2, bound: ClauseBound::TryEnd, offset: 3 },
    IlViolation::BadClauseBound { clause: 2, bound: ClauseBound::HandlerStart, offset: 3 },
    IlViolation::BadClauseBound { clause: 2, bound: ClauseBound::HandlerEnd, offset: 3 },
    IlViolation::BadClauseBound { clause: 2, bound: ClauseBound::Filter, offset: 3 },
    IlViolation::BadClauseKind { clause: 4, flags: 3 },
    IlViolation::UnknownSection { kind: 0x02 },
    IlViolation::SeveralTables,
];

const STEP: SteppedDown = SteppedDown { to: Level::Count, cost: Share(700), limit: Share(500) };

/// Returns samples of actions that the audit records.
pub fn audit_actions() -> Vec<AuditAction> {
    let line = || "Shop.Cart.* = count".to_owned();
    let change = || AuditedChange::order(line());
    let stepped = AuditedChange::Orders { first: AuditedOrder { line: line(), step: Some(STEP) }, more: 2 };
    vec![
        AuditAction::Changed(change()),
        AuditAction::Changed(AuditedChange::AllOff),
        AuditAction::Changed(stepped),
        AuditAction::Refused(change()),
        AuditAction::Cancelled(change()),
        AuditAction::Undone(change()),
        AuditAction::UndoCancelled(AuditedChange::AllOff),
        AuditAction::MoreOrders { orders: 1 },
        AuditAction::MoreOrders { orders: 16 },
        AuditAction::Ended { first: line(), more: 0, reason: OrderEnd::Expired },
        AuditAction::Ended { first: line(), more: 1, reason: OrderEnd::SessionEnded },
        AuditAction::Ended { first: line(), more: 0, reason: OrderEnd::Released },
        AuditAction::Budget { limit: Some(Share(500)) },
        AuditAction::Budget { limit: None },
        AuditAction::AgentLoaded,
        AuditAction::RuntimeError { token: MethodToken(0x06ff_ff00), hresult: 0x8007_0057 },
    ]
}

/// Returns samples of missing times.
pub fn missing_times() -> Vec<MissingTimes> {
    let mut samples: Vec<MissingTimes> = UNTIMED.map(MissingTimes::Untimed).to_vec();
    samples.extend([
        MissingTimes::SlowestCalls,
        MissingTimes::Percentiles,
        MissingTimes::NestedCalls { limit: 127 },
        MissingTimes::CallsWithoutMemory,
        MissingTimes::CompletionsNeedDial { pattern: "Shop.Cart+<Add>d__1.MoveNext()".into() },
        MissingTimes::Callers,
    ]);
    samples.extend(UNSEEN_COMPLETIONS.map(MissingTimes::Completions));
    samples
}

/// Returns samples of notes about times: one for each effect of the budget, and one for each missing part.
pub fn times_notes() -> Vec<TimesNote> {
    let step = STEP;
    let mut samples = vec![
        TimesNote { stepped_down: Some(step), ..TimesNote::default() },
        TimesNote { spared: true, ..TimesNote::default() },
        TimesNote { stepped_down: Some(step), spared: true, missing: Some(MissingTimes::Percentiles) },
    ];
    samples.extend(
        missing_times()
            .into_iter()
            .map(|missing| TimesNote { missing: Some(missing), ..TimesNote::default() }),
    );
    samples
}

/// Returns samples of warnings about a change.
pub fn change_warnings() -> Vec<ChangeWarning> {
    let pattern = || "Shop.Cart.*".to_owned();
    vec![
        ChangeWarning::NothingMatches { pattern: pattern(), copy: None, left_out: false },
        ChangeWarning::NothingMatches { pattern: pattern(), copy: Some(0x7f31_c0a8_4000), left_out: true },
        ChangeWarning::MoreUnmatched { orders: 1 },
        ChangeWarning::MoreUnmatched { orders: 896 },
        ChangeWarning::CallsInlined { copies: 1 },
        ChangeWarning::CallsReplaced { copies: 4866 },
        ChangeWarning::OnlyCounted { copies: 2 },
        ChangeWarning::OnlyStarts { copies: 3 },
        ChangeWarning::BudgetSpares { methods: 4 },
        ChangeWarning::PausesProgram,
    ]
}

/// Returns samples of problems with patterns.
pub fn pattern_problems() -> Vec<PatternProblem> {
    let pattern = || "Shop.*(".to_owned();
    vec![
        PatternProblem::NoOrders,
        PatternError::Empty.into(),
        PatternError::TooLong { length: 5000 }.into(),
        PatternError::Control { escaped: "a\\u{7}".into(), position: 2 }.into(),
        PatternError::Backslash { pattern: pattern(), position: 3 }.into(),
        PatternError::NoAssembly { pattern: pattern() }.into(),
        PatternError::NoMethod { pattern: pattern() }.into(),
        PatternError::TooManyDots { dots: 65 }.into(),
        PatternError::Brackets { pattern: pattern() }.into(),
        PatternError::EmptyParameter { pattern: pattern(), position: 4 }.into(),
        PatternError::Tuple { pattern: pattern(), tuple: "(int, int)".into() }.into(),
        PatternError::TokenAlone { pattern: pattern() }.into(),
        PatternError::BadToken { token: "0x07000001".into() }.into(),
        PatternError::OpenAttribute { pattern: "[Audit".into(), position: 1 }.into(),
        PatternError::NoAttribute { pattern: "Shop![]".into(), position: 6 }.into(),
        PatternError::AttributeArguments { pattern: "[Route(x)]".into(), position: 1 }.into(),
        PatternError::NoInterface { pattern: "implements:".into(), position: 11 }.into(),
        PatternError::SelectedToken { pattern: "Shop![Audit]0x06000001".into() }.into(),
    ]
}

/// Returns samples of reasons why the agent cannot carry out a command.
pub fn unsupported() -> Vec<Unsupported> {
    vec![
        Unsupported::NoRow,
        Unsupported::CallersNeverCounted,
        Unsupported::CallersUnloaded,
        Unsupported::NeverTimed,
        Unsupported::HistogramUnloaded,
        Unsupported::TimesUnread,
        Unsupported::Unloaded,
        Unsupported::NoIl(Reason::PInvoke),
        Unsupported::NoIl(Reason::RuntimeImplemented),
        Unsupported::NoIl(Reason::NoBody),
        Unsupported::NoIl(Reason::Metadata),
        Unsupported::InvalidIl(IlViolation::NoCode),
        Unsupported::NoInstrumentedBody(Reason::CannotInsert),
        Unsupported::Level { wanted: Level::Trace, highest: Level::Time, lowered: false },
        Unsupported::Level { wanted: Level::Time, highest: Level::Count, lowered: true },
        Unsupported::OptionsNeedTime(TimeOptions { callers: true, ..TimeOptions::default() }),
        Unsupported::NoStacks,
        Unsupported::Condition(ConditionError {
            text: "a = 1".into(),
            problem: ConditionProblem::Expected { at: 2, wanted: "'=='".into() },
        }),
    ]
}
