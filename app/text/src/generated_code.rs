//! Recognizes methods that the C# compiler wrote, by their names. A person's code stays a person's: lambdas, local
//! functions, and the bodies of async methods and iterators, which the compiler only moved. The names are conventions of
//! the compiler; no standard defines them.

use crate::display_names::{DisplayName, StateMachine};
use crate::names::namespace_length;

/// The method that only the compiler gives to a record.
const CLONE: &str = "<Clone>$";
/// The program's own top-level statements.
const TOP_LEVEL: &str = "<Main>$";
/// Methods that the compiler writes for a record. Two of them could also be written by hand, but hardly are.
const OF_RECORD: [&str; 4] = ["op_Equality", "op_Inequality", "get_EqualityContract", "PrintMembers"];

/// What names say about the origin of the methods of a type.
#[derive(Clone, Copy, Debug)]
pub struct TypeOrigin<'a> {
    name: &'a str,
    generated: bool,
    record: bool,
}

impl<'a> TypeOrigin<'a> {
    /// Reads a type's full name and the names of its methods.
    pub fn of<'b>(name: &'a str, mut methods: impl Iterator<Item = &'b str>) -> TypeOrigin<'a> {
        let namespace = namespace_length(name);
        let own = name.get(namespace..).unwrap_or_default().trim_start_matches('.');
        let generated = own.split('+').any(is_generated_name);
        TypeOrigin { name, generated, record: methods.any(|method| method == CLONE) }
    }

    /// Returns whether the compiler wrote a method of the type.
    pub fn generated(&self, method: &str) -> bool {
        if !self.generated && !method.starts_with('<') {
            return self.record && OF_RECORD.contains(&method);
        }
        let name = format!("{}.{method}", self.name);
        let display = DisplayName::of(&name, self.name.len() + 1, || StateMachine::Unknown);
        method != TOP_LEVEL && display.generated.is_empty()
    }
}

/// Returns whether the compiler made up a type's name: `<>c`, `<Add>d__1`, `<PrivateImplementationDetails>`. The module's
/// own type and types local to a file (`<Program>F0a1b__Helper`) contain code of the program.
fn is_generated_name(name: &str) -> bool {
    let Some((_, rest)) = name.strip_prefix('<').and_then(|inner| inner.split_once('>')) else {
        return false;
    };
    let of_file = |rest: &str| {
        let (hash, own) = rest.strip_prefix('F')?.split_once("__")?;
        let is_hash = !hash.is_empty() && hash.chars().all(|letter| letter.is_ascii_hexdigit());
        (is_hash && !own.is_empty()).then_some(())
    };
    name != "<Module>" && of_file(rest).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(owner: &str, method: &str) -> bool {
        TypeOrigin::of(owner, [method].into_iter()).generated(method)
    }

    #[test]
    fn code_that_only_the_compiler_wrote_is_generated() {
        for (owner, method) in [
            ("Shop.Cart+<>c", ".ctor"),
            ("Shop.Cart+<>c", ".cctor"),
            ("Shop.Cart+<>c__DisplayClass4_0", ".ctor"),
            ("Shop.Cart+<Add>d__1", "SetStateMachine"),
            ("Shop.Box<T>+<Items>d__3", "System.Collections.Generic.IEnumerator<T>.get_Current"),
            ("Shop.Cart+<Items>d__3", "<>m__Finally1"),
            ("<PrivateImplementationDetails>", "ComputeStringHash"),
            ("<PrivateImplementationDetails>+__StaticArrayInitTypeSize=3", ".ctor"),
            ("<>f__AnonymousType0<<Name>j__TPar>", "get_Name"),
            ("Shop.<>z__ReadOnlyArray<T>", "Contains"),
            ("Shop.Cart", "<>n__0"),
            ("Program", "<Main>"),
            ("Shop.Order", "<Clone>$"),
        ] {
            assert!(generated(owner, method), "{owner}.{method}");
        }
    }

    #[test]
    fn code_that_a_person_wrote_is_not() {
        for (owner, method) in [
            ("Shop.Cart", "Add"),
            ("Shop.Cart", ".cctor"),
            ("Shop.Box<T>+Lid", "Open<U>"),
            ("Shop.Cart+<>c", "<Add>b__0_1"),
            ("Shop.Cart+<>c__DisplayClass4_0", "<Add>g__Check|2"),
            ("Shop.Cart", "<Add>b__3_0"),
            ("Shop.Cart", "<Add>g__Check|3_0"),
            ("Shop.Cart+<Add>d__1", "MoveNext"),
            ("Shop.Cart+<>c+<<Add>b__0_1>d", "MoveNext"),
            ("Program", "<Main>$"),
            ("Program+<<Main>$>d__0", "MoveNext"),
            ("Program+<>c", "<<Main>$>b__0_3"),
            ("<Module>", ".cctor"),
            ("Shop.<Program>F0A1b2__Helper", "Run"),
            ("Shop.Money", "op_Equality"),
            ("Shop.Money", "PrintMembers"),
        ] {
            assert!(!generated(owner, method), "{owner}.{method}");
        }
    }

    #[test]
    fn records_have_members_that_the_compiler_wrote() {
        let methods =
            ["<Clone>$", "op_Equality", "PrintMembers", "get_EqualityContract", "get_Id", "ToString"];
        let origin = TypeOrigin::of("Shop.Order", methods.into_iter());
        let hidden: Vec<&str> = methods.into_iter().filter(|method| origin.generated(method)).collect();
        assert_eq!(hidden, methods[..4]);
    }
}
