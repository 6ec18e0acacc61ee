//! `redial snapshot` and `redial diff` on two runs of a program whose difference is known.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use redial_protocol::level::Level;
use redial_testbed::controller::Lifetime;
use redial_testbed::host;
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{on_each_runtime, programs, selftimes, traced};
use serde_json::Value;
use std::collections::BTreeMap;

on_each_runtime!(
    compares_two_runs_whose_difference_is_known,
    saves_traced_calls_and_the_log,
    a_speedscope_file_has_the_known_call_tree
);

/// A folder for files, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Folder> {
        let folder = std::env::temp_dir().join(format!("redial-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Folder(folder))
    }

    fn file(&self, name: &str) -> Result<String> {
        self.0.join(name).to_str().map(str::to_owned).context("a path in UTF-8")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn redial(arguments: &[&str]) -> Result<host::Outcome> {
    host::run(host::redial(arguments)?)
}

fn start(runtime: Runtime) -> Result<LiveHost> {
    let live = selftimes::start(runtime)?;
    live.controller()?.dial("selftimes!Selftimes.*", Level::Time, Lifetime::Kept)?;
    Ok(live)
}

/// The entry of a method in a difference.
fn entry<'a>(difference: &'a Value, method: &str) -> Result<&'a Value> {
    let name = format!("Selftimes.{method}");
    let methods = difference["methods"].as_array().context("a list")?;
    methods.iter().find(|one| one["method"] == name.as_str()).with_context(|| format!("{name}: {difference}"))
}

fn compares_two_runs_whose_difference_is_known(runtime: Runtime) -> Result<()> {
    let folder = Folder::new(&format!("diff-{}", runtime.name()))?;
    let (a, b) = (folder.file("a.snapshot")?, folder.file("b.snapshot")?);
    let mut first = start(runtime)?;
    let known_first = selftimes::known(&mut first.host, "rounds 100 200 50 100")?;
    let pid = first.pid.to_string();
    redial(&["snapshot", &pid, "-o", &a])?.ok()?;
    let again = redial(&["snapshot", &pid, "-o", &a])?;
    ensure_messages(&again, 1, &["cannot write the snapshot", "--force replaces it"])?;
    redial(&["snapshot", &pid, "-o", &a, "--force"])?.ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        ensure!(std::fs::metadata(&a)?.permissions().mode() & 0o777 == 0o600);
    }
    let same = redial(&["diff", &a, &pid])?.ok()?;
    ensure!(same.stdout.contains("no differences in "), "{}", same.output());
    drop(first);

    // Price takes thirty times as long (far more than a thread may be kept from running), Parse is called twice as often, Store is not called any more, Extra is new.
    let mut second = start(runtime)?;
    selftimes::known(&mut second.host, "rounds 100 6000 50 0")?;
    selftimes::known(&mut second.host, "rounds 100 0 50 0")?;
    let known = selftimes::known(&mut second.host, "extra 10")?;
    let pid = second.pid.to_string();
    redial(&["snapshot", &pid, "-o", &b])?.ok()?;
    for after in [&b, &pid] {
        let difference = redial(&["diff", &a, after, "--json"])?.ok()?.json()?;
        let expected: [(&str, &[&str], i64); 5] = [
            ("Price", &["slower"], 0),
            ("Store", &["vanished"], -100),
            ("Parse", &["called_more"], 100),
            ("Extra", &["appeared"], 10),
            ("Never", &[], 0),
        ];
        for (method, changes, calls) in expected {
            let one = entry(&difference, method)?;
            let found: Vec<&str> =
                one["changes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            // On a busy machine, a spin may take longer by any time.
            let found: Vec<&str> = found
                .into_iter()
                .filter(|word| method == "Price" || !["slower", "faster"].contains(word))
                .collect();
            ensure!(found == changes && one["calls_change"] == calls, "{method}: {one}");
        }
        let price = entry(&difference, "Price")?;
        let change = price["self_ns_change"].as_i64().context("nanoseconds")?;
        let known_change =
            known["Selftimes.Price"].self_ns as i64 - known_first["Selftimes.Price"].self_ns as i64;
        let sides = [("before", &known_first), ("after", &known)];
        for (side, known) in sides {
            // Its first call also runs the type's initializer, which has self time of its own.
            let measured = price[side]["total_ns"].as_u64().context("nanoseconds")?;
            ensure!(measured >= known["Selftimes.Price"].self_ns, "{side}: {price} {known:?}");
        }
        ensure!(change > 0 && known_change > 0, "{price}");
        let costs: Vec<u64> = difference["methods"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["self_ns_change"].as_i64().map(i64::unsigned_abs))
            .collect();
        ensure!(costs.is_sorted_by(|one, next| one >= next), "sorted by cost: {costs:?}");
    }
    let text = redial(&["diff", &a, &b])?.ok()?.stdout;
    ensure!(text.contains("selftimes!Selftimes.Price(int)") && text.contains("1 vanished"), "{text}");
    let csv = redial(&["diff", &a, &b, "--csv"])?.ok()?.stdout;
    ensure!(csv.starts_with("method,change,self time change ns,") && csv.contains("vanished"), "{csv}");

    let shown = redial(&["snapshot", "--show", &b])?.ok()?.stdout;
    ensure!(
        shown.contains("saved numbers of process ") && shown.contains("selftimes!Selftimes.Extra(int)"),
        "{shown}"
    );
    let json = redial(&["snapshot", "--show", &b, "--json"])?.ok()?.json()?;
    let live = redial(&["status", &pid, "--json"])?.ok()?.json()?;
    ensure!(json["dials"].as_array().map(Vec::len) == live.as_array().map(Vec::len), "{json}");
    damage(&folder, &b)
}

/// Checks that damaged files and those of newer versions are refused.
fn damage(folder: &Folder, file: &str) -> Result<()> {
    let whole = std::fs::read_to_string(file)?;
    let wrong = folder.file("wrong.snapshot")?;
    let program = concat!("redial ", env!("CARGO_PKG_VERSION"));
    let cases = [
        (whole[..whole.len() / 2].to_owned(), "wrong.snapshot is "),
        (whole.replacen("\"calls\":100", "\"calls\":101", 1), "the checksum does not match"),
        (
            whole.replacen("\"redial_snapshot\":1", "\"redial_snapshot\":2", 1),
            "has format 2, written by redial",
        ),
        (whole.replacen("\"redial_snapshot\":1", "\"redial_snapshot\":2", 1), program),
        ("# redial dials 1\n".to_owned(), "is no snapshot of Redial"),
    ];
    for (text, part) in cases {
        std::fs::write(&wrong, text)?;
        ensure_messages(&redial(&["snapshot", "--show", &wrong])?, 1, &[part])?;
        ensure_messages(&redial(&["diff", file, &wrong])?, 1, &[part])?;
    }
    let missing = folder.file("missing.snapshot")?;
    ensure_messages(&redial(&["diff", file, &missing])?, 1, &["cannot read ", "missing.snapshot"])
}

fn saves_traced_calls_and_the_log(runtime: Runtime) -> Result<()> {
    let folder = Folder::new(&format!("events-{}", runtime.name()))?;
    let file = folder.file("traced.snapshot")?;
    let mut live = selftimes::start(runtime)?;
    let mut controller = live.controller()?;
    traced::trace(&mut controller, "selftimes!Selftimes.Price(int)")?;
    selftimes::known(&mut live.host, "rounds 3 20 0 0")?;
    let pid = live.pid.to_string();
    redial(&["snapshot", &pid, "-o", &file])?.ok()?;
    let shown = redial(&["snapshot", "--show", &file, "--json"])?.ok()?.json()?;
    let calls = shown["calls"].as_array().context("calls")?;
    let events = redial(&["events", &pid, "--json"])?.ok()?.stdout;
    let events: Vec<Value> = events.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(calls.len() == 3 && *calls == events, "{shown}\n{events:?}");
    ensure!(calls[0]["args"][0]["value"] == 20, "{shown}");
    let changes = shown["changes"].as_array().context("changes")?;
    ensure!(
        changes.iter().any(|one| one["order"].as_str().is_some_and(|order| order.contains("Price"))),
        "{shown}"
    );
    ensure!(shown["orders"].as_array().map(Vec::len) == Some(1), "{shown}");
    Ok(())
}

/// Returns the stacks of an evented profile and how often each was entered; every frame must close, the latest first.
fn stacks(file: &Value, profile: &Value) -> Result<BTreeMap<String, u64>> {
    let (mut open, mut found, mut last) = (Vec::<&str>::new(), BTreeMap::new(), 0);
    for event in profile["events"].as_array().context("events")? {
        let frame = event["frame"].as_u64().context("a frame")? as usize;
        let name = file["shared"]["frames"][frame]["name"].as_str().context("a name")?;
        let at = event["at"].as_u64().context("a time")?;
        ensure!(at >= last && Some(at) <= profile["endValue"].as_u64(), "{event}");
        last = at;
        if event["type"] == "O" {
            open.push(name);
            *found.entry(open.join(" ")).or_default() += 1;
        } else {
            ensure!(event["type"] == "C" && open.pop() == Some(name), "{event}");
        }
    }
    ensure!(open.is_empty(), "{open:?} stay open");
    Ok(found)
}

fn a_speedscope_file_has_the_known_call_tree(runtime: Runtime) -> Result<()> {
    let mut live = under_agent::start(programs::named("nested")?.command(runtime)?)?;
    let mut controller = live.controller()?;
    for method in ["Outer", "Middle", "Leaf", "Recursive"] {
        traced::trace(&mut controller, &format!("nested!Nested.{method}(int)"))?;
    }
    for command in ["run 5", "thread", "recurse 4"] {
        traced::say(&mut live.host, command)?;
    }
    let file = redial(&["snapshot", &live.pid.to_string(), "--speedscope"])?.ok()?.json()?;
    ensure!(file["$schema"] == concat!("https", "://www.speedscope.app/file-format-schema.json"), "{file}");
    let profiles = file["profiles"].as_array().context("profiles")?;
    ensure!(profiles.iter().all(|one| one["unit"] == "nanoseconds" && one["name"].is_string()), "{file}");
    let threads: Vec<&Value> = profiles.iter().filter(|one| one["type"] == "evented").collect();
    ensure!(threads.len() == 2, "the main thread and another: {file}");
    let mut all = BTreeMap::new();
    for thread in threads {
        for (stack, calls) in stacks(&file, thread)? {
            *all.entry(stack.replace("Nested.", "").replace("(int)", "")).or_insert(0) += calls;
        }
    }
    let recursion = (1..=5).map(|depth| (vec!["Recursive"; depth].join(" "), 1));
    let tree = [("Outer", 6), ("Outer Middle", 12), ("Outer Middle Leaf", 36), ("Outer Leaf", 6)];
    let expected: BTreeMap<String, u64> =
        tree.map(|(stack, calls)| (stack.to_owned(), calls)).into_iter().chain(recursion).collect();
    ensure!(all == expected, "{all:?}");
    let own = profiles.iter().find(|one| one["type"] == "sampled").context("self times")?;
    let [samples, weights] = ["samples", "weights"].map(|name| own[name].as_array().map_or(0, Vec::len));
    ensure!(samples == weights && samples > 0, "{own}");
    live.host.say("exit")?;
    live.host.finish()?.ok()?;
    // Without numbers there is no profile, and the file would not be valid.
    let idle = under_agent::start(programs::named("nested")?.command(runtime)?)?;
    let refused = redial(&["snapshot", &idle.pid.to_string(), "--speedscope"])?;
    ensure!(refused.code()? == 1 && refused.output().contains("nothing to write"), "{}", refused.output());
    Ok(())
}
