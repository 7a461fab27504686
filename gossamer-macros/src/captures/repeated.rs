//! Closures that are called for many elements: their captures are handed over once, and each call borrows them.
//!
//! ```text
//! numbers.par_for_each(|_, number| *number += by);
//! numbers.__par_for_each_with((by,), const { |(by,)| move |_, number| *number += by });
//! ```
//!
//! The inner closure has to be a `Fn`, as one would expect of the body of a parallel loop; rustc says so, and where.

use proc_macro2::Ident;
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Expr, ExprClosure, Pat, ReturnType, parse_quote};

use super::call::Arguments;
use super::frame::Capture;
use super::rewrite::{gossamer_span, pattern, record_place};

/// Makes the closure one that takes its captures, or its explicit arguments, and returns the one that is called.
pub(super) fn take_once(closure: &mut ExprClosure, captures: &[Capture], arguments: Arguments) {
    let taken = match arguments {
        Arguments::Explicit => borrowed_argument(closure),
        _ => (!captures.is_empty()).then(|| pattern(captures)),
    };
    if let Some(taken) = taken {
        let mut called = closure.clone();
        called.attrs.clear();
        // With the user's span, or rustc does not name what it says cannot be moved or changed.
        called.capture = Some(syn::token::Move(closure.inputs_begin.span));
        (closure.lifetimes, closure.output) = (None, ReturnType::Default);
        closure.inputs = std::iter::once(taken).collect();
        *closure.body = Expr::Closure(called);
    }
    record_place(closure);
}

/// Takes the last parameter away, which the body has as a reference to what is returned here.
fn borrowed_argument(closure: &mut ExprClosure) -> Option<Pat> {
    let parameter = closure.inputs.pop()?;
    closure.inputs.pop_punct();
    let body = &closure.body;
    // What is wrong with its type is wrong there.
    let span = gossamer_span(parameter.span());
    let arguments = Ident::new("arguments", span);
    *closure.body = Expr::Verbatim(quote_spanned!(span=> { let #parameter = &#arguments; #body }));
    Some(parse_quote!(#arguments))
}
