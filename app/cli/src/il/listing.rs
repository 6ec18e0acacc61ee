//! Formats a body: a header, then one line per instruction.

use crate::method_source::SourceInfo;
use redial_protocol::il::{IlBody, IlClause, IlClauseKind, IlLine, IlSource};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use redial_text::words;
use redial_text::words::printable;
use std::collections::HashMap;

/// The width to which opcodes are padded at most.
const WIDEST_OPCODE: usize = 32;
/// The prefix of the probe's lines.
const INSERTED: &str = "+ ";
/// The prefix of the method's own lines.
const BLANK: &str = "  ";
/// Explains the prefixes in a counting body.
const COUNTS: &str = "  lines with + are the probe, which adds one to the running thread's own counter of this method; the other \
                      lines are the method's own";
/// Explains the prefixes in a timing body.
const TIMES: &str = "  lines with + are the probe, which calls the agent when a call begins and ends; the other lines are the \
                     method's own, inside a try with a fault handler for exceptions that leave it; each ret became a leave";
/// Explains the prefixes in a tracing body.
const TRACES: &str = "  lines with + are the probe, which calls the agent when a call begins and ends, and gives it arguments and \
                      result; the other lines are the method's own, inside a try with a fault handler for exceptions that \
                      leave it; each ret became a leave";

/// Returns the lines above the instructions. `dialled` is the method's level and state, if its dial is on. `own` is the header
/// of the original IL, if `body` is instrumented.
pub fn header(
    (method, token): (&str, u32),
    dialled: Option<(Level, CopyState)>,
    (body, own): (&IlBody, Option<&IlBody>),
    (instructions, source): (&[IlLine], &SourceInfo),
) -> Vec<String> {
    let level = level(instructions);
    let own = own.unwrap_or(body);
    let mut lines = vec![format!("{}  {token:#010x}", printable(method)), about(body, own, level)];
    lines.extend(dialled.map(|(level, state)| {
        let runs = match (body.source, state) {
            (IlSource::Original, CopyState::Asked | CopyState::Live | CopyState::Reverting) => {
                "; the running code has a probe, which --instrumented shows"
            }
            _ => "",
        };
        format!("  dialled: {level}, {}{runs}", words::state_word(state))
    }));
    if instructions.iter().any(|line| line.inserted) {
        let explanation = match level {
            Level::Trace => TRACES,
            Level::Time => TIMES,
            Level::Count | Level::Off => COUNTS,
        };
        lines.push(explanation.to_owned());
    }
    // The probe's variables follow the method's own; its handler encloses all others.
    let mark = |number: usize, own: u64| if (number as u64) < own { BLANK } else { INSERTED };
    lines.extend(
        body.locals.iter().enumerate().map(|(number, local)| {
            format!("{}local {number}: {}", mark(number, locals(own)), printable(local))
        }),
    );
    if body.more_locals > 0 {
        let (unlisted, listed) = (body.more_locals.into(), body.locals.len() as u64);
        let added = locals(body).saturating_sub(listed.max(locals(own)));
        lines.push(format!("  and {} more{}", words::grouped(unlisted), plus(added)));
    }
    lines.extend(
        body.clauses
            .iter()
            .enumerate()
            .map(|(number, of)| mark(number, clauses(own)).to_owned() + &clause(of)),
    );
    if body.more_clauses > 0 {
        let added = clauses(body).saturating_sub((body.clauses.len() as u64).max(clauses(own)));
        let more = words::count(body.more_clauses.into(), "clause", "clauses");
        lines.push(format!("  and {more} more{}", plus(added)));
    }
    lines.extend(source.header());
    lines.push(String::new());
    lines
}

/// Returns the lines of the instructions, one after the other: a body may have a million. `source` has the source line of
/// instructions by offset; each new one stands above its first instruction.
pub fn instructions(lines: &[IlLine], source: HashMap<u32, u32>) -> impl Iterator<Item = String> {
    let (width, timed) = (opcode_width(lines), is_timed(lines));
    let mut last = None;
    lines.iter().flat_map(move |line| {
        let new = source.get(&line.offset).copied().filter(|new| last.replace(*new) != Some(*new));
        let above = new.map(|number| format!("{BLANK}// line {number}"));
        above.into_iter().chain([instruction(line, width, timed)])
    })
}

/// Returns the width of the opcode column. The longest opcode has 15 characters; a faulty agent may send others.
fn opcode_width(lines: &[IlLine]) -> usize {
    lines.iter().map(|line| line.opcode.len()).max().unwrap_or(0).min(WIDEST_OPCODE)
}

/// Returns the level of the probe. Code that captures is skipped for calls that are not captured; in a body that only
/// measures time there is one such branch at most.
fn level(instructions: &[IlLine]) -> Level {
    let skips = instructions.iter().filter(|line| line.inserted && line.opcode.starts_with("brfalse"));
    match (is_timed(instructions), skips.count()) {
        (false, _) => Level::Count,
        (true, ..=1) => Level::Time,
        (true, _) => Level::Trace,
    }
}

/// Returns whether the probe measures time: only then does the probe contain the final `ret`.
fn is_timed(instructions: &[IlLine]) -> bool {
    instructions.iter().any(|line| line.inserted && line.opcode == "ret")
}

fn locals(body: &IlBody) -> u64 {
    body.locals.len() as u64 + u64::from(body.more_locals)
}

fn clauses(body: &IlBody) -> u64 {
    body.clauses.len() as u64 + u64::from(body.more_clauses)
}

/// Formats the probe's part of a number.
fn plus(more: u64) -> String {
    if more == 0 { String::new() } else { format!(" (+{})", words::grouped(more)) }
}

/// Describes the body, with the difference of each number to the original IL. `level` is that of its probe, if any.
fn about(body: &IlBody, own: &IlBody, level: Level) -> String {
    let source = match body.source {
        IlSource::Original => "original IL".to_owned(),
        IlSource::Installed => format!("instrumented (+) at level {level}, as the runtime has it"),
        IlSource::Preview => format!(
            "instrumented (+) at level {level}, as the runtime would get it, except for numbers that a dial fills in"
        ),
    };
    let more = |now: u64, own: u64| plus(now.saturating_sub(own));
    let zeroed = if locals(body) > 0 && body.init_locals { ", zeroed" } else { "" };
    format!(
        "  {source}: {}{} of code, maxstack {}{}, {}{}{zeroed}",
        words::count(body.code_size.into(), "byte", "bytes"),
        more(body.code_size.into(), own.code_size.into()),
        body.max_stack,
        more(body.max_stack.into(), own.max_stack.into()),
        words::count(locals(body), "local variable", "local variables"),
        more(locals(body), locals(own)),
    )
}

fn label(offset: u32) -> String {
    format!("IL_{offset:04x}")
}

fn clause(clause: &IlClause) -> String {
    let handler = match &clause.kind {
        IlClauseKind::Catch { class, .. } => format!("catch {}", printable(class)),
        IlClauseKind::Filter { start } => format!("filter {}", label(*start)),
        IlClauseKind::Finally => "finally".to_owned(),
        IlClauseKind::Fault => "fault".to_owned(),
    };
    format!(
        "try {} to {} {handler} handler {} to {}",
        label(clause.try_start),
        label(clause.try_end),
        label(clause.handler_start),
        label(clause.handler_end)
    )
}

fn instruction(line: &IlLine, width: usize, timed: bool) -> String {
    let mark = if line.inserted { INSERTED } else { BLANK };
    let mut operand = match (line.opcode.as_str(), line.targets.as_slice()) {
        ("switch", targets) => {
            format!("({})", targets.iter().map(|target| label(*target)).collect::<Vec<_>>().join(", "))
        }
        (_, [target]) => label(*target),
        _ => line.operand.as_deref().map(printable).unwrap_or_default(),
    };
    let remarks = [line.token.map(|token| format!("{token:#010x}")), remark(line, timed).map(str::to_owned)];
    let remarks: Vec<String> = remarks.into_iter().flatten().collect();
    if !remarks.is_empty() {
        let gap = if operand.is_empty() { "" } else { "  " };
        operand = format!("{operand}{gap}// {}", remarks.join(", "));
    }
    format!("{mark}{}  {:<width$}  {operand}", label(line.offset), line.opcode).trim_end().to_owned()
}

/// Explains an instruction of the probe, if it is not obvious.
fn remark(line: &IlLine, timed: bool) -> Option<&'static str> {
    match line.opcode.as_str() {
        _ if !line.inserted => None,
        "calli" if timed => Some("agent code"),
        _ if timed => None,
        "calli" => Some("agent code, once in a while"),
        "leave" | "leave.s" => Some("the garbage collector could stop the thread here"),
        "ldind.i8" => Some("calls so far"),
        "stind.i8" => Some("plus one"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(
        named: (&str, u32),
        dialled: Option<(Level, CopyState)>,
        bodies: (&IlBody, Option<&IlBody>),
        code: &[IlLine],
    ) -> Vec<String> {
        header(named, dialled, bodies, (code, &SourceInfo::NoFile))
            .into_iter()
            .chain(instructions(code, HashMap::new()))
            .collect()
    }

    fn line(offset: u32, opcode: &str) -> IlLine {
        IlLine { offset, opcode: opcode.into(), ..IlLine::default() }
    }

    #[test]
    fn formats_a_whole_listing() {
        let body = IlBody {
            source: IlSource::Installed,
            max_stack: 8,
            init_locals: true,
            local_sig: 0x1100_0001,
            locals: vec!["int".into()],
            more_locals: 2,
            code_size: 0x12345,
            clauses: vec![
                IlClause {
                    kind: IlClauseKind::Catch { class: "System.Exception".into(), token: 0x0100_0001 },
                    try_start: 0,
                    try_end: 5,
                    handler_start: 5,
                    handler_end: 0x12345,
                },
                IlClause {
                    kind: IlClauseKind::Filter { start: 7 },
                    try_start: 0,
                    try_end: 5,
                    handler_start: 9,
                    handler_end: 10,
                },
            ],
            more_clauses: 1,
            lines: 5,
        };
        let own = IlBody {
            max_stack: 6,
            locals: vec![],
            more_locals: 0,
            code_size: 0x12340,
            clauses: body.clauses[..1].to_vec(),
            more_clauses: 0,
            ..body.clone()
        };
        let lines = lines(
            ("Shop!Shop.Cart.Add(int)", 0x0600_0012),
            Some((Level::Count, CopyState::Live)),
            (&body, Some(&own)),
            &[
                IlLine { inserted: true, operand: Some("7".into()), ..line(0, "ldc.i4.s") },
                IlLine { inserted: true, ..line(1, "stind.i8") },
                IlLine { targets: vec![0x12345, 2], ..line(2, "switch") },
                IlLine { targets: vec![2], ..line(0x20, "br.s") },
                IlLine {
                    operand: Some("void A.B(int)".into()),
                    token: Some(0x0600_0001),
                    ..line(0x22, "call")
                },
            ],
        );
        assert_eq!(
            lines,
            [
                "Shop!Shop.Cart.Add(int)  0x06000012",
                "  instrumented (+) at level count, as the runtime has it: 74,565 bytes (+5) of code, maxstack 8 (+2), \
                 3 local variables (+3), zeroed",
                "  dialled: count, live",
                COUNTS,
                "+ local 0: int",
                "  and 2 more (+2)",
                "  try IL_0000 to IL_0005 catch System.Exception handler IL_0005 to IL_12345",
                "+ try IL_0000 to IL_0005 filter IL_0007 handler IL_0009 to IL_000a",
                "  and 1 clause more (+1)",
                "  source: unknown, since its module has no file",
                "",
                "+ IL_0000  ldc.i4.s  7",
                "+ IL_0001  stind.i8  // plus one",
                "  IL_0002  switch    (IL_12345, IL_0002)",
                "  IL_0020  br.s      IL_0002",
                "  IL_0022  call      void A.B(int)  // 0x06000001",
            ]
        );
    }

    #[test]
    fn original_il_of_a_dialled_method_mentions_the_probe() {
        let body = IlBody {
            source: IlSource::Original,
            max_stack: 8,
            init_locals: false,
            local_sig: 0,
            locals: vec![],
            more_locals: 0,
            code_size: 1,
            clauses: vec![],
            more_clauses: 0,
            lines: 0,
        };
        let text = |dialled| lines(("A!B.C()", 1), dialled, (&body, None), &[]).join("\n");
        assert!(
            text(Some((Level::Count, CopyState::Live)))
                .contains("dialled: count, live; the running code has a probe")
        );
        assert!(text(Some((Level::Count, CopyState::Refused))).contains("dialled: count, refused\n"));
        assert!(!text(None).contains("dialled"));
    }

    #[test]
    fn explains_a_timing_body() {
        let fault = IlClause {
            kind: IlClauseKind::Fault,
            try_start: 1,
            try_end: 3,
            handler_start: 3,
            handler_end: 5,
        };
        let body = IlBody {
            source: IlSource::Installed,
            max_stack: 8,
            init_locals: false,
            local_sig: 0x1100_0001,
            locals: vec![],
            more_locals: 0,
            code_size: 6,
            clauses: vec![fault],
            more_clauses: 0,
            lines: 6,
        };
        let probe = |offset, opcode| IlLine { inserted: true, ..line(offset, opcode) };
        let listing = |instructions: &[IlLine]| {
            lines(("A!B.C()", 1), Some((Level::Time, CopyState::Live)), (&body, None), instructions)
        };
        let timed = listing(&[
            probe(0, "calli"),
            IlLine { targets: vec![5], ..line(1, "leave") },
            probe(3, "calli"),
            probe(4, "endfinally"),
            probe(5, "ret"),
        ]);
        assert_eq!(timed[3], TIMES);
        assert!(timed[1].contains("at level time, as the runtime has it"), "{timed:#?}");
        assert!(timed.iter().any(|line| line == "+ IL_0000  calli       // agent code"), "{timed:#?}");
        let mut code = vec![probe(0, "calli"), probe(1, "brfalse.s"), probe(2, "calli"), line(3, "nop")];
        code.extend([probe(4, "brfalse.s"), probe(5, "ret")]);
        let traced = listing(&code);
        assert_eq!(traced[3], TRACES);
        assert!(traced[1].contains("at level trace, as the runtime has it"), "{traced:#?}");
        let own = listing(&[probe(0, "ldind.i8"), line(1, "nop"), line(3, "endfinally")]);
        assert_eq!(own[3], COUNTS, "the method's own fault clause");
        assert!(own[1].contains("at level count,"), "regardless of the wanted level: {own:#?}");
        let body = IlBody { source: IlSource::Preview, ..body.clone() };
        let would_be = lines(("A!B.C()", 1), None, (&body, None), &[probe(0, "stind.i8")]);
        assert!(would_be[1].contains("at level count, as the runtime would get it"), "{would_be:#?}");
        assert!(own.iter().any(|line| line.ends_with("// calls so far")), "{own:#?}");
    }
}
