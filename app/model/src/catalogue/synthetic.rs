//! A deterministic synthetic catalogue of any size, for benchmarks and tests.

use super::builder::{Batch, Builder, NameOrder};
use redial_protocol::catalogue::{MethodPage, ModuleRow};
use redial_protocol::ids::ModuleKey;
use redial_protocol::limits::METHODS_PER_PAGE;
use redial_protocol::reason::Reason;

const AREAS: [&str; 8] =
    ["Billing", "Catalog", "Customers", "Shipping", "Identity", "Reporting", "Search", "Warehouse"];
const NOUNS: [&str; 12] = [
    "Order", "Customer", "Invoice", "Product", "Session", "Payment", "Address", "Report", "Stock", "Cart",
    "Price", "Message",
];
const ROLES: [&str; 8] =
    ["Service", "Repository", "Controller", "Handler", "Factory", "Validator", "Builder", "Cache"];
const VERBS: [&str; 10] =
    ["Get", "Set", "Find", "Update", "Delete", "Create", "Validate", "Compute", "Load", "Save"];
const PARAMS: [&str; 8] = [
    "()",
    "(int)",
    "(string, int)",
    "(System.Guid, System.Threading.CancellationToken)",
    "(System.Collections.Generic.List<string>)",
    "(object, bool)",
    "(string)",
    "(long, ref int)",
];

/// Methods per type.
const PER_TYPE: usize = 10;
/// One in this many methods has no body.
const BODYLESS: usize = 12;

/// A deterministic pseudo-random sequence (a linear congruential generator with Knuth's constants).
pub struct PseudoRandom(u64);

impl PseudoRandom {
    /// Starts a sequence.
    pub fn new(seed: u64) -> PseudoRandom {
        PseudoRandom(seed)
    }

    /// Returns the next number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound.max(1) as u64) as usize
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words.get(self.below(words.len())).copied().unwrap_or_default()
    }
}

/// Makes modules one at a time, so that the consumer needs no memory for all. A third are framework modules.
pub struct SyntheticModules {
    chance: PseudoRandom,
    modules: usize,
    methods: usize,
    next: usize,
}

impl SyntheticModules {
    /// `modules` modules with `methods` methods in total.
    pub fn new(modules: usize, methods: usize) -> SyntheticModules {
        SyntheticModules { chance: PseudoRandom::new(7), modules, methods, next: 0 }
    }
}

impl Iterator for SyntheticModules {
    type Item = (ModuleRow, Vec<MethodPage>);

    /// Returns a module as an agent describes it, and its pages of methods as an agent sends them.
    fn next(&mut self) -> Option<Self::Item> {
        let (index, chance) = (self.next, &mut self.chance);
        if index == self.modules {
            return None;
        }
        self.next += 1;
        let mine = self.methods / self.modules + usize::from(index < self.methods % self.modules);
        let area = chance.of(&AREAS);
        let name = match index % 3 {
            0 => format!("System.{area}{index}"),
            _ => format!("Contoso.{area}{index}"),
        };
        let key = ModuleKey { module_id: 0x7f00_0000_0000 + index as u64 * 0x1000, generation: 1 };
        let row = ModuleRow {
            key,
            name: name.clone(),
            path: format!("/opt/contoso/{name}.dll"),
            mvid: format!("00000000-0000-0000-0000-{index:012x}"),
            domains: vec![1],
            shared: false,
            dynamic: false,
            collectible: false,
            assembly: 0,
            methods: mine as u32,
        };
        let mut pages = Vec::new();
        let mut page = MethodPage::default();
        page.modules.push(key);
        for method in 0..mine {
            if method % PER_TYPE == 0 {
                let (noun, role) = (chance.of(&NOUNS), chance.of(&ROLES));
                let (area, number) = (chance.of(&AREAS), method / PER_TYPE);
                page.type_names.push(&format!("{name}.{area}.{noun}{role}{number}"));
            }
            page.module.push(0);
            page.token.push(0x0600_0001 + method as u32);
            page.type_index.push(page.type_names.len() as u32 - 1);
            let (verb, noun) = (chance.of(&VERBS), chance.of(&NOUNS));
            let ending = if chance.below(3) == 0 { "Async" } else { "" };
            page.name.push(&format!("{verb}{noun}{ending}{}", method % PER_TYPE));
            page.signature.push(chance.of(&PARAMS));
            if method % BODYLESS == 0 {
                page.mark_bodyless(Reason::NoBody);
            }
            if page.token.len() == METHODS_PER_PAGE {
                let again = page.type_names.get(page.type_names.len() - 1).unwrap_or_default().to_owned();
                pages.push(std::mem::take(&mut page));
                page.modules.push(key);
                page.type_names.push(&again);
            }
        }
        pages.push(page);
        Some((row, pages))
    }
}

/// Returns [`SyntheticModules`] as the batches that a worker makes of them, and the order of their types.
pub fn batches(modules: usize, methods: usize) -> (Vec<Batch>, NameOrder) {
    let mut builder = Builder::default();
    let mut batches = Vec::with_capacity(modules);
    for (row, pages) in SyntheticModules::new(modules, methods) {
        builder.set_modules(&[row]);
        for page in &pages {
            // Pages made here are never torn.
            batches.extend(builder.push(page).unwrap_or_default());
        }
        batches.extend(builder.finish());
    }
    (batches, builder.name_order())
}
