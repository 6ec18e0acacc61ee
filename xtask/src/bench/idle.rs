//! Row `idle`: what an agent with nothing dialled costs a real program at work: the C# compiler on a large source.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use redial_testbed::csharp::Compilation;
use redial_testbed::host;
use redial_testbed::runtimes::Runtime;

use super::Bench;
use super::report::{Limit, Pair, Row};
use super::timed::{Timed, timed};
use crate::build;

/// Lines of the source, about.
const LINES: u32 = 20_000;
/// Throughput may be 2 % less.
const SLOWER: f64 = 1.02;
/// The most the agent may take of memory, in MiB.
const MEMORY: f64 = 16.0;

/// Compiles it with and without the agent where the compiler runs.
pub fn measure(bench: &Bench, runtime: Runtime) -> Result<Vec<Row>> {
    let subject = format!("C# compiler, {LINES} lines");
    if runtime != Runtime::V8_0 {
        return Ok(vec![Row::not_run(subject, runtime.name(), "the compiler is run on 8.0")]);
    }
    let compilation = Compilation::program("BenchSource", vec![source()?]);
    let out = build::target_folder().join("bench-source.dll");
    let compile = |with: bool| -> Result<Timed> {
        let mut command = compilation.command(runtime, &out)?;
        if with {
            host::load_agent_from(&mut command, bench.built.agent());
        }
        timed(command)
    };
    compile(false)?;
    let memory = std::cell::RefCell::new((Vec::new(), Vec::new()));
    let pairs = bench.pairs(
        || {
            let Timed { milliseconds, peak_mib, .. } = compile(false)?;
            memory.borrow_mut().0.push(peak_mib);
            Ok(milliseconds)
        },
        || {
            let Timed { milliseconds, peak_mib, .. } = compile(true)?;
            memory.borrow_mut().1.push(peak_mib);
            Ok(milliseconds)
        },
    )?;
    let (plain, dialled) = memory.into_inner();
    let memory = plain.into_iter().zip(dialled).map(|(plain, dialled)| Pair { plain, dialled }).collect();
    Ok(vec![
        Row::of(subject.clone(), runtime.name(), "ms", pairs).at_most(Limit::Ratio(SLOWER)),
        Row::of(format!("{subject}, peak memory"), runtime.name(), "MiB", memory)
            .at_most(Limit::Added(MEMORY)),
    ])
}

/// A program of so many lines: classes with loops, strings, generics and lambdas, each line of C# as people write it.
fn source() -> Result<PathBuf> {
    let mut text =
        "using System;\nusing System.Collections.Generic;\nusing System.Linq;\n\nnamespace Bench\n{\n"
            .to_owned();
    let mut class = 0;
    while text.lines().count() < LINES as usize - 20 {
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
