//! Generated assemblies: one with many methods, many with few methods, one with invalid IL, some with random
//! IL.
//!
//! All are deterministic and cached. `Big` goes through the C# compiler, so its bodies are real compiler
//! output. The program `makelibs` writes the small ones directly, in one run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cache;
use crate::csharp::Compilation;
use crate::programs;
use crate::runtimes::Runtime;
use crate::sources::source_file;

/// Number of classes of [`big_library`].
pub const BIG_CLASSES: u32 = 100;

/// Number of methods of each class of [`big_library`], without compiler-generated ones.
pub const BIG_METHODS: u32 = 101;

/// Returns `Big.dll`. Its classes `Big.C0`… `Big.C99` each have methods `M0`… `M100` of varied shapes and a
/// `Run(int)` that calls each of them once. `Big.All.CallAll(int)` calls every `Run` once. The results are the
/// same every time.
///
/// # Errors
/// The compiler's messages.
pub fn big_library() -> Result<PathBuf> {
    big_library_named("Big")
}

/// Returns the same library under another assembly name. The types are named as in `Big`.
///
/// # Errors
/// The compiler's messages.
pub fn big_library_named(assembly: &str) -> Result<PathBuf> {
    Compilation::library(assembly, vec![big_library_source()?]).build()
}

fn big_library_source() -> Result<PathBuf> {
    source_file("Big", &big_source(BIG_CLASSES, BIG_METHODS))
}

/// Returns the C# file of a library like [`big_library`], about 300 lines for each class.
///
/// # Errors
/// When it cannot be written.
pub fn library_source(classes: u32) -> Result<PathBuf> {
    source_file(&format!("Big{classes}"), &big_source(classes, BIG_METHODS))
}

/// Number of classes of [`hot_library`].
pub const HOT_CLASSES: u32 = 10;

/// Number of methods of each class of [`hot_library`].
pub const HOT_METHODS: u32 = 100;

/// Returns `Hot.dll`. Its classes `Hot.H0`… `Hot.H9` each have short methods `M0`… `M99` that are never
/// inlined. `Hot.All.Sweep(int)` calls each of them once.
///
/// # Errors
/// The compiler's messages.
pub fn hot_library() -> Result<PathBuf> {
    Compilation::library("Hot", vec![source_file("Hot", &hot_source())?]).build()
}

fn hot_source() -> String {
    let (mut source, mut calls) =
        ("using System.Runtime.CompilerServices;\n\nnamespace Hot\n{\n".to_owned(), String::new());
    for class in 0..HOT_CLASSES {
        let _ = writeln!(source, "    public static class H{class}\n    {{");
        for method in 0..HOT_METHODS {
            let _ = writeln!(
                source,
                "        [MethodImpl(MethodImplOptions.NoInlining)] public static int M{method}(int n) => n + {class};"
            );
            let _ = writeln!(calls, "            s += H{class}.M{method}(n);");
        }
        source.push_str("    }\n\n");
    }
    let _ = writeln!(
        source,
        "    public static class All\n    {{\n        public static int Sweep(int n)\n        {{\n            int s = 0;\n{calls}            \
         return s;\n        }}\n    }}\n}}"
    );
    source
}

/// Returns a folder of `Lib0.dll`… written by `makelibs tiny`.
///
/// # Errors
/// Messages of the compiler or of `makelibs`.
pub fn tiny_libraries(count: u32) -> Result<PathBuf> {
    make_libraries(&format!("tiny-{count}"), |folder| {
        vec!["tiny".into(), folder.display().to_string(), count.to_string()]
    })
}

/// Returns a folder of `Lib0.dll`… with `methods` further methods each, written by `makelibs wide`.
///
/// # Errors
/// Messages of the compiler or of `makelibs`.
pub fn wide_libraries(count: u64, methods: u64) -> Result<PathBuf> {
    make_libraries(&format!("wide-{count}-{methods}"), |folder| {
        vec!["wide".into(), folder.display().to_string(), count.to_string(), methods.to_string()]
    })
}

/// Returns `Bad.dll`, written by `makelibs bad`.
///
/// # Errors
/// Messages of the compiler or of `makelibs`.
pub fn bad_library() -> Result<PathBuf> {
    let folder =
        make_libraries("bad", |folder| vec!["bad".into(), folder.join("Bad.dll").display().to_string()])?;
    Ok(folder.join("Bad.dll"))
}

/// Returns `Jumps.dll`, written by `makelibs jumps` for the program `shapes`.
///
/// # Errors
/// Messages of the compiler or of `makelibs`.
pub fn jumps_library() -> Result<PathBuf> {
    let folder = make_libraries("jumps", |folder| {
        vec!["jumps".into(), folder.join("Jumps.dll").display().to_string()]
    })?;
    Ok(folder.join("Jumps.dll"))
}

/// Usual number of modules of [`random_methods`].
pub const RANDOM_MODULES: usize = 20;

/// Number of methods with random bodies in each module of [`random_methods`]. [`RANDOM_NUMBERS`] includes their
/// callers.
pub const RANDOM_METHODS: usize = 1000;

/// Numbers that a module of [`random_methods`] takes in the program's call counts. The method with token
/// `0x06000001 + n` in module `m` has the number `m * RANDOM_NUMBERS + n`.
pub const RANDOM_NUMBERS: usize = 1020;

/// Returns a folder with this number of modules of random valid IL, `Rand0.dll`…, written by `randomil make`. A seed always
/// gives the same result.
///
/// # Errors
/// Messages of the compiler or of `randomil`.
pub fn random_methods(seed: u64, modules: usize) -> Result<PathBuf> {
    generate_with("randomil", &format!("random-{seed}-{modules}"), |folder| {
        vec!["make".into(), seed.to_string(), modules.to_string(), folder.display().to_string()]
    })
}

fn make_libraries(item: &str, arguments: impl Fn(&Path) -> Vec<String>) -> Result<PathBuf> {
    generate_with("makelibs", item, arguments)
}

fn generate_with(maker: &str, item: &str, arguments: impl Fn(&Path) -> Vec<String>) -> Result<PathBuf> {
    let program = programs::named(maker)?;
    // The name of the program's folder is the hash of its source.
    let recipe = program.folder().file_name().unwrap_or_default().to_string_lossy().into_owned();
    cache::ensure(&format!("generated/{item}"), &recipe, |into| {
        let output = program.command(Runtime::V8_0)?.args(arguments(into)).output()?;
        if !output.status.success() {
            bail!("{maker} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    })
}

/// One method in C# and the expression that calls it with an `int n`. `@` stands for the method's number, `#`
/// for a constant of its own.
struct Shape {
    method: &'static str,
    call: &'static str,
}

const SHAPES: &[Shape] = &[
    Shape { method: "public static int M@(int n) => n + #;", call: "M@(n)" },
    Shape {
        method: "public static long M@(long n) { long s = 0; for (long i = n & 7; i < 9; i++) s += i * #; return s; }",
        call: "(int)M@(n)",
    },
    Shape {
        method: "public static int M@(int n, byte kind) { switch (kind) { case 0: return n; case 1: return #; \
                 case 2: return n * 3; case 3: return ~n; case 7: return 9; default: return n - #; } }",
        call: "M@(n, (byte)(n & 7))",
    },
    Shape {
        method: "public static int M@(string s) { int r = 0; try { r = int.Parse(s); } catch (FormatException) \
                 { r = -1; } finally { r += #; } return r; }",
        call: "M@(\"12\")",
    },
    Shape {
        method: "public static T M@<T>(T a, T b, bool first) where T : IComparable<T> \
                 { return first || a.CompareTo(b) > # ? a : b; }",
        call: "M@(n, 3, false) + M@(\"a\", \"b\", true).Length",
    },
    Shape { method: "public static void M@(ref int n, in Pair p) { n += p.A + #; }", call: "ByRef(n, M@)" },
    Shape {
        method: "public static bool M@(int n, out Pair p) { p = new Pair { A = n, B = # }; return n > #; }",
        call: "(M@(n, out Pair p@) ? 1 : 2) + p@.B",
    },
    Shape {
        method: "public static int M@(int[] all, params object[] more) { int s = more.Length; foreach (int one in all) \
                 { if (one == #) continue; s += one; } return s; }",
        call: "M@(new[] { n, 2, 3 }, null, \"x\")",
    },
    Shape {
        method: "public static string M@(string s, int? n) { return s + (n ?? #) + (n.HasValue ? \"!\" : \"?\"); }",
        call: "M@(\"a\", null).Length",
    },
    Shape {
        method: "public virtual int M@(int n) { lock (this) { field += n; return field ^ #; } }",
        call: "one.M@(n)",
    },
    Shape {
        method: "public static double M@(double x, float y) { double r = x * x + y; while (r > 10) r /= 2.5; \
                 return r + #; }",
        call: "(int)M@(n, 1f)",
    },
    Shape {
        method: "public static int M@(List<int> list) { var seen = new Dictionary<string, List<int>>(); \
                 foreach (int one in list) seen[\"k\" + one] = list; Func<int, int> f = x => x + seen.Count + #; \
                 return f(list.Count); }",
        call: "M@(new List<int> { 1, 2, 3 })",
    },
    Shape {
        method: "public static unsafe int M@(int n) { int* p = stackalloc int[4]; for (int i = 0; i < 4; i++) \
                 p[i] = n + i * #; return p[n & 3]; }",
        call: "M@(n)",
    },
    Shape {
        method: "public static int M@(object o) { int depth = 0; try { try { depth = o.GetHashCode() & 1; } \
                 finally { depth += 2; } if (o is string) return # + depth * 0; } \
                 catch (InvalidCastException e) when (e.Message.Length > #) { depth = -1; } return depth * 0; }",
        call: "M@(\"x\") + M@(n)",
    },
    Shape {
        method: "public static (int, long) M@(Pair p, decimal d, char c, ulong u, sbyte b) { long l = p.A; short s = \
                 (short)c; uint v = (uint)u; return (s + b + p.B, l + v + (long)d + #); }",
        call: "(int)M@(new Pair { A = n }, 2m, 'c', 3, -4).Item2",
    },
    Shape {
        method: "public static IEnumerable<int> M@(int from, int to) { for (int i = from; i < to; i++) yield return i * #; }",
        call: "Sum(M@(n & 3, 5))",
    },
];

const HEAD: &str = "\
using System;
using System.Collections.Generic;

namespace Big
{
    [AttributeUsage(AttributeTargets.All)]
    public sealed class NoteAttribute : Attribute
    {
        public NoteAttribute(string text, int number, Type type) { Text = text; Number = number; Type = type; }
        public string Text { get; }
        public int Number { get; }
        public Type Type { get; }
        public string[] More { get; set; }
    }

    public struct Pair { public int A, B; }

    public abstract class Base
    {
        protected delegate void Changes(ref int n, in Pair p);
        protected int field;
        protected static int ByRef(int n, Changes change) { change(ref n, new Pair { A = 3 }); return n; }
        protected static int Sum(IEnumerable<int> all) { int s = 0; foreach (int one in all) s += one; return s; }
    }
";

/// Returns the C# source of `Big`, the same for the same numbers.
fn big_source(classes: u32, methods: u32) -> String {
    let mut source = HEAD.to_owned();
    for class in 0..classes {
        let mut calls = String::new();
        let _ = write!(
            source,
            "\n    [Note(\"class\", {class}, typeof(Pair))]\n    public class C{class} : Base\n    {{\n"
        );
        for (number, shape) in (0..methods).zip(SHAPES.iter().cycle()) {
            let constant = (class * 31 + number * 7) % 1000 + 1;
            let fill =
                |text: &str| text.replace('@', &number.to_string()).replace('#', &constant.to_string());
            let _ = writeln!(
                source,
                "        [Note(\"m\", {number}, typeof(List<int>), More = new[] {{ \"a\", null }})]\n        {}",
                fill(shape.method)
            );
            let _ = writeln!(calls, "            s = s * 31 + {};", fill(shape.call));
        }
        let _ = write!(
            source,
            "        public static int Run(int n)\n        {{\n            int s = 0;\n            var one = new \
             C{class}();\n{calls}            return s;\n        }}\n    }}\n"
        );
    }
    source.push_str(
        "\n    public static class All\n    {\n        public static int CallAll(int n)\n        {\n            int \
         s = 0;\n",
    );
    for class in 0..classes {
        let _ = writeln!(source, "            s = s * 31 + C{class}.Run(n);");
    }
    source.push_str("            return s;\n        }\n    }\n}\n");
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_source_has_every_method_and_call_once() {
        let source = big_source(3, 20);
        for class in 0..3 {
            assert_eq!(source.matches(&format!("class C{class} ")).count(), 1);
        }
        for method in 0..20 {
            let declared = source.lines().filter(|line| line.contains("public ")).filter(|line| {
                line.contains(&format!(" M{method}(")) || line.contains(&format!(" M{method}<"))
            });
            assert_eq!(declared.count(), 3, "M{method}");
        }
        assert_eq!(source.matches("s = s * 31 +").count(), 3 * 20 + 3);
        assert_eq!(source, big_source(3, 20));
    }
}
