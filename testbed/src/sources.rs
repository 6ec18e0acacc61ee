//! Generated C# source files.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::cache;

/// Writes a generated C# file into its own folder in the cache and returns its path.
///
/// # Errors
/// When it cannot be written.
pub fn source_file(name: &str, source: &str) -> Result<PathBuf> {
    let file = format!("{name}.cs");
    let folder = cache::ensure(&format!("generated/{name}"), source, |into| {
        let path = into.join(&file);
        fs::write(&path, source).with_context(|| format!("cannot write {}", path.display()))
    })?;
    Ok(folder.join(file))
}

/// Bytes of IL that the methods of [`large_bodies_source`] have.
pub const LARGE_BODIES: [u32; 4] = [40_007, 59_852, 59_987, 60_005];

/// Writes a C# program with a method `Large.Body` and the number of bytes of its IL, for each of [`LARGE_BODIES`]. The line
/// `call N` on its input calls the Nth.
///
/// # Errors
/// When it cannot be written.
pub fn large_bodies_source() -> Result<PathBuf> {
    /// Bytes of a statement, and of `return`.
    const STATEMENT: u32 = 9;
    const RETURN: u32 = 2;
    let mut source = "public static class Large\n{\n    static void Main()\n    {\n        System.Console.WriteLine(\"ready \" + System.Diagnostics.Process.GetCurrentProcess().Id);\n        \
                      for (string line; (line = System.Console.ReadLine()) != null && line != \"exit\";)\n            \
                      switch (line)\n            {\n"
        .to_owned();
    for (index, bytes) in LARGE_BODIES.iter().enumerate() {
        let _ = writeln!(
            source,
            "                case \"call {index}\": System.Console.WriteLine(\"result \" + Body{bytes}(1, 2, 3, 4)); break;"
        );
    }
    source.push_str("            }\n    }\n");
    for bytes in LARGE_BODIES {
        let _ = writeln!(source, "    static long Body{bytes}(long x, long y, long z, long w)\n    {{");
        for _ in 0..(bytes - RETURN) / STATEMENT {
            source.push_str("        x = unchecked(x * 31 + y);\n");
        }
        source.push_str("        return x;\n    }\n");
    }
    source.push_str("}\n");
    source_file("LargeBodies", &source)
}

/// Members of the interface of [`inheriting_source`].
pub const INHERITED_MEMBERS: u32 = 400;

/// Classes of [`inheriting_source`] that inherit all members.
const INHERITING_CLASSES: u32 = 2000;

/// Writes a C# program with an interface `Wide.IWide`, a class `Wide.Base` that has a method for each of its members, and
/// thousands of classes that inherit them for the interface. Finding the methods takes seconds. The program waits for
/// `exit` or the end of its input.
///
/// # Errors
/// When it cannot be written.
pub fn inheriting_source() -> Result<PathBuf> {
    let (mut members, mut methods) = (String::new(), String::new());
    for member in 0..INHERITED_MEMBERS {
        let _ = writeln!(members, "        int M{member}(int n);");
        let _ = writeln!(methods, "        public virtual int M{member}(int n) => n + {member};");
    }
    let mut source = format!(
        "namespace Wide\n{{\n    public interface IWide\n    {{\n{members}    }}\n\n    public class Base\n    \
         {{\n{methods}    }}\n\n"
    );
    for class in 0..INHERITING_CLASSES {
        let _ = writeln!(source, "    public class C{class} : Base, IWide {{ }}");
    }
    source.push_str(
        "\n    public static class Program\n    {\n        static void Main()\n        {\n            \
         System.Console.WriteLine(\"ready \" + System.Diagnostics.Process.GetCurrentProcess().Id);\n            for \
         (string line; (line = System.Console.ReadLine()) != null && line != \"exit\";) { }\n        }\n    }\n}\n",
    );
    source_file("Inheriting", &source)
}

/// Number of statements of [`long_body_source`], about 20 bytes of IL each.
const LONG_BODY: u32 = 5000;

/// Writes a C# file with the implementation of `Shapes.Big.Body`: far more than 64 KiB of IL, with branches and
/// exception clauses throughout.
///
/// # Errors
/// When it cannot be written.
pub fn long_body_source() -> Result<PathBuf> {
    let mut source = "namespace Shapes\n{\n    static partial class Big\n    {\n        static partial void Body(ref long \
                      number)\n        {\n            T.Hit(\"Big.Body(ref long)\");\n            int rounds = \
                      0;\n        again:\n            try\n            {\n"
        .to_owned();
    for n in 0..LONG_BODY {
        let _ = writeln!(
            source,
            "                number = unchecked(number * 31 + {n}); if (number % {} == 0) goto end;",
            1_000_003 + n
        );
    }
    source.push_str(
        "                throw new System.FormatException();\n            }\n            catch (System.FormatException) \
         when (rounds < 2)\n            {\n                if (rounds++ < 2) goto again;\n            }\n        \
         end:\n            number ^= rounds;\n        }\n    }\n}\n",
    );
    source_file("LongBody", &source)
}
