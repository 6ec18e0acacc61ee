//! Every method body of every assembly of the three frameworks goes through the agent's IL engine.
//!
//! Unedited, code and clauses come back byte for byte. With a probe at the front, and with instructions
//! inserted everywhere (so that short branches grow), the body passes the verifier and is still the same
//! program. The gate edits every third body, the soak all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, anyhow, ensure};
use redial_agent::il::maxstack::{CallShape, Shapes};
use redial_agent::il::verify::verify;
use redial_agent::il::{
    Body, Clause, ClauseKind, Edit, IlError, Insn, Instruction, Label, Landing, Opcode, Operand, Prologue,
    decode, encode, gives_frame_away, with_prologue, wrap_body,
};
use redial_agent::instrument::call_form::{self, CallForm, CallSites};
use redial_agent::instrument::timed_body::{self, Timing, result_variable};
use redial_agent::signature::{
    Method, TypeNames, canonical_parameters, parse_locals, parse_method, write_locals, write_method,
};
use redial_testbed::pe::{Assembly, MethodDef};
use redial_testbed::runtimes::Runtime;
use redial_testbed::soak;

/// The gate edits one body of this many.
const GATE_SHARE: usize = 3;

#[test]
fn every_framework_body_survives() -> Result<()> {
    let mut failures = Vec::new();
    for runtime in Runtime::all() {
        let found = run(&runtime.ensure()?.framework_assemblies()?)?;
        println!(
            "{}: {} assemblies, {} bodies ({} edited), {} bytes of code, {} clauses, {} branches grown when strewn",
            runtime.name(),
            found.assemblies,
            found.bodies,
            found.edited,
            found.code,
            found.clauses,
            found.grown
        );
        // A reader that finds too little must not pass the test.
        ensure!(found.assemblies > 100 && found.bodies > 80_000, "{} has too few bodies", runtime.name());
        ensure!(found.edited > 26_000, "{}: {} bodies were edited", runtime.name(), found.edited);
        failures.extend(found.failures);
    }
    let mut by_reason: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, reason) in &failures {
        *by_reason.entry(reason).or_default() += 1;
    }
    println!("{by_reason:#?}");
    let shown: Vec<_> = failures.iter().take(20).collect();
    assert!(failures.is_empty(), "{} bodies failed: {shown:#?}", failures.len());
    Ok(())
}

#[derive(Default)]
struct Summary {
    assemblies: usize,
    bodies: usize,
    edited: usize,
    code: usize,
    clauses: usize,
    grown: usize,
    failures: Vec<(String, String)>,
}

/// Processes the assemblies on all cores.
fn run(assemblies: &[PathBuf]) -> Result<Summary> {
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Summary::default());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let work = || -> Result<()> {
        while let Some(path) = assemblies.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = assembly(path).with_context(|| format!("in {}", path.display()))?;
            let mut total = total.lock().unwrap();
            total.assemblies += found.assemblies;
            total.bodies += found.bodies;
            total.edited += found.edited;
            total.code += found.code;
            total.clauses += found.clauses;
            total.grown += found.grown;
            total.failures.extend(found.failures);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|worker| worker.join().expect("a worker panicked"))
    })?;
    Ok(total.into_inner().unwrap())
}

fn assembly(path: &Path) -> Result<Summary> {
    let mut found = Summary::default();
    let Some(assembly) = Assembly::read(path)? else { return Ok(found) };
    found.assemblies = 1;
    for method in assembly.methods() {
        let method = method?;
        if !method.is_il() {
            continue;
        }
        found.bodies += 1;
        if let Err(error) = body(&assembly, &method, &mut found) {
            let owner = assembly.type_name(assembly.owner(method.token)?)?;
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            found.failures.push((format!("{file}!{owner}.{}", method.name), format!("{error:#}")));
        }
    }
    Ok(found)
}

fn body(assembly: &Assembly, method: &MethodDef<'_>, found: &mut Summary) -> Result<()> {
    let bytes = assembly.body(method.rva)?;
    signatures(assembly, method, decode(bytes)?.local_sig).context("signatures")?;
    let shapes = AssemblyShapes { assembly, own: parse_method(method.signature)? };
    let original = decode(bytes)?;
    found.code += original.old_code_size as usize;
    found.clauses += original.clauses.len();
    check_unedited(bytes, &original, &shapes).context("unedited")?;
    if !soak::is_on() && !found.bodies.is_multiple_of(GATE_SHARE) {
        return Ok(());
    }
    found.edited += 1;
    with_probe(bytes, &original, &shapes).context("with a probe")?;
    timed(bytes, &original, &shapes, method).context("timed")?;
    found.grown += check_insertions(&original, &shapes).context("strewn")?;
    Ok(())
}

/// Signatures come back byte for byte too, and every type in them has a name.
fn signatures(assembly: &Assembly, method: &MethodDef<'_>, locals: u32) -> Result<()> {
    ensure!(write_method(&parse_method(method.signature)?)? == method.signature, "the method's differs");
    if locals != 0 {
        let locals = assembly.signature(locals)?;
        ensure!(write_locals(&parse_locals(locals)?)? == locals, "the locals' differs");
    }
    let mut printed = String::new();
    canonical_parameters(method.signature, &Names(assembly), &mut printed);
    ensure!(!printed.contains('?') && !printed.contains("0x"), "printed as {printed}");
    Ok(())
}

struct Names<'a>(&'a Assembly);

impl TypeNames for Names<'_> {
    fn type_name(&self, token: u32) -> Option<String> {
        self.0.type_name(token).ok()
    }
}

/// Compares code and clauses as bytes, located again by the numbers in the header.
fn check_unedited(bytes: &[u8], original: &Body, shapes: &AssemblyShapes<'_>) -> Result<()> {
    let encoded = encode(original)?;
    let header = if bytes[0] & 3 == 2 { 1 } else { 12 };
    let size = original.old_code_size as usize;
    let code_end = header + size;
    let new_code_end = encoded.header_size + size;
    ensure!(bytes[header..code_end] == encoded.bytes[encoded.header_size..new_code_end], "code differs");
    if !original.clauses.is_empty() {
        // The first word of the section contains its size; some compilers do not count that word.
        let clauses = code_end.next_multiple_of(4) + 4;
        let new_clauses = new_code_end.next_multiple_of(4) + 4;
        let new = &encoded.bytes[new_clauses..];
        ensure!(bytes[clauses..clauses + new.len()] == *new, "clauses differ");
        ensure!(
            bytes[clauses - 4] & 0x7F == encoded.bytes[new_clauses - 4],
            "the form of the clauses differs"
        );
    }
    ensure!(encoded.map.iter().all(|(old, new)| old == new), "instructions moved: {:?}", encoded.map);
    let verified = verify(&encoded.bytes, shapes)?;
    // A tiny header has a fixed stack depth, not the body's own.
    ensure!(Body { max_stack: original.max_stack, ..verified } == *original, "decoding again differs");
    Ok(())
}

/// Returns call sites of a form.
fn sites(form: CallForm) -> CallSites {
    CallSites { always: AssemblyShapes::PROBE, seldom: AssemblyShapes::PROBE, form }
}

fn with_probe(bytes: &[u8], original: &Body, shapes: &AssemblyShapes<'_>) -> Result<()> {
    for form in [CallForm::Suppressed, CallForm::Transition] {
        let sites = sites(form);
        probed(bytes, original, shapes, call_form::calling(0x1_0000, sites.always))?;
        for local in [3, 300] {
            let inline = call_form::inline(0x1_0000, sites, local, 0x1100_0001).context("no table")?;
            probed(bytes, original, shapes, inline)?;
        }
    }
    Ok(())
}

/// Checks a timed body: sound to the last value on the stack, with the method's own instructions in order and
/// at the offsets of the map.
fn timed(bytes: &[u8], original: &Body, shapes: &AssemblyShapes<'_>, method: &MethodDef<'_>) -> Result<()> {
    let result = result_variable(method.signature).map_err(|why| anyhow!("{why:?}"))?;
    ensure!(result.is_some() == shapes.returns_value(), "{result:?} for a result");
    let (returns, noted_at, callers) = (result.is_some(), None, false);
    let (local_sig, local, stack, trace) = (0x1100_0001, 3, callers, None);
    let timing = Timing { local_sig, local, returns, noted_at, callers, stack, trace };
    for call_form in [CallForm::Suppressed, CallForm::Transition] {
        let wrapper = timed_body::wrapper(0x1_0000, sites(call_form), timing);
        let before = wrapper.before.len() + wrapper.first.len();
        let rewritten = wrap_body(bytes, wrapper);
        if gives_frame_away(original) {
            ensure!(rewritten == Err(IlError::NoWayOut), "{rewritten:?}");
            continue;
        }
        let rewritten = rewritten?;
        let timed = verify(&rewritten.body, shapes)?;
        ensure!(timed.clauses.len() == original.clauses.len() + 1, "the clauses");
        let at: BTreeMap<u32, u32> = rewritten.map.iter().copied().collect();
        let own = |offset: Option<u32>| timed.instructions.iter().find(|one| one.old_offset == offset);
        ensure!(at.len() == original.instructions.len(), "the map has {} entries", at.len());
        ensure!(rewritten.map[0].1 == timed.instructions[before].old_offset.unwrap_or(0), "the map's first");
        // A sample in order: a check of every instruction would be slow in long bodies.
        for instruction in original.instructions.iter().step_by(original.instructions.len() / 64 + 1) {
            let new = instruction.old_offset.and_then(|old| at.get(&old)).and_then(|new| own(Some(*new)));
            let same = new.is_some_and(|new| match instruction.opcode {
                Opcode::RET if result.is_some() => new.opcode == Opcode::STLOC_S,
                Opcode::RET => matches!(new.opcode, Opcode::LEAVE | Opcode::LEAVE_S),
                opcode => new.opcode == opcode || opcode.long_form() == Some(new.opcode),
            });
            ensure!(same, "{instruction:?} became {new:?}");
        }
    }
    Ok(())
}

fn probed(bytes: &[u8], original: &Body, shapes: &AssemblyShapes<'_>, prologue: Prologue) -> Result<()> {
    let (probe, local_sig) = (prologue.code.clone(), prologue.local_sig);
    let guarded = prologue.guarded.is_some();
    let rewritten = with_prologue(bytes, prologue)?;
    let mut probed = verify(&rewritten.body, shapes)?;
    if guarded {
        let own = probed.clauses.pop().context("the probe's own clause")?;
        ensure!(own.handler.end <= Label(probe.len() as u32), "{own:?} is not in the probe");
    }
    let first = probed.instructions.get(probe.len()).and_then(|first| first.old_offset);
    ensure!(
        rewritten.map.first() == first.map(|first| (0, first)).as_ref(),
        "the map is {:?}",
        rewritten.map
    );
    ensure!(probed.local_sig == local_sig.unwrap_or(original.local_sig), "the locals' signature");
    let offsets = original.instructions.iter().zip(&probed.instructions[probe.len()..]);
    let offsets = offsets.map(|(old, new)| (old.old_offset, new.old_offset));
    ensure!(offsets.eq(rewritten.map.iter().map(|(old, new)| (Some(*old), Some(*new)))), "the map is wrong");
    let moved = |label: Label| Label(label.0 + probe.len() as u32);
    let original = Body { local_sig: probed.local_sig, ..original.clone() };
    same_program(&original, &probed, &probed.instructions[probe.len()..], &moved)
}

/// Inserts before many instructions and returns the number of branches that grew.
fn check_insertions(original: &Body, shapes: &AssemblyShapes<'_>) -> Result<usize> {
    let mut edited = original.clone();
    let mut edit = Edit::new();
    let mut moved_to: Vec<Label> = Vec::new();
    let mut inserted = 0;
    let mut prefixed = false;
    for (index, instruction) in original.instructions.iter().enumerate() {
        let at = Label(index as u32);
        moved_to.push(Label(at.0 + inserted));
        if index % 3 == 0 && !prefixed && !before_tail_ret(original, index) {
            edit.insert_before(at, Landing::Inserted, vec![Insn::LdcI4(1000), Insn::Pop]);
            inserted += 2;
        }
        prefixed = instruction.opcode.info().flow == redial_agent::il::opcodes::Flow::Prefix;
    }
    moved_to.push(Label(original.end().0 + inserted));
    edit.apply(&mut edited)?;
    edited.max_stack = edited.max_stack.saturating_add(1);
    let encoded = encode(&edited)?;
    let strewn = verify(&encoded.bytes, shapes)?;
    let kept: Vec<_> = edited
        .instructions
        .iter()
        .zip(&strewn.instructions)
        .filter(|(edited, _)| edited.old_offset.is_some())
        .map(|(_, written)| written.clone())
        .collect();
    same_program(original, &strewn, &kept, &|label| moved_to[label.0 as usize])?;
    Ok(strewn
        .instructions
        .iter()
        .zip(&edited.instructions)
        .filter(|(new, old)| new.opcode != old.opcode)
        .count())
}

/// Returns whether this is the `ret` that must directly follow a `tail.` call.
fn before_tail_ret(body: &Body, index: usize) -> bool {
    index >= 2
        && body.instructions[index].opcode == Opcode::RET
        && body.instructions[..index - 1].iter().rev().take(4).any(|before| before.opcode == Opcode::TAIL)
}

/// Compares `kept` (the instructions of `new` that come from `old`) and the clauses, mapping labels with
/// `moved`.
fn same_program(old: &Body, new: &Body, kept: &[Instruction], moved: &dyn Fn(Label) -> Label) -> Result<()> {
    ensure!(old.instructions.len() == kept.len(), "the number of instructions differs");
    for (old, new) in old.instructions.iter().zip(kept) {
        let same_opcode = old.opcode == new.opcode || old.opcode.long_form() == Some(new.opcode);
        let same_operand = match (&old.operand, &new.operand) {
            (Operand::Target(old), Operand::Target(new)) => moved(*old) == *new,
            (Operand::Switch(old), Operand::Switch(new)) => {
                old.iter().map(|old| moved(*old)).eq(new.iter().copied())
            }
            (old, new) => old == new,
        };
        ensure!(same_opcode && same_operand, "{old:?} became {new:?}");
    }
    let clauses: Vec<Clause> = old
        .clauses
        .iter()
        .map(|clause| Clause {
            kind: match clause.kind {
                ClauseKind::Filter { start } => ClauseKind::Filter { start: moved(start) },
                kind => kind,
            },
            try_region: moved(clause.try_region.start)..moved(clause.try_region.end),
            handler: moved(clause.handler.start)..moved(clause.handler.end),
        })
        .collect();
    ensure!(clauses == new.clauses, "clauses differ: {clauses:?} became {:?}", new.clauses);
    let same_locals = old.local_sig == new.local_sig && old.init_locals == new.init_locals;
    ensure!(same_locals, "locals differ");
    Ok(())
}

/// Call shapes from the assembly's metadata; the probe's own call is `void(native int, native int)`.
struct AssemblyShapes<'a> {
    assembly: &'a Assembly,
    own: Method,
}

impl AssemblyShapes<'_> {
    /// A StandAloneSig beyond those of any assembly.
    const PROBE: u32 = 0x11FF_FFFF;
}

impl Shapes for AssemblyShapes<'_> {
    fn call(&self, opcode: Opcode, token: u32) -> Option<CallShape> {
        if token == Self::PROBE {
            return Some(CallShape { pops: 3, pushes: 0 });
        }
        let method = parse_method(self.assembly.signature(token).ok()?).ok()?;
        let arguments = method.argument_count() as u16;
        Some(match opcode {
            Opcode::NEWOBJ => CallShape { pops: method.params.len() as u16, pushes: 1 },
            Opcode::CALLI => CallShape { pops: arguments + 1, pushes: u16::from(method.returns_value()) },
            _ => CallShape { pops: arguments, pushes: u16::from(method.returns_value()) },
        })
    }

    fn returns_value(&self) -> bool {
        self.own.returns_value()
    }
}
