//! The agent's decoder reads every method body of the frameworks and of random IL exactly as an independent
//! reader does (`programs/readil.cs`): header, instructions with offsets, names and operands, and clauses.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use redial_agent::il::{Body, ClauseKind, Label, Operand, decode};
use redial_testbed::generate::{RANDOM_MODULES, random_methods};
use redial_testbed::pe::Assembly;
use redial_testbed::runtimes::Runtime;
use redial_testbed::{cache, host, on_each_runtime, programs};

on_each_runtime!(every_framework_body_reads_the_same);

fn every_framework_body_reads_the_same(runtime: Runtime) -> Result<()> {
    let read = compare(&format!("framework-{}", runtime.name()), &runtime.ensure()?.framework_assemblies()?)?;
    // A reader that finds too little must not pass the test.
    ensure!(read.bodies > 80_000 && read.instructions > 2_000_000 && read.clauses > 5_000, "{read:?}");
    Ok(())
}

/// .NET Core 3.1.2, ASP.NET Core 3.1, and the C# compiler with its dependencies.
#[test]
fn every_body_of_large_libraries_reads_the_same() -> Result<()> {
    let sdk = Runtime::SDK_3_1.ensure()?.root();
    let mut files = Vec::new();
    for folder in [
        "shared/Microsoft.NETCore.App/3.1.2",
        "shared/Microsoft.AspNetCore.App/3.1.2",
        "sdk/3.1.102/Roslyn/bincore",
    ] {
        files.extend(assemblies(&sdk.join(folder))?);
    }
    let read = compare("large", &files)?;
    ensure!(read.bodies > 180_000 && read.clauses > 10_000, "{read:?}");
    Ok(())
}

/// .NET 10, its ASP.NET Core, and a program on them: the content of one file.
#[test]
#[cfg(target_os = "linux")]
fn every_body_of_a_single_file_program_reads_the_same() -> Result<()> {
    let program = redial_testbed::runtimes::single_file_program()?;
    let reader = programs::named("readil")?;
    // The name of the reader's folder is the hash of its source.
    let recipe =
        format!("{}\n{}", redial_testbed::packages::SINGLE_FILE_10_0.sha256, reader.folder().display());
    let folder = cache::ensure("generated/single-file-assemblies", &recipe, |into| {
        let mut command = reader.command(Runtime::V8_0)?;
        command.arg("unbundle").args([program.as_path(), into]);
        host::run(command)?.ok().map(drop)
    })?;
    let files = assemblies(&folder)?;
    let named = |name: &str| files.iter().any(|file| file.ends_with(name));
    ensure!(named("System.Private.CoreLib.dll") && named("System.Linq.dll"), "{files:?}");
    let read = compare("single-file", &files)?;
    ensure!(read.bodies > 100_000 && read.clauses > 5_000, "{read:?}");
    Ok(())
}

fn assemblies(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "dll"));
    files.sort();
    Ok(files)
}

#[test]
fn every_random_body_reads_the_same() -> Result<()> {
    let folder = random_methods(1, RANDOM_MODULES)?;
    let files: Vec<_> = (0..RANDOM_MODULES).map(|module| folder.join(format!("Rand{module}.dll"))).collect();
    let read = compare("random", &files)?;
    ensure!(read.bodies > 20_000 && read.clauses > 10_000, "{read:?}");
    Ok(())
}

/// Summary of a body: instructions, clauses, and a hash of everything.
type BodySummary = (usize, usize, u64);

#[derive(Debug, Default)]
struct Totals {
    bodies: usize,
    instructions: usize,
    clauses: usize,
}

fn compare(what: &str, files: &[PathBuf]) -> Result<Totals> {
    let mut read = Totals::default();
    let mut wrong = Vec::new();
    for (file, theirs) in read_with_other_reader(what, files)? {
        let ours = our_summaries(&file).with_context(|| format!("in {}", file.display()))?;
        for (token, summary) in &ours {
            read.bodies += 1;
            read.instructions += summary.0;
            read.clauses += summary.1;
            if theirs.get(token) != Some(summary) {
                let other = theirs.get(token);
                wrong.push(format!("{} {token:08x}: {summary:x?}, not {other:x?}", file.display()));
            }
        }
        wrong.extend(
            theirs
                .keys()
                .filter(|token| !ours.contains_key(*token))
                .map(|token| format!("{} {token:08x}: not among ours", file.display())),
        );
    }
    println!("{what}: {} assemblies, {read:?}", files.len());
    ensure!(
        wrong.is_empty(),
        "{} of {} bodies read differently (`readil FILE TOKEN` shows one): {:#?}",
        wrong.len(),
        read.bodies,
        &wrong[..wrong.len().min(10)]
    );
    Ok(read)
}

/// Returns the other reader's summaries by file and method token.
fn read_with_other_reader(
    what: &str,
    files: &[PathBuf],
) -> Result<Vec<(PathBuf, BTreeMap<u32, BodySummary>)>> {
    let list = cache::folder().join(format!("readil-{what}-{}", std::process::id()));
    let lines: Vec<String> = files.iter().map(|file| format!("{}\n", file.display())).collect();
    fs::write(&list, lines.concat())?;
    let mut command = programs::named("readil")?.command(Runtime::V8_0)?;
    command.arg(&list);
    let outcome = host::run(command)?.ok()?;
    fs::remove_file(&list)?;
    let mut read: Vec<(PathBuf, BTreeMap<u32, BodySummary>)> = Vec::new();
    for line in outcome.stdout.lines() {
        if let Some(file) = line.strip_prefix("file ") {
            read.push((file.into(), BTreeMap::new()));
            continue;
        }
        let of_file = || format!("{line:?} of the other reader");
        let words: Vec<&str> = line.split(' ').collect();
        let [token, instructions, clauses, hash] = words[..] else { anyhow::bail!(of_file()) };
        let summary = (
            instructions.parse().with_context(of_file)?,
            clauses.parse().with_context(of_file)?,
            u64::from_str_radix(hash, 16).with_context(of_file)?,
        );
        let (_, methods) = read.last_mut().with_context(of_file)?;
        methods.insert(u32::from_str_radix(token, 16).with_context(of_file)?, summary);
    }
    ensure!(read.len() == files.len(), "{} files read of {}", read.len(), files.len());
    Ok(read)
}

fn our_summaries(file: &Path) -> Result<BTreeMap<u32, BodySummary>> {
    let mut read = BTreeMap::new();
    let Some(assembly) = Assembly::read(file)? else { return Ok(read) };
    for method in assembly.methods() {
        let method = method?;
        if method.is_il() {
            let body = decode(assembly.body(method.rva)?)?;
            let hash = hash(&body).with_context(|| format!("method {:08x}", method.token))?;
            read.insert(method.token, (body.instructions.len(), body.clauses.len(), hash));
        }
    }
    Ok(read)
}

/// Hashes every number in a body, eight bytes each, and the instructions' names, with FNV-1a.
fn hash(body: &Body) -> Result<u64> {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    hash.number(body.max_stack.into());
    hash.number(body.init_locals.into());
    hash.number(body.local_sig.into());
    let offset = |label: Label| match body.at(label) {
        Some(instruction) => {
            Ok(i64::from(instruction.old_offset.context("an instruction without an offset")?))
        }
        None => Ok::<_, anyhow::Error>(i64::from(body.old_code_size)),
    };
    for instruction in &body.instructions {
        let opcode = instruction.opcode;
        hash.number(instruction.old_offset.context("an instruction without an offset")?.into());
        hash.number(opcode.value().into());
        opcode.info().name.bytes().for_each(|byte| hash.byte(byte));
        match &instruction.operand {
            Operand::None => {}
            Operand::U8(value) => hash.number((*value).into()),
            Operand::I8(value) => hash.number((*value).into()),
            Operand::U16(value) => hash.number((*value).into()),
            Operand::I32(value) => hash.number((*value).into()),
            Operand::I64(value) => hash.number(*value),
            Operand::R4(bits) => hash.number((*bits).into()),
            Operand::R8(bits) => hash.number(*bits as i64),
            Operand::Token(token) => hash.number((*token).into()),
            Operand::Target(label) => hash.number(offset(*label)?),
            Operand::Switch(labels) => {
                for label in labels {
                    hash.number(offset(*label)?);
                }
            }
        }
    }
    for clause in &body.clauses {
        let (kind, last) = match clause.kind {
            ClauseKind::Catch { class } => (0, class.into()),
            ClauseKind::Filter { start } => (1, offset(start)?),
            ClauseKind::Finally { .. } => (2, 0),
            ClauseKind::Fault { .. } => (4, 0),
        };
        hash.number(kind);
        for region in [&clause.try_region, &clause.handler] {
            let start = offset(region.start)?;
            hash.number(start);
            hash.number(offset(region.end)? - start);
        }
        hash.number(last);
    }
    Ok(hash.0)
}

struct Fnv(u64);

impl Fnv {
    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }

    fn number(&mut self, number: i64) {
        number.to_le_bytes().into_iter().for_each(|byte| self.byte(byte));
    }
}
