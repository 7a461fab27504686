//! Rewrites delegated closures into constants, which capture nothing, with what they captured as arguments:
//!
//! ```text
//! trust.apply(move |property| property.add(a, b))
//! trust.__apply_with((a, b), const { move |property, (a, b)| property.add(a, b) })
//! ```
//!
//! That a closure in a `const` block captures nothing is rustc's word, and the library can tell it by the closure's name. So the
//! closures that captured nothing go into one, too, and those that are handed their arguments explicitly.
//!
//! One walk over a function body keeps the scopes ([`scope`], [`pattern`]) and a frame for each delegated closure it is in ([`frame`]).
//! A use of a local that was bound outside of a frame is a capture of it. [`call`] knows which calls delegate, [`delegated`] walks their
//! arguments ([`block`] those that end with the closure), [`macros`] and [`select`] read the tokens of macro calls ([`printed_text`] keeps what
//! they print), [`rewrite`] writes the result, [`repeated`] that of loops.

mod assignment;
mod block;
mod call;
mod delegated;
mod format_string;
mod frame;
#[cfg(test)]
mod golden;
mod holding;
mod import;
mod items;
mod macros;
mod pattern;
mod printed_text;
mod repeated;
mod rewrite;
mod scope;
mod select;
mod stored;
mod walk;

pub(crate) use items::{rewrite_function, rewrite_impl_functions, rewrite_item};
pub(crate) use rewrite::{bundle, gossamer_span, place};
