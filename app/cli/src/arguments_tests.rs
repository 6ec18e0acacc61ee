//! Tests of argument parsing.

use super::*;
use clap::CommandFactory;
use redial_protocol::level::Level;
use redial_protocol::order::Lifetime;

fn parse(line: &str) -> Result<CliCommand, clap::error::ErrorKind> {
    let words = std::iter::once("redial").chain(line.split_whitespace());
    Arguments::try_parse_from(words).map_err(|error| error.kind()).map(|all| all.command.expect("a command"))
}

#[test]
fn the_definition_is_sound() {
    Arguments::command().debug_assert();
}

#[test]
fn run_leaves_its_commands_options_alone() {
    let Ok(CliCommand::Run(run)) = parse("run --dial A.B=count --dial C.*=off -- dotnet --dial x.dll -- y")
    else {
        panic!("a run");
    };
    assert_eq!(run.dials, ["A.B=count", "C.*=off"]);
    assert_eq!(run.command, ["dotnet", "--dial", "x.dll", "--", "y"]);
    assert!(parse("run").is_err() && parse("run --").is_err() && parse("run dotnet").is_err());
}

#[test]
fn dial_takes_known_levels_only() {
    let Ok(CliCommand::Dial(dial)) = parse("dial 42 Shop.Cart.* count --hold --take") else {
        panic!("a dial")
    };
    assert_eq!(
        (dial.target.only(), dial.level, dial.change.hold, dial.change.later, dial.change.take),
        (Some(42), Some(Level::Count), true, false, true)
    );
    for line in ["dial 42 A.B loud", "dial 42 A.B Count", "dial 0 A.B off", "dial x A.B off"] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn numbers_have_bounds() {
    for line in ["watch 1 --interval 9", "watch 1 --count 0", "methods 1 --limit 0", "modules 99999999999"] {
        assert_eq!(parse(line).err(), Some(clap::error::ErrorKind::ValueValidation), "{line}");
    }
    assert!(parse("status 1 A.B --agent").is_err(), "--agent takes no pattern");
}

#[test]
fn accepts_process_ids_and_names() {
    for (word, good) in [
        ("1", true),
        ("4294967295", true),
        ("abc", false),
        ("0", false),
        ("4294967296", false),
        ("name:Shop", true),
    ] {
        let parsed = Arguments::try_parse_from(["redial", "dial", word, "A.B", "off"]);
        match parsed {
            Ok(_) => assert!(good, "{word}"),
            Err(error) => {
                let text = error.to_string();
                assert!(!good && text.contains("a process is an id"), "{word}: {text}");
            }
        }
    }
}

#[test]
fn an_attach_has_a_pid_and_may_have_a_time_out() {
    for (line, good) in [
        ("attach 1", true),
        ("attach 1 --timeout 60", true),
        ("attach", false),
        ("attach shop", false),
        ("attach 1 --timeout 0", false),
    ] {
        assert_eq!(parse(line).is_ok(), good, "{line}");
    }
}

#[test]
fn traces_take_a_pattern_and_events_may() {
    let Ok(CliCommand::Trace(trace)) = parse("trace 42 Shop.Cart.* -n 5 --domain Shop --all-domains --json")
    else {
        panic!("a trace")
    };
    assert_eq!((trace.target.only(), trace.count, trace.json, trace.wide), (Some(42), Some(5), true, false));
    assert_eq!(
        redial_protocol::dialset::print_order(&trace.order()),
        "Shop.Cart.* = trace domain=Shop all-domains"
    );
    assert_eq!(trace.change().lifetime(), Lifetime::Held);
    let Ok(CliCommand::Events(events)) = parse("events name:Shop Shop.* --in-flight --count 3") else {
        panic!("events")
    };
    assert_eq!((events.pattern.as_deref(), events.in_flight, events.count), (Some("Shop.*"), true, Some(3)));
    for line in ["events 1", "events 1 --last --count 1 --wide", "trace 1 A.B --take --attach"] {
        assert!(parse(line).is_ok(), "{line}");
    }
    for line in
        ["trace 1", "trace 1 A.B -n 0", "trace 1 A.B --all-domains", "events 1 --last --in-flight", "events"]
    {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn traces_have_conditions_and_stacks() {
    let Ok(CliCommand::Trace(trace)) = parse("trace 1 A.B --stack --when a==\"x\"") else { panic!("trace") };
    assert_eq!(redial_protocol::dialset::print_order(&trace.order()), r#"A.B = trace stack when="a==\"x\"""#);
    let dialled = |line: &str| {
        let Ok(CliCommand::Dial(dial)) = parse(line) else { panic!("{line}") };
        dial.order().map(|order| redial_protocol::dialset::print_order(&order))
    };
    assert_eq!(dialled("dial 1 A.B trace --when a>1 --stack"), Ok("A.B = trace stack when=a>1".into()));
    let slow = "A.B = time slower-than=5ms stack";
    assert_eq!(dialled("dial 1 A.B time --slower-than 5ms --stack"), Ok(slow.into()));
    assert_eq!(dialled("dial 1 A.B=trace --when a>1"), Ok("A.B = trace when=a>1".into()));
    for (line, part) in [
        ("dial 1 A.B time --when a>1", "--when needs level trace"),
        ("dial 1 A.B count --stack", "--stack needs level time"),
        ("dial 1 A.B time --stack --callers", "--stack --slower-than 10ms"),
        ("dial 1 A.B trace --when a=1", "needs '==' here"),
    ] {
        assert!(dialled(line).is_err_and(|error| error.contains(part)), "{line}: {:?}", dialled(line));
    }
}

#[test]
fn traces_have_limits() {
    let Ok(CliCommand::Trace(trace)) = parse("trace 1 A.B --rate 5000 --depth 3") else { panic!("trace") };
    let options = trace.order().options;
    assert_eq!((options.rate, options.depth), (Some(5_000), Some(3)));
    for option in ["--depth 4", "--rate 0", "--rate 4294967296", "--rate x"] {
        assert!(parse(&format!("trace 1 A.B {option}")).is_err(), "{option}");
    }
}

#[test]
fn il_takes_one_method() {
    for (line, good) in [
        ("il 1 A.B", true),
        ("il name:Shop A.B(int) --instrumented --json", true),
        ("il 1 A.B --copy 0x7f10", true),
        ("il 1", false),
        ("il A.B", false),
        ("il 1 A.B --copy 7f10", false),
    ] {
        assert_eq!(parse(line).is_ok(), good, "{line}");
    }
}

fn dial(line: &str) -> Result<DialArguments, String> {
    let words = ["redial", "dial", "42", "Shop.Cart.*"].into_iter().chain(line.split_whitespace());
    match Arguments::try_parse_from(words).map(|all| all.command) {
        Ok(Some(CliCommand::Dial(dial))) => Ok(dial),
        Ok(other) => panic!("not a dial: {other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_dial_may_be_limited_to_a_domain_or_a_copy() {
    let limited =
        dial("count --domain /LM/W3SVC/1/ROOT- --all-domains").expect("a dial").order().expect("one");
    assert_eq!(
        redial_protocol::dialset::print_order(&limited),
        "Shop.Cart.* = count domain=/LM/W3SVC/1/ROOT- all-domains"
    );
    assert_eq!(dial("off --copy 0x7f10").expect("a dial").order().expect("one").copy, Some(0x7f10));
    for (line, part) in [
        ("count --all-domains", "--domain"),
        ("count --domain=", "--domain"),
        ("count --copy 7f10", "`redial modules` lists them"),
        ("count --copy 0x", "`redial modules` lists them"),
        ("count --copy 0x1 --later", "--later"),
    ] {
        let error = dial(line).expect_err(line);
        assert!(error.contains(part), "{line}: {error}");
    }
}

#[test]
fn time_options_need_level_time() {
    let order = |line: &str| dial(line).and_then(|dial| dial.order());
    let printed = |line: &str| order(line).map(|order| redial_protocol::dialset::print_order(&order));
    assert_eq!(
        printed("time --slower-than 10ms --failed-only --callers"),
        Ok("Shop.Cart.* = time slower-than=10ms failed-only callers".to_owned())
    );
    assert_eq!(
        printed("time --slower-than 1500us"),
        Ok("Shop.Cart.* = time slower-than=1ms500us".to_owned())
    );
    for (line, part) in [
        (
            "count --slower-than 10ms --callers",
            "--slower-than 10ms --callers needs level time; use `redial dial 42 'Shop.Cart.*' time \
             --slower-than 10ms --callers`",
        ),
        ("off --failed-only", "needs level time"),
        ("time --slower-than 10", "500us, 10ms or 2s"),
        ("time --slower-than 0ms", "at least 1ns"),
    ] {
        assert!(printed(line).as_ref().is_err_and(|why| why.contains(part)), "{line}: {:?}", printed(line));
    }
}

#[test]
fn dials_are_kept_held_or_kept_for_a_time() {
    let lifetime = |line: &str| dial(line).map(|dial| dial.change.lifetime());
    assert_eq!(lifetime("count"), Ok(Lifetime::Kept));
    assert_eq!(lifetime("count --hold"), Ok(Lifetime::Held));
    assert_eq!(lifetime("count --for 10m"), Ok(Lifetime::KeptFor { ms: 600_000 }));
    assert!(lifetime("count --for 10m --hold").is_err_and(|error| error.contains("--hold")));
    assert!(lifetime("count --for soon").is_err_and(|error| error.contains("90s, 10m, 2h or 1d")));
}

#[test]
fn env_needs_known_means() {
    assert!(matches!(parse("env --for iis:Shop --json"), Ok(CliCommand::Env(env)) if env.json));
    for line in ["env", "env --for", "env --for csh", "env shell"] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn one_argument_names_several_processes() {
    for line in
        ["off 1,2", "watch name:Shop", "attach pool:Shop,7", "dial name:Shop A.B count --follow --attach"]
    {
        assert!(parse(line).is_ok(), "{line}");
    }
    for line in
        ["off 1 2", "off 1,,2", "dial 1 A.B count --follow --plan", "dial 1 A.B count --attach --plan"]
    {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn help_lists_the_order_of_hidden_columns() {
    for command in ["status", "watch"] {
        let asked = Arguments::try_parse_from(["redial", command, "--help"]).expect_err("help").to_string();
        let words: Vec<&str> = asked.split_whitespace().collect();
        let help = words.join(" ");
        assert!(
            help.contains(
                "in this order and listed below the table: COMPLETED, NOT COMPLETED, MEAN, P90, IN FLIGHT, EXCEPTIONS, SELF, \
                 MAX, TOTAL, P99, P50."
            ),
            "{help}"
        );
        assert!(help.contains("STATE is pending (live"), "{help}");
    }
}

#[test]
fn help_lists_the_same_levels_wherever_one_is_asked_for() {
    for command in ["dial", "run", "apply"] {
        let asked = Arguments::try_parse_from(["redial", command, "--help"]).expect_err("help").to_string();
        let help = asked.split_whitespace().collect::<Vec<_>>().join(" ");
        let levels = levels();
        assert!(help.contains(&levels.split_whitespace().collect::<Vec<_>>().join(" ")), "{help}");
        assert!(levels.contains(&words::levels()) && levels.contains(&words::max_level()), "{levels}");
    }
}

#[test]
fn dial_sets_are_applied_saved_and_undone() {
    let Ok(CliCommand::Apply(apply)) = parse("apply 7 - --plan --for 90s --take --later --json") else {
        panic!("an apply")
    };
    assert_eq!((apply.target.only(), apply.file.to_str()), (Some(7), Some("-")));
    assert_eq!(
        (apply.change.plan, apply.change.take, apply.change.later, apply.change.lifetime()),
        (true, true, true, Lifetime::KeptFor { ms: 90_000 })
    );
    assert!(matches!(parse("save 7"), Ok(CliCommand::Save(save)) if save.file.is_none()));
    assert!(matches!(parse("save 7 shop.dials --force"), Ok(CliCommand::Save(save)) if save.force));
    assert!(matches!(parse("undo 7 --take"), Ok(CliCommand::Undo(undo)) if undo.take));
    for line in ["apply 7", "save 7 --force", "undo", "undo 7 2", "apply 7 a b"] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn pattern_and_level_may_be_one_word() {
    let order = |words: &[&str]| {
        let words = ["redial", "dial", "42"].iter().chain(words);
        match Arguments::try_parse_from(words).map(|all| all.command) {
            Ok(Some(CliCommand::Dial(dial))) => {
                dial.order().map(|order| redial_protocol::dialset::print_order(&order))
            }
            other => panic!("not a dial: {other:?}"),
        }
    };
    assert_eq!(order(&["Shop.Cart.*=count"]), Ok("Shop.Cart.* = count".to_owned()));
    assert_eq!(order(&["A.B = off domain=X"]), Ok("A.B = off domain=X".to_owned()));
    assert_eq!(order(&["A.B=off", "--domain", "X"]), Ok("A.B = off domain=X".to_owned()));
    assert_eq!(
        order(&["A.B=time failed-only", "--slower-than", "2s"]),
        Ok("A.B = time slower-than=2s failed-only".to_owned())
    );
    assert_eq!(order(&["A.a=b", "off"]), Ok("A.a=b = off".to_owned()), "no level follows");
    for (words, part) in [
        (&["A.B"][..], "the level is missing; use `redial dial 42 'A.B' count`"),
        (&["A.B=loud"], "'loud' is not a level"),
        (&["A.B=count", "off"], "given twice; use `redial dial 42 'A.B' off`"),
        (&["A.B=count domain=X", "--domain", "Y"], "the domain is given twice"),
        (&["A.B=count copy=0x1", "--copy", "0x2"], "the copy is given twice"),
        (&["A.B=time slower-than=1s", "--slower-than", "2s"], "the duration is given twice"),
    ] {
        assert!(order(words).as_ref().is_err_and(|why| why.contains(part)), "{words:?}: {:?}", order(words));
    }
}
