//! The AppDomains created so far, and calls into them.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::hosting::{Delegate, Host};
use crate::private::{DomainObject, Library};

const CLASS: &str = "Domains.Entry";

/// A method of the library's `Domains.Entry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `Domains.Work.Add(int)`.
    Add,
    /// `Domains.Work.Same<T>(T)`.
    Same,
    /// `Domains.Box<T>.Size(T)`.
    Size,
    /// The core library's `System.Version.ParseVersion`, through `Version.Parse`.
    Parse,
    /// Adds to a static.
    Bump,
    /// Returns the id of the current domain.
    Where,
}

impl Entry {
    const ALL: [Self; 6] = [Self::Add, Self::Same, Self::Size, Self::Parse, Self::Bump, Self::Where];

    /// The entries that count calls, each with the pattern of the method that it calls.
    pub const COUNTED: [(Self, &str); 4] = [
        (Self::Add, "domains!Domains.Work.Add"),
        (Self::Same, "domains!Domains.Work.Same<T>"),
        (Self::Size, "domains!Domains.Box<T>.Size"),
        (Self::Parse, "System.Private.CoreLib!System.Version.ParseVersion"),
    ];

    /// Parses an entry from its name in a command.
    pub fn named(kind: &str) -> Result<Self> {
        let is = |entry: &&Self| entry.method().eq_ignore_ascii_case(kind);
        Self::ALL.iter().find(is).copied().with_context(|| format!("there is no kind {kind}"))
    }

    const fn method(self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::Same => "Same",
            Self::Size => "Size",
            Self::Parse => "Parse",
            Self::Bump => "Bump",
            Self::Where => "Where",
        }
    }
}

/// An AppDomain that has loaded the library.
struct Domain {
    name: String,
    id: u32,
    object: DomainObject,
    host: Host,
    delegates: [Delegate; Entry::ALL.len()],
}

/// A running runtime and its domains.
pub struct Domains {
    library: Library,
    first_host: Host,
    /// Names and values, as `coreclr_initialize` would pass them.
    properties: [(&'static str, String); 4],
    assembly: String,
    domains: Vec<Domain>,
    has_unloaded: bool,
}

impl Domains {
    /// Starts the runtime of `framework`. Each domain loads the assembly `program`.
    ///
    /// # Errors
    /// When a file is missing or the runtime fails.
    pub fn start(framework: &Path, program: &Path) -> Result<Self> {
        ensure!(program.is_file(), "{} is not a file", program.display());
        let library = Library::load(&framework.join("libcoreclr.so"))?;
        // SAFETY: `load` has initialised the library's platform layer.
        let first_host = unsafe { Host::new(library.get_host) }?;
        first_host.start(true)?;
        let folder = program.parent().unwrap_or(Path::new(".")).display().to_string();
        let properties = [
            ("TRUSTED_PLATFORM_ASSEMBLIES", assemblies(framework)?),
            ("APP_PATHS", folder.clone()),
            ("APP_NI_PATHS", folder.clone()),
            ("NATIVE_DLL_SEARCH_DIRECTORIES", format!("{}:{folder}", framework.display())),
        ];
        let name = program.file_stem().unwrap_or_default().to_string_lossy();
        let assembly = format!("{name}, Version=0.0.0.0, Culture=neutral, PublicKeyToken=null");
        Ok(Self { library, first_host, properties, assembly, domains: Vec::new(), has_unloaded: false })
    }

    /// Creates a domain, loads the program into it without running any of its methods, and returns the domain's
    /// id.
    ///
    /// # Errors
    /// When a domain of that name exists or the runtime fails.
    pub fn create(&mut self, name: &str) -> Result<u32> {
        ensure!(self.find(name).is_err(), "there is a domain {name}");
        let (object, host, id) = if self.domains.is_empty() {
            let host = self.first_host;
            let id = host.create_domain(name, &self.properties)?;
            (self.library.default_domain()?, host, id)
        } else {
            // SAFETY: the library's platform layer is initialised.
            let host = unsafe { Host::new(self.library.get_host) }?;
            host.start(false)?;
            let make = || host.create_domain(name, &self.properties);
            let (object, id) = self.library.with_new_domain(make)?;
            (object, host, id)
        };
        let mut delegates = Vec::new();
        for entry in Entry::ALL {
            delegates.push(host.delegate(id, &self.assembly, CLASS, entry.method())?);
        }
        let delegates = delegates.try_into().ok().context("a delegate an entry")?;
        self.domains.push(Domain { name: name.to_owned(), id, object, host, delegates });
        Ok(id)
    }

    /// Unloads a domain and waits until it is gone.
    ///
    /// # Errors
    /// When the domain does not exist or is the default domain, or the runtime fails.
    pub fn unload(&mut self, name: &str) -> Result<()> {
        let index = self.domains.iter().position(|domain| domain.name == name);
        let index = index.with_context(|| format!("there is no domain {name}"))?;
        ensure!(index > 0, "{name} is the default domain, which cannot be unloaded");
        self.library.unloader.unload(self.domains[index].id)?;
        self.has_unloaded = true;
        self.domains.remove(index).host.stop()
    }

    /// Returns the names of the domains in order of creation.
    pub fn names(&self) -> Vec<String> {
        self.domains.iter().map(|domain| domain.name.clone()).collect()
    }

    /// Calls an entry inside a domain and returns its result.
    ///
    /// # Errors
    /// When the domain does not exist, or the entry reports a wrong result.
    pub fn call(&mut self, name: &str, entry: Entry, argument: i32) -> Result<i32> {
        let domain = self.find(name)?;
        let delegate = domain.delegates[entry as usize];
        let answer = if self.domains.first().is_some_and(|first| first.name == name) {
            // SAFETY: a delegate of the default domain, which this thread is in; it throws nothing.
            unsafe { delegate(argument) }
        } else {
            self.library.call_in(domain.object, delegate, argument)?
        };
        if answer < 0 {
            bail!("{} in {name} went wrong", entry.method());
        }
        Ok(answer)
    }

    /// Shuts the runtime down, unless a domain was unloaded: this runtime would raise `ProcessExit` in that one, too, and
    /// abort.
    ///
    /// # Errors
    /// When the runtime reports a failure.
    pub fn stop(&mut self) -> Result<()> {
        if self.has_unloaded {
            return Ok(());
        }
        for domain in self.domains.iter().skip(1) {
            domain.host.stop()?;
        }
        if let Some(first) = self.domains.first() {
            self.first_host.unload_default(first.id)?;
        }
        self.first_host.stop()
    }

    fn find(&self, name: &str) -> Result<&Domain> {
        let is = |domain: &&Domain| domain.name == name;
        self.domains.iter().find(is).with_context(|| format!("there is no domain {name}"))
    }
}

/// Returns the paths of all framework assemblies as a runtime property value.
fn assemblies(framework: &Path) -> Result<String> {
    let mut paths = Vec::new();
    let files =
        std::fs::read_dir(framework).with_context(|| format!("cannot list {}", framework.display()))?;
    for file in files {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "dll") {
            paths.push(path.display().to_string());
        }
    }
    paths.sort();
    Ok(paths.join(":"))
}
