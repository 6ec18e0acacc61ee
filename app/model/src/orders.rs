//! Builds the orders of a change: patterns that match exactly the intended methods and copies.

use super::catalogue::Catalogue;
use super::catalogue::bit_set::BitSet;
use super::ids::EVERY_DOMAIN;
use super::ids::{MethodIx, ModuleIx, Node, TypeIx};
use super::method_set::MethodSet;
use super::wanted_level::WantedLevel;
use redial_protocol::ids::{CopyKey, MethodToken};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_STANDING_ORDERS;
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::pattern::Pattern;
use redial_text::words;
use std::collections::HashSet;
use std::ops::Range;

/// The reach of a change beyond the copies it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeScope {
    /// Only those copies. (If an assembly is loaded once and loads again later, the dial applies to that
    /// copy, too.)
    #[default]
    Copies,
    /// Every copy, now and later.
    Everywhere,
    /// An AppDomain, by its index in `Catalogue::domains`. If all of it is intended, includes modules that it
    /// loads later.
    Domain(u32),
}

/// The copies of an assembly that orders apply to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct OrderScope {
    domain: Option<String>,
    copy: Option<u64>,
    all_domains: bool,
}

impl OrderScope {
    fn order(&self, pattern: String, level: Level) -> Order {
        let OrderScope { domain, copy, all_domains } = self.clone();
        Order { domain, copy, all_domains, ..Order::new(pattern, level) }
    }

    /// Returns the scope of a module's copy: by its AppDomain if it is alone there, otherwise by its id.
    fn of(catalogue: &Catalogue, module: ModuleIx, reach: ChangeScope) -> OrderScope {
        let Some(one) = catalogue.module(module) else { return OrderScope::default() };
        let copy = || OrderScope { copy: Some(one.key.module_id), ..OrderScope::default() };
        let in_domain = |domain: u32| {
            let name = catalogue.domain_scope(domain).filter(|_| catalogue.alone_in_domain(module));
            name.map(|name| OrderScope { domain: Some(name.to_owned()), ..OrderScope::default() })
        };
        match reach {
            ChangeScope::Everywhere => OrderScope::default(),
            // The user knows that one copy serves all of them.
            ChangeScope::Domain(domain) if one.shared => {
                OrderScope { all_domains: true, ..in_domain(domain).unwrap_or_default() }
            }
            ChangeScope::Domain(domain) => in_domain(domain).unwrap_or_else(copy),
            ChangeScope::Copies if !catalogue.has_namesake(module) => OrderScope::default(),
            ChangeScope::Copies => in_domain(one.domain).filter(|_| !one.shared).unwrap_or_else(copy),
        }
    }
}

/// Returns the orders for exactly the methods of some wishes: one pattern per module with several methods
/// that is covered completely, one per type, and one per remaining method except those in `left_out`. If an
/// assembly is loaded more than once, restricts orders to the intended copies. Later orders override earlier
/// ones.
///
/// # Errors
/// A sentence, if that needs more orders than an agent keeps.
pub fn orders(
    catalogue: &Catalogue,
    wishes: &[WantedLevel],
    reach: ChangeScope,
    left_out: &BitSet,
) -> Result<Vec<Order>, String> {
    let mut made =
        OrderBuilder { catalogue, left_out, by_name: false, orders: Vec::new(), known: HashSet::new() };
    for (level, set) in wishes {
        match reach {
            ChangeScope::Copies => made.add(*level, set, reach)?,
            ChangeScope::Domain(domain) => match whole_domain(catalogue, domain, set) {
                Some(order) => made.push(Order { level: *level, ..order })?,
                None => made.add(*level, set, reach)?,
            },
            ChangeScope::Everywhere => made.add(*level, set, reach)?,
        }
    }
    Ok(made.orders)
}

/// Adds to orders the options that their levels have, and a condition to those at level trace.
pub fn with_options(mut orders: Vec<Order>, options: TimeOptions, when: Option<&str>) -> Vec<Order> {
    let timed = orders.iter_mut().filter(|order| order.level >= Level::Time);
    timed.for_each(|order| order.options = options.at(order.level));
    let traced = orders.iter_mut().filter(|order| order.level == Level::Trace);
    traced.for_each(|order| order.when = when.map(str::to_owned));
    orders
}

/// Returns the orders for processes that start later, whichever build they run: by name.
///
/// # Errors
/// A sentence, if that needs more orders than an agent keeps.
pub fn orders_for_later(
    catalogue: &Catalogue,
    wishes: &[WantedLevel],
    left_out: &BitSet,
) -> Result<Vec<Order>, String> {
    let mut made =
        OrderBuilder { catalogue, left_out, by_name: true, orders: Vec::new(), known: HashSet::new() };
    for (level, set) in wishes {
        made.add(*level, set, ChangeScope::Everywhere)?;
    }
    Ok(made.orders)
}

/// Returns the order for a whole AppDomain if all of it is intended, including modules it shares with others.
fn whole_domain(catalogue: &Catalogue, domain: u32, set: &MethodSet) -> Option<Order> {
    let name = catalogue.domain_scope(domain).filter(|_| domain != EVERY_DOMAIN)?;
    let shared = catalogue.shared_in(domain);
    let methods = catalogue.methods_below(Node::Domain(domain)).into_iter();
    let shared_methods = shared.iter().filter_map(|module| Some(catalogue.module(*module)?.methods.clone()));
    let all = methods.chain(shared_methods).all(|range| set.contains_all(&range));
    let scope = OrderScope { domain: Some(name.to_owned()), copy: None, all_domains: !shared.is_empty() };
    all.then(|| scope.order("*".to_owned(), Level::Off))
}

struct OrderBuilder<'a> {
    catalogue: &'a Catalogue,
    /// Methods never named alone, because they have no body to instrument.
    left_out: &'a BitSet,
    /// Whether to name methods independently of the loaded build; tokens are valid only for this build.
    by_name: bool,
    orders: Vec<Order>,
    /// Copies of one method give the same order.
    known: HashSet<Order>,
}

impl OrderBuilder<'_> {
    fn add(&mut self, level: Level, set: &MethodSet, reach: ChangeScope) -> Result<(), String> {
        let catalogue = self.catalogue;
        for range in set.ranges() {
            let mut at = range.start;
            while at < range.end {
                let module = catalogue.module_of(MethodIx(at));
                let Some(one) = catalogue.module(module) else { break };
                let end = one.methods.end.min(range.end);
                let scope = OrderScope::of(catalogue, module, reach);
                let most = MAX_STANDING_ORDERS + 1;
                let recycled =
                    scope.domain.as_deref().is_some_and(|prefix| catalogue.survives_recycle(prefix));
                let name = |method| match self.by_name || recycled {
                    true => named(catalogue, method),
                    false => method_pattern(catalogue, method, scope.copy.is_some()),
                };
                for pattern in cover(catalogue, &(at..end), most, name, self.left_out) {
                    self.push(scope.order(pattern, level))?;
                }
                at = end;
            }
        }
        Ok(())
    }

    fn push(&mut self, order: Order) -> Result<(), String> {
        if self.known.insert(order.clone()) {
            self.orders.push(order);
        }
        if self.orders.len() > MAX_STANDING_ORDERS {
            return Err(format!(
                "this needs more than {} orders, the most an agent keeps; select whole types or modules or fewer \
                 methods, or let Find hot methods (Dials) choose them",
                words::grouped(MAX_STANDING_ORDERS as u64)
            ));
        }
        Ok(())
    }
}

/// Returns the patterns for a part of one module; `name` returns that of one method.
fn cover(
    catalogue: &Catalogue,
    range: &Range<u32>,
    most: usize,
    name: impl Fn(MethodIx) -> String,
    left_out: &BitSet,
) -> Vec<String> {
    let mut patterns = Vec::new();
    let mut at = range.start;
    while at < range.end && patterns.len() < most {
        let method = MethodIx(at);
        let Some(module) = catalogue.module(catalogue.module_of(method)) else { break };
        let owner = catalogue.type_of(method);
        let of_type = catalogue.methods_of_type(owner);
        // A single method gets its own pattern, even if its type or module has no other.
        let covers = |whole: &Range<u32>| whole.start == at && whole.end <= range.end && whole.len() > 1;
        let (pattern, next) = if covers(&module.methods) && !whole_module(&module.name).is_empty() {
            (Some(whole_module(&module.name)), module.methods.end)
        } else if covers(&of_type) && !whole_type(catalogue, owner).is_empty() {
            (Some(whole_type(catalogue, owner)), of_type.end)
        } else {
            ((!left_out.get(at)).then(|| name(method)), at + 1)
        };
        patterns.extend(pattern);
        at = next;
    }
    patterns
}

/// Empty if no pattern matches this assembly's name.
fn whole_module(name: &str) -> String {
    let pattern = format!("{name}!*");
    if names_assembly(&pattern, name) { pattern } else { String::new() }
}

fn whole_type(catalogue: &Catalogue, owner: TypeIx) -> String {
    let pattern = format!("{}*", catalogue.type_text(owner));
    let name = catalogue.module(catalogue.module_of_type(owner)).map_or("", |module| &module.name);
    if names_assembly(&pattern, name) { pattern } else { String::new() }
}

fn names_assembly(pattern: &str, name: &str) -> bool {
    !name.contains('*') && Pattern::parse(pattern).is_ok_and(|parsed| parsed.matches_assembly(name))
}

/// Returns the pattern of exactly one method: by token, unless another build of the assembly is loaded, where
/// the token may belong to another method.
pub fn one_method(catalogue: &Catalogue, method: MethodIx) -> String {
    method_pattern(catalogue, method, false)
}

/// Describes an order with method names in place of tokens (`Shop!0x06000012`) that identify one method.
pub fn readable(catalogue: &Catalogue, order: &str) -> String {
    words::with_names(order, |assembly, token| named_by_token(catalogue, assembly, MethodToken(token)))
}

/// Returns the name of the method with a token in the assemblies of a name, if it is the same in all of them.
fn named_by_token(catalogue: &Catalogue, assembly: &str, token: MethodToken) -> Option<String> {
    let keys = catalogue.namesakes(assembly).filter_map(|module| Some(catalogue.module(module)?.key));
    let methods = keys.filter_map(|module| catalogue.find(CopyKey { module, token }));
    let mut names = methods.map(|method| catalogue.full_name(method).text);
    let first = names.next()?;
    names.all(|other| other == first).then_some(first)
}

/// Returns the pattern of a method in one module. `one_copy`: other builds are excluded, so a token suffices.
fn method_pattern(catalogue: &Catalogue, method: MethodIx, one_copy: bool) -> String {
    let index = catalogue.module_of(method);
    let Some(module) = catalogue.module(index) else { return catalogue.pattern(method) };
    let by_token = format!("{}!{:#010x}", module.name, catalogue.token(method).0);
    if (!one_copy && has_other_build(catalogue, index)) || !names_assembly(&by_token, &module.name) {
        return named(catalogue, method);
    }
    by_token
}

fn named(catalogue: &Catalogue, method: MethodIx) -> String {
    let named = catalogue.pattern(method);
    let Some(module) = catalogue.module(catalogue.module_of(method)) else { return named };
    // If no pattern can name the assembly, omit it; the method's name still identifies it.
    let fits = Pattern::parse(&named).is_ok_and(|parsed| parsed.matches_assembly(&module.name));
    let without_assembly = module.name.len() + 1;
    if fits { named } else { named.get(without_assembly..).unwrap_or_default().to_owned() }
}

fn has_other_build(catalogue: &Catalogue, index: ModuleIx) -> bool {
    let Some(module) = catalogue.module(index) else { return false };
    catalogue
        .namesakes(&module.name)
        .any(|other| catalogue.module(other).is_some_and(|other| other.mvid != module.mvid))
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;
