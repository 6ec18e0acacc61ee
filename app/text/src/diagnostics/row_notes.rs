//! Wording of the notes of a row.

use super::{Reader, reasons};
use redial_protocol::diagnostics::{
    MissingTimes, RowNote, SteppedDown, TimesNote, UnseenCompletions, UntimedReason,
};
use redial_protocol::reason::Reason;
use std::borrow::Cow;

/// Explains a refusal or failure, or which calls the count misses.
pub fn note(note: RowNote, reader: Reader) -> Cow<'static, str> {
    Cow::Borrowed(match note {
        RowNote::NotDialled { reason: Reason::Hresult, hresult } => {
            return Cow::Owned(reasons::explained(Reason::Hresult, hresult, reader));
        }
        RowNote::NotDialled { reason, .. } => reasons::sentence(reason, reader),
        RowNote::RequestIgnored => {
            "the runtime accepted the request but still compiled original code, whose calls are not counted. This \
             happens if a generic method is used over a type that can unload (in a collectible load context), or if \
             a debugger may edit the code (Edit and Continue)"
        }
        RowNote::Inlined => {
            "already inlined into callers that cannot be recompiled; calls from there are not counted"
        }
        RowNote::PerhapsInlined => {
            "perhaps already inlined into unknown callers (compiled before the agent was loaded, or too many of \
             them); calls from there are not counted"
        }
        RowNote::CallsReplaced => {
            "the JIT, or precompiled code of other modules, may replace calls by code of its own; such calls are not \
             counted"
        }
    })
}

/// Explains what the budget did to a row, and which times are missing.
pub fn times_note(note: &TimesNote, reader: Reader) -> String {
    let parts = [
        note.stepped_down.map(stepped_down),
        note.spared.then(|| SPARED.to_owned()),
        note.missing.as_ref().map(|missing| missing_times(missing, reader)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Joins a row's notes, if there are any.
pub fn notes(of_row: Option<RowNote>, of_times: Option<&TimesNote>, reader: Reader) -> Option<String> {
    let of_row = of_row.map(|code| note(code, reader).into_owned());
    let of_times = of_times.map(|note| times_note(note, reader));
    match (of_row, of_times) {
        (Some(row), Some(times)) => Some(format!("{row}; {times}")),
        (row, times) => row.or(times),
    }
}

const SPARED: &str =
    "the budget leaves it alone, because it was raised again after the budget stepped it down";

fn stepped_down(step: SteppedDown) -> String {
    let SteppedDown { to, cost, limit } = step;
    format!(
        "stepped down to {to} by the budget: it cost {cost} of a processor, and all dials may cost {limit}"
    )
}

fn missing_times(missing: &MissingTimes, reader: Reader) -> String {
    let memory = |lead: &str| {
        let hint = reader.choose(" (`redial status --agent`)", "");
        format!(
            "{lead}: the agent's memory for times is used up in this process{hint}; restart the process and time \
             fewer methods"
        )
    };
    match missing {
        MissingTimes::Untimed(UntimedReason::NoMemory) => memory("it is only counted"),
        MissingTimes::Untimed(reason) => untimed(*reason).to_owned(),
        MissingTimes::SlowestCalls => memory("its slowest calls are not recorded"),
        MissingTimes::Percentiles => memory("there are no percentiles"),
        MissingTimes::CallsWithoutMemory => memory("some of its calls are only counted"),
        MissingTimes::NestedCalls { limit } => format!(
            "some of its calls are only counted: one thread had more than {limit} nested timed calls; time fewer of \
             the methods that call each other"
        ),
        MissingTimes::CompletionsNeedDial { pattern } => format!(
            "it is async: its times end at its first await; to see its completions, dial {pattern} at time, too"
        ),
        MissingTimes::Completions(unseen) => unseen_completions(*unseen).to_owned(),
        MissingTimes::Callers => {
            "it is timed without callers: the agent can count callers only on x86-64 Linux".to_owned()
        }
    }
}

fn untimed(reason: UntimedReason) -> &'static str {
    match reason {
        UntimedReason::GivesFrameAway => {
            "it is only counted: it gives its stack frame to another method (jmp or tail.), so its end cannot be \
             seen; time that method or its callers instead"
        }
        UntimedReason::EndsInItself => {
            "it is only counted: it calls itself last, and timed calls would use a stack frame each; time its \
             callers instead"
        }
        UntimedReason::Signature => {
            "it is only counted: its signature could not be read; time its callers instead"
        }
        UntimedReason::NoRoom => {
            "it is only counted: the variables of a timed body could not be added to its module; time its callers \
             instead"
        }
        UntimedReason::NoMemory => "it is only counted: the agent's memory for times is used up",
    }
}

fn unseen_completions(unseen: UnseenCompletions) -> &'static str {
    match unseen {
        UnseenCompletions::NoMachine => {
            "it is async: its times end at its first await; its completions are unknown, because its state machine \
             was not found"
        }
        UnseenCompletions::UnknownForm => {
            "its times cover the steps of an async method; the method's completions are unknown, because its \
             compiler writes state machines of an unknown form"
        }
        UnseenCompletions::NoRoom => {
            "its times cover the steps of an async method; no slots are left to record the method's completions"
        }
        UnseenCompletions::Iterator => {
            "it is an async iterator: its times only cover its starts; its completions are unknown"
        }
        UnseenCompletions::Runtime => {
            "its async form is the runtime's own: its times only cover its starts; its completions are unknown"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::cost::Share;
    use redial_protocol::diagnostics::samples;
    use redial_protocol::level::Level;

    fn missing(missing: MissingTimes) -> TimesNote {
        TimesNote { missing: Some(missing), ..TimesNote::default() }
    }

    #[test]
    fn words_refusals_and_missing_calls() {
        let words = |code| note(code, Reader::CommandLine).into_owned();
        let not_dialled = |reason| words(RowNote::NotDialled { reason, hresult: 0x8013_137c });
        assert!(not_dialled(Reason::Unloaded).contains("unloaded"));
        assert_eq!(
            not_dialled(Reason::Hresult),
            "the runtime refused the request: ReJIT is not enabled in this process (CORPROF_E_REJIT_NOT_ENABLED), \
             HRESULT 0x8013137c"
        );
        assert!(words(RowNote::Inlined).contains("already inlined"));
        assert!(words(RowNote::PerhapsInlined).contains("perhaps already inlined"));
    }

    #[test]
    fn every_lack_of_memory_and_depth_names_an_action() {
        for code in [
            MissingTimes::SlowestCalls,
            MissingTimes::Percentiles,
            MissingTimes::NestedCalls { limit: 127 },
            MissingTimes::CallsWithoutMemory,
        ] {
            let sentence = times_note(&missing(code), Reader::CommandLine);
            assert!(sentence.contains("time fewer"), "{sentence}");
        }
        let callers = times_note(&missing(MissingTimes::Callers), Reader::CommandLine);
        assert!(callers.contains("timed without callers"), "{callers}");
        for reason in samples::UNTIMED {
            let sentence = times_note(&missing(MissingTimes::Untimed(reason)), Reader::Window);
            assert!(sentence.starts_with("it is only counted: "), "{sentence}");
        }
    }

    #[test]
    fn joins_the_parts_of_a_note() {
        let step = SteppedDown { to: Level::Count, cost: Share(700), limit: Share(500) };
        let stepped = TimesNote { stepped_down: Some(step), ..missing(MissingTimes::Callers) };
        assert_eq!(
            times_note(&stepped, Reader::Window),
            "stepped down to count by the budget: it cost 7 % of a processor, and all dials may cost 5 %; it is \
             timed without callers: the agent can count callers only on x86-64 Linux"
        );
        let spared = TimesNote { spared: true, ..TimesNote::default() };
        assert!(times_note(&spared, Reader::Window).starts_with("the budget leaves it alone"));
        let both = notes(Some(RowNote::Inlined), Some(&spared), Reader::Window).expect("both");
        assert!(both.starts_with("already inlined") && both.contains("not counted; the budget"), "{both}");
        assert_eq!(notes(None, None, Reader::Window), None);
    }
}
