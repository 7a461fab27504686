//! Functions that delegate, by imported names: code that compiles only if they are gossamer's. It also uses the import,
//! which the rewritten call does not.

use super::rewrite::gossamer_span;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Path;

/// The closures in it are never called.
pub(super) fn check_of_import(plain: &Ident, path: &Path) -> TokenStream {
    let captures = quote!("it is handed a capturing closure");
    let arguments = quote!("it is handed a closure and its arguments");
    let collections = |label, types| check_of_function((plain, path), &quote!(collections), &label, &types);
    match plain.to_string().as_str() {
        "spawn" => check_of_handle(plain, &quote!(JoinHandle), &captures, &quote!(|| ())),
        "spawn_on" => {
            let call = quote!(::gossamer::Trustee::here(), || ());
            check_of_handle(plain, &quote!(JoinHandle), &captures, &call)
        }
        "spawn_with" => check_of_handle(plain, &quote!(JoinHandle), &arguments, &quote!(|()| (), ())),
        "spawn_on_with" => {
            let call = quote!(::gossamer::Trustee::here(), |()| (), ());
            check_of_handle(plain, &quote!(JoinHandle), &arguments, &call)
        }
        "on_each_node" => {
            check_of_function((plain, path), &quote!(rack), &arguments, &quote!((), (), fn(())))
        }
        "par_for_each" => collections(captures, quote!(fn(usize))),
        "par_for_each_with" => collections(arguments, quote!((), fn(usize, &()))),
        "par_fold" => collections(captures, quote!((), fn((), usize))),
        "par_fold_with" => collections(arguments, quote!((), (), fn((), usize, &()))),
        "par_map_reduce" => collections(captures, quote!((), fn(usize), fn((), ()))),
        "par_map_reduce_with" => collections(arguments, quote!((), (), fn(usize, &()), fn((), ()))),
        "par_emit" => {
            collections(captures, quote!((), (), fn(usize, &mut ::gossamer::collections::Emitted<(), ()>)))
        }
        "par_emit_with" => collections(
            arguments,
            quote!((), (), (), fn(usize, &mut ::gossamer::collections::Emitted<(), ()>, &())),
        ),
        _ => check_of_handle(plain, &quote!(JoinMany), &arguments, &quote!(0, |_, ()| (), ())),
    }
}

/// Of a function whose call returns one of gossamer's handles.
fn check_of_handle(
    plain: &Ident,
    handle: &TokenStream,
    label: &TokenStream,
    call: &TokenStream,
) -> TokenStream {
    let message = format!("this `{plain}` is not gossamer's: it returns `{{Self}}`");
    let note = note(
        &format!("a bare `{plain}`"),
        &format!("call another one by its path, such as `std::thread::{plain}`"),
    );
    quote_spanned! {gossamer_span(plain.span())=>
        {
            #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
            trait HandleOfGossamer {}
            impl<U> HandleOfGossamer for ::gossamer::#handle<U> {}
            fn check<H: HandleOfGossamer>(_: impl ::core::ops::FnOnce() -> H) {}
            let _ = || check(|| #plain(#call));
        }
    }
}

/// Of a function whose result says nothing: with these types it has to be the one of this module.
fn check_of_function(
    (plain, path): (&Ident, &Path),
    module: &TokenStream,
    label: &TokenStream,
    types: &TokenStream,
) -> TokenStream {
    let written: String = path.to_token_stream().to_string().split_whitespace().collect();
    let message = format!("this `{written}` is not gossamer's");
    let advice = format!("call another one by another name: `use {written} as other_{plain};`");
    let note = note(&format!("`{written}`"), &advice);
    quote_spanned! {gossamer_span(plain.span())=>
        {
            #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
            trait FunctionOfGossamer {}
            impl<F> FunctionOfGossamer for (F, F) {}
            fn check(_: impl FunctionOfGossamer) {}
            let _ = || check((#path::<#types>, ::gossamer::#module::#plain::<#types>));
        }
    }
}

fn note(written: &str, advice: &str) -> String {
    format!(
        "in a function marked #[gossamer::main] or #[gossamer::delegate] {written} is taken for gossamer's; {advice}"
    )
}
