//! Which closures may go to another process: those that are constants, recognised by the names that rustc gives their
//! types.
//!
//! A value of size zero may still be a proof (of a call that was made, of a lock that is held), which must not appear in a
//! process where nobody made it. Stable Rust cannot tell whether a closure has captured one. But a closure in a
//! `const { … }` block has captured nothing of its function, or rustc would not have compiled it, and is the same
//! value in every process of a program. Its name shows that it stands there. A `fn` item captures nothing at all.

use std::any::{type_name, type_name_of_val};
use std::fmt;

const CLOSURE: &str = "::{{closure}}";
const CONSTANT_CLOSURE: &str = "::{{constant}}::{{closure}}";
/// Looks like a closure, but is a `fn`: the constructor of a tuple struct.
const CONSTRUCTOR: &str = "::{{constructor}}";
/// The crates with callable generic types, such as `AssertUnwindSafe` around a closure; a program cannot implement
/// `Fn`. Generic functions from there are refused as well.
const STANDARD: [&str; 3] = ["core::", "alloc::", "std::"];

/// Why a closure is not sent to another node.
pub(crate) const STAYS: &str = "it is neither a closure in a `const` block nor a plain `fn`, so nobody can tell whether it \
    captures a value without size, and it works inside one process only; put #[gossamer::delegate] on the enclosing function \
    and the closure into the call itself, or write `const { |…| … }`, as always in the body of a `macro_rules!`";

/// Whether a closure of type `N` may go to another process; for a type of this crate, what this crate decides. With
/// optimisation this is a constant.
#[inline(always)]
pub(crate) fn travels<N>() -> bool {
    closures_are_told_by_name() && is_constant(type_name::<N>())
}

#[inline(always)]
fn is_constant(name: &str) -> bool {
    if name.ends_with('}') {
        return name.ends_with(CONSTANT_CLOSURE) || name.ends_with(CONSTRUCTOR);
    }
    !name.ends_with('>') || !STANDARD.iter().any(|start| name.starts_with(start))
}

/// Whether this compiler names closures as this module expects. If not, nothing travels.
#[inline(always)]
fn closures_are_told_by_name() -> bool {
    let own = type_name_of_val(&|| ());
    own.ends_with(CLOSURE) && !is_constant(own)
}

/// The path of a closure, for people: without the `const` blocks that the macros have written. Allocates nothing.
pub(crate) struct ClosurePath<'a>(pub(crate) &'a str);

impl fmt::Display for ClosurePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.split("{{constant}}::").try_for_each(|part| f.write_str(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::AssertUnwindSafe;

    /// The name of a closure's type without the path to this module, and whether it travels.
    fn told<F>(_closure: F) -> (&'static str, bool) {
        let name = type_name::<F>();
        (name.split_once("::tests::").map_or(name, |(_, name)| name), travels::<F>())
    }

    fn plain(number: u8) -> u8 {
        number
    }

    fn generic<T>(value: T) -> T {
        value
    }

    fn in_generic<T: Default>() -> [(&'static str, bool); 2] {
        [told(|| T::default()), told(const { || T::default() })]
    }

    struct Pair<T>(T);

    impl<T: Default> Pair<T> {
        fn both<U: Default>() -> [(&'static str, bool); 2] {
            [told(|| Self(T::default()).0), told(const { || (T::default(), U::default()) })]
        }
    }

    trait Work {
        fn work() -> [(&'static str, bool); 2];
    }

    impl Work for u8 {
        fn work() -> [(&'static str, bool); 2] {
            [told(|| 1), told(const { || 1 })]
        }
    }

    macro_rules! in_macro {
        ($number:expr) => {
            [told(|| $number), told(const { || $number })]
        };
    }

    #[test]
    fn a_closure_travels_only_from_a_constant() {
        let token = ();
        assert_eq!(told(move || token), ("a_closure_travels_only_from_a_constant::{{closure}}", false));
        assert_eq!(
            told(const { || () }),
            ("a_closure_travels_only_from_a_constant::{{constant}}::{{closure}}", true)
        );
        assert_eq!(
            told(AssertUnwindSafe(const { || () })).0,
            "a_closure_travels_only_from_a_constant::{{constant}}::{{closure}}>"
        );
        assert!(!travels::<AssertUnwindSafe<u8>>());
    }

    #[test]
    fn it_is_told_in_generics_impls_and_macros_too() {
        assert_eq!(
            in_generic::<u8>(),
            [("in_generic<u8>::{{closure}}", false), ("in_generic<u8>::{{constant}}::{{closure}}", true)]
        );
        let [(_, moved), (_, constant)] = Pair::<u8>::both::<u16>();
        assert_eq!((moved, constant), (false, true));
        let [(_, moved), (_, constant)] = u8::work();
        assert_eq!((moved, constant), (false, true));
        let [(_, moved), (_, constant)] = in_macro!(1);
        assert_eq!((moved, constant), (false, true));
    }

    #[test]
    fn inside_of_another_closure_it_is_the_inner_one_that_counts() {
        let outer = const { || [told(|| ()), told(const { || () })] };
        assert!(told(outer).1);
        let [moved, constant] = outer();
        let inside = "inside_of_another_closure_it_is_the_inner_one_that_counts::{{constant}}::{{closure}}";
        assert_eq!(moved, (format!("{inside}::{{{{closure}}}}").as_str(), false));
        assert_eq!(constant, (format!("{inside}::{{{{constant}}}}::{{{{closure}}}}").as_str(), true));
        // For a closure that came out of a constant, but is not one.
        let outer = const { || || () };
        let (inner, travels) = told(outer());
        assert!(inner.ends_with("::{{constant}}::{{closure}}::{{closure}}") && !travels);
    }

    #[test]
    fn a_function_travels_unless_it_is_a_generic_one_of_the_standard_library() {
        assert_eq!(told(plain), ("plain", true));
        assert_eq!(told(generic::<u8>), ("generic<u8>", true));
        assert_eq!(told(std::mem::take::<u8>), ("core::mem::take<u8>", false));
        assert_eq!(told(Some::<u8>), ("core::option::Option<u8>::Some::{{constructor}}", true));
        assert_eq!(told(Pair::<u8>), ("Pair<u8>::{{constructor}}", true));
        assert_eq!(told(Vec::<u8>::new), ("alloc::vec::Vec<u8>::new", true));
        assert_eq!(
            told(<Vec<u8> as Default>::default),
            ("<alloc::vec::Vec<u8> as core::default::Default>::default", true)
        );
    }

    #[test]
    fn the_constants_are_left_out_of_a_path_for_people() {
        let path = "app::main::{{constant}}::{{closure}}::{{constant}}::{{closure}}";
        assert_eq!(ClosurePath(path).to_string(), "app::main::{{closure}}::{{closure}}");
    }
}
