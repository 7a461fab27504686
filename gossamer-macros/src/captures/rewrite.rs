//! Writes a delegating call with its captures as explicit arguments.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Expr, ExprCall, ExprClosure, ExprMethodCall, GenericArgument, Ident, Item, Pat, PathArguments, Stmt,
    Token, parse_quote,
};

use super::call::{Callee, Delegation, closure_mut};
use super::frame::{Capture, Seen};

/// The largest tuple that is `NoRef`; more captures travel as a tuple of tuples.
const LARGEST_TUPLE: usize = 12;

/// The span of generated code: it points at `place`, but lints know it for a macro's.
pub(crate) fn gossamer_span(place: Span) -> Span {
    Span::mixed_site().located_at(place)
}

/// The elements as one tuple, nested where there are more than a tuple can have.
pub(crate) fn bundle(elements: Vec<TokenStream>) -> TokenStream {
    if elements.len() <= LARGEST_TUPLE {
        return quote!((#(#elements,)*));
    }
    bundle(elements.chunks(LARGEST_TUPLE).map(|chunk| quote!((#(#chunk,)*))).collect())
}

/// `trust.apply(closure)` becomes `trust.apply_with(closure, captures)`.
pub(super) fn method_call(call: &mut ExprMethodCall, delegation: &Delegation, captures: &[Capture]) {
    call.method = Ident::new(delegation.explicit, call.method.span());
    if let Some(turbofish) = &mut call.turbofish {
        turbofish.args.insert(0, inferred());
    }
    make_explicit(&mut call.args, delegation, captures);
}

/// `gossamer::spawn(closure)` becomes `gossamer::spawn_with(closure, captures)`.
pub(super) fn function_call(call: &ExprCall, delegation: &Delegation, captures: &[Capture]) -> Expr {
    let mut call = call.clone();
    make_explicit(&mut call.args, delegation, captures);
    let plain = make_path_explicit(&mut call.func, delegation);
    match (plain, delegation.callee) {
        (Some(plain), Callee::Imported) => with_check_of_import(&plain, &call, delegation),
        _ => Expr::Call(call),
    }
}

/// Has a closure's place in the source recorded, for reports.
pub(super) fn record_place(closure: &mut ExprClosure) {
    let place = place(closure.span());
    if let Expr::Block(body) = &mut *closure.body
        && body.attrs.is_empty()
        && body.label.is_none()
    {
        // In it, since a block in a block has braces that lints take for the user's.
        return body.block.stmts.insert(0, Stmt::Item(Item::Verbatim(place)));
    }
    let body = &closure.body;
    *closure.body = Expr::Verbatim(quote_spanned!(gossamer_span(body.span())=> { #place #body }));
}

/// The item that records the place in the source where `span` is. Its own span is that of the user, since it is where it says.
pub(crate) fn place(span: Span) -> TokenStream {
    quote_spanned!(span=> ::gossamer::__private::place! {})
}

/// Changes the name at the end of a path; gives the one that stood there.
fn make_path_explicit(function: &mut Expr, delegation: &Delegation) -> Option<Ident> {
    let Expr::Path(function) = function else { return None };
    let last = function.path.segments.last_mut()?;
    let explicit = Ident::new(delegation.explicit, last.ident.span());
    if let PathArguments::AngleBracketed(types) = &mut last.arguments {
        types.args.insert(0, inferred());
    }
    Some(std::mem::replace(&mut last.ident, explicit))
}

/// The type argument for the captures, which come first among them.
fn inferred() -> GenericArgument {
    parse_quote!(_)
}

/// The call of the function in gossamer, with a check that the bare name is imported from there.
fn with_check_of_import(plain: &Ident, call: &ExprCall, delegation: &Delegation) -> Expr {
    let check = check_of_import(plain, delegation);
    // With the user's own span, or rustc does not find the capture to blame.
    let call = quote_spanned!(plain.span()=> ::gossamer::#call);
    Expr::Verbatim(quote_spanned!(gossamer_span(plain.span())=> ({ #check #call })))
}

/// Code that compiles only if the bare function returns gossamer's handle. The closure that calls it is never called.
fn check_of_import(plain: &Ident, delegation: &Delegation) -> TokenStream {
    let message = format!("this `{plain}` is not gossamer's: it returns `{{Self}}`");
    let note = format!(
        "in a function marked #[gossamer::main] or #[gossamer::delegate] a bare `{plain}` is taken for gossamer's; \
         call another one by its path, such as `std::thread::{plain}`"
    );
    let placement = (delegation.explicit == "spawn_on_with").then(|| quote!(::gossamer::Trustee::here(),));
    quote_spanned! {gossamer_span(plain.span())=>
        {
            #[diagnostic::on_unimplemented(message = #message, label = "it is handed a capturing closure", note = #note)]
            trait HandleOfGossamer {}
            impl<U> HandleOfGossamer for ::gossamer::JoinHandle<U> {}
            fn check<H: HandleOfGossamer>(_: impl ::core::ops::FnOnce() -> H) {}
            let _ = || check(|| #plain(#placement || ()));
        }
    }
}

/// Makes the captures parameters of the closure and an argument of the call.
fn make_explicit(arguments: &mut Punctuated<Expr, Token![,]>, delegation: &Delegation, captures: &[Capture]) {
    let argument = arguments.get_mut(delegation.closure);
    if let Some(closure) = argument.and_then(closure_mut) {
        closure.inputs.push(pattern(captures));
        arguments.insert(delegation.closure + 1, values(captures));
    }
}

/// The parameter that takes the captures, each under its own name.
fn pattern(captures: &[Capture]) -> Pat {
    let elements = captures.iter().map(|Capture { ident, bound_at, mutable, .. }| {
        let mut ident = ident.clone();
        ident.set_span(ident.span().located_at(*bound_at));
        let mutability = mutable.then(|| quote!(mut));
        quote!(#mutability #ident)
    });
    let tuple = bundle(elements.collect());
    let perhaps = captures.iter().any(|capture| capture.seen == Seen::Perhaps);
    let unused = perhaps.then(|| quote_spanned!(Span::mixed_site()=> #[allow(unused_variables)]));
    Pat::Verbatim(quote!(#unused #tuple))
}

/// The argument that carries the captures. Each has the span of its first use, so that rustc blames that for a bound which
/// the capture does not satisfy.
fn values(captures: &[Capture]) -> Expr {
    let elements = captures.iter().map(|capture| capture.ident.to_token_stream());
    Expr::Verbatim(bundle(elements.collect()))
}
