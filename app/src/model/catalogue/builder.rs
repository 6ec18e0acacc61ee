//! Makes the agent's pages into batches, one a module, that the catalogue takes in by copying: sorting and folding
//! names is done here, on a worker's thread.

use super::arena::Arena;
use super::framework::is_framework;
use crate::model::query::fold;
use crate::output::words;
use redial_protocol::catalogue::{MethodPage, ModuleRow};
use redial_protocol::ids::ModuleKey;
use redial_protocol::reason::Reason;
use std::collections::{HashMap, HashSet};

/// The methods of one module, sorted by namespace, type, name and signature. Indices count from the batch's beginning.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The module as the agent described it.
    pub module: ModuleRow,
    /// Whether it belongs to a framework.
    pub framework: bool,
    /// Of each namespace: bytes of its name, and where its types end.
    pub namespaces: Vec<(u16, u32)>,
    /// Of each type: where its methods end.
    pub types: Vec<u32>,
    /// Of each type: `Module!Namespace.Type.`.
    pub type_text: Arena,
    /// Names of methods, each once.
    pub names: Arena,
    /// `(PARAMS)` of methods, each once.
    pub signatures: Arena,
    /// Of each method: its name, by its place in `names`.
    pub name_of: Vec<u32>,
    /// Of each method: its parameters, by their place in `signatures`.
    pub signature_of: Vec<u32>,
    /// Of each method: its MethodDef token.
    pub tokens: Vec<u32>,
    /// The methods by ascending token.
    pub by_token: Vec<u32>,
    /// The methods without a body, ascending, each with the reason.
    pub bodyless: Vec<(u32, Reason)>,
}

/// All types by name, across modules: `TypeIx` in the order in which a table sorted by name shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameOrder {
    /// Type indices, each once.
    pub types: Vec<u32>,
}

/// A page whose columns do not fit each other.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a page of methods is torn")]
pub struct Torn;

/// Builds batches from pages. One builder serves a catalogue for as long as it lives, so that modules loaded later
/// find their place in the order.
#[derive(Debug, Default)]
pub struct Builder {
    modules: HashMap<ModuleKey, ModuleRow>,
    open: Option<Open>,
    done: HashSet<ModuleKey>,
    /// Of each type given out so far: what it is ordered by.
    order_keys: Vec<String>,
    /// The modules given out, in order, with the number of types of each.
    given: Vec<(ModuleKey, usize)>,
}

#[derive(Debug)]
struct Open {
    key: ModuleKey,
    types: HashMap<String, Vec<Method>>,
}

#[derive(Debug)]
struct Method {
    name: String,
    signature: String,
    token: u32,
    bodyless: Option<Reason>,
}

impl Builder {
    /// The modules there are; to be called before their pages arrive, and again when there are more.
    pub fn set_modules(&mut self, modules: &[ModuleRow]) {
        self.modules = modules.iter().map(|module| (module.key, module.clone())).collect();
    }

    /// Whether a batch of this module was given out already, or is under way.
    pub fn has(&self, key: ModuleKey) -> bool {
        self.done.contains(&key) || self.open.as_ref().is_some_and(|open| open.key == key)
    }

    /// Takes a page in; the batches of modules that it completes. Methods of modules that are complete already, or
    /// that [`Builder::set_modules`] did not name, are left out.
    ///
    /// # Errors
    /// When the page's columns do not fit each other.
    pub fn push(&mut self, page: &MethodPage) -> Result<Vec<Batch>, Torn> {
        let mut batches = Vec::new();
        let mut without = page.bodyless().ok_or(Torn)?.into_iter().peekable();
        for index in 0..page.token.len() {
            let bodyless = without.next_if(|(of, _)| *of as usize == index).map(|(_, reason)| reason);
            let key = *page.module.get(index).and_then(|at| page.modules.get(*at as usize)).ok_or(Torn)?;
            let token = *page.token.get(index).ok_or(Torn)?;
            let type_index = *page.type_index.get(index).ok_or(Torn)?;
            let type_name = page.type_names.get(type_index as usize).ok_or(Torn)?;
            let name = page.name.get(index).ok_or(Torn)?;
            let signature = page.signature.get(index).ok_or(Torn)?;
            if self.done.contains(&key) || !self.modules.contains_key(&key) {
                continue;
            }
            if self.open.as_ref().is_none_or(|open| open.key != key) {
                batches.extend(self.close());
                self.open = Some(Open { key, types: HashMap::new() });
            }
            let Some(open) = &mut self.open else { continue };
            let signature = words::plain_parameters(signature);
            let method = Method { name: name.to_owned(), signature, token, bodyless };
            match open.types.get_mut(type_name) {
                Some(methods) => methods.push(method),
                None => drop(open.types.insert(type_name.to_owned(), vec![method])),
            }
        }
        Ok(batches)
    }

    /// The batch of the module that the last page ended with.
    pub fn finish(&mut self) -> Option<Batch> {
        self.close()
    }

    /// Forgets the module that the last page ended with: the rest of it will not come.
    pub fn abandon(&mut self) {
        self.open = None;
    }

    /// Forgets modules that were given out, as `Catalogue::forget` does.
    pub fn forget(&mut self, keys: &[ModuleKey]) {
        let keys: HashSet<&ModuleKey> = keys.iter().collect();
        let mut types = std::mem::take(&mut self.order_keys).into_iter();
        for (key, number) in &self.given {
            let of_module = types.by_ref().take(*number);
            if keys.contains(key) {
                of_module.for_each(drop);
            } else {
                self.order_keys.extend(of_module);
            }
        }
        self.given.retain(|(key, _)| !keys.contains(key));
        self.done.retain(|key| !keys.contains(key));
    }

    /// The order of all types given out so far.
    pub fn name_order(&self) -> NameOrder {
        let mut types: Vec<u32> = (0..self.order_keys.len() as u32).collect();
        let key = |index: &u32| self.order_keys.get(*index as usize).map(String::as_str);
        types.sort_by(|a, b| key(a).cmp(&key(b)).then(a.cmp(b)));
        NameOrder { types }
    }

    fn close(&mut self) -> Option<Batch> {
        let Open { key, types } = self.open.take()?;
        self.done.insert(key);
        let module = self.modules.get(&key)?.clone();
        let mut types: Vec<Type> =
            types.into_iter().map(|(name, methods)| Type::new(name, methods)).collect();
        types.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| a.name.cmp(&b.name)));
        self.order_keys.extend(types.iter().map(|one| one.key.clone()));
        self.given.push((module.key, types.len()));
        Some(batch(module, types))
    }
}

#[derive(Debug)]
struct Type {
    name: String,
    /// Namespace, a low separator, and the rest, folded: so `A.B` and what is in it come before `A.B.C`'s.
    key: String,
    namespace: usize,
    methods: Vec<Method>,
}

impl Type {
    fn new(name: String, mut methods: Vec<Method>) -> Type {
        let namespace = namespace_length(&name);
        let key = fold(&name);
        let rest = key.get(namespace..).unwrap_or_default();
        let key = format!("{}\u{1}{rest}", key.get(..namespace).unwrap_or_default());
        let order = |a: &Method, b: &Method| {
            let folded = fold(&a.name).cmp(&fold(&b.name)).then_with(|| a.name.cmp(&b.name));
            folded.then_with(|| a.signature.cmp(&b.signature)).then(a.token.cmp(&b.token))
        };
        methods.sort_by(order);
        Type { name, key, namespace, methods }
    }
}

/// Bytes of the namespace in a type's full name in C# form; the dots of nested types' and type arguments' names are
/// not its.
pub fn namespace_length(name: &str) -> usize {
    let end = name
        .char_indices()
        // A `<` at the start of a name is part of it, as in `<Module>`.
        .find(|(at, c)| *c == '+' || (*c == '<' && *at > 0))
        .map_or(name.len(), |(at, _)| at);
    name.get(..end).and_then(|head| head.rfind('.')).unwrap_or(0)
}

fn batch(module: ModuleRow, types: Vec<Type>) -> Batch {
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
    };
    let (mut names, mut signatures) = (HashMap::new(), HashMap::new());
    let mut last_namespace: Option<String> = None;
    for one in &types {
        let namespace = one.name.get(..one.namespace).unwrap_or_default();
        // An arena that is full stops here: what was taken is whole.
        if !batch.type_text.push(&[&batch.module.name, "!", &one.name, "."]) {
            break;
        }
        for method in &one.methods {
            let name = once(&mut names, &mut batch.names, &method.name);
            let signature = once(&mut signatures, &mut batch.signatures, &method.signature);
            let Some((name, signature)) = name.zip(signature) else { break };
            batch.name_of.push(name);
            batch.signature_of.push(signature);
            batch.bodyless.extend(method.bodyless.map(|reason| (batch.tokens.len() as u32, reason)));
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

/// The place of a text in an arena that has each once: many methods of a module share a name, most their parameters.
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
