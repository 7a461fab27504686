//! `#[gossamer::main]`: parse, check, expand.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, ItemFn, Lit, Meta, ReturnType, Safety, Signature, Token, Type};

use crate::captures::{gossamer_span, rewrite_function};
use crate::messages;
use crate::report::Report;

/// The expansion of the attribute.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut report = Report::default();
    let threads = parse_arguments(arguments, &mut report);
    let Ok(mut function) = syn::parse2::<ItemFn>(item.clone()) else {
        report.add(first_token(&item), &messages::MAIN_NOT_A_FUNCTION, &[]);
        let errors = report.into_compile_errors();
        return quote!(#item #errors);
    };
    check(&function.sig, &mut report);
    if report.len() > 0 {
        make_plain(&mut function.sig);
        let errors = report.into_compile_errors();
        return quote!(#function #errors);
    }
    rewrite_function(&mut function);
    run_in_runtime(&function, threads.as_ref())
}

/// Reads `threads = N`.
fn parse_arguments(arguments: TokenStream, report: &mut Report) -> Option<Expr> {
    let parsed = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(arguments);
    let arguments = parsed.map_err(|error| report.add_error(error)).ok()?;
    let mut threads = None;
    for argument in arguments {
        if !argument.path().is_ident("threads") {
            let name = argument.path().to_token_stream().to_string();
            report.add(argument.path(), &messages::MAIN_ARGUMENT_UNKNOWN, &[("name", &name)]);
        } else if threads.is_some() {
            report.add(&argument, &messages::MAIN_ARGUMENT_TWICE, &[]);
        } else {
            threads = threads_argument(argument, report);
        }
    }
    threads
}

fn threads_argument(argument: Meta, report: &mut Report) -> Option<Expr> {
    match argument {
        Meta::NameValue(threads) if is_number_of_threads(&threads.value) => Some(threads.value),
        Meta::NameValue(threads) => {
            report.add(&threads.value, &messages::MAIN_THREADS, &[]);
            None
        }
        other => {
            report.add(other, &messages::MAIN_THREADS, &[]);
            None
        }
    }
}

/// A literal can be judged here; of any other expression rustc checks the type.
fn is_number_of_threads(value: &Expr) -> bool {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
            number.base10_parse::<usize>().is_ok_and(|number| number > 0)
        }
        Expr::Lit(_) => false,
        _ => true,
    }
}

fn check(signature: &Signature, report: &mut Report) {
    if let Some(keyword) = &signature.asyncness {
        report.add(keyword, &messages::MAIN_ASYNC, &[]);
    }
    if let Some(keyword) = &signature.constness {
        report.add(keyword, &messages::MAIN_QUALIFIED, &[("qualifier", "const")]);
    }
    if let Safety::Unsafe(keyword) = &signature.safety {
        report.add(keyword, &messages::MAIN_QUALIFIED, &[("qualifier", "unsafe")]);
    }
    if let Some(abi) = &signature.abi {
        report.add(abi, &messages::MAIN_QUALIFIED, &[("qualifier", "extern")]);
    }
    if !signature.inputs.is_empty() {
        report.add(&signature.inputs, &messages::MAIN_PARAMETERS, &[]);
    }
    if !signature.generics.params.is_empty() {
        report.add(&signature.generics, &messages::MAIN_GENERIC, &[]);
    }
}

/// Makes the signature one that rustc accepts for `main`, so that it adds no errors of its own.
fn make_plain(signature: &mut Signature) {
    signature.asyncness = None;
    signature.constness = None;
}

fn run_in_runtime(function: &ItemFn, threads: Option<&Expr>) -> TokenStream {
    let ItemFn { attrs, vis, sig, block, .. } = function;
    let threads = match threads {
        Some(number) => {
            let span = gossamer_span(number.span());
            quote_spanned!(span=> ::core::option::Option::<usize>::Some(#number))
        }
        None => quote!(::core::option::Option::None),
    };
    let body = match &sig.output {
        ReturnType::Default => quote_spanned! {Span::mixed_site()=>
            ::gossamer::__private::main(#threads, || -> () #block)
        },
        // Stable Rust does not take it for a type.
        ReturnType::Type(_, never) if matches!(**never, Type::Never(_)) => {
            quote_spanned! {Span::mixed_site()=>
                ::gossamer::__private::main(#threads, || -> #never #block)
            }
        }
        ReturnType::Type(_, result) => quote_spanned! {Span::mixed_site()=>
            #[allow(unused_imports)]
            use ::gossamer::__private::{AsItIs as _, AsText as _, OrExit as _};
            (&&&&::gossamer::__private::Program::<#result>::new()).run_program(#threads, || -> #result #block)
        },
    };
    quote!(#(#attrs)* #vis #sig { #body })
}

/// Where to put the caret if the item is none that can be parsed.
fn first_token(item: &TokenStream) -> TokenStream {
    item.clone().into_iter().take(1).collect()
}
