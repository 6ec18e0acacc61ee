//! The orders a turn is made of: patterns that turn exactly the methods meant, in the copies meant.

use super::catalogue::Catalogue;
use super::catalogue::bits::Bits;
use super::catalogue::copies::EVERY_DOMAIN;
use super::ids::{MethodIx, ModuleIx, Node, TypeIx};
use super::methodset::MethodSet;
use super::turns::Wish;
use crate::output::words;
use redial_protocol::ids::{CopyKey, MethodToken};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_STANDING_ORDERS;
use redial_protocol::order::{Order, TimeOptions};
use redial_protocol::pattern::Pattern;
use std::collections::HashSet;
use std::ops::Range;

/// How far a turn reaches beyond the copies it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Those copies and no others. (Where an assembly is loaded once, there are no others: should it be loaded again, the
    /// dial is for that copy too.)
    #[default]
    Copies,
    /// Every copy, now and later.
    Everywhere,
    /// An AppDomain, by its place in `Catalogue::domains`: also what it loads later, where all of it is meant.
    Domain(u32),
}

/// Which copies of an assembly orders are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Scope {
    domain: Option<String>,
    copy: Option<u64>,
    all_domains: bool,
}

impl Scope {
    fn order(&self, pattern: String, level: Level) -> Order {
        let Scope { domain, copy, all_domains } = self.clone();
        Order { domain, copy, all_domains, ..Order::new(pattern, level) }
    }

    /// The copy of a method in one module, or in the AppDomain it is alone in.
    fn of(catalogue: &Catalogue, module: ModuleIx, reach: Reach) -> Scope {
        let Some(one) = catalogue.module(module) else { return Scope::default() };
        let copy = || Scope { copy: Some(one.key.module_id), ..Scope::default() };
        let in_domain = |domain: u32| {
            let name = catalogue.domain_scope(domain).filter(|_| catalogue.alone_in_domain(module));
            name.map(|name| Scope { domain: Some(name.to_owned()), ..Scope::default() })
        };
        match reach {
            Reach::Everywhere => Scope::default(),
            // Who turned it was told that it is one copy for all of them.
            Reach::Domain(domain) if one.shared => {
                Scope { all_domains: true, ..in_domain(domain).unwrap_or_default() }
            }
            Reach::Domain(domain) => in_domain(domain).unwrap_or_else(copy),
            Reach::Copies if !catalogue.has_namesake(module) => Scope::default(),
            Reach::Copies => in_domain(one.domain).filter(|_| !one.shared).unwrap_or_else(copy),
        }
    }
}

/// The orders that turn exactly the methods of some wishes: all of several that a module has by one pattern, all of a type by
/// one, the rest one by one, but for those in `left_out`; where an assembly is loaded more than once, limited to the copies meant.
/// Orders that come later win.
///
/// # Errors
/// A sentence when that takes more orders than an agent keeps.
pub fn orders(
    catalogue: &Catalogue,
    wishes: &[Wish],
    reach: Reach,
    left_out: &Bits,
) -> Result<Vec<Order>, String> {
    let mut made = Made { catalogue, left_out, by_name: false, orders: Vec::new(), known: HashSet::new() };
    for (level, set) in wishes {
        match reach {
            Reach::Copies => made.add(*level, set, reach)?,
            Reach::Domain(domain) => match whole_domain(catalogue, domain, set) {
                Some(order) => made.push(Order { level: *level, ..order })?,
                None => made.add(*level, set, reach)?,
            },
            Reach::Everywhere => made.add(*level, set, reach)?,
        }
    }
    Ok(made.orders)
}

/// The same orders, those from level time on with these options.
pub fn with_options(mut orders: Vec<Order>, options: TimeOptions) -> Vec<Order> {
    orders.iter_mut().filter(|order| order.level >= Level::Time).for_each(|order| order.options = options);
    orders
}

/// The orders that turn the methods of some wishes in processes that start later, whichever build they run: by their
/// names.
///
/// # Errors
/// A sentence when that takes more orders than an agent keeps.
pub fn orders_for_later(
    catalogue: &Catalogue,
    wishes: &[Wish],
    left_out: &Bits,
) -> Result<Vec<Order>, String> {
    let mut made = Made { catalogue, left_out, by_name: true, orders: Vec::new(), known: HashSet::new() };
    for (level, set) in wishes {
        made.add(*level, set, Reach::Everywhere)?;
    }
    Ok(made.orders)
}

/// The order for everything in an AppDomain, if everything is meant: what it shares with others too.
fn whole_domain(catalogue: &Catalogue, domain: u32, set: &MethodSet) -> Option<Order> {
    let name = catalogue.domain_scope(domain).filter(|_| domain != EVERY_DOMAIN)?;
    let shared = catalogue.shared_in(domain);
    let methods = catalogue.methods_below(Node::Domain(domain)).into_iter();
    let shared_methods = shared.iter().filter_map(|module| Some(catalogue.module(*module)?.methods.clone()));
    let all = methods.chain(shared_methods).all(|range| set.contains_all(&range));
    let scope = Scope { domain: Some(name.to_owned()), copy: None, all_domains: !shared.is_empty() };
    all.then(|| scope.order("*".to_owned(), Level::Off))
}

struct Made<'a> {
    catalogue: &'a Catalogue,
    /// Methods that no order names alone: without a body there is nothing to turn.
    left_out: &'a Bits,
    /// Methods are named, whatever is loaded here: by tokens only those of this build are.
    by_name: bool,
    orders: Vec<Order>,
    /// Copies of one method give the same order.
    known: HashSet<Order>,
}

impl Made<'_> {
    fn add(&mut self, level: Level, set: &MethodSet, reach: Reach) -> Result<(), String> {
        let catalogue = self.catalogue;
        for range in set.ranges() {
            let mut at = range.start;
            while at < range.end {
                let module = catalogue.module_of(MethodIx(at));
                let Some(one) = catalogue.module(module) else { break };
                let end = one.methods.end.min(range.end);
                let scope = Scope::of(catalogue, module, reach);
                let most = MAX_STANDING_ORDERS + 1;
                let name = |method| match self.by_name {
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
                "this takes more than {MAX_STANDING_ORDERS} orders, which is all an agent keeps; turn whole types or \
                 modules, or fewer methods"
            ));
        }
        Ok(())
    }
}

/// The patterns of a part of one module; `name` is that of one method.
fn cover(
    catalogue: &Catalogue,
    range: &Range<u32>,
    most: usize,
    name: impl Fn(MethodIx) -> String,
    left_out: &Bits,
) -> Vec<String> {
    let mut patterns = Vec::new();
    let mut at = range.start;
    while at < range.end && patterns.len() < most {
        let method = MethodIx(at);
        let Some(module) = catalogue.module(catalogue.module_of(method)) else { break };
        let owner = catalogue.type_of(method);
        let of_type = catalogue.methods_of_type(owner);
        // One method is meant as itself, though it be all that its type or module has.
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

/// Empty when no pattern names this assembly.
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

/// The pattern of exactly one method: by its token, unless another loaded assembly of that name is another build, in
/// which the token may be another method's.
pub fn one_method(catalogue: &Catalogue, method: MethodIx) -> String {
    method_pattern(catalogue, method, false)
}

/// An order in words, with the method's name in place of a token (`Shop!0x06000012`), where one method has that.
pub fn readable(catalogue: &Catalogue, order: &str) -> String {
    words::with_names(order, |assembly, token| named_by_token(catalogue, assembly, MethodToken(token)))
}

/// The method with that token in the assemblies of a name, if it is one and the same in all of them.
fn named_by_token(catalogue: &Catalogue, assembly: &str, token: MethodToken) -> Option<String> {
    let keys = catalogue.namesakes(assembly).filter_map(|module| Some(catalogue.module(module)?.key));
    let methods = keys.filter_map(|module| catalogue.find(CopyKey { module, token }));
    let mut names = methods.map(|method| catalogue.full_name(method).text);
    let first = names.next()?;
    names.all(|other| other == first).then_some(first)
}

/// The pattern of a method in one module. `one_copy`: other builds are out of reach, so that a token is a name.
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
    // An assembly whose name no pattern can say is left out: the method's name still is its own.
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
