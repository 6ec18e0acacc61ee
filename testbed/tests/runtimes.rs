//! The runtimes themselves: one compiled assembly runs on all of them.

use redial_testbed::programs;
use redial_testbed::runtimes::Runtime;

#[test]
fn one_assembly_says_hello_on_every_runtime() -> anyhow::Result<()> {
    let hello = programs::named("hello")?;
    for runtime in Runtime::all().into_iter().chain([Runtime::SDK_3_1]) {
        let output = hello.command(runtime)?.args(["one", "two", "three"]).output()?;
        let said = String::from_utf8(output.stdout)?;
        assert_eq!(output.status.code(), Some(3), "{}: {said}", runtime.name());
        let expected = if runtime == Runtime::V8_0 { "8.0.0.0" } else { "4.0.0.0" };
        assert_eq!(said, format!("hello from {expected}\n"), "{}", runtime.name());
    }
    Ok(())
}
