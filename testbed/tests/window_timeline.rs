//! Timeline, call tree and flame graph in the window for a real program whose call tree is known (`programs/nested.cs`).

mod window_driver;

use anyhow::{Result, ensure};
use eframe::egui::Key;
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::say;
use redial_testbed::under_agent::{self, LiveHost};
use window_driver::Window;

const METHODS: &str = "Nested.";

fn start(runtime: Runtime) -> Result<(LiveHost, Window)> {
    let live = under_agent::start(programs::named("nested")?.command(runtime)?)?;
    let mut window = Window::open();
    window.select(live.pid)?;
    window.filter(METHODS);
    window.until("the methods", |window| !window.dial("nested!Nested.Outer(int)").is_empty())?;
    Ok((live, window))
}

fn trace(window: &mut Window, method: &str) -> Result<()> {
    window.0.get_by_label(method).click();
    window.0.run_steps(2);
    window.0.key_press(Key::Num3);
    // Until the agent has accepted it, calls run the old code.
    window.until("trace", |window| ["trace, pending", "trace, live"].contains(&window.dial(method).as_str()))
}

fn end(mut live: LiveHost, mut window: Window) -> Result<()> {
    window.0.key_press(Key::F9);
    window.until("off", |window| window.dial("nested!Nested.Outer(int)") == "off")?;
    live.host.say("exit")?;
    live.host.finish()?.ok().map(drop)
}

fn tab(window: &mut Window, name: &str) {
    window.0.get_by_role_and_label(Role::Tab, name).click_accesskit();
    window.0.run_steps(3);
}

/// Returns the rows of the call tree as `LEVEL NAME: CALLS`, from top to bottom.
fn rows(window: &Window) -> Vec<String> {
    let nodes = window.0.query_all_by_role(Role::TreeItem);
    let mut rows: Vec<(f32, String)> = nodes
        .filter_map(|node| {
            let (level, label) = (node.accesskit_node().level()?, node.accesskit_node().label()?);
            let (row, _) = label.split_once(", total ")?;
            Some((node.rect().top(), format!("{level} {row}")))
        })
        .collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Selects a row and expands it.
fn expand(window: &mut Window, row: &str) {
    window.0.query_all_by_label_contains(row).next().expect("a row").click_accesskit();
    window.0.run_steps(3);
    window.0.key_press(Key::ArrowRight);
    window.0.run_steps(3);
}

/// Returns the total and self times of a row, as shown.
fn times(window: &Window, row: &str) -> Option<(String, String)> {
    let label = window.0.query_all_by_label_contains(row).next()?.accesskit_node().label()?;
    let (_, times) = label.split_once(", total ")?;
    times.split_once(", self ").map(|(total, own)| (total.to_owned(), own.to_owned()))
}

#[test]
fn every_node_of_a_known_call_tree_is_shown() -> Result<()> {
    for runtime in [Runtime::V2_1, Runtime::V3_1, Runtime::V8_0] {
        let (mut live, mut window) = start(runtime)?;
        for method in ["Outer(int)", "Middle(int)", "Leaf(int)", "Recursive(int)"] {
            trace(&mut window, &format!("nested!Nested.{method}"))?;
        }
        tab(&mut window, "Calls");
        say(&mut live.host, "run 5")?;
        say(&mut live.host, "thread")?;
        window.until("the tree", |window| rows(window).iter().any(|row| row == "1 Nested.Outer: 6 calls"))?;
        // The tree opens where there is only one way.
        window.until("its branches", |window| rows(window).len() == 3)?;
        expand(&mut window, "Nested.Middle: 12 calls");
        let mut shown = rows(&window);
        shown.sort();
        let expected = [
            "1 Nested.Outer: 6 calls",
            "2 Nested.Leaf: 6 calls",
            "2 Nested.Middle: 12 calls",
            "3 Nested.Leaf: 36 calls",
        ];
        ensure!(shown == expected, "{runtime:?}: {shown:?}");
        let leaf = times(&window, "Nested.Leaf: 36 calls");
        ensure!(leaf.as_ref().is_some_and(|(total, own)| total == own), "a leaf's time is its own: {leaf:?}");

        say(&mut live.host, "recurse 4")?;
        window.until("recursion", |window| {
            rows(window).iter().any(|row| row == "1 Nested.Recursive: 1 call")
        })?;
        let mut level = 1;
        while level < 5 {
            let row = format!("{level} Nested.Recursive: 1 call");
            ensure!(rows(&window).contains(&row), "{runtime:?}: {:?}", rows(&window));
            let at_level = window
                .0
                .query_all_by_label_contains("Nested.Recursive: 1 call")
                .filter(|node| node.accesskit_node().level() == Some(level));
            at_level.fold(None, |_, node| Some(node)).expect("a level").click_accesskit();
            window.0.run_steps(3);
            window.0.key_press(Key::ArrowRight);
            window.0.run_steps(3);
            level += 1;
        }
        ensure!(rows(&window).contains(&"5 Nested.Recursive: 1 call".to_owned()), "{:?}", rows(&window));
        ensure!(!rows(&window).iter().any(|row| row.starts_with("6 ")));

        // The same nodes as bars.
        window.0.get_by_label("Flame graph").click_accesskit();
        window.until("bars", |window| window.shows(" including callees"))?;
        let bar = |window: &Window, name: &str| {
            window.0.query_all_by_label_contains(&format!("{name}: ")).next().map(|node| node.rect())
        };
        let outer = bar(&window, "Nested.Outer").expect("its bar");
        // Bars that are narrower than a pixel are not drawn.
        let below: Vec<_> =
            ["Nested.Middle", "Nested.Leaf"].iter().filter_map(|name| bar(&window, name)).collect();
        ensure!(!below.is_empty(), "no bar below the outer one");
        for rect in below {
            ensure!(rect.top() > outer.top() && rect.left() >= outer.left() - 0.5, "{rect:?} is below");
            ensure!(rect.right() <= outer.right() + 0.5, "{rect:?} is within");
        }
        end(live, window)?;
    }
    Ok(())
}

#[test]
fn async_calls_stand_below_the_call_that_started_them() -> Result<()> {
    let (mut live, mut window) = start(Runtime::V8_0)?;
    for method in ["Starts", "Waits"] {
        let name = format!("nested!Nested.{method}(System.Threading.Tasks.TaskCompletionSource<int>)");
        trace(&mut window, &name)?;
    }
    tab(&mut window, "Calls");
    say(&mut live.host, "waits")?;
    window.until("the async call", |window| window.shows("Nested.Waits (async): 1 call"))?;
    let expected = ["1 Nested.Starts: 1 call", "2 Nested.Waits (async): 1 call"];
    ensure!(rows(&window) == expected, "{:?}", rows(&window));
    tab(&mut window, "Timeline");
    window.until("its track", |window| {
        window.0.query_all_by_role(Role::ListItem).any(|node| {
            node.accesskit_node().label().is_some_and(|label| label.starts_with("Nested.Waits, "))
        })
    })?;
    end(live, window)
}

/// Returns the named bars of the timeline with their vertical positions.
fn bars(window: &Window) -> Vec<(f32, f32, f32, String)> {
    let nodes = window.0.query_all_by_role(Role::ListItem);
    let mut bars: Vec<(f32, f32, f32, String)> = nodes
        .filter_map(|node| {
            let label = node.accesskit_node().label()?;
            let (name, _) = label.split_once(", ").filter(|(name, _)| name.starts_with("Nested."))?;
            Some((node.rect().top(), node.rect().left(), node.rect().right(), name.to_owned()))
        })
        .collect();
    bars.sort_by(|one, other| (one.0, one.1).partial_cmp(&(other.0, other.1)).expect("numbers"));
    bars
}

#[test]
fn the_timeline_nests_calls_and_leads_to_the_events() -> Result<()> {
    let (mut live, mut window) = start(Runtime::V8_0)?;
    for method in ["Outer(int)", "Middle(int)", "Leaf(int)"] {
        trace(&mut window, &format!("nested!Nested.{method}"))?;
    }
    // The first calls wait for their bodies.
    say(&mut live.host, "run 1")?;
    tab(&mut window, "Timeline");
    window.until("calls", |window| window.shows("10 calls"))?;
    window.0.get_by_label("Clear").click_accesskit();
    window.0.run_steps(3);
    say(&mut live.host, "run 1")?;
    window.until("a round", |window| window.shows("10 calls"))?;
    window.until("its bars", |window| bars(window).iter().any(|bar| bar.3 == "Nested.Outer"))?;
    let shown = bars(&window);
    let outer = shown.iter().find(|bar| bar.3 == "Nested.Outer").expect("it was there").clone();
    ensure!(shown.iter().any(|bar| bar.3 != "Nested.Outer"), "{shown:?}");
    for bar in shown.iter().filter(|bar| bar.3 != "Nested.Outer") {
        ensure!(bar.0 > outer.0 && bar.1 >= outer.1 - 0.5 && bar.2 <= outer.2 + 0.5, "{bar:?} in {outer:?}");
    }
    window.0.query_all_by_label_contains("Nested.Outer, ").next().expect("a bar").click_accesskit();
    window.until("the selection", |window| window.shows("Show in events"))?;
    window.0.get_by_label("Show in events").click_accesskit();
    window.until("the event", |window| window.shows("Nested.Outer(number: 0) = "))?;
    window.until("its values", |window| window.0.query_all_by_label("number: 0").next().is_some())?;
    end(live, window)
}

/// Without traced calls, the panel shows the callers of methods that are only timed.
#[test]
#[cfg(target_os = "linux")]
fn callers_of_timed_methods_stand_below_them() -> Result<()> {
    for runtime in [Runtime::V3_1, Runtime::V8_0] {
        let (mut live, mut window) = start(runtime)?;
        let pid = live.pid.to_string();
        for method in ["Outer", "Middle", "Leaf"] {
            let pattern = format!("nested!Nested.{method}(int)");
            redial_testbed::host::run(redial_testbed::host::redial(&[
                "dial",
                &pid,
                &pattern,
                "time",
                "--callers",
            ])?)?
            .ok()?;
        }
        say(&mut live.host, "run 5")?;
        window.until("calls", |window| window.value("nested!Nested.Leaf(int)").contains("live, 35 calls"))?;
        window
            .0
            .key_press_modifiers(eframe::egui::Modifiers::COMMAND | eframe::egui::Modifiers::SHIFT, Key::E);
        window.0.run_steps(3);
        tab(&mut window, "Calls");
        let lines = |window: &Window| -> Vec<String> {
            let nodes = window.0.query_all_by_role(Role::TreeItem);
            let mut lines: Vec<(f32, String)> = nodes
                .filter_map(|node| {
                    let (level, label) = (node.accesskit_node().level()?, node.accesskit_node().label()?);
                    Some((node.rect().top(), format!("{level} {}", label.replace("nested!Nested.", ""))))
                })
                .collect();
            lines.sort_by(|one, other| one.0.total_cmp(&other.0));
            lines.into_iter().map(|(_, line)| line).collect()
        };
        let top = ["1 Leaf(int): 35 calls", "1 Middle(int): 10 calls", "1 Outer(int): 5 calls"];
        window.until("the methods", |window| lines(window) == top)?;
        ensure!(window.shows("From callers"), "the source of the numbers is named");
        let click = |window: &mut Window, line: &str| {
            let label = format!("nested!Nested.{line}");
            window.0.query_all_by_label(&label).next().expect("a line").click_accesskit();
            window.0.run_steps(3);
        };
        click(&mut window, "Leaf(int): 35 calls");
        window.until("its callers", |window| {
            let shown = lines(window);
            shown.get(1).is_some_and(|line| line.starts_with("2 Middle(int): 30 calls, "))
                && shown.get(2).is_some_and(|line| line.starts_with("2 Outer(int): 5 calls, "))
        })?;
        let middle = lines(&window)[1].trim_start_matches("2 ").to_owned();
        click(&mut window, &middle);
        window.until("their callers", |window| {
            lines(window).get(2).is_some_and(|line| line.starts_with("3 Outer(int): 10 calls, 100"))
        })?;
        let outer = lines(&window)[2].trim_start_matches("3 ").to_owned();
        click(&mut window, &outer);
        window.until("the program's beginning", |window| {
            lines(window).get(3).is_some_and(|line| line.starts_with("4 Main") && line.contains(": 5 calls"))
        })?;
        // A traced call brings the tree of traced calls.
        trace(&mut window, "nested!Nested.Recursive(int)")?;
        say(&mut live.host, "recurse 1")?;
        window.until("traced calls", |window| window.shows(" traced call"))?;
        end(live, window)?;
    }
    Ok(())
}
