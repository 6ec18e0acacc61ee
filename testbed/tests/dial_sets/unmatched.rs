//! Lines that match nothing: told, with what they may have meant, and not set.

use anyhow::{Result, ensure};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::ensure_said;

use super::{DialSet, ORDER, Standing, end, start};

on_each_runtime!(a_set_that_matches_in_part_is_done_in_part, what_stands_for_later_can_be_replaced);

/// Misspelt lines are told with what they may have meant, the rest is done; a plan says the same.
fn a_set_that_matches_in_part_is_done_in_part(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    let misspelt =
        "line 4: nothing matches Shop!Shop.Crat.* yet; it was not set; did you mean 'Shop!Shop.Cart.*'";
    let lines = [ORDER, "Shop!Shop.Cart.Add(int)", "Shop!Shop.Crat.*", "Shop!Shop.Cart.Find"];
    let lines = lines.map(|pattern| format!("{pattern} = count"));
    let set = DialSet::of("in-part", &lines.each_ref().map(String::as_str))?;
    let planned = live.redial("apply", &[set.path(), "--plan"])?;
    ensure_said(&planned, 7, &[])?;
    ensure!(
        planned.stdout.contains("line 4: nothing matches Shop!Shop.Crat.* yet; did you"),
        "{}",
        planned.said()
    );
    let applied = live.redial("apply", &[set.path()])?;
    ensure_said(&applied, 7, &[])?;
    ensure!(applied.stdout.contains(misspelt), "{}", applied.said());
    ensure!(Standing::of(&live)?.orders.len() == 2, "{:?}", Standing::of(&live)?);
    let json = live.redial("apply", &[set.path(), "--json"])?.json()?;
    ensure!(json["warnings"][0].as_str().is_some_and(|warning| warning.starts_with(misspelt)), "{json}");
    ensure_said(&live.redial("apply", &[set.path(), "--later"])?, 0, &[])?;
    ensure!(Standing::of(&live)?.orders.len() == 4);
    // Where nothing matches at all nothing is done.
    let nothing = DialSet::of("nothing", &["Shop!Shop.Crat.* = off", "", "Shop!Shop.Cart.Addd = count"])?;
    live.redial("off", &[])?.ok()?;
    for more in [&[][..], &["--plan"]] {
        let outcome = live.redial("apply", &[&[nothing.path()], more].concat())?;
        let meant = [
            "nothing matched; line 2: did you mean 'Shop!Shop.Cart.*'",
            "; line 4: did you mean 'Shop!Shop.Cart.Add'",
        ];
        ensure_said(&outcome, 6, &meant)?;
    }
    ensure!(Standing::of(&live)?.is_empty());
    end(live)
}

/// An order that matches nothing yet stands for what loads later; the one that takes its place is no mistake either, and
/// a plan knows.
fn what_stands_for_later_can_be_replaced(runtime: Runtime) -> Result<()> {
    let live = start(runtime)?;
    let later = "Plugin!Plugin.*.*";
    let misspelt = DialSet::of("later", &[&format!("{later} = off"), "No.Such.Thing = count"])?;
    let twice = DialSet::of("twice", &["No.Such.Thing = count", "No.Such.Thing = off"])?;
    ensure_said(&live.redial("dial", &[later, "count", "--later"])?, 0, &[])?;
    let turns: [(&str, Vec<&str>, i32); 5] = [
        ("dial", vec![later, "count", "--hold"], 6),
        ("dial", vec![later, "off"], 0),
        ("dial", vec![later, "count", "--for", "1h"], 6),
        ("apply", vec![misspelt.path()], 7),
        ("apply", vec![twice.path()], 6),
    ];
    for (command, arguments, code) in turns {
        live.redial("off", &[])?.ok()?;
        ensure_said(&live.redial("dial", &[later, "count", "--later"])?, 0, &[])?;
        for more in [&["--plan"][..], &[]] {
            let outcome = live.redial(command, &[&arguments, more].concat())?;
            ensure!(outcome.code()? == code, "{arguments:?} {more:?} is not {code}: {}", outcome.said());
        }
        let stand = Standing::of(&live)?.orders.len();
        ensure!(stand == usize::from(matches!(code, 6)), "{stand} orders stand after {arguments:?}");
    }
    end(live)
}
