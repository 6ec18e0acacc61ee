//! Source files and lines of methods: portable PDBs beside the module, embedded, in a folder, and of another build.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use redial_symbols::{Place, Problem, SymbolSearch};
use redial_testbed::cache;
use redial_testbed::csharp::Compilation;
use redial_testbed::pe::Assembly;
use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;
use redial_testbed::traced::say;
use redial_testbed::under_agent;
use serde_json::Value;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Folder> {
        let folder = std::env::temp_dir().join(format!("redial-lines-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Folder(folder))
    }

    fn copy(&self, from: &Path) -> Result<PathBuf> {
        let to = self.0.join(from.file_name().context("a name")?);
        std::fs::copy(from, &to)?;
        Ok(to)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that fails for another reason must not fail for this one.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn source() -> PathBuf {
    cache::checkout().join("testbed/programs/nested.cs")
}

/// Returns the line of the program's source with this text.
fn line_of(text: &str) -> Result<u32> {
    let source = std::fs::read_to_string(source())?;
    let index = source.lines().position(|line| line.contains(text)).with_context(|| text.to_owned())?;
    Ok(index as u32 + 1)
}

/// Returns file and line where a method of the program begins, by its name.
fn start(found: &redial_symbols::Found, dll: &Path, name: &str) -> Result<Option<(String, u32)>> {
    let assembly = Assembly::read(dll)?.context("metadata")?;
    let methods = assembly.methods().collect::<Result<Vec<_>>>()?;
    let method = methods.iter().find(|method| method.name == name).with_context(|| name.to_owned())?;
    let source = found.method(method.token).map_err(anyhow::Error::msg)?;
    if let Some(source) = &source {
        ensure!(source.is_state_machine == (name == "Waits"), "{name}");
    }
    Ok(source.and_then(|source| source.start().map(|(file, line)| (file.to_owned(), line))))
}

fn ensure_lines(found: &redial_symbols::Found, dll: &Path) -> Result<()> {
    for (name, text) in [
        ("Leaf", "public static int Leaf"),
        ("Middle", "int sum = 0;"),
        ("Outer", "public static int Outer"),
        ("Main", "Console.WriteLine(\"ready \""),
        // An async method has the lines of its MoveNext.
        ("Waits", "public static async Task<int> Waits"),
    ] {
        let found = start(found, dll, name)?;
        ensure!(
            found.as_ref().is_some_and(|(file, _)| file.ends_with("nested.cs")),
            "{name} is in {found:?}"
        );
        ensure!(found.map(|(_, line)| line) == Some(line_of(text)?), "{name} begins elsewhere");
    }
    Ok(())
}

#[test]
fn finds_pdbs_that_belong_to_the_module_and_no_others() -> Result<()> {
    let built = programs::named("nested")?.dll().to_owned();
    let found = SymbolSearch::default().find(&built).map_err(|places| anyhow::anyhow!("{places:?}"))?;
    ensure!(found.place == Place::File(built.with_extension("pdb")));
    ensure_lines(&found, &built)?;

    // Alone, the module's own path is where the compiler wrote the PDB, if anywhere.
    let folder = Folder::new("alone")?;
    let alone = folder.copy(&built)?;
    let other = programs::named("paths")?.dll().with_extension("pdb");
    std::fs::copy(&other, alone.with_extension("pdb"))?;
    let searched = match SymbolSearch::default().find(&alone) {
        Ok(found) => anyhow::bail!("{} does not belong to it", found.place),
        Err(searched) => searched,
    };
    let of = |place: &Place| searched.iter().find(|one| one.place == *place).map(|one| one.problem.clone());
    ensure!(of(&Place::File(alone.with_extension("pdb"))) == Some(Problem::OtherBuild), "{searched:?}");
    ensure!(of(&Place::Embedded(alone.clone())) == Some(Problem::NotEmbedded), "{searched:?}");

    // A folder that the user names.
    let symbols = Folder::new("symbols")?;
    symbols.copy(&built.with_extension("pdb"))?;
    let search = SymbolSearch { folders: vec![symbols.0.clone()], ..SymbolSearch::default() };
    let found = search.find(&alone).map_err(|places| anyhow::anyhow!("{places:?}"))?;
    ensure!(found.place == Place::File(symbols.0.join("nested.pdb")), "{}", found.place);
    ensure_lines(&found, &alone)
}

#[test]
fn reads_embedded_pdbs() -> Result<()> {
    let mut compilation = Compilation::program("nested", vec![source()]);
    compilation.options.push("-debug:embedded".to_owned());
    let dll = compilation.build()?;
    let found = SymbolSearch::default().find(&dll).map_err(|places| anyhow::anyhow!("{places:?}"))?;
    ensure!(found.place == Place::Embedded(dll.clone()), "{}", found.place);
    ensure_lines(&found, &dll)
}

/// Every method of large assemblies has plausible lines, and damaged files cause errors only.
#[test]
fn reads_every_method_and_survives_damage() -> Result<()> {
    let shop = programs::shop()?;
    let found = SymbolSearch::default().find(shop.dll()).map_err(|places| anyhow::anyhow!("{places:?}"))?;
    let assembly = Assembly::read(shop.dll())?.context("metadata")?;
    let mut lines = 0;
    for method in assembly.methods() {
        let Some(source) = found.method(method?.token).map_err(anyhow::Error::msg)? else { continue };
        for point in &source.points {
            let Some(at) = point.lines else { continue };
            ensure!((1..20_000).contains(&at.start) && at.end >= at.start, "{point:?}");
            ensure!(source.documents.get(point.document as usize).is_some_and(|path| path.ends_with(".cs")));
            lines += 1;
        }
    }
    ensure!(lines > 500, "{lines} lines");
    let whole = std::fs::read(shop.dll().with_extension("pdb"))?;
    let module = std::fs::read(shop.dll())?;
    for seed in 0..400_usize {
        let damage = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for number in 0..8 {
                let at = seed.wrapping_mul(7_919).wrapping_add(number * 104_729) % bytes.len();
                bytes[at] ^= (seed + number) as u8 | 1;
            }
            bytes.truncate(bytes.len() - seed * bytes.len() / 800);
            bytes
        };
        // Errors and wrong lines are both fine here, but no panic.
        if let Ok(pdb) = redial_symbols::PortablePdb::parse(&damage(&whole)) {
            (0..500).for_each(|row| drop(pdb.method(row)));
        }
        drop(redial_symbols::DebugDirectory::of(&damage(&module)));
    }
    Ok(())
}

#[test]
fn il_names_file_and_line() -> Result<()> {
    for runtime in [Runtime::V2_1, Runtime::V8_0] {
        let mut live = under_agent::start(programs::named("nested")?.command(runtime)?)?;
        say(&mut live.host, "run 1")?;
        let shown = live.redial("il", &["nested!Nested.Middle(int)"])?.ok()?.stdout;
        let line = line_of("int sum = 0;")?;
        ensure!(shown.contains(&format!("nested.cs:{line}, by ")), "{runtime:?}: {shown}");
        ensure!(shown.contains(&format!("  // line {}\n", line_of("sum += Leaf")?)), "{shown}");
        let json: Value =
            serde_json::from_str(&live.redial("il", &["nested!Nested.Middle(int)", "--json"])?.ok()?.stdout)?;
        ensure!(json["line"] == line && json["instructions"][0]["line"] == line, "{json}");
        ensure!(json["pdb"].as_str().is_some_and(|pdb| pdb.ends_with("nested.pdb")), "{json}");
        let framework =
            live.redial("il", &["System.Private.CoreLib!System.Int32.Parse(string)"])?.ok()?.stdout;
        ensure!(framework.contains("no PDB of this module was found"), "{framework}");
        ensure!(framework.contains("CoreLib.pdb: no such file"), "{framework}");
        live.host.say("exit")?;
        live.host.finish()?.ok()?;
    }
    Ok(())
}
