//! Where delegated closures stand in the source, as the macros have seen them.

use linkme::distributed_slice;
use std::fmt;

/// The places of all delegated closures of the program that a macro has seen, in the order in which the linker found them. A
/// slice's name belongs to the whole program: linkme refuses two.
#[doc(hidden)]
#[distributed_slice]
pub static GOSSAMER_PLACES: [Place];

/// The place of a delegated closure in the source. The macro `__place` records it.
#[derive(Debug)]
pub struct Place {
    /// The path of a function inside the closure.
    inner: fn() -> &'static str,
    file: &'static str,
    line: u32,
    column: u32,
}

impl Place {
    #[doc(hidden)]
    pub const fn new(inner: fn() -> &'static str, file: &'static str, line: u32, column: u32) -> Self {
        Self { inner, file, line, column }
    }

    /// Whether it can be the place of a closure with this path. All closures of one function have the same path.
    fn may_be_of(&self, closure: &str) -> bool {
        let Some(path) = (self.inner)().strip_suffix("::_::place::inner") else { return false };
        without_types(path).eq(without_types(closure))
    }
}

/// In the body of a delegated closure: records where the closure stands. It does nothing else.
#[doc(hidden)]
#[macro_export]
macro_rules! __place {
    () => {
        const _: () = {
            mod place {
                fn inner() {}
                #[$crate::__private::linkme::distributed_slice($crate::__private::GOSSAMER_PLACES)]
                #[linkme(crate = $crate::__private::linkme)]
                static PLACE: $crate::__private::Place = $crate::__private::Place::new(
                    || ::core::any::type_name_of_val(&inner),
                    ::core::file!(),
                    ::core::line!(),
                    ::core::column!(),
                );
            }
        };
    };
}

/// A path without the arguments of its generic parts, which are the parameters' names inside and types outside.
fn without_types(path: &str) -> impl Iterator<Item = char> {
    let (mut depth, mut last) = (0_usize, ' ');
    path.chars().filter(move |char| {
        let before = std::mem::replace(&mut last, *char);
        match char {
            '<' => depth += 1,
            // The arrow of a function's type.
            '>' if before == '-' => return depth == 0,
            '>' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    })
}

/// The places where a closure may stand: one, unless its function has several closures. They are written with ` at `
/// before them, if there are any. Allocates nothing.
pub(crate) struct Places<'a>(pub(crate) &'a str);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut link = " at ";
        for Place { file, line, column, .. } in GOSSAMER_PLACES.iter().filter(|place| place.may_be_of(self.0))
        {
            write!(f, "{link}{file}:{line}:{column}")?;
            link = " or ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_whatever_the_types_of_its_generic_function() {
        let inner = || "app::<impl app::Work for app::Table<T>>::add<U>::{{closure}}::_::place::inner";
        let place = Place::new(inner, "app.rs", 1, 2);
        for (of, with) in
            [("u8", "u16"), ("fn(u8) -> alloc::vec::Vec<u8>", "fn() -> u8"), ("[u8; 3]", "(A<B>, C)")]
        {
            let closure = format!("app::<impl app::Work for app::Table<{of}>>::add<{with}>::{{{{closure}}}}");
            assert!(place.may_be_of(&closure), "{closure}");
        }
        assert!(!place.may_be_of("app::<impl app::Work for app::Table<u8>>::take<u8>::{{closure}}"));
    }
}
