//! A made-up catalogue of any size, always the same, for measurements and tests.

use super::builder::{Batch, Builder, NameOrder};
use redial_protocol::catalogue::{MethodPage, ModuleRow};
use redial_protocol::ids::ModuleKey;
use redial_protocol::limits::METHODS_PER_PAGE;

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

/// Methods of one type.
const PER_TYPE: usize = 10;

/// Numbers that look like chance and are the same each time (a linear congruential generator, Knuth's constants).
pub struct Chance(u64);

impl Chance {
    /// A sequence.
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// The next number below `bound` (which is not 0).
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound.max(1) as u64) as usize
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words.get(self.below(words.len())).copied().unwrap_or_default()
    }
}

/// `modules` modules with `methods` methods in all, as an agent describes and sends them: a third are framework
/// modules.
pub fn pages(modules: usize, methods: usize) -> (Vec<ModuleRow>, Vec<MethodPage>) {
    let mut chance = Chance::new(7);
    let mut rows = Vec::with_capacity(modules);
    let mut pages = Vec::new();
    let mut page = MethodPage::default();
    for index in 0..modules {
        let mine = methods / modules + usize::from(index < methods % modules);
        let area = chance.of(&AREAS);
        let framework = index % 3 == 0;
        let name = match framework {
            true => format!("System.{area}{index}"),
            false => format!("Contoso.{area}{index}"),
        };
        let key = ModuleKey { module_id: 0x7f00_0000_0000 + index as u64 * 0x1000, generation: 1 };
        rows.push(ModuleRow {
            key,
            name: name.clone(),
            path: format!("/opt/contoso/{name}.dll"),
            mvid: format!("00000000-0000-0000-0000-{index:012x}"),
            domains: vec![1],
            shared: false,
            dynamic: false,
            methods: mine as u32,
        });
        page.modules.push(key);
        for method in 0..mine {
            if method % PER_TYPE == 0 || page.type_names.is_empty() {
                let (noun, role) = (chance.of(&NOUNS), chance.of(&ROLES));
                page.type_names.push(&format!(
                    "{name}.{}.{noun}{role}{}",
                    chance.of(&AREAS),
                    method / PER_TYPE
                ));
            }
            page.module.push(page.modules.len() as u32 - 1);
            page.token.push(0x0600_0001 + method as u32);
            page.type_index.push(page.type_names.len() as u32 - 1);
            let (verb, noun) = (chance.of(&VERBS), chance.of(&NOUNS));
            let ending = if chance.below(3) == 0 { "Async" } else { "" };
            page.name.push(&format!("{verb}{noun}{ending}{}", method % PER_TYPE));
            page.signature.push(chance.of(&PARAMS));
            if page.token.len() == METHODS_PER_PAGE {
                let again = page.type_names.get(page.type_names.len() - 1).unwrap_or_default().to_owned();
                pages.push(std::mem::take(&mut page));
                page.modules.push(key);
                page.type_names.push(&again);
            }
        }
    }
    pages.push(page);
    (rows, pages)
}

/// The same, as the batches that a worker makes of it.
pub fn batches(modules: usize, methods: usize) -> (Vec<Batch>, NameOrder) {
    let (rows, pages) = pages(modules, methods);
    let mut builder = Builder::default();
    builder.set_modules(&rows);
    let mut batches = Vec::with_capacity(modules);
    for page in &pages {
        // Pages made here are whole.
        batches.extend(builder.push(page).unwrap_or_default());
    }
    batches.extend(builder.finish());
    (batches, builder.name_order())
}
