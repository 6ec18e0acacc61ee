//! Row `idle`: the cost of an agent with nothing dialled for a real program, the C# compiler on a large source.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use redial_testbed::csharp::Compilation;
use redial_testbed::host;
use redial_testbed::runtimes::Runtime;

use super::context::{Bench, alternating};
use super::report::{Limit, Pair, Row};
#[cfg(unix)]
use super::slices::in_slices;
use super::startup::ALL_FLAGS;
use super::timed::{Timed, timed};
use crate::build;

/// Approximate lines of the source: enough work that the start, which has its own row, is below a hundredth of it.
const LINES: u32 = 160_000;
/// Fixes the collector's generation size, so that every compilation collects at the same places.
#[cfg(unix)]
const STEADY: [(&str, &str); 2] = [("DOTNET_GCgen0size", "0x4000000"), ("DOTNET_gcConcurrent", "0")];
/// Lines of the source for the memory measurement. With more, the host's own memory varies by more than the agent uses.
const FEW_LINES: u32 = 20_000;
/// One compiler thread; with more, the same compilation varies by a tenth.
const ONE_THREAD: &str = "-parallel-";
/// Allowed loss of throughput: 2 %.
const SLOWER: f64 = 1.02;
/// Most memory the agent may use, in MiB.
const MEMORY: f64 = 16.0;

/// Compiles with and without the agent, on the runtimes that run the compiler.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let subject = |lines: u32| format!("C# compiler, {lines} lines");
    if runtime != Runtime::V8_0 {
        return Ok(vec![Row::not_run(subject(LINES), runtime.name(), "the compiler is run on 8.0")]);
    }
    let long = Compiled::of(runtime, LINES, &[ONE_THREAD])?;
    let agent = long.in_slices(bench.pairs, &Profiler { library: bench.built.agent(), variable: None })?;
    let empty = build::bench_hooks()?;
    let empty = long.in_slices(bench.pairs, &Profiler { library: &empty, variable: Some(ALL_FLAGS) })?;
    let short = Compiled::of(runtime, FEW_LINES, &[])?;
    let memory =
        short.alternating(bench.pairs, &Profiler { library: bench.built.agent(), variable: None })?;
    let row = |what: &str, lines, unit, runs: &[[Timed; 2]], number: fn(&Timed) -> f64| {
        let pair = |[plain, dialled]: &[Timed; 2]| Pair { plain: number(plain), dialled: number(dialled) };
        let pairs: Vec<Pair> = runs.iter().map(pair).collect();
        let subject = format!("{}{what}", subject(lines));
        match pairs.iter().all(|pair| pair.plain > 0.0) {
            true => Row::of(subject, runtime.name(), unit, pairs),
            false => Row::not_run(subject, runtime.name(), "the system does not tell"),
        }
    };
    let limited = |row: Row, limit| if row.pairs.is_empty() { row } else { row.at_most(limit) };
    let processor = |run: &Timed| run.processor;
    Ok(vec![
        row("", LINES, "ms", &agent, |run| run.milliseconds).at_most(Limit::Ratio(SLOWER)),
        limited(row("", LINES, "ms of processor time", &agent, processor), Limit::Ratio(SLOWER)),
        row(", an empty profiler with its flags", LINES, "ms of processor time", &empty, processor),
        limited(row(", peak memory", FEW_LINES, "MiB", &memory, |run| run.peak_mib), Limit::Added(MEMORY)),
    ])
}

/// The profiler in one process of a pair.
struct Profiler<'b> {
    library: &'b Path,
    variable: Option<(&'static str, &'static str)>,
}

/// One source, compiled with and without a profiler.
struct Compiled {
    compilation: Compilation,
    runtime: Runtime,
}

impl Compiled {
    fn of(runtime: Runtime, lines: u32, options: &[&str]) -> Result<Self> {
        let mut compilation = Compilation::program("BenchSource", vec![source(lines)?]);
        compilation.options.extend(options.iter().map(|option| (*option).to_owned()));
        let compiled = Compiled { compilation, runtime };
        // Warm-up: the first start reads everything from disk.
        timed(compiled.command(None)?)?;
        Ok(compiled)
    }

    fn command(&self, with: Option<&Profiler<'_>>) -> Result<Command> {
        let out = build::target_folder().join(format!("bench-source-{}.dll", u8::from(with.is_some())));
        let mut command = self.compilation.command(self.runtime, &out)?;
        if let Some(Profiler { library, variable }) = with {
            host::load_agent_from(&mut command, library);
            command.envs(*variable);
        }
        Ok(command)
    }

    /// One after the other.
    fn alternating(&self, pairs: usize, with: &Profiler<'_>) -> Result<Vec<[Timed; 2]>> {
        alternating(pairs, || timed(self.command(None)?), || timed(self.command(Some(with))?))
    }

    /// Both at once, alternating every tenth of a second.
    #[cfg(unix)]
    fn in_slices(&self, pairs: usize, with: &Profiler<'_>) -> Result<Vec<[Timed; 2]>> {
        let steady = |with| -> Result<Command> {
            let mut command = self.command(with)?;
            command.envs(STEADY);
            Ok(command)
        };
        let pair = |number: usize| -> Result<[Timed; 2]> {
            let (plain, with) = (steady(None)?, steady(Some(with))?);
            if number.is_multiple_of(2) {
                return in_slices(plain, with);
            }
            let [with, plain] = in_slices(with, plain)?;
            Ok([plain, with])
        };
        (0..pairs).map(pair).collect()
    }

    #[cfg(not(unix))]
    fn in_slices(&self, pairs: usize, with: &Profiler<'_>) -> Result<Vec<[Timed; 2]>> {
        self.alternating(pairs, with)
    }
}

/// Writes a program of about `lines` lines of ordinary C#: classes with loops, strings, generics and lambdas.
fn source(lines: u32) -> Result<PathBuf> {
    let mut text =
        "using System;\nusing System.Collections.Generic;\nusing System.Linq;\n\nnamespace Bench\n{\n"
            .to_owned();
    let mut class = 0;
    while text.lines().count() < lines as usize - 20 {
        // In batches of classes, since counting lines takes time too.
        for _ in 0..50 {
            let _ = writeln!(text, "{}", CLASS.replace('@', &class.to_string()));
            class += 1;
        }
    }
    text.push_str("    static class Program\n    {\n        static int Main() => new Stock0().Total(new[] { 1, 2 });\n    }\n}\n");
    let path = build::target_folder().join("bench-source.cs");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

const CLASS: &str = "    sealed class Stock@
    {
        readonly Dictionary<string, List<int>> byName = new Dictionary<string, List<int>>();
        int sold = @;

        public int Total(IEnumerable<int> more)
        {
            int sum = sold;
            foreach (KeyValuePair<string, List<int>> one in byName)
            {
                sum += one.Value.Where(x => x > sum % 7).Sum() + one.Key.Length;
            }
            return sum + more.Select((x, i) => x * i + @).DefaultIfEmpty(1).Max();
        }

        public string Describe(string name, object thing)
        {
            switch (thing)
            {
                case string text when text.Length > 3:
                    return name + \": \" + text.Substring(1) + sold;
                case int number:
                    return $\"{name} {number:x} of {sold}\";
                default:
                    return thing?.ToString() ?? nameof(Stock@);
            }
        }

        public bool Sell(string name, int count)
        {
            if (!byName.TryGetValue(name, out List<int> prices))
            {
                byName[name] = prices = new List<int>();
            }
            try
            {
                prices.Add(checked(count * @));
                sold += count;
                return true;
            }
            catch (OverflowException e)
            {
                Console.Error.WriteLine(e.Message);
                return false;
            }
        }
    }
";
