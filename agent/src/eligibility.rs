//! Decides which methods cannot be dialled, before any request to the CLR.
#![forbid(unsafe_code)]

use crate::known_bad::RuntimeIssue;
use redial_protocol::reason::Reason;

/// `CorMethodAttr::mdAbstract` (ECMA-335 II.23.1.10).
const ABSTRACT: u32 = 0x0400;
/// `CorMethodAttr::mdPinvokeImpl`.
const PINVOKE: u32 = 0x2000;
/// `CorMethodImpl::miCodeTypeMask` (II.23.1.11): IL is 0.
const CODE_TYPE_MASK: u32 = 0x0003;
/// `CorMethodImpl::miUnmanaged`.
const UNMANAGED: u32 = 0x0004;
/// `CorMethodImpl::miInternalCall`.
const INTERNAL_CALL: u32 = 0x1000;
/// `MethodImplOptions.Async` (.NET 11).
const ASYNC: u32 = 0x2000;

/// Bytes of IL up to which the JIT optimizes a method (`DEFAULT_MIN_OPTS_CODE_SIZE`).
const MAX_OPTIMIZED: u32 = 60_000;
/// Bytes of IL from which a body is instrumented to learn its size: long forms of branches may double it.
const MIN_MEASURED: u32 = 20_000;

/// The facts that decide eligibility.
#[derive(Clone, Copy, Debug)]
pub struct MethodFacts<'a> {
    /// `CorMethodAttr`.
    pub attributes: u32,
    /// `CorMethodImpl`.
    pub impl_flags: u32,
    /// Relative virtual address; 0: no body.
    pub rva: u32,
    /// The module was made with Reflection.Emit.
    pub dynamic: bool,
    /// The module can unload on its own.
    pub collectible: bool,
    /// Hot Reload may change the module.
    pub editable: bool,
    /// Full metadata name of the type.
    pub type_name: &'a str,
    /// Metadata name of the method.
    pub method: &'a str,
    /// Whether the module is the core library.
    pub core_library: bool,
    /// The runtime's major version (5, 8, 9, …; 2 and 3 for Core 2.1 and 3.1).
    pub runtime_major: u16,
}

/// Checks whether a method can be dialled; its body is examined later.
///
/// # Errors
/// The reason, if the method cannot be dialled.
pub fn check(facts: &MethodFacts) -> Result<(), Reason> {
    let is_known = |known: RuntimeIssue| known.is_of(facts.runtime_major);
    if let Some(reason) = without_body(facts.attributes, facts.impl_flags, facts.rva, facts.dynamic) {
        return Err(reason);
    }
    if facts.dynamic {
        return Err(Reason::Dynamic);
    }
    if facts.collectible {
        return Err(Reason::Collectible);
    }
    if facts.editable {
        return Err(Reason::HotReload);
    }
    if is_runtime_async(facts.impl_flags) && is_known(RuntimeIssue::RuntimeAsync) {
        return Err(Reason::RuntimeAsync);
    }
    let helper = is_known(RuntimeIssue::HelpersByAddress)
        && is_helper_by_address(facts.type_name, facts.method)
        || is_known(RuntimeIssue::FragileHelpers) && is_jit_helper(facts.type_name, facts.method);
    if facts.core_library && helper {
        return Err(Reason::RuntimeHelper);
    }
    Ok(())
}

/// Whether the runtime itself implements the method's suspension (`MethodImplOptions.Async`).
pub fn is_runtime_async(impl_flags: u32) -> bool {
    impl_flags & ASYNC != 0
}

/// Whether a level's code may take a body of this many bytes of IL above the size up to which the JIT optimizes. One that is
/// larger already loses nothing.
pub fn is_nearly_too_large(code_size: u32) -> bool {
    (MIN_MEASURED..=MAX_OPTIMIZED).contains(&code_size)
}

/// Whether the JIT optimizes a body of this many bytes of IL.
pub fn is_optimized(code_size: u32) -> bool {
    code_size <= MAX_OPTIMIZED
}

/// Returns why a method has no IL of its own, judged by its MethodDef row; None if it has. `dynamic`: its module
/// was made with Reflection.Emit.
pub fn without_body(attributes: u32, impl_flags: u32, rva: u32, dynamic: bool) -> Option<Reason> {
    if attributes & PINVOKE != 0 {
        Some(Reason::PInvoke)
    } else if impl_flags & (CODE_TYPE_MASK | UNMANAGED | INTERNAL_CALL) != 0 {
        Some(Reason::RuntimeImplemented)
    // Emitted methods have an RVA on some runtimes and none on others (2.1), but always a body.
    } else if attributes & ABSTRACT != 0 || rva == 0 && !dynamic {
        Some(Reason::NoBody)
    } else {
        None
    }
}

/// The methods of [`RuntimeIssue::HelpersByAddress`].
fn is_helper_by_address(type_name: &str, method: &str) -> bool {
    type_name == "System.Runtime.CompilerServices.CastHelpers" && matches!(method, "StelemRef" | "LdelemaRef")
}

/// The methods of [`RuntimeIssue::FragileHelpers`]. With these excluded, no crash was observed.
fn is_jit_helper(type_name: &str, method: &str) -> bool {
    const TYPES: [&str; 8] = [
        "System.Runtime.CompilerServices.CastHelpers",
        "System.Buffer",
        "System.Math",
        "System.RuntimeTypeHandle",
        "Internal.Runtime.CompilerHelpers",
        "System.TypedReference",
        "System.Threading.Monitor",
        "System.Runtime.CompilerServices.RuntimeHelpers",
    ];
    let member = match type_name {
        "System.SpanHelpers" => matches!(method, "Fill" | "ClearWithoutReferences" | "Memmove"),
        "System.Array" => method == "Ctor",
        "System.Threading.Thread" => method.starts_with("Poll"),
        _ => type_name.contains("ThrowHelper") || type_name.starts_with("Internal.Runtime.CompilerHelpers."),
    };
    member || TYPES.contains(&type_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: MethodFacts = MethodFacts {
        attributes: 0,
        impl_flags: 0,
        rva: 0x2050,
        dynamic: false,
        collectible: false,
        editable: false,
        type_name: "Shop.Cart",
        method: "Add",
        core_library: false,
        runtime_major: 8,
    };

    #[test]
    fn finds_each_reason() {
        assert_eq!(check(&PLAIN), Ok(()));
        let cases = [
            (MethodFacts { rva: 0, ..PLAIN }, Reason::NoBody),
            (MethodFacts { attributes: ABSTRACT, ..PLAIN }, Reason::NoBody),
            (MethodFacts { attributes: PINVOKE, rva: 0, ..PLAIN }, Reason::PInvoke),
            (MethodFacts { impl_flags: INTERNAL_CALL, rva: 0, ..PLAIN }, Reason::RuntimeImplemented),
            (MethodFacts { impl_flags: 0x3, rva: 0, ..PLAIN }, Reason::RuntimeImplemented),
            (MethodFacts { dynamic: true, ..PLAIN }, Reason::Dynamic),
            (MethodFacts { dynamic: true, rva: 0, ..PLAIN }, Reason::Dynamic),
            (MethodFacts { collectible: true, ..PLAIN }, Reason::Collectible),
            (MethodFacts { editable: true, ..PLAIN }, Reason::HotReload),
            (MethodFacts { editable: true, rva: 0, ..PLAIN }, Reason::NoBody),
            (MethodFacts { impl_flags: ASYNC, runtime_major: 11, ..PLAIN }, Reason::RuntimeAsync),
        ];
        for (facts, reason) in cases {
            assert_eq!(check(&facts), Err(reason), "{facts:?}");
            let MethodFacts { attributes, impl_flags, rva, dynamic, .. } = facts;
            let bodyless = without_body(attributes, impl_flags, rva, dynamic);
            assert_eq!(bodyless, Some(reason).filter(|reason| reason.is_bodyless()), "{facts:?}");
        }
    }

    #[test]
    fn only_bodies_below_the_limit_can_lose_optimization() {
        let sizes = [0, 19_999, 20_000, 60_000, 60_001, u32::MAX];
        let nearly = sizes.map(is_nearly_too_large);
        assert_eq!(nearly, [false, false, true, true, false, false]);
        assert_eq!(sizes.map(is_optimized), [true, true, true, true, false, false]);
    }

    #[test]
    fn refuses_jit_helpers_on_9_only() {
        let helper =
            MethodFacts { core_library: true, type_name: "System.Buffer", method: "Memmove", ..PLAIN };
        assert_eq!(check(&helper), Ok(()));
        assert_eq!(check(&MethodFacts { runtime_major: 9, ..helper }), Err(Reason::RuntimeHelper));
        assert_eq!(check(&MethodFacts { runtime_major: 9, type_name: "System.String", ..helper }), Ok(()));
    }

    #[test]
    fn refuses_helpers_called_by_address_on_5_to_9() {
        let type_name = "System.Runtime.CompilerServices.CastHelpers";
        for method in ["StelemRef", "LdelemaRef"] {
            let helper = MethodFacts { core_library: true, type_name, method, ..PLAIN };
            for runtime_major in 5..=9 {
                assert_eq!(check(&MethodFacts { runtime_major, ..helper }), Err(Reason::RuntimeHelper));
            }
            assert_eq!(check(&MethodFacts { runtime_major: 10, ..helper }), Ok(()));
        }
        let precoded = MethodFacts { core_library: true, type_name, method: "ChkCastAny", ..PLAIN };
        assert_eq!(check(&precoded), Ok(()));
    }
}
