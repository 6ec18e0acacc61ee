//! `modules` as JSON.

use super::fields::{hex, module_id};
use redial_model::iis::IisName;
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use serde::Serialize;

/// `modules`.
#[derive(Debug, Serialize)]
pub struct ModulesJson<'a> {
    pid: u32,
    domains: Vec<DomainJson<'a>>,
    modules: Vec<ModuleJson<'a>>,
}

#[derive(Debug, Serialize)]
struct DomainJson<'a> {
    pid: u32,
    id: String,
    name: &'a str,
    shared: bool,
    /// The site number of an IIS AppDomain.
    site: Option<u32>,
    /// The application path of an IIS AppDomain; `/` at the root.
    application: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ModuleJson<'a> {
    pid: u32,
    id: String,
    /// Distinguishes modules that had the same id at different times.
    generation: u32,
    name: &'a str,
    path: Option<&'a str>,
    mvid: Option<&'a str>,
    domains: Vec<String>,
    shared: bool,
    dynamic: bool,
    collectible: bool,
    methods: u32,
}

impl<'a> ModulesJson<'a> {
    /// Makes the object for process `pid`.
    pub fn new(pid: u32, domains: &'a [DomainRow], modules: &'a [ModuleRow]) -> Self {
        let domain = |row: &'a DomainRow| {
            let iis = IisName::read(&row.name);
            DomainJson {
                pid,
                id: hex(row.id),
                name: &row.name,
                shared: row.shared,
                site: iis.map(|name| name.site),
                application: iis.map(|name| name.application),
            }
        };
        let module = |row: &'a ModuleRow| ModuleJson {
            pid,
            id: module_id(row.key),
            generation: row.key.generation,
            name: &row.name,
            path: given(&row.path),
            mvid: given(&row.mvid),
            domains: row.domains.iter().copied().map(hex).collect(),
            shared: row.shared,
            dynamic: row.dynamic,
            collectible: row.collectible,
            methods: row.methods,
        };
        ModulesJson {
            pid,
            domains: domains.iter().map(domain).collect(),
            modules: modules.iter().map(module).collect(),
        }
    }
}

fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
