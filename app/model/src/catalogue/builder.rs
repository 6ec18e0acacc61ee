//! Converts the agent's pages into batches, one per module, that the catalogue can append by copying. Sorts
//! and folds names here, on a worker thread.

use super::arena::Arena;
use super::framework::is_framework;
use crate::query::fold;
use redial_protocol::catalogue::{MethodPage, ModuleRow};
use redial_protocol::ids::ModuleKey;
use redial_protocol::reason::Reason;
use redial_text::generated_code::TypeOrigin;
use redial_text::{names, words};
use std::collections::{HashMap, HashSet};

/// The methods of one module, sorted by namespace, type, name and signature. Indices are relative to the
/// batch.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The module as the agent described it.
    pub module: ModuleRow,
    /// Whether it belongs to a framework.
    pub framework: bool,
    /// For each namespace: the length of its name in bytes, and the end of its types.
    pub namespaces: Vec<(u16, u32)>,
    /// For each type: the end of its methods.
    pub types: Vec<u32>,
    /// For each type: `Module!Namespace.BatchType.`.
    pub type_text: Arena,
    /// Distinct names of methods.
    pub names: Arena,
    /// Distinct `(PARAMS)` of methods.
    pub signatures: Arena,
    /// For each method: the index of its name in `names`.
    pub name_of: Vec<u32>,
    /// For each method: the index of its parameters in `signatures`.
    pub signature_of: Vec<u32>,
    /// For each method: its MethodDef token.
    pub tokens: Vec<u32>,
    /// The methods by ascending token.
    pub by_token: Vec<u32>,
    /// The methods without a body, ascending, with the reason.
    pub bodyless: Vec<(u32, Reason)>,
    /// The methods that the compiler wrote, ascending.
    pub generated: Vec<u32>,
}

/// All types of all modules sorted by name, as a table in name order shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameOrder {
    /// `TypeIx` values, each once.
    pub types: Vec<u32>,
}

/// A page whose columns do not match each other.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a page of methods is torn")]
pub struct TornPage;

/// Builds batches from pages. One builder serves a catalogue for its whole life, so that modules loaded later
/// are sorted in.
#[derive(Debug, Default)]
pub struct Builder {
    modules: HashMap<ModuleKey, ModuleRow>,
    open: Option<OpenModule>,
    done: HashSet<ModuleKey>,
    /// The sort key of each type delivered so far.
    order_keys: Vec<String>,
    /// The delivered modules in order.
    given: Vec<GivenModule>,
}

/// A delivered module.
#[derive(Debug)]
struct GivenModule {
    key: ModuleKey,
    types: usize,
    methods: usize,
}

#[derive(Debug)]
struct OpenModule {
    key: ModuleKey,
    types: HashMap<String, Vec<BatchMethod>>,
}

#[derive(Debug)]
struct BatchMethod {
    name: String,
    signature: String,
    token: u32,
    bodyless: Option<Reason>,
}

impl Builder {
    /// Sets the known modules. Call this before their pages arrive, and again when there are more.
    pub fn set_modules(&mut self, modules: &[ModuleRow]) {
        self.modules = modules.iter().map(|module| (module.key, module.clone())).collect();
    }

    /// Returns whether a batch of this module was delivered or is being built.
    pub fn has(&self, key: ModuleKey) -> bool {
        self.done.contains(&key) || self.open.as_ref().is_some_and(|open| open.key == key)
    }

    /// Adds a page and returns the batches of modules that it completes. Ignores methods of completed modules
    /// and of modules unknown to [`Builder::set_modules`].
    ///
    /// # Errors
    /// If the page's columns do not match each other.
    pub fn push(&mut self, page: &MethodPage) -> Result<Vec<Batch>, TornPage> {
        let mut batches = Vec::new();
        let mut without = page.bodyless().ok_or(TornPage)?.into_iter().peekable();
        for index in 0..page.token.len() {
            let bodyless = without.next_if(|(of, _)| *of as usize == index).map(|(_, reason)| reason);
            let key =
                *page.module.get(index).and_then(|at| page.modules.get(*at as usize)).ok_or(TornPage)?;
            let token = *page.token.get(index).ok_or(TornPage)?;
            let type_index = *page.type_index.get(index).ok_or(TornPage)?;
            let type_name = page.type_names.get(type_index as usize).ok_or(TornPage)?;
            let name = page.name.get(index).ok_or(TornPage)?;
            let signature = page.signature.get(index).ok_or(TornPage)?;
            if self.done.contains(&key) || !self.modules.contains_key(&key) {
                continue;
            }
            if self.open.as_ref().is_none_or(|open| open.key != key) {
                batches.extend(self.close());
                self.open = Some(OpenModule { key, types: HashMap::new() });
            }
            let Some(open) = &mut self.open else { continue };
            let signature = words::plain_parameters(signature);
            let method = BatchMethod { name: name.to_owned(), signature, token, bodyless };
            match open.types.get_mut(type_name) {
                Some(methods) => methods.push(method),
                None => drop(open.types.insert(type_name.to_owned(), vec![method])),
            }
        }
        Ok(batches)
    }

    /// Returns the batch of the last page's last module.
    pub fn finish(&mut self) -> Option<Batch> {
        self.close()
    }

    /// Discards the unfinished module: the rest of it will not arrive.
    pub fn abandon(&mut self) {
        self.open = None;
    }

    /// Forgets delivered modules, like `Catalogue::forget`.
    pub fn forget(&mut self, keys: &[ModuleKey]) {
        let keys: HashSet<&ModuleKey> = keys.iter().collect();
        let mut types = std::mem::take(&mut self.order_keys).into_iter();
        for GivenModule { key, types: number, .. } in &self.given {
            let of_module = types.by_ref().take(*number);
            if keys.contains(key) {
                of_module.for_each(drop);
            } else {
                self.order_keys.extend(of_module);
            }
        }
        self.given.retain(|given| !keys.contains(&given.key));
        self.done.retain(|key| !keys.contains(key));
    }

    /// Returns the number of methods delivered so far, without forgotten ones.
    pub fn methods(&self) -> usize {
        self.given.iter().map(|given| given.methods).sum()
    }

    /// Returns the order of all types delivered so far.
    pub fn name_order(&self) -> NameOrder {
        let mut types: Vec<u32> = (0..self.order_keys.len() as u32).collect();
        let key = |index: &u32| self.order_keys.get(*index as usize).map(String::as_str);
        types.sort_by(|a, b| key(a).cmp(&key(b)).then(a.cmp(b)));
        NameOrder { types }
    }

    fn close(&mut self) -> Option<Batch> {
        let OpenModule { key, types } = self.open.take()?;
        self.done.insert(key);
        let module = self.modules.get(&key)?.clone();
        let mut types: Vec<BatchType> =
            types.into_iter().map(|(name, methods)| BatchType::new(name, methods)).collect();
        types.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| a.name.cmp(&b.name)));
        self.order_keys.extend(types.iter().map(|one| one.key.clone()));
        let methods = types.iter().map(|one| one.methods.len()).sum();
        self.given.push(GivenModule { key, types: types.len(), methods });
        Some(batch(module, types))
    }
}

#[derive(Debug)]
struct BatchType {
    name: String,
    /// Folded namespace, a low separator, and the rest of the name, so that `A.B` and its types sort before
    /// those of `A.B.C`.
    key: String,
    namespace: usize,
    methods: Vec<BatchMethod>,
}

impl BatchType {
    fn new(name: String, mut methods: Vec<BatchMethod>) -> BatchType {
        let namespace = names::namespace_length(&name);
        let key = fold(&name);
        let rest = key.get(namespace..).unwrap_or_default();
        let key = format!("{}\u{1}{rest}", key.get(..namespace).unwrap_or_default());
        let order = |a: &BatchMethod, b: &BatchMethod| {
            let folded = fold(&a.name).cmp(&fold(&b.name)).then_with(|| a.name.cmp(&b.name));
            folded.then_with(|| a.signature.cmp(&b.signature)).then(a.token.cmp(&b.token))
        };
        methods.sort_by(order);
        BatchType { name, key, namespace, methods }
    }
}

fn batch(module: ModuleRow, types: Vec<BatchType>) -> Batch {
    let framework = is_framework(&module.name, &module.path);
    let mut batch = Batch {
        module,
        framework,
        namespaces: Vec::new(),
        types: Vec::with_capacity(types.len()),
        type_text: Arena::default(),
        names: Arena::default(),
        signatures: Arena::default(),
        name_of: Vec::new(),
        signature_of: Vec::new(),
        tokens: Vec::new(),
        by_token: Vec::new(),
        bodyless: Vec::new(),
        generated: Vec::new(),
    };
    let (mut names, mut signatures) = (HashMap::new(), HashMap::new());
    let mut last_namespace: Option<String> = None;
    for one in &types {
        let namespace = one.name.get(..one.namespace).unwrap_or_default();
        // If an arena is full, stop; the batch so far is consistent.
        if !batch.type_text.push(&[&batch.module.name, "!", &one.name, "."]) {
            break;
        }
        let origin = TypeOrigin::of(&one.name, one.methods.iter().map(|method| &*method.name));
        for method in &one.methods {
            let name = once(&mut names, &mut batch.names, &method.name);
            let signature = once(&mut signatures, &mut batch.signatures, &method.signature);
            let Some((name, signature)) = name.zip(signature) else { break };
            batch.name_of.push(name);
            batch.signature_of.push(signature);
            batch.bodyless.extend(method.bodyless.map(|reason| (batch.tokens.len() as u32, reason)));
            batch.generated.extend(origin.generated(&method.name).then_some(batch.tokens.len() as u32));
            batch.tokens.push(method.token);
        }
        batch.types.push(batch.tokens.len() as u32);
        if last_namespace.as_deref() != Some(namespace) {
            batch.namespaces.push((u16::try_from(namespace.len()).unwrap_or(u16::MAX), 0));
            last_namespace = Some(namespace.to_owned());
        }
        if let Some((_, end)) = batch.namespaces.last_mut() {
            *end = batch.types.len() as u32;
        }
    }
    batch.by_token = (0..batch.tokens.len() as u32).collect();
    let tokens = &batch.tokens;
    batch.by_token.sort_unstable_by_key(|index| tokens.get(*index as usize));
    batch
}

/// Returns the index of a text in an arena of distinct texts: many methods of a module share a name, and most
/// share their parameters.
fn once<'a>(known: &mut HashMap<&'a str, u32>, arena: &mut Arena, text: &'a str) -> Option<u32> {
    if let Some(place) = known.get(text) {
        return Some(*place);
    }
    let place = arena.len() as u32;
    arena.push(&[text]).then(|| {
        known.insert(text, place);
        place
    })
}

#[cfg(test)]
#[path = "builder_tests.rs"]
pub mod tests;
