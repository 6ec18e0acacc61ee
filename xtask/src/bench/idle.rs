//! Row `idle`: what an agent with nothing dialled costs a real program at work: the C# compiler on a large source.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use redial_testbed::csharp::Compilation;
use redial_testbed::host;
use redial_testbed::runtimes::Runtime;

use super::report::{Limit, Pair, Row};
use super::timed::{Timed, timed};
use super::{Bench, in_turns};
use crate::build;

/// Lines of the source, about: of so much work that the start, which has a row of its own, is a hundredth of it.
const LINES: u32 = 80_000;
/// Lines of the source while the memory is measured: with more of them the host's own varies by more than the agent takes.
const FEW_LINES: u32 = 20_000;
/// Times as many pairs as for other rows: how long the same compilation takes varies by a tenth.
const PAIRS: usize = 2;
/// Throughput may be 2 % less.
const SLOWER: f64 = 1.02;
/// The most the agent may take of memory, in MiB.
const MEMORY: f64 = 16.0;

/// Compiles it with and without the agent where the compiler runs.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let subject = |lines: u32| format!("C# compiler, {lines} lines");
    if runtime != Runtime::V8_0 {
        return Ok(vec![Row::not_run(subject(LINES), runtime.name(), "the compiler is run on 8.0")]);
    }
    let long = runs(bench, runtime, LINES, PAIRS * bench.pairs)?;
    let short = runs(bench, runtime, FEW_LINES, bench.pairs)?;
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
    Ok(vec![
        row("", LINES, "ms", &long, |run| run.milliseconds).at_most(Limit::Ratio(SLOWER)),
        limited(row("", LINES, "ms of processor time", &long, |run| run.processor), Limit::Ratio(SLOWER)),
        limited(row(", peak memory", FEW_LINES, "MiB", &short, |run| run.peak_mib), Limit::Added(MEMORY)),
    ])
}

/// So many compilations of so many lines, each without and with the agent.
fn runs(bench: &Bench, runtime: Runtime, lines: u32, pairs: usize) -> Result<Vec<[Timed; 2]>> {
    let compilation = Compilation::program("BenchSource", vec![source(lines)?]);
    let out = build::target_folder().join("bench-source.dll");
    let compile = |with: bool| -> Result<Timed> {
        let mut command = compilation.command(runtime, &out)?;
        if with {
            host::load_agent_from(&mut command, bench.built.agent());
        }
        timed(command)
    };
    compile(false)?;
    in_turns(pairs, || compile(false), || compile(true))
}

/// A program of so many lines: classes with loops, strings, generics and lambdas, each line of C# as people write it.
fn source(lines: u32) -> Result<PathBuf> {
    let mut text =
        "using System;\nusing System.Collections.Generic;\nusing System.Linq;\n\nnamespace Bench\n{\n"
            .to_owned();
    let mut class = 0;
    while text.lines().count() < lines as usize - 20 {
        // A batch of classes at a time: counting lines is not free either.
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
