//! Interfaces and base classes of types, across modules. Metadata may be hostile: every list here has a bound, and
//! cycles end.
#![forbid(unsafe_code)]

use super::Modules;
use super::explicit::{ExplicitImplementation, explicit_implementations};
use super::matched_method::arity_of;
use super::names::ModuleNames;
use super::type_definitions::{Definition, TypeDefinitions};
use crate::clr::ProfilerInfo;
use crate::clr::metadata::Import;
use redial_protocol::ids::ModuleKey;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// Most supertypes of a type: far more than real types have.
const MAX_SUPERTYPES: usize = 512;
/// Longest type argument, in bytes; a longer one equals none.
const MAX_ARGUMENT: usize = 1024;
/// Longest parameter list, in bytes; a longer one equals none.
const MAX_PARAMETERS: usize = 64 << 10;

/// Stands for text beyond these limits; no type has this name.
const NO_TEXT: &str = "?";

/// An interface or base class of a type.
#[derive(Clone)]
pub struct Supertype {
    /// Full metadata name.
    pub name: Arc<str>,
    /// Its definition.
    pub definition: Definition,
    /// Its type arguments in canonical form, in terms of the type parameters of the type.
    pub arguments: Rc<[String]>,
    /// Whether it is a base class.
    pub is_base: bool,
    /// The base class by which the type has it; None if the type itself lists it or an interface that has it.
    pub by: Option<Rc<BaseClass>>,
}

/// A base class, with its type arguments.
#[derive(Clone)]
pub struct BaseClass {
    /// Its definition.
    pub definition: Definition,
    /// Its type arguments, as in [`Supertype`].
    pub arguments: Rc<[String]>,
}

/// A virtual method of an interface or class.
pub struct Member {
    /// MethodDef token.
    pub token: u32,
    /// Whether it is public.
    pub is_public: bool,
    /// Whether it has a body.
    pub has_body: bool,
    /// Metadata name.
    pub name: String,
    /// Number of its own type parameters.
    pub arity: u32,
    /// Canonical parameters, in terms of the type parameters of its type.
    pub parameters: String,
}

/// What one type says about another: its base class, or an interface it lists.
struct Relation {
    name: Arc<str>,
    definition: Definition,
    arguments: Vec<String>,
    is_base: bool,
}

/// TypeDef token in a module.
type TypeKey = (ModuleKey, u32);

/// The supertypes of types, with what was read of them. Lives as long as one search.
pub struct Supertypes<'a> {
    definitions: TypeDefinitions<'a>,
    relations: RefCell<HashMap<TypeKey, Rc<[Relation]>>>,
    members: RefCell<HashMap<TypeKey, Rc<[Member]>>>,
    explicit: RefCell<HashMap<TypeKey, Rc<[ExplicitImplementation]>>>,
    missing: RefCell<BTreeSet<Arc<str>>>,
}

impl<'a> Supertypes<'a> {
    /// Returns a reader that has read nothing yet.
    pub fn new(info: &'a ProfilerInfo, modules: &'a Modules) -> Supertypes<'a> {
        Supertypes {
            definitions: TypeDefinitions::new(info, modules),
            relations: RefCell::default(),
            members: RefCell::default(),
            explicit: RefCell::default(),
            missing: RefCell::default(),
        }
    }

    /// Returns the names of the assemblies, not loaded, that define supertypes of types looked at since the last call.
    pub fn take_missing(&self) -> BTreeSet<Arc<str>> {
        self.missing.take()
    }

    /// Returns the interfaces and base classes of a type, as far as they are loaded or named by it. If the type has one
    /// by itself and by a base class, it is there once, by itself.
    pub fn of(&self, import: &Import, names: &ModuleNames, type_def: u32) -> Vec<Supertype> {
        let listed = self.read_relations(import, names, type_def).into();
        let found = collect(listed, |definition| self.relations(definition));
        let missing = found.iter().filter_map(|one| match &one.definition {
            Definition::Missing(assembly) => Some(Arc::clone(assembly)),
            Definition::Loaded(..) | Definition::Unknown => None,
        });
        self.missing.borrow_mut().extend(missing);
        found
    }

    fn relations(&self, of: &Definition) -> Rc<[Relation]> {
        self.cached(&self.relations, of, |import, names, type_def| {
            self.read_relations(import, names, type_def)
        })
    }

    /// Returns the virtual methods that a type defines.
    pub fn members(&self, of: &Definition) -> Rc<[Member]> {
        self.cached(&self.members, of, virtual_methods)
    }

    /// Returns the explicit implementations of a type.
    pub fn explicit(&self, of: &Definition) -> Rc<[ExplicitImplementation]> {
        self.cached(&self.explicit, of, explicit_implementations)
    }

    /// Returns what `known` has of a type, reading it at first.
    fn cached<T>(
        &self,
        known: &RefCell<HashMap<TypeKey, Rc<[T]>>>,
        of: &Definition,
        read: impl FnOnce(&Import, &ModuleNames, u32) -> Vec<T>,
    ) -> Rc<[T]> {
        let Definition::Loaded(module, type_def) = of else { return Rc::new([]) };
        let key = (module.key, *type_def);
        if let Some(known) = known.borrow().get(&key) {
            return Rc::clone(known);
        }
        let read = self
            .definitions
            .with_metadata(module, |import| read(import, &ModuleNames::default(), *type_def))
            .unwrap_or_default();
        let read: Rc<[T]> = read.into();
        known.borrow_mut().insert(key, Rc::clone(&read));
        read
    }

    fn read_relations(&self, import: &Import, names: &ModuleNames, type_def: u32) -> Vec<Relation> {
        let base = import.type_shape(type_def).base.map(|token| (token, true));
        let interfaces = import.interfaces(type_def).into_iter().map(|token| (token, false));
        let relation = |(token, is_base)| {
            let (token, arguments) = names.instance(import, token)?;
            let arguments = arguments.into_iter().map(bounded).collect();
            let name = names.type_name(import, token)?;
            Some(Relation { name, definition: self.definitions.locate(import, token), arguments, is_base })
        };
        base.into_iter().chain(interfaces).take(MAX_SUPERTYPES).filter_map(relation).collect()
    }
}

impl Supertype {
    /// Whether an explicit implementation, by a class with the type arguments `own`, is that of a member of this type.
    pub fn is_declared(&self, one: &ExplicitImplementation, own: &[String], member: &Member) -> bool {
        let is_instance = || {
            let arguments = one.arguments.iter().map(|argument| with_arguments(argument, own));
            arguments.eq(self.arguments.iter().cloned())
        };
        one.member == member.name
            && one.arity == member.arity
            && one.type_name == self.name
            && one.parameters == member.parameters
            && is_instance()
    }
}

/// Reads the virtual methods that a type defines.
pub(super) fn virtual_methods(import: &Import, names: &ModuleNames, type_def: u32) -> Vec<Member> {
    let member = |token| {
        let method = import.method(token).ok()?;
        method.is_virtual().then(|| Member {
            token,
            is_public: method.is_public(),
            has_body: !method.is_abstract(),
            arity: arity_of(&method.signature),
            parameters: names.canonical_parameters(import, &method.signature),
            name: method.name,
        })
    };
    import.methods_of(type_def).into_iter().filter_map(member).collect()
}

/// Collects what a type lists, what `relations` says about that, and so on.
fn collect(mut listed: Rc<[Relation]>, relations: impl Fn(&Definition) -> Rc<[Relation]>) -> Vec<Supertype> {
    let mut found = Vec::new();
    let mut by: Option<Rc<BaseClass>> = None;
    loop {
        let own: Rc<[String]> = by.as_ref().map(|base| Rc::clone(&base.arguments)).unwrap_or_default();
        let mut at = found.len();
        for relation in listed.iter().filter(|relation| !relation.is_base) {
            add(&mut found, relation, &own, by.as_ref());
        }
        // Interfaces of these interfaces, which not every compiler lists.
        while let Some(interface) = found.get(at) {
            let (definition, arguments) = (interface.definition.clone(), Rc::clone(&interface.arguments));
            for relation in relations(&definition).iter().filter(|relation| !relation.is_base) {
                add(&mut found, relation, &arguments, by.as_ref());
            }
            at += 1;
        }
        let Some(base) = listed.iter().find(|relation| relation.is_base) else { return found };
        if !add(&mut found, base, &own, by.as_ref()) {
            return found;
        }
        let Some(base) = found.last() else { return found };
        let next = BaseClass { definition: base.definition.clone(), arguments: Rc::clone(&base.arguments) };
        listed = relations(&next.definition);
        by = Some(Rc::new(next));
    }
}

/// Adds a supertype unless it is there or too many are; returns whether it did. `own` are the arguments of the type whose
/// relation it is.
fn add(found: &mut Vec<Supertype>, relation: &Relation, own: &[String], by: Option<&Rc<BaseClass>>) -> bool {
    let arguments = relation.arguments.iter().map(|argument| bounded(with_arguments(argument, own)));
    let arguments: Rc<[String]> = arguments.collect();
    let is_known = |known: &Supertype| known.name == relation.name && known.arguments == arguments;
    if found.len() >= MAX_SUPERTYPES || found.iter().any(is_known) {
        return false;
    }
    found.push(Supertype {
        name: Arc::clone(&relation.name),
        definition: relation.definition.clone(),
        arguments,
        is_base: relation.is_base,
        by: by.cloned(),
    });
    true
}

/// Replaces the type parameters `!0`, `!1` … of a type in canonical text by its arguments. Without arguments the text
/// stays as it is: they are those of the type itself.
pub(super) fn with_arguments(text: &str, arguments: &[String]) -> String {
    if arguments.is_empty() || !text.contains('!') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(mark) = rest.find('!') {
        let (before, after) = rest.split_at(mark);
        out.push_str(before);
        let marks = if after.starts_with("!!") { 2 } else { 1 };
        let digits = after.bytes().skip(marks).take_while(u8::is_ascii_digit).count();
        let (parameter, behind) = after.split_at(marks + digits);
        let number = parameter.strip_prefix('!').and_then(|number| number.parse::<usize>().ok());
        out.push_str(number.and_then(|number| arguments.get(number)).map_or(parameter, String::as_str));
        rest = behind;
        if out.len() > MAX_PARAMETERS {
            return NO_TEXT.to_owned();
        }
    }
    out.push_str(rest);
    out
}

/// Cuts arguments that grow without bound, as those of `class A<T> : B<A<A<T>>>` may.
fn bounded(argument: String) -> String {
    if argument.len() > MAX_ARGUMENT { NO_TEXT.to_owned() } else { argument }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Module;

    /// Types by number, which is their token, each with what it lists: the type, its arguments, whether it is a base.
    struct Types(Vec<Vec<(u32, &'static str, bool)>>);

    impl Types {
        fn relations(&self, token: u32) -> Rc<[Relation]> {
            let module = Arc::new(Module::sample(ModuleKey { module_id: 1, generation: 1 }, "Shop"));
            let relation = |(token, argument, is_base): &(u32, &str, bool)| Relation {
                name: format!("T{token}").into(),
                definition: Definition::Loaded(Arc::clone(&module), *token),
                arguments: Some(*argument)
                    .filter(|one| !one.is_empty())
                    .map(str::to_owned)
                    .into_iter()
                    .collect(),
                is_base: *is_base,
            };
            self.0.get(token as usize).into_iter().flatten().map(relation).collect()
        }

        /// The supertypes of type 0: `T1<int>`, with `:` and the arguments of the base class that has it.
        fn of_first(&self) -> Vec<String> {
            let relations = |definition: &Definition| match definition {
                Definition::Loaded(_, token) => self.relations(*token),
                _ => Rc::new([]),
            };
            let show = |one: &Supertype| {
                let by = one.by.as_ref().map(|by| format!(":{}", by.arguments.join(","))).unwrap_or_default();
                format!("{}<{}>{by}", one.name, one.arguments.join(","))
            };
            collect(self.relations(0), relations).iter().map(show).collect()
        }
    }

    #[test]
    fn supertypes_have_the_arguments_of_the_type() {
        // class T0<X> : T1<X[]>, T3<X>; class T1<Y> : T2<int>, T3<Y>; interface T3<Z> : T4<T3<Z>>
        let types = Types(vec![
            vec![(1, "!0[]", true), (3, "!0", false)],
            vec![(2, "int", true), (3, "!0", false)],
            vec![],
            vec![(4, "T3<!0>", false)],
        ]);
        assert_eq!(
            types.of_first(),
            ["T3<!0>", "T4<T3<!0>>", "T1<!0[]>", "T3<!0[]>:!0[]", "T4<T3<!0[]>>:!0[]", "T2<int>:!0[]"]
        );
    }

    #[test]
    fn cycles_and_growing_arguments_end() {
        let itself = Types(vec![vec![(0, "", true), (0, "", false)]]);
        assert_eq!(itself.of_first(), ["T0<>"]);
        let classes = Types(vec![vec![(1, "", true)], vec![(0, "", true)]]);
        assert_eq!(classes.of_first(), ["T1<>", "T0<>:"]);
        let interfaces = Types(vec![vec![(1, "", false)], vec![(2, "", false)], vec![(1, "", false)]]);
        assert_eq!(interfaces.of_first(), ["T1<>", "T2<>"]);
        // interface T1<Z> : T1<T1<Z>>, T1<Z, …> twice as long each time.
        for growing in ["T1<!0>", "!0!0"] {
            let types = Types(vec![vec![(1, "x", false)], vec![(1, growing, false)]]);
            let found = types.of_first();
            assert!(found.len() <= MAX_SUPERTYPES && found.len() > 8, "{}", found.len());
            assert!(found.iter().all(|one| one.len() <= MAX_ARGUMENT + 4));
        }
        let many = Types(vec![(1..=600).map(|token| (token, "", false)).collect()]);
        assert_eq!(many.of_first().len(), MAX_SUPERTYPES);
    }

    #[test]
    fn arguments_replace_type_parameters() {
        let with = |text: &str, arguments: &[&str]| {
            with_arguments(text, &arguments.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(with("(!0,!!0,!1)", &["int", "Shop.Box<!0>"]), "(int,!!0,Shop.Box<!0>)");
        assert_eq!(with("(Shop.Box<!0>[],ref !0)", &["!1"]), "(Shop.Box<!1>[],ref !1)");
        assert_eq!(with("(!0,!10)", &["int"]), "(int,!10)", "a number without an argument stays");
        assert_eq!(with("(!0)", &[]), "(!0)");
        assert_eq!(with("a!b!", &["int"]), "a!b!");
        let (long, parameters) = ("x".repeat(MAX_ARGUMENT), "!0,".repeat(MAX_ARGUMENT));
        assert_eq!(bounded(with("!0", &[&long])).len(), MAX_ARGUMENT);
        assert_eq!(bounded(with("!0!0", &[&long])), "?");
        assert_eq!(with(&parameters, &[&long]), "?");
    }
}
