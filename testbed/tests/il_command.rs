//! `redial il` and the agent's answers: every body of a whole program as a decoder reads it from the file, each
//! token with a name, the probe marked, and a sentence for methods without IL.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use redial_agent::il::{Body, ClauseKind, Label, Operand, decode};
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey};
use redial_protocol::il::{IlBody, IlClauseKind, IlLine, IlSource};
use redial_protocol::level::Level;
use redial_protocol::message::{Refusal, Reply, WireCommand};
use redial_protocol::reason::Reason;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::generate::{RANDOM_MODULES, random_methods};
use redial_testbed::pe::Assembly;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;
use redial_testbed::under_agent::ensure_messages;
use redial_testbed::{on_each_runtime, programs, under_agent};
use serde_json::Value;

on_each_runtime!(
    shows_every_body_of_a_program,
    marks_the_probe,
    prints_il_for_people,
    marks_variables_and_clauses_of_the_probe,
    shows_large_bodies_whole,
    reports_methods_without_il
);

fn shows_every_body_of_a_program(runtime: Runtime) -> Result<()> {
    let shop = LiveShop::start(runtime, &[], 1, &[])?;
    let mut controller = Controller::connect(shop.pid)?;
    let assembly = Assembly::read(programs::shop()?.dll())?.context("Shop has metadata")?;
    let module = module(&mut controller, "Shop")?;
    let (mut shown, mut clauses, mut tokens) = (0, 0, 0);
    for method in assembly.methods() {
        let method = method?;
        if !method.is_il() {
            continue;
        }
        let (body, lines) = show(&mut controller, module, method.token, false)?
            .map_err(|refusal| anyhow::anyhow!("{}: {refusal:?}", method.name))?;
        ensure_same_body(&decode(assembly.body(method.rva)?)?, &body, &lines)
            .with_context(|| method.name.to_owned())?;
        ensure!(body.source == IlSource::Original && lines.iter().all(|line| !line.inserted));
        for line in lines.iter().filter(|line| line.token.is_some()) {
            ensure!(line.operand.as_ref().is_some_and(|name| !name.contains('?')), "{line:?}");
            tokens += 1;
        }
        shown += 1;
        clauses += body.clauses.len();
    }
    ensure!(shown > 100 && clauses > 5 && tokens > 500, "{shown} bodies, {clauses} clauses, {tokens} tokens");
    drop(controller);
    shop.exit().map(drop)
}

/// Before, during and after the dial; off means the original IL.
fn marks_the_probe(runtime: Runtime) -> Result<()> {
    let mut shop = LiveShop::start(runtime, &[], 1, &[])?;
    let mut controller = Controller::connect(shop.pid)?;
    let assembly = Assembly::read(programs::shop()?.dll())?.context("Shop has metadata")?;
    let module = module(&mut controller, "Shop")?;
    let mut seen = BTreeMap::new();
    for source in [IlSource::Preview, IlSource::Installed, IlSource::Preview] {
        for method in assembly.methods() {
            let method = method?;
            if !method.is_il() {
                continue;
            }
            let (body, lines) = show(&mut controller, module, method.token, true)?
                .map_err(|refusal| anyhow::anyhow!("{}: {refusal:?}", method.name))?;
            let about = || format!("{} {source:?}: {body:?} {lines:#?}", method.name);
            ensure!(body.source == source, about());
            let probe = lines.iter().take_while(|line| line.inserted).count();
            ensure!(probe > 4 && lines.iter().skip(probe).all(|line| !line.inserted), about());
            // The method's own code follows the probe at higher offsets; a branch may have grown.
            let original = decode(assembly.body(method.rva)?)?;
            let names = |name: &str| name.trim_end_matches(".s").to_owned();
            let own: Vec<_> = lines.iter().skip(probe).map(|line| names(&line.opcode)).collect();
            let expected: Vec<_> =
                original.instructions.iter().map(|one| names(one.opcode.info().name)).collect();
            let in_probe = lines.iter().take(probe);
            let handlers = in_probe.filter(|line| line.opcode == "endfinally").count();
            ensure!(own == expected && body.clauses.len() == original.clauses.len() + handlers, about());
            let calls =
                lines.iter().find(|line| line.inserted && line.opcode == "calli").with_context(about)?;
            let site = calls.operand.as_deref().unwrap_or_default();
            ensure!(
                if source == IlSource::Preview {
                    site.contains("call site")
                } else {
                    site.contains("(nint, nint)")
                },
                about()
            );
            // The plan shows the later body, except for the slot's number.
            let opcodes: Vec<String> = lines
                .iter()
                .take(probe)
                .map(|line| names(&line.opcode))
                .filter(|name| !name.starts_with("ldc.i4"))
                .collect();
            let before = seen.entry(method.token).or_insert_with(|| (opcodes.clone(), body.locals.clone()));
            ensure!(*before == (opcodes, body.locals.clone()), "not as planned: {before:?}, {}", about());
        }
        if source == IlSource::Preview {
            controller.dial("Shop!*", Level::Count, Lifetime::Kept)?;
            shop.rounds(3)?;
        } else {
            controller.all_off()?;
        }
    }
    drop(controller);
    shop.exit().map(drop)
}

fn prints_il_for_people(runtime: Runtime) -> Result<()> {
    let shop = LiveShop::start(runtime, &[], 1, &[])?;
    let read = |arguments: &[&str]| -> Result<String> { Ok(shop.redial("il", arguments)?.ok()?.stdout) };
    let ordinary = read(&["Shop.Cart.Add(int)"])?;
    for part in [
        "Shop!Shop.Cart.Add(int)  0x06",
        "  original IL: ",
        "  IL_0000  ldarg.0\n",
        "int Shop.Cart.total  // 0x04",
    ] {
        ensure!(ordinary.contains(part), "nothing of {part:?} in:\n{ordinary}");
    }
    let generic = read(&["Shop.Box<T>.Map<U>"])?;
    ensure!(generic.contains("System.Func<T, U>.Invoke(!0)"), "{generic}");
    let filtered = read(&["Shop.LiveMode.Obey"])?;
    ensure!(filtered.contains(" filter IL_") && filtered.contains("\"error \""), "{filtered}");
    let instrumented = read(&["Shop.Cart.Add(int)", "--instrumented"])?;
    ensure!(
        instrumented.contains("\n+ IL_0000  ") && instrumented.contains("would get it"),
        "{instrumented}"
    );
    let printed: Value = serde_json::from_str(&read(&["Shop.LiveMode.Obey", "--json"])?)?;
    ensure!(printed["source"] == "original" && printed["clauses"][0]["kind"] == "filter", "{printed}");
    ensure!(printed["instructions"][0]["opcode"] == "ldstr", "{printed}");

    let several = shop.redial("il", &["Shop.Cart.Add"])?;
    ensure_messages(&several, 2, &["2 methods match; choose one: 'Shop!Shop.Cart.Add(int)' or "])?;
    ensure_messages(&shop.redial("il", &["Shop.Cart.Ad"])?, 6, &["nothing matched"])?;
    ensure_messages(&shop.redial("il", &["Shop.Cart.Add(int"])?, 2, &["Shop.Cart.Add(int"])?;
    let module = Controller::connect(shop.pid).and_then(|mut controller| module(&mut controller, "Shop"))?;
    let id = format!("{:#x}", module.module_id);
    shop.redial("il", &["Shop.Cart.Add(int)", "--copy", &id])?.ok()?;
    ensure_messages(
        &shop.redial("il", &["Shop.Cart.Add(int)", "--copy", "0x10"])?,
        6,
        &["the only matching method is not in module 0x10"],
    )?;
    shop.exit().map(drop)
}

/// The method's own variables and clauses come first and unchanged; the probe's follow with a mark.
fn marks_variables_and_clauses_of_the_probe(runtime: Runtime) -> Result<()> {
    const METHOD: &str = "Shop.LiveMode.Obey";
    for level in ["count", "time", "trace"] {
        let dial = format!("Shop!*={level}");
        let shop = LiveShop::start(runtime, &["--dial", &dial], 1, &[])?;
        let read = |more: &[&str]| -> Result<Vec<String>> {
            let printed = shop.redial("il", &[&[METHOD], more].concat())?.ok()?.stdout;
            Ok(printed.lines().map(str::to_owned).collect())
        };
        let (own, probed) = (read(&[])?, read(&["--instrumented"])?);
        let locals = |lines: &[String], mark: &str| -> Vec<String> {
            lines.iter().filter(|line| line.starts_with(&format!("{mark} local "))).cloned().collect()
        };
        ensure!(!locals(&own, " ").is_empty() && locals(&own, " ") == locals(&probed, " "), "{probed:#?}");
        // `  try IL_0000 to IL_0005 catch …`: offsets differ.
        let clauses = |lines: &[String], mark: &str| -> Vec<String> {
            let of_clauses = lines.iter().filter_map(|line| line.strip_prefix(&format!("{mark} try ")));
            of_clauses.filter_map(|of| of.split(' ').nth(3).map(str::to_owned)).collect()
        };
        ensure!(!clauses(&own, " ").is_empty() && clauses(&own, " ") == clauses(&probed, " "), "{probed:#?}");
        // At level count, the body lets the garbage collector in where the runtime does not do so itself.
        let added = if level == "count" { "finally" } else { "fault" };
        let none_needed = level == "count" && runtime == Runtime::V8_0;
        let added = if none_needed { vec![] } else { vec![added.to_owned()] };
        ensure!(clauses(&probed, "+") == added, "{probed:#?}");
        let head = probed.get(1).context("no head")?;
        ensure!(head.contains(&format!("at level {level}")) && head.contains("(+"), "{head}");
        shop.exit()?;
    }
    Ok(())
}

/// More than 64 KiB of code, and a `switch`, in random IL.
fn shows_large_bodies_whole(runtime: Runtime) -> Result<()> {
    let folder = random_methods(1, RANDOM_MODULES)?;
    let mut command = programs::named("randomil")?.command(runtime)?;
    command.arg("run").arg(&folder);
    let live = under_agent::start(command)?;
    let mut controller = live.controller()?;
    let module = module(&mut controller, "Rand0")?;
    let assembly = Assembly::read(&folder.join("Rand0.dll"))?.context("no metadata")?;
    let (mut largest, mut switches) = (0, 0);
    for method in assembly.methods() {
        let method = method?;
        let (body, lines) = show(&mut controller, module, method.token, false)?
            .map_err(|refusal| anyhow::anyhow!("{}: {refusal:?}", method.name))?;
        ensure_same_body(&decode(assembly.body(method.rva)?)?, &body, &lines)
            .with_context(|| method.name.to_owned())?;
        largest = largest.max(body.code_size);
        switches += lines.iter().filter(|line| line.opcode == "switch" && !line.targets.is_empty()).count();
    }
    ensure!(largest > 0x1_0000 && switches > 50, "{largest} bytes at most, {switches} switches");
    let text = live.redial("il", &["Rand0!Rand0.T6.M20"])?.ok()?.stdout;
    ensure!(text.lines().count() > 20_000 && text.contains("  IL_10"), "{} lines", text.lines().count());
    Ok(())
}

fn reports_methods_without_il(runtime: Runtime) -> Result<()> {
    let shop = LiveShop::start(runtime, &[], 1, &[])?;
    let mut controller = Controller::connect(shop.pid)?;
    let core = "System.Private.CoreLib!";
    let dispose = format!("{core}System.IDisposable.Dispose");
    ensure_messages(&shop.redial("il", &[&dispose])?, 1, &["it has no IL (abstract, interface or extern)"])?;
    let invoke = format!("{core}System.Func<T>.Invoke");
    ensure_messages(&shop.redial("il", &[&invoke])?, 1, &["the runtime supplies its code"])?;

    let answer =
        controller.ask(WireCommand::Methods { pattern: Some(format!("{core}*")), limit: u64::MAX })?;
    let native = answer.methods.iter().find_map(|page| {
        let (index, _) = page.bodyless()?.into_iter().find(|(_, reason)| *reason == Reason::PInvoke)?;
        page.token.get(index as usize).copied()
    });
    let native = format!("{core}{:#010x}", native.context("a core library has P/Invokes")?);
    for further in [&[][..], &["--instrumented"]] {
        let arguments = [&[native.as_str()], further].concat();
        ensure_messages(&shop.redial("il", &arguments)?, 1, &["it is a P/Invoke to native code"])?;
    }

    // A key of another generation of the module, or a token of no method.
    let module = module(&mut controller, "Shop")?;
    let elsewhere = ModuleKey { generation: module.generation + 1, ..module };
    for (module, token) in [(elsewhere, 0x0600_0001), (module, 0x06FF_FFFF), (module, 0x0200_0001)] {
        let answer = show(&mut controller, module, token, false)?;
        ensure!(matches!(answer, Err(Refusal::Unsupported(_))), "{answer:?}");
    }
    ensure!(controller.agent_status()?.guard_trips == 0);
    drop(controller);
    shop.exit().map(drop)
}

fn module(controller: &mut Controller, name: &str) -> Result<ModuleKey> {
    let (_, modules) = controller.modules()?;
    Ok(modules.iter().find(|module| module.name == name).with_context(|| format!("no {name}"))?.key)
}

type IlReply = Result<(IlBody, Vec<IlLine>), Refusal>;

fn show(controller: &mut Controller, module: ModuleKey, token: u32, instrumented: bool) -> Result<IlReply> {
    let copy = CopyKey { module, token: MethodToken(token) };
    let answer = controller.ask(WireCommand::Il { copy, instrumented })?;
    match answer.reply {
        Reply::Il(body) => {
            ensure!(body.lines == answer.il.len() as u64, "{} lines of {}", answer.il.len(), body.lines);
            Ok(Ok((body, answer.il)))
        }
        Reply::Refused(refusal) => Ok(Err(refusal)),
        other => anyhow::bail!("answered {other:?}"),
    }
}

/// Checks that lines and clauses equal those decoded from the file.
fn ensure_same_body(expected: &Body, body: &IlBody, lines: &[IlLine]) -> Result<()> {
    let offset = |label: Label| match expected.at(label) {
        Some(instruction) => instruction.old_offset.unwrap_or_default(),
        None => expected.old_code_size,
    };
    ensure!(
        (body.code_size, body.init_locals, body.local_sig)
            == (expected.old_code_size, expected.init_locals, expected.local_sig),
        "{body:?}"
    );
    ensure!((body.local_sig == 0) == body.locals.is_empty() && body.more_locals == 0, "{body:?}");
    ensure!(lines.len() == expected.instructions.len(), "{} lines", lines.len());
    for (line, instruction) in lines.iter().zip(&expected.instructions) {
        let (token, targets) = match &instruction.operand {
            Operand::Token(token) => (Some(*token), vec![]),
            Operand::Target(label) => (None, vec![offset(*label)]),
            Operand::Switch(labels) => (None, labels.iter().map(|label| offset(*label)).collect()),
            _ => (None, vec![]),
        };
        ensure!(
            Some(line.offset) == instruction.old_offset
                && line.opcode == instruction.opcode.info().name
                && line.token == token
                && line.targets == targets,
            "{line:?} is not {instruction:?}"
        );
    }
    ensure!(body.clauses.len() == expected.clauses.len() && body.more_clauses == 0, "{body:?}");
    for (shown, clause) in body.clauses.iter().zip(&expected.clauses) {
        let kinds = match (&shown.kind, clause.kind) {
            (IlClauseKind::Catch { class, token }, ClauseKind::Catch { class: expected }) => {
                *token == expected && !class.is_empty()
            }
            (IlClauseKind::Filter { start }, ClauseKind::Filter { start: expected }) => {
                *start == offset(expected)
            }
            (IlClauseKind::Finally, ClauseKind::Finally { .. }) => true,
            (IlClauseKind::Fault, ClauseKind::Fault { .. }) => true,
            _ => false,
        };
        let bounds = [
            (shown.try_start, clause.try_region.start),
            (shown.try_end, clause.try_region.end),
            (shown.handler_start, clause.handler.start),
            (shown.handler_end, clause.handler.end),
        ];
        ensure!(
            kinds && bounds.iter().all(|(shown, label)| *shown == offset(*label)),
            "{shown:?} is not {clause:?}"
        );
    }
    Ok(())
}
