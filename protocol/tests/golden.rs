//! Golden bytes: the committed layout of every message, so that none changes by accident.
//!
//! `REDIAL_BLESS=1 cargo test -p redial-protocol --test golden` rewrites them. For the frozen kinds (hello,
//! status, all_off, all_off_done, version_refused) a rewrite may only append bytes.

mod samples;

use redial_protocol::codec;
use redial_protocol::diagnostics::{
    AuditAction, BudgetProblem, ChangeWarning, IlViolation, Limit, MissingTimes, PatternProblem, Remainder,
    Resource, RowNote, Unavailable, UnseenCompletions, Unsupported, UntimedReason, samples as codes,
};
use redial_protocol::packet::{AgentPacket, ControllerPacket, PacketError};
use redial_protocol::reason::Reason;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt::{Debug, Write};
use std::path::PathBuf;

/// Bytes of the length prefix, which is not part of a body.
const PREFIX: usize = 4;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Formats a golden file: the message as comments, then its body in hexadecimal, sixteen bytes per line.
fn file_text(message: &impl Debug, body: &[u8]) -> String {
    let mut text = String::new();
    for line in format!("{message:#?}").lines() {
        writeln!(text, "# {line}").unwrap();
    }
    for line in body.chunks(16) {
        let bytes: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{}", bytes.join(" ")).unwrap();
    }
    text
}

fn read(text: &str) -> Vec<u8> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_ascii_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

/// Returns every message with its file name, its text and its body.
fn all() -> Vec<(String, String, Vec<u8>)> {
    let controllers = samples::controller_packets().into_iter().map(|(name, message)| {
        let body = message.to_frame().unwrap()[PREFIX..].to_vec();
        assert_eq!(ControllerPacket::from_body(&body).unwrap(), message, "{name}");
        (format!("controller.{name}.hex"), file_text(&message, &body), body)
    });
    let agents = samples::agent_packets().into_iter().map(|(name, message)| {
        let body = message.to_frame().unwrap()[PREFIX..].to_vec();
        assert_eq!(AgentPacket::from_body(&body).unwrap(), message, "{name}");
        (format!("agent.{name}.hex"), file_text(&message, &body), body)
    });
    controllers.chain(agents).collect()
}

#[test]
fn every_code_has_its_golden_bytes() {
    check_golden(&diagnostics());
}

fn check_golden(all: &[(String, String, Vec<u8>)]) {
    if std::env::var_os("REDIAL_BLESS").is_some() {
        for (file, text, _) in all {
            std::fs::write(folder().join(file), text).unwrap();
        }
    }
    for (file, text, body) in all {
        let golden = std::fs::read_to_string(folder().join(file)).unwrap_or_default().replace("\r\n", "\n");
        assert_eq!(&read(&golden), body, "the layout of {file} changed");
        assert_eq!(&golden, text, "the text of {file} changed");
    }
}

#[test]
fn every_message_has_its_golden_bytes() {
    let all = all();
    check_golden(&all);
    let of_codes = diagnostics();
    let expected: BTreeSet<&str> = all.iter().chain(&of_codes).map(|(file, ..)| file.as_str()).collect();
    let actual: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        actual.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        expected,
        "files without a message"
    );
}

/// Returns the samples of every kind of code with its file name, its text and its bytes.
fn diagnostics() -> Vec<(String, String, Vec<u8>)> {
    fn file<T>(kind: &str, samples: &[T]) -> (String, String, Vec<u8>)
    where
        T: Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    {
        let samples = samples.to_vec();
        let bytes = codec::encode(&samples).unwrap();
        assert_eq!(codec::decode::<Vec<T>>(&bytes).unwrap(), samples, "{kind}");
        (format!("diagnostics.{kind}.hex"), file_text(&samples, &bytes), bytes)
    }
    vec![
        file("Reason", &Reason::ALL),
        file("RowNote", &codes::ROW_NOTES),
        file("TimesNote", &codes::times_notes()),
        file("ChangeWarning", &codes::change_warnings()),
        file("PatternProblem", &codes::pattern_problems()),
        file("Limit", &codes::LIMITS),
        file("Unavailable", &codes::UNAVAILABLE),
        file("Unsupported", &codes::unsupported()),
        file("Remainder", &codes::REMAINDERS),
        file("Resource", &codes::RESOURCES),
        file("BudgetProblem", &codes::BUDGET_PROBLEMS),
        file("AuditAction", &codes::audit_actions()),
        file("IlViolation", &codes::IL_VIOLATIONS),
    ]
}

#[test]
fn samples_contain_every_code() {
    macro_rules! has_all {
        ($samples:expr, $enum:ident { $($variant:ident),* $(,)? }) => {{
            let names: BTreeSet<&str> = $samples.iter().map(|code| match code {
                $($enum::$variant { .. } => stringify!($variant),)*
            }).collect();
            assert_eq!(names, BTreeSet::from([$(stringify!($variant)),*]));
        }};
    }
    has_all!(
        codes::ROW_NOTES,
        RowNote { NotDialled, RequestIgnored, Inlined, PerhapsInlined, CallsReplaced }
    );
    has_all!(
        codes::missing_times(),
        MissingTimes {
            Untimed,
            SlowestCalls,
            Percentiles,
            NestedCalls,
            CallsWithoutMemory,
            CompletionsNeedDial,
            Completions,
            Callers,
        }
    );
    has_all!(codes::UNTIMED, UntimedReason { GivesFrameAway, EndsInItself, Signature, NoRoom, NoMemory });
    has_all!(
        codes::UNSEEN_COMPLETIONS,
        UnseenCompletions { NoMachine, UnknownForm, NoRoom, Iterator, Runtime }
    );
    has_all!(
        codes::change_warnings(),
        ChangeWarning {
            NothingMatches,
            MoreUnmatched,
            CallsInlined,
            CallsReplaced,
            OnlyCounted,
            OnlyStarts,
            BudgetSpares,
            PausesProgram,
        }
    );
    has_all!(codes::pattern_problems(), PatternProblem { NoOrders, Invalid });
    has_all!(
        codes::LIMITS,
        Limit {
            Orders,
            StandingOrders,
            PatternLength,
            DomainLength,
            Budget,
            KeptFor,
            PendingChanges,
            IlSize,
            AnswerLength,
        }
    );
    has_all!(
        codes::UNAVAILABLE,
        Unavailable {
            TooManyControllers,
            SwitchedOff,
            Interrupted,
            NoThread,
            RuntimeSilent,
            AllOffFirst,
            NoExceptionEvents
        }
    );
    has_all!(
        codes::unsupported(),
        Unsupported {
            NoRow,
            CallersNeverCounted,
            CallersUnloaded,
            NeverTimed,
            HistogramUnloaded,
            TimesUnread,
            Unloaded,
            NoIl,
            InvalidIl,
            NoInstrumentedBody,
            Level,
            OptionsNeedTime,
            Condition,
            NoStacks,
        }
    );
    has_all!(
        codes::REMAINDERS,
        Remainder {
            KeptByRuntime,
            WaitsForCompilation,
            RuntimeSilent,
            RuntimeDefect,
            RecompiledCallers,
            RestrainedInlining,
            UnfinishedReads,
            AwaitedReverts,
            CancelledRequests,
        }
    );
    has_all!(codes::RESOURCES, Resource { DialledMethods, KnownMethods, TimesBytes });
    has_all!(codes::BUDGET_PROBLEMS, BudgetProblem { NoRoomForOrder, OrdersRefused });
    has_all!(
        codes::audit_actions(),
        AuditAction {
            Changed,
            Refused,
            Cancelled,
            Undone,
            UndoCancelled,
            MoreOrders,
            Ended,
            Budget,
            AgentLoaded,
            RuntimeError,
        }
    );
    has_all!(
        codes::IL_VIOLATIONS,
        IlViolation {
            Truncated,
            BadHeader,
            BadHeaderSize,
            NoCode,
            BadOpcode,
            BadTarget,
            BadClauseBound,
            BadClauseKind,
            UnknownSection,
            SeveralTables,
        }
    );
}

#[test]
fn samples_contain_every_variant() {
    #[track_caller]
    fn check<T>(
        values: &[T],
        name: fn(&T) -> &'static str,
        names: &[&'static str],
        exceptions: &[&'static str],
    ) {
        let actual: BTreeSet<&str> = values.iter().map(name).chain(exceptions.iter().copied()).collect();
        assert_eq!(actual, names.iter().copied().collect());
    }
    check(&samples::commands(), samples::command_name, samples::COMMANDS, &[]);
    check(&samples::refusals(), samples::refusal_name, samples::REFUSALS, &[]);
    check(&samples::replies(), samples::reply_name, samples::REPLIES, &["Refused"]);
    check(&samples::events(), samples::event_name, samples::EVENTS, &["Reply"]);
    let controllers: Vec<ControllerPacket> =
        samples::controller_packets().into_iter().map(|(_, message)| message).collect();
    check(&controllers, samples::controller_packet_name, samples::CONTROLLER_PACKETS, &[]);
    let agents: Vec<AgentPacket> = samples::agent_packets().into_iter().map(|(_, message)| message).collect();
    check(&agents, samples::agent_packet_name, samples::AGENT_PACKETS, &[]);
    // States and reasons occur inside messages: each has its own byte in the golden rows and report.
    let states: BTreeSet<&str> = samples::events()
        .iter()
        .filter_map(|event| match event {
            redial_protocol::message::Event::Rows { rows, .. } => Some(rows),
            _ => None,
        })
        .flatten()
        .map(|row| samples::state_name(&row.state))
        .collect();
    assert_eq!(states, samples::STATES.iter().copied().collect());
    let calls: Vec<_> = samples::events()
        .into_iter()
        .filter_map(|event| match event {
            redial_protocol::message::Event::Calls { calls, .. } => Some(calls),
            _ => None,
        })
        .flatten()
        .collect();
    let outcomes: Vec<_> = calls.iter().map(|call| call.outcome.clone()).collect();
    check(&outcomes, samples::traces::outcome_name, samples::traces::OUTCOMES, &[]);
    let values: Vec<_> = calls.into_iter().flat_map(|call| call.arguments).collect();
    check(&values, samples::traces::value_name, samples::traces::VALUES, &[]);
    let reasons: BTreeSet<String> = Reason::ALL.iter().map(|reason| format!("{reason:?}")).collect();
    assert_eq!(reasons.len(), Reason::ALL.len());
}

/// Returns whether the file belongs to a frozen kind.
fn is_frozen(file: &str) -> bool {
    ["hello", "status", "all_off", "all_off_done", "version_refused"]
        .iter()
        .any(|kind| file == format!("controller.{kind}.hex") || file == format!("agent.{kind}.hex"))
}

fn decode(file: &str, body: &[u8]) -> Result<String, PacketError> {
    if file.starts_with("controller") {
        ControllerPacket::from_body(body).map(|message| format!("{message:?}"))
    } else {
        AgentPacket::from_body(body).map(|message| format!("{message:?}"))
    }
}

#[test]
fn only_frozen_messages_accept_trailing_bytes() {
    let mut frozen = 0;
    for (file, _, body) in all() {
        let longer = [body.as_slice(), b"later fields"].concat();
        if is_frozen(&file) {
            frozen += 1;
            assert_eq!(decode(&file, &longer).unwrap(), decode(&file, &body).unwrap(), "{file}");
        } else {
            let error = decode(&file, &longer).unwrap_err();
            assert_eq!(error.to_string(), "12 bytes follow the end of the message", "{file}");
        }
    }
    assert_eq!(frozen, 7);
}

#[test]
fn every_truncation_is_an_error() {
    for (file, _, body) in all() {
        // Length of the message in versions without the change number.
        let old_length = (file == "agent.all_off_done.hex").then_some(1 + 2 * 8);
        for length in (0..body.len()).filter(|length| Some(*length) != old_length) {
            assert!(decode(&file, &body[..length]).is_err(), "{file} cut to {length} bytes");
        }
    }
}

#[test]
fn changed_bytes_never_cause_a_panic() {
    for (file, _, body) in all() {
        for index in 0..body.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xfb, 0xfc, 0xfd, 0xff] {
                let mut changed = body.clone();
                changed[index] = byte;
                let _ = decode(&file, &changed);
            }
        }
    }
}
