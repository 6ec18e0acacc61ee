//! Every real module has room for the variables of all its bodies, counted and timed: either the agent widens
//! its metadata as it loads, or the additions stay below every limit (`agent/src/instrument/metadata_room.rs`).

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use redial_agent::clr::metadata::Sizes;
use redial_agent::il::{decode, gives_frame_away};
use redial_agent::instrument::metadata_room::HeapRoom;
use redial_agent::instrument::timed_body::result_variable;
use redial_agent::signature::{Type, append_locals};
use redial_testbed::generate::random_methods;
use redial_testbed::pe::Assembly;
use redial_testbed::runtimes::Runtime;

#[test]
fn every_body_has_room() -> Result<()> {
    let mut found = Summary::default();
    for runtime in Runtime::all() {
        runtime.ensure()?.framework_assemblies()?.iter().try_for_each(|file| found.check_file(file))?;
    }
    let sdk = Runtime::SDK_3_1.ensure()?.root();
    for folder in ["shared/Microsoft.AspNetCore.App/3.1.2", "sdk/3.1.102/Roslyn/bincore"] {
        found.check_folder(&sdk.join(folder))?;
    }
    found.check_folder(&random_methods(1)?)?;
    println!("{found:#?}");
    ensure!(found.bodies > 400_000 && found.widened > 50 && found.small > 300, "{found:?}");
    ensure!(found.without_room.is_empty(), "{:#?}", found.without_room);
    Ok(())
}

#[derive(Debug, Default)]
struct Summary {
    bodies: usize,
    /// Modules without any IL method do not count.
    widened: usize,
    small: usize,
    /// The highest average per body among these.
    bytes_a_method: f64,
    without_room: Vec<String>,
}

impl Summary {
    fn check_folder(&mut self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "dll") {
                self.check_file(&path)?;
            }
        }
        Ok(())
    }

    fn check_file(&mut self, file: &Path) -> Result<()> {
        let Some(assembly) = Assembly::read(file)? else { return Ok(()) };
        let mut wanted = HashSet::new();
        let mut bodies = 0;
        for method in assembly.methods() {
            let method = method?;
            if !method.is_il() {
                continue;
            }
            bodies += 1;
            let body = decode(assembly.body(method.rva)?)?;
            wanted.insert((body.local_sig, None));
            if !gives_frame_away(&body) {
                let result = result_variable(method.signature).ok().context("no result")?;
                wanted.insert((body.local_sig, result));
            }
        }
        if bodies == 0 {
            return Ok(());
        }
        self.bodies += bodies;
        let [blobs, strings, stand_alone_sigs, type_refs, methods] = assembly.sizes();
        let sizes = Sizes { blobs, strings, stand_alone_sigs, type_refs, methods };
        let Some(mut room) = HeapRoom::of(&sizes) else {
            self.widened += 1;
            return Ok(());
        };
        self.small += 1;
        let (mut without, mut bytes) = (0, 0);
        for (original, result) in &wanted {
            let original = if *original == 0 { &[][..] } else { assembly.signature(*original)? };
            let ours: Vec<Type> = std::iter::once(Type::I).chain(result.clone()).collect();
            let (blob, _) = append_locals(original, &ours)?;
            bytes += blob.len() + 1;
            without += usize::from(!room.take(&blob));
        }
        self.bytes_a_method = self.bytes_a_method.max(bytes as f64 / f64::from(methods));
        if without > 0 {
            let all = wanted.len();
            self.without_room.push(format!("{}: {without} of {all}: {sizes:?}", file.display()));
        }
        Ok(())
    }
}
