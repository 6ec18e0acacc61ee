//! The demo program, where it was built.

use crate::views::launch::Plan;
use std::path::{Path, PathBuf};

/// Variable that names `Shop.dll`; `cargo xtask demo` sets it.
const VARIABLE: &str = "REDIAL_DEMO";
/// Variable that names the `dotnet` to run it with, if not the one on the PATH.
const DOTNET: &str = "REDIAL_DEMO_DOTNET";

/// How to start it, if it is there: where `REDIAL_DEMO` says, else beside the program.
pub fn find() -> Option<Plan> {
    let beside = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let dotnet = std::env::var(DOTNET).ok().filter(|dotnet| !dotnet.is_empty());
    plan(named.or_else(|| beside.map(|folder| folder.join("demo").join("Shop.dll"))), dotnet)
}

fn plan(dll: Option<PathBuf>, dotnet: Option<String>) -> Option<Plan> {
    let dll = dll.filter(|dll| dll.is_file())?;
    Some(Plan {
        program: dotnet.unwrap_or_else(|| "dotnet".to_owned()),
        arguments: vec![dll.to_str()?.to_owned(), "--forever".to_owned()],
        folder: None,
        environment: Vec::new(),
        orders: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_is_offered() {
        assert_eq!(plan(None, None), None);
        assert_eq!(plan(Some(PathBuf::from("/no/such/Shop.dll")), None), None);
        let here = std::env::current_exe().expect("a program");
        let plan = plan(Some(here.clone()), Some("/opt/dotnet".to_owned())).expect("a plan");
        assert_eq!(
            (plan.program.as_str(), plan.arguments[0].as_str()),
            ("/opt/dotnet", here.to_str().expect("text"))
        );
    }
}
