//! Writes a delegating call with its closure as a constant, and the captures as explicit arguments.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    AngleBracketedGenericArguments, Expr, ExprCall, ExprClosure, ExprMethodCall, Ident, Item, Pat,
    PathArguments, Stmt, Token, parse_quote,
};

use super::block::end_mut;
use super::call::{Arguments, Callee, Delegation, closure_mut, is_two};
use super::frame::{Capture, Seen, Taken};
use super::import::check_of_import;
use super::repeated;

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

/// `trust.apply(closure)` becomes `trust.__apply_with(captures, const { closure })`.
pub(super) fn method_call(call: &mut ExprMethodCall, delegation: &Delegation, taken: &Taken) {
    make_constant(&mut call.args, delegation, taken);
    let Some(name) = arguments_first(&call.method, delegation, taken) else { return };
    call.method = format_ident!("__{}", name);
    if let Some(turbofish) = &mut call.turbofish {
        infer_the_others(turbofish, delegation, taken);
    }
}

/// `gossamer::spawn(closure)` becomes `gossamer::__private::spawn_with(captures, const { closure })`.
pub(super) fn function_call(call: &mut ExprCall, delegation: &Delegation, taken: &Taken) -> Option<Expr> {
    make_constant(&mut call.args, delegation, taken);
    let Expr::Path(function) = &mut *call.func else { return None };
    let mut path = function.path.clone();
    path.segments.last_mut()?.arguments = PathArguments::None;
    let last = function.path.segments.last_mut()?;
    let plain = last.ident.clone();
    last.ident = arguments_first(&plain, delegation, taken)?;
    if let PathArguments::AngleBracketed(types) = &mut last.arguments {
        infer_the_others(types, delegation, taken);
    }
    if delegation.callee == Callee::Method {
        last.ident = format_ident!("__{}", last.ident);
        return None;
    }
    // With the user's own span, or rustc does not find the capture to blame.
    let (last, arguments) = (&*last, &call.args);
    let call = quote_spanned!(plain.span()=> ::gossamer::__private::#last(#arguments));
    if delegation.callee == Callee::Function {
        return Some(Expr::Verbatim(call));
    }
    let check = check_of_import(&plain, &path);
    Some(Expr::Verbatim(quote_spanned!(gossamer_span(plain.span())=> ({ #check #call }))))
}

/// The name of the form with explicit arguments, if the call is to become one that takes them first.
fn arguments_first(plain: &Ident, delegation: &Delegation, taken: &Taken) -> Option<Ident> {
    match delegation.arguments {
        Arguments::Captures(explicit) => (!taken.is_empty()).then(|| Ident::new(explicit, plain.span())),
        Arguments::Explicit => Some(plain.clone()),
        Arguments::Nothing => None,
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

/// Adds the type arguments that only the form with the arguments first has: that of the captures, which is the first, and
/// of a loop that of the closure which is called, the last.
fn infer_the_others(types: &mut AngleBracketedGenericArguments, delegation: &Delegation, taken: &Taken) {
    if !taken.is_empty() {
        types.args.insert(0, parse_quote!(_));
    }
    if delegation.repeats() {
        types.args.push(parse_quote!(_));
    }
}

/// Makes the closure a constant, its captures parameters of it, and their values an argument before it.
fn make_constant(arguments: &mut Punctuated<Expr, Token![,]>, delegation: &Delegation, taken: &Taken) {
    let position = delegation.closure;
    let Some(argument) = arguments.get_mut(position).and_then(end_mut) else { return };
    if let (Some(closure), Taken::Captures(captures)) = (closure_mut(argument), taken) {
        match delegation.repeats() {
            true => repeated::take_once(closure, captures, delegation.arguments),
            false => take_captures(closure, captures),
        }
    }
    let constant_closure = constant(argument);
    let handed = match taken {
        Taken::Captures(captures) => (!captures.is_empty()).then(|| values(captures)),
        Taken::Stored(variable) => Some(parse_quote!(#variable)),
    };
    match handed {
        Some(handed) => {
            *argument = handed;
            arguments.insert(position + 1, constant_closure);
        }
        None => *argument = constant_closure,
    }
    if is_two(delegation.call)
        && let Some(last) = arguments.last_mut()
        && closure_mut(last).is_some()
    {
        *last = constant(last);
    }
    if delegation.arguments == Arguments::Explicit {
        let mut swapped: Vec<Expr> = std::mem::take(arguments).into_iter().collect();
        swapped.swap(position, position + 1);
        *arguments = swapped.into_iter().collect();
    }
}

/// Makes the captures a parameter of their closure.
pub(super) fn take_captures(closure: &mut ExprClosure, captures: &[Capture]) {
    if !captures.is_empty() {
        closure.inputs.push(pattern(captures));
    }
}

/// A closure as a constant.
pub(super) fn constant(closure: &Expr) -> Expr {
    Expr::Verbatim(quote_spanned!(gossamer_span(closure.span())=> const { #closure }))
}

/// The parameter that takes the captures, each under its own name.
pub(super) fn pattern(captures: &[Capture]) -> Pat {
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
pub(super) fn values(captures: &[Capture]) -> Expr {
    let elements = captures.iter().map(|capture| capture.ident.to_token_stream());
    Expr::Verbatim(bundle(elements.collect()))
}
