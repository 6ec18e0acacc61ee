//! The steps of a recipe, and the variables that every recipe sets.
#![forbid(unsafe_code)]

use redial_protocol::AGENT_CLSID;

/// The steps to start a program with the agent.
pub struct Recipe {
    /// The purpose, in one sentence.
    pub title: String,
    /// The commands to run, or the content of a file.
    pub lines: Vec<String>,
    /// The steps to restart the program.
    pub restart: Vec<String>,
    /// The steps to undo all of it.
    pub undo: Vec<String>,
    /// Further notes.
    pub notes: Vec<String>,
    /// The path of the agent library as the target process sees it.
    pub library: String,
    /// Whether it is for Windows, including .NET Framework.
    pub windows: bool,
    /// Whether this project's tests run exactly this recipe.
    pub tested: bool,
}

impl Recipe {
    /// Returns the recipe as usable text; all explanations are comments.
    pub fn text(&self) -> Vec<String> {
        let comment = |text: &str| format!("# {text}");
        let mut lines = vec![comment(&self.title)];
        if !self.tested {
            lines.push(comment("(written from the documentation; not run by Redial's tests)"));
        }
        lines.extend(self.notes.iter().map(|note| comment(note)));
        lines.extend(self.lines.iter().cloned());
        for (label, steps) in [("then", &self.restart), ("undo", &self.undo)] {
            lines.extend(steps.iter().map(|step| comment(&format!("{label}: {step}"))));
        }
        lines
    }
}

/// Returns the variables that make a runtime load the agent from `library`, on Windows also those of .NET Framework.
pub fn variables(library: &str, windows: bool) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        ("CORECLR_ENABLE_PROFILING", "1".to_owned()),
        ("CORECLR_PROFILER", AGENT_CLSID.to_owned()),
        ("CORECLR_PROFILER_PATH", library.to_owned()),
    ];
    if windows {
        variables.extend([
            ("COR_ENABLE_PROFILING", "1".to_owned()),
            ("COR_PROFILER", AGENT_CLSID.to_owned()),
            ("COR_PROFILER_PATH", library.to_owned()),
        ]);
    }
    variables
}

pub(super) fn names(windows: bool) -> impl Iterator<Item = &'static str> {
    variables("", windows).into_iter().map(|(name, _)| name)
}
