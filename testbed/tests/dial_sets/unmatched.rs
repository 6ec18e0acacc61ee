//! Lines that match nothing: reported with suggestions, and not set.

use anyhow::{Result, ensure};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::ensure_messages;

use super::{DialSet, DialState, ORDER, end, start};

on_each_runtime!(applies_the_matching_part_of_a_set, replaces_orders_for_later_modules);

/// Misspelt lines are reported with suggestions and the rest is applied; a plan reports the same.
fn applies_the_matching_part_of_a_set(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    let misspelt =
        "line 4: nothing matches Shop!Shop.Crat.* yet; it was not set; did you mean 'Shop!Shop.Cart.*'";
    let lines = [ORDER, "Shop!Shop.Cart.Add(int)", "Shop!Shop.Crat.*", "Shop!Shop.Cart.Find"];
    let lines = lines.map(|pattern| format!("{pattern} = count"));
    let set = DialSet::of("in-part", &lines.each_ref().map(String::as_str))?;
    let planned = live.redial("apply", &[set.path(), "--plan"])?;
    ensure_messages(&planned, 7, &[])?;
    ensure!(
        planned.stdout.contains("line 4: nothing matches Shop!Shop.Crat.* yet; did you"),
        "{}",
        planned.output()
    );
    let applied = live.redial("apply", &[set.path()])?;
    ensure_messages(&applied, 7, &[])?;
    ensure!(applied.stdout.contains(misspelt), "{}", applied.output());
    ensure!(DialState::of(&live)?.orders.len() == 2, "{:?}", DialState::of(&live)?);
    let json = live.redial("apply", &[set.path(), "--json"])?.json()?;
    ensure!(json["warnings"][0].as_str().is_some_and(|warning| warning.starts_with(misspelt)), "{json}");
    ensure_messages(&live.redial("apply", &[set.path(), "--later"])?, 0, &[])?;
    ensure!(DialState::of(&live)?.orders.len() == 4);
    // If nothing matches at all, nothing is done.
    let nothing = DialSet::of("nothing", &["Shop!Shop.Crat.* = off", "", "Shop!Shop.Cart.Addd = count"])?;
    live.redial("off", &[])?.ok()?;
    for more in [&[][..], &["--plan"]] {
        let outcome = live.redial("apply", &[&[nothing.path()], more].concat())?;
        let suggestions = [
            "nothing matched; line 2: did you mean 'Shop!Shop.Cart.*'",
            "; line 4: did you mean 'Shop!Shop.Cart.Add'",
        ];
        ensure_messages(&outcome, 6, &suggestions)?;
    }
    ensure!(DialState::of(&live)?.is_empty());
    end(live)
}

/// An order that matches nothing yet stands for later modules. An order that replaces it is not a mistake
/// either, and a plan shows that.
fn replaces_orders_for_later_modules(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    let later = "Plugin!Plugin.*.*";
    let misspelt = DialSet::of("later", &[&format!("{later} = off"), "No.Such.Thing = count"])?;
    let twice = DialSet::of("twice", &["No.Such.Thing = count", "No.Such.Thing = off"])?;
    ensure_messages(&live.redial("dial", &[later, "count", "--later"])?, 0, &[])?;
    let turns: [(&str, Vec<&str>, i32); 5] = [
        ("dial", vec![later, "count", "--hold"], 6),
        ("dial", vec![later, "off"], 0),
        ("dial", vec![later, "count", "--for", "1h"], 6),
        ("apply", vec![misspelt.path()], 7),
        ("apply", vec![twice.path()], 6),
    ];
    for (command, arguments, code) in turns {
        live.redial("off", &[])?.ok()?;
        ensure_messages(&live.redial("dial", &[later, "count", "--later"])?, 0, &[])?;
        for more in [&["--plan"][..], &[]] {
            let outcome = live.redial(command, &[&arguments, more].concat())?;
            ensure!(outcome.code()? == code, "{arguments:?} {more:?} is not {code}: {}", outcome.output());
        }
        let stand = DialState::of(&live)?.orders.len();
        ensure!(stand == usize::from(matches!(code, 6)), "{stand} orders stand after {arguments:?}");
    }
    end(live)
}
