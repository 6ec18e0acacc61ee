//! Patterns by interface, base class and attribute (`programs/handlers`): exactly the methods that the program's text says
//! are dialled, and their counts are the truth. Others that look alike are not.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Refusal, Reply, WireCommand};
use redial_protocol::order::Order;
use redial_testbed::controller::{Controller, Lifetime, full_name};
use redial_testbed::host::Host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::truth::{self, Truth};
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{host, on_each_runtime, programs};

/// The core library of .NET 8 has interfaces whose members have bodies.
#[test]
fn default_bodies_implement_their_interface() -> Result<()> {
    let live = under_agent::start(programs::named("handlers")?.command(Runtime::V8_0)?)?;
    let pattern = "implements:System.Numerics.IBinaryInteger.WriteBigEndian";
    let listed = live.redial("methods", &[pattern, "--json"])?.ok()?.json()?;
    let is_default = |one: &serde_json::Value| {
        one["method"] == "System.Numerics.IBinaryInteger<TSelf>.WriteBigEndian"
            && one["signature"] == "(byte[])"
    };
    ensure!(listed.as_array().is_some_and(|all| all.iter().any(is_default)), "{listed}");
    Ok(())
}

on_each_runtime!(
    dials_exactly_what_the_program_says,
    later_modules_count_from_the_first_call,
    launcher_orders_wait_for_interfaces,
    commands_take_such_patterns,
);

/// Patterns with the methods of the program that they match.
const CASES: &[(&str, &[&str])] = &[
    (
        "handlers!implements:Shop.IOrderHandler",
        &[
            "Shop.Direct.Handle(Shop.Order)",
            "Shop.Direct.get_Name()",
            "Shop.HandlerBase.get_Name()",
            "Shop.Plain.Handle(Shop.Order)",
            "Shop.Derived.Handle(Shop.Order)",
            "Shop.MoreDerived.Handle(Shop.Order)",
            "Shop.MoreDerived.get_Name()",
            "Shop.Again.Handle(Shop.Order)",
            "Shop.Explicit.Shop.IOrderHandler.Handle(Shop.Order)",
            "Shop.Explicit.get_Name()",
            "Shop.DerivedExplicit.get_Name()",
            "Shop.Value.Handle(Shop.Order)",
            "Shop.Value.get_Name()",
            "Shop.Priority.Handle(Shop.Order)",
            "Shop.Priority.get_Name()",
            "Web.AuditedHandler.Handle(Shop.Order)",
            "Web.AuditedHandler.get_Name()",
            "Shop.Inherited.Handle(Shop.Order)",
            "Shop.Inheriting.Shop.IOrderHandler.get_Name()",
            "Shop.InheritingMore.Handle(Shop.Order)",
        ],
    ),
    (
        "implements:Shop.IOrderHandler.get_*",
        &[
            "Shop.Direct.get_Name()",
            "Shop.HandlerBase.get_Name()",
            "Shop.MoreDerived.get_Name()",
            "Shop.Explicit.get_Name()",
            "Shop.DerivedExplicit.get_Name()",
            "Shop.Value.get_Name()",
            "Shop.Priority.get_Name()",
            "Web.AuditedHandler.get_Name()",
            "Shop.Inheriting.Shop.IOrderHandler.get_Name()",
        ],
    ),
    ("implements:Shop.IPriorityHandler", &["Shop.Priority.Shop.IPriorityHandler.get_Priority()"]),
    (
        "implements:Shop.IOrderHandler*.Handle(Shop.Order)",
        &[
            "Shop.Direct.Handle(Shop.Order)",
            "Shop.Plural.Handle(Shop.Order)",
            "Shop.Plain.Handle(Shop.Order)",
            "Shop.Derived.Handle(Shop.Order)",
            "Shop.MoreDerived.Handle(Shop.Order)",
            "Shop.Again.Handle(Shop.Order)",
            "Shop.Explicit.Shop.IOrderHandler.Handle(Shop.Order)",
            "Shop.Value.Handle(Shop.Order)",
            "Shop.Priority.Handle(Shop.Order)",
            "Web.AuditedHandler.Handle(Shop.Order)",
            "Shop.Inherited.Handle(Shop.Order)",
            "Shop.InheritingMore.Handle(Shop.Order)",
        ],
    ),
    (
        "implements:Shop.HandlerBase",
        &[
            "Shop.HandlerBase.get_Name()",
            "Shop.HandlerBase.Close()",
            "Shop.Plain.Handle(Shop.Order)",
            "Shop.Derived.Handle(Shop.Order)",
            "Shop.Derived.Close()",
            "Shop.MoreDerived.Handle(Shop.Order)",
            "Shop.MoreDerived.get_Name()",
        ],
    ),
    (
        "implements:Shop.IHandler",
        &[
            "Shop.OfOrder.Handle(Shop.Order)",
            "Shop.OfBoth.Shop.IHandler<System.Int32>.Handle(int)",
            "Shop.OfBoth.Handle(string[])",
            "Shop.Box<U>.Handle(U)",
            "Shop.Closed.Handle(Shop.Order)",
            "Shop.Half.Handle(string)",
            "Shop.GenericInherited<A, B>.Handle(B)",
        ],
    ),
    ("implements:Shop.IHandler<T>.Handle(int)", &["Shop.OfBoth.Shop.IHandler<System.Int32>.Handle(int)"]),
    (
        "implements:Shop.GenericBase",
        &[
            "Shop.GenericBase<A, B>.Handle(A)",
            "Shop.Closed.Handle(Shop.Order)",
            "Shop.Closed.Handle(int)",
            "Shop.Half.Handle(string)",
        ],
    ),
    ("implements:Shop.IVisitor", &["Shop.Visitor.Visit<T>(T)"]),
    ("handlers!implements:System.IDisposable", &["Shop.Resource.Dispose()"]),
    ("handlers!implements:System.IComparable<T>", &["Shop.Resource.CompareTo(Shop.Resource)"]),
    ("handlers!implements:System.IO.TextReader", &["Shop.Reader.Read()", "Shop.Reader.Dispose(bool)"]),
    (
        "[Web.HttpGet]",
        &[
            "Web.Controller.Get()",
            "Web.Controller.List()",
            "Web.Controller.get_Accessor()",
            "Web.Till.Show()",
        ],
    ),
    (
        "handlers![HttpGet]",
        &[
            "Web.Controller.Get()",
            "Web.Controller.List()",
            "Web.Controller.get_Accessor()",
            "Web.Till.Show()",
            "Web.OtherNamespace.Get()",
        ],
    ),
    (
        "[HttpGet]Web.Controller.*",
        &["Web.Controller.Get()", "Web.Controller.List()", "Web.Controller.get_Accessor()"],
    ),
    ("[HttpGet] [Audit]", &["Web.Controller.List()", "Web.Till.Show()"]),
    (
        "[Web.AuditAttribute]",
        &[
            "Web.Controller.List()",
            "Web.Till..ctor()",
            "Web.Till.Open()",
            "Web.Till.Show()",
            "Web.AuditedHandler.Handle(Shop.Order)",
            "Web.AuditedHandler.get_Name()",
            "Web.AuditedHandler.Other()",
            "Web.AuditedHandler..ctor()",
        ],
    ),
    ("[Mark]", &["Web.Controller.Marked()"]),
    ("[Inner]", &["Web.Controller.Inner()"]),
    ("[Web.Outer+Inner]", &["Web.Controller.Inner()"]),
    (
        "[Audit]implements:Shop.IOrderHandler",
        &["Web.AuditedHandler.Handle(Shop.Order)", "Web.AuditedHandler.get_Name()"],
    ),
];

/// Patterns that look like others and match nothing.
const WITHOUT_MATCHES: [&str; 8] = [
    "implements:IOrderHandler",
    "implements:Shop.LookAlike.get_Nam",
    "implements:Shop.IOrderHandler.Helper",
    "handlers!implements:Shop.IHandler<T,U>",
    "[Get]",
    "[Api.Web.HttpGet]",
    "[httpget]",
    "Late![HttpGet]",
];

/// Returns the calls of the dialled methods by name.
fn dialled(controller: &mut Controller, pattern: Option<&str>) -> Result<BTreeMap<String, u64>> {
    let rows = controller.status(pattern)?.into_iter();
    Ok(rows.filter(|row| row.wanted > Level::Off).map(|row| (full_name(&row), row.calls)).collect())
}

fn truth(live: &mut LiveHost) -> Result<Truth> {
    truth::ask(&mut live.host, "truth")
}

fn named(module: &str, methods: &[&str]) -> BTreeSet<String> {
    let name = |method: &&str| match method.contains('!') {
        true => (*method).to_owned(),
        false => format!("{module}!{method}"),
    };
    methods.iter().map(name).collect()
}

fn end(mut live: LiveHost, mut controller: Controller) -> Result<()> {
    let status = controller.agent_status()?;
    ensure!((status.guard_trips, status.missed_deadlines) == (0, 0), "{status:?}");
    live.host.say("exit")?;
    let outcome = live.host.finish()?;
    ensure!(outcome.code()? == 0, "{}", outcome.output());
    Ok(())
}

fn dials_exactly_what_the_program_says(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) =
        under_agent::start_controlled(programs::named("handlers")?.command(runtime)?)?;
    for (pattern, methods) in CASES {
        let expected = named("handlers", methods);
        let orders = vec![Order::new(*pattern, Level::Count)];
        let plan = controller.ask(WireCommand::Plan { orders, lifetime: Lifetime::Kept })?.reply;
        let Reply::Plan(plan) = plan else { anyhow::bail!("{plan:?}") };
        let listed =
            controller.ask(WireCommand::Methods { pattern: Some((*pattern).into()), limit: 100 })?.reply;
        let Reply::Methods { matched, .. } = listed else { anyhow::bail!("{listed:?}") };
        let report = controller.dial(pattern, Level::Count, Lifetime::Kept)?;
        let before = dialled(&mut controller, None)?;
        let names: BTreeSet<String> = before.keys().cloned().collect();
        let (extra, missing) = (names.difference(&expected), expected.difference(&names));
        ensure!(
            names == expected,
            "{pattern}: {:?} {:?}",
            extra.collect::<Vec<_>>(),
            missing.collect::<Vec<_>>()
        );
        let number = expected.len() as u64;
        ensure!(
            (plan.matched, matched, report.matched) == (number, number, number),
            "{pattern}: {plan:?} {report:?}"
        );
        ensure!(dialled(&mut controller, Some(pattern))? == before, "{pattern}: the same filter of rows");

        let counted_before = truth(&mut live)?;
        live.host.ask("call", "called")?;
        let after = dialled(&mut controller, Some(pattern))?;
        let counted_after = truth(&mut live)?;
        for (method, counted) in &after {
            // What the compiler writes does not count itself.
            let is_silent = method == "handlers!Web.AuditedHandler..ctor()";
            let calls = match counted_after.get(method) {
                None if is_silent => 1,
                calls => {
                    calls.with_context(|| format!("{method} is never called"))?
                        - counted_before.get(method).unwrap_or(&0)
                }
            };
            ensure!(
                counted - before[method] == calls && calls > 0,
                "{pattern} {method}: {calls}, not {counted}"
            );
        }
        let report = controller.off(pattern)?;
        ensure!(
            report.matched == number && dialled(&mut controller, None)?.is_empty(),
            "{pattern}: {report:?}"
        );
    }
    for pattern in WITHOUT_MATCHES {
        let orders = vec![Order::new(pattern, Level::Count)];
        let command =
            WireCommand::RequestReJit { orders, later: false, take: false, lifetime: Lifetime::Kept };
        let refusal =
            controller.turn(command)?.err().with_context(|| format!("{pattern} matches something"))?;
        let Refusal::NothingMatched { suggestions } = &refusal else { bail!("{pattern}: {refusal:?}") };
        if pattern == "implements:IOrderHandler" {
            let first = suggestions.first().map(String::as_str);
            ensure!(first == Some("implements:Shop.IOrderHandler"), "{suggestions:?}");
        }
    }
    end(live, controller)
}

/// The methods of modules that load later, of the module Late unless named, that one command calls once each. One of them
/// is in the program itself, which loads before the class that inherits it for an interface.
const LATE: [(&str, &[&str]); 4] = [
    (
        "implements:Contracts.IContract.Serve",
        &["Late.Server.Serve(int)", "Late.Derived.Serve(int)", "Late.Giver.Contracts.IContract.Serve(int)"],
    ),
    ("Late!implements:Contracts.IContract<T>", &["Late.Giver.Give(string)"]),
    ("[Served]", &["Late.Giver.Serve(int)"]),
    (
        "implements:Contracts.IKept",
        &[
            "Late.Keeper.Keep(int)",
            "Bases!Bases.KeeperBase.Keep(string)",
            "Late.Holder.Keep(string)",
            "handlers!Shop.Held.Keep(int)",
        ],
    ),
];

fn ensure_late_calls(live: &mut LiveHost, controller: &mut Controller) -> Result<()> {
    live.host.ask("serve", "served")?;
    let counted = dialled(controller, None)?;
    let expected: BTreeSet<String> = LATE.iter().flat_map(|(_, methods)| named("Late", methods)).collect();
    ensure!(counted.keys().cloned().collect::<BTreeSet<_>>() == expected, "{counted:?}");
    ensure!(counted.values().all(|calls| *calls == 1), "the first call was missed: {counted:?}");
    for (pattern, methods) in LATE {
        let names: BTreeSet<String> = dialled(controller, Some(pattern))?.into_keys().collect();
        ensure!(names == named("Late", methods), "{pattern}: {names:?}");
    }
    Ok(())
}

/// The module loads before the assembly with its interfaces.
fn later_modules_count_from_the_first_call(runtime: Runtime) -> Result<()> {
    let (mut live, mut controller) =
        under_agent::start_controlled(programs::named("handlers")?.command(runtime)?)?;
    let orders = LATE.iter().map(|(pattern, _)| Order::new(*pattern, Level::Count)).collect();
    let command = WireCommand::RequestReJit { orders, later: true, take: false, lifetime: Lifetime::Kept };
    ensure!(controller.turn(command)?.is_ok());
    ensure!(dialled(&mut controller, None)?.is_empty());
    live.host.ask("call", "called")?;
    live.host.ask("load", "loaded")?;
    let (_, modules) = controller.modules()?;
    ensure!(modules.iter().any(|module| module.name == "Late"));
    ensure!(!modules.iter().any(|module| module.name == "Contracts"), "it loads with the types that need it");
    // Only the attribute does not need the other assembly.
    let early: Vec<String> = dialled(&mut controller, None)?.into_keys().collect();
    ensure!(
        early == ["Late!Late.Giver.Contracts.IContract.Serve(int)", "Late!Late.Giver.Serve(int)"],
        "{early:?}"
    );
    ensure_late_calls(&mut live, &mut controller)?;
    end(live, controller)
}

/// Orders that stand before anything loads.
fn launcher_orders_wait_for_interfaces(runtime: Runtime) -> Result<()> {
    let dials: Vec<String> = LATE.iter().map(|(pattern, _)| format!("{pattern}=count")).collect();
    let options: Vec<&str> = dials.iter().flat_map(|dial| ["--dial", dial]).collect();
    let run = host::redial_run(&options, &programs::named("handlers")?.command(runtime)?)?;
    let mut live = under_agent::start_prepared(run)?;
    let mut controller = live.controller()?;
    live.host.ask("load", "loaded")?;
    ensure_late_calls(&mut live, &mut controller)?;
    end(live, controller)
}

/// Every command that takes a pattern takes these, and files keep them as they were typed.
fn commands_take_such_patterns(runtime: Runtime) -> Result<()> {
    const VISITOR: &str = "implements: Shop.IVisitor";
    let mut live = under_agent::start(programs::named("handlers")?.command(runtime)?)?;
    let listed = live.redial("methods", &[VISITOR, "--json"])?.ok()?.json()?;
    ensure!(listed.as_array().is_some_and(|all| all.len() == 1), "{listed}");
    ensure!(listed[0]["method"] == "Shop.Visitor.Visit<T>", "{listed}");
    let plan = live.redial("dial", &["[Mark]", "count", "--plan", "--json"])?.ok()?.json()?;
    ensure!(plan["matched"] == 1 && live.rows("*")?.is_empty(), "{plan}");
    for (arguments, part) in [
        (["[Mark", "count"].as_slice(), "the '[' at character 1 has no ']'"),
        (&["implements:", "count"], "no interface or base class follows the ':' at character 11"),
        (&["[Audit]", "time", "--completions"], "names only a type and a method"),
    ] {
        ensure_messages(&live.redial("dial", arguments)?, 2, &[part])?;
    }

    // Streams and lists have only the calls of their pattern.
    live.redial("dial", &["Web.Controller.Getter", "trace"])?.ok()?;
    let mut tracing =
        Host::start_with_merged_output(live.command("trace", &["[Mark]", "-n", "2", "--json"])?)?;
    tracing.wait_for("redial: tracing")?;
    live.host.ask("call", "called")?;
    live.host.ask("call", "called")?;
    let traced = tracing.finish()?.ok()?.stdout;
    let calls: Vec<&str> = traced.lines().filter(|line| line.starts_with('{')).collect();
    ensure!(calls.len() == 2 && calls.iter().all(|call| call.contains("Web.Controller.Marked")), "{traced}");
    let events = live.redial("events", &["[Web.HttpGetter]", "--json"])?.ok()?.stdout;
    ensure!(events.lines().count() == 2 && !events.contains("Marked"), "{events}");
    ensure_messages(&live.redial("events", &["[Mark]implements:*"])?, 6, &["'[Mark]implements:*'"])?;
    live.redial("dial", &["[HttpGetter]", "off"])?.ok()?;

    live.redial("dial", &[VISITOR, "count"])?.ok()?;
    let saved = live.redial("save", &[])?.ok()?.stdout;
    ensure!(saved.starts_with("# redial dials 2\n"), "{saved}");
    ensure!(saved.contains(&format!("{VISITOR} = count\n")), "{saved}");
    live.redial("off", &[])?.ok()?;
    let file = std::env::temp_dir().join(format!("redial-patterns-{}.dials", live.pid));
    std::fs::write(&file, saved)?;
    live.redial("apply", &[file.to_str().context("a path")?])?.ok()?;
    std::fs::remove_file(&file)?;
    live.host.ask("call", "called")?;
    let rows = live.rows(VISITOR)?;
    ensure!(rows.len() == 1 && rows[0]["calls"] == 2, "{rows:?}");
    let audit = live.redial("status", &["--agent"])?.ok()?.stdout;
    ensure!(audit.contains(VISITOR), "{audit}");
    live.host.say("exit")?;
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}
