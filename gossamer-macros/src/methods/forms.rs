//! Writes the three forms of a delegated method: blocking, with a callback, and with a future.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{
    Attribute, FnArg, GenericParam, Generics, Ident, ImplItemFn, Pat, ReturnType, Type, Visibility,
    WherePredicate, parse_quote,
};

use super::{Property, attributes_of};
use crate::captures::{bundle, gossamer_span, place};
use crate::generics::{add_predicates, bound_type_parameters};
use crate::self_type::SpellOutSelf;

/// Types that everyone knows to be `NoRef`: a bound on them would only clutter the docs.
const PLAIN: [&str; 18] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64",
    "u128", "usize", "String", "()",
];

/// A method that can be delegated, with `Self` spelled out.
pub(super) struct Method<'a> {
    property: &'a Property,
    name: &'a Ident,
    visibility: &'a Visibility,
    attributes: &'a [Attribute],
    generics: Generics,
    arguments: Vec<Argument>,
    result: Type,
}

/// An argument of a method, without its receiver.
struct Argument {
    name: Ident,
    ty: Type,
}

impl<'a> Method<'a> {
    /// The method of `property` that `function` is.
    pub(super) fn new(function: &'a ImplItemFn, property: &'a Property) -> Self {
        let mut signature = function.sig.clone();
        SpellOutSelf { meaning: &property.ty }.visit_signature_mut(&mut signature);
        let typed = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(argument) => Some(argument),
            FnArg::Receiver(_) => None,
        });
        let arguments: Vec<Argument> = typed
            .enumerate()
            .map(|(position, argument)| Argument {
                name: argument_name(&argument.pat, position),
                ty: (*argument.ty).clone(),
            })
            .collect();
        let result = match signature.output {
            ReturnType::Default => parse_quote!(()),
            ReturnType::Type(_, result) => *result,
        };
        let mut method = Self {
            property,
            name: &function.sig.ident,
            visibility: &function.vis,
            attributes: &function.attrs,
            generics: signature.generics,
            arguments,
            result,
        };
        method.bound_generics();
        method
    }

    /// Bounds what travels by `NoRef`. The lifetime, of no use otherwise, makes rustc check the bound where the method is called,
    /// not where it is declared.
    fn bound_generics(&mut self) {
        let travelling = self.travelling().filter(|ty| !is_plain(ty)).map(|ty| -> WherePredicate {
            let span = gossamer_span(ty.span());
            syn::parse_quote_spanned!(span=> for<'lazily> #ty: ::gossamer::NoRef)
        });
        let travelling = travelling.collect();
        bound_type_parameters(&mut self.generics, &parse_quote!('static));
        add_predicates(&mut self.generics, travelling);
    }

    /// The types of the values that travel.
    fn travelling(&self) -> impl Iterator<Item = &Type> {
        self.arguments.iter().map(|argument| &argument.ty).chain([&self.result])
    }

    /// Code that compiles only if the travelling types are `NoRef`, for those that depend on no parameter.
    pub(super) fn checks(&self) -> Vec<TokenStream> {
        let cfgs = attributes_of(self.attributes, &["cfg"]);
        let parameters: Vec<String> = [&self.property.generics, &self.generics]
            .into_iter()
            .flat_map(|generics| generics.params.iter().filter_map(parameter_name))
            .collect();
        let checked =
            self.travelling().filter(|ty| !is_plain(ty) && !mentions(ty.to_token_stream(), &parameters));
        let check = |ty: &Type| {
            let span = gossamer_span(ty.span());
            quote_spanned!(span=> #(#cfgs)* travels::<#ty>();)
        };
        checked.map(check).collect()
    }

    /// The closure that is delegated, and its explicit arguments if there are any.
    fn delegated(&self) -> (TokenStream, Option<TokenStream>) {
        let Self { name, arguments, .. } = self;
        let ty = &self.property.ty;
        let turbofish = self.turbofish();
        let inner: Vec<TokenStream> = (0..arguments.len())
            .map(|position| {
                Ident::new(&format!("argument_{position}"), Span::mixed_site()).into_token_stream()
            })
            .collect();
        let outer = arguments.iter().map(|argument| argument.name.to_token_stream());
        let pattern = (!arguments.is_empty()).then(|| bundle(inner.clone()));
        let values = (!arguments.is_empty()).then(|| bundle(outer.collect()));
        let (span, place) = (Span::mixed_site(), place(name.span()));
        let call = quote_spanned!(span=> <#ty>::#name #turbofish (property, #(#inner),*));
        (quote_spanned!(span=> const { |property, #pattern| { #place #call } }), values)
    }

    /// The type and constant arguments: they need not follow from the others.
    fn turbofish(&self) -> Option<TokenStream> {
        let names: Vec<Ident> = self.generics.params.iter().filter_map(parameter_ident).collect();
        (!names.is_empty()).then(|| quote!(::<#(#names),*>))
    }

    /// One form: `method` is that of `Trust` which it calls, `trailing` a callback.
    fn form(&self, form: &Form) -> TokenStream {
        let Form { name, docs, attributes, callback, output, apply, apply_with } = form;
        let Self { visibility, generics, arguments, .. } = self;
        let (impl_generics, _, where_clause) = generics.split_for_impl();
        let parameters = arguments.iter().map(|Argument { name, ty }| quote!(#name: #ty));
        let (closure, values) = self.delegated();
        let method = if values.is_some() { apply_with } else { apply };
        let values = values.into_iter();
        let span = Span::mixed_site();
        let callback_argument = callback.as_ref().map(|_| quote_spanned!(span=> then));
        quote_spanned! {span=>
            #(#docs)*
            #(#attributes)*
            #[track_caller]
            #visibility fn #name #impl_generics (&self, #(#parameters,)* #callback) -> #output #where_clause {
                ::gossamer::Trust::#method(&self.0, #(#values,)* #closure, #callback_argument)
            }
        }
    }

    fn blocking(&self) -> Form {
        let result = &self.result;
        Form {
            name: self.name.clone(),
            docs: attributes_of(self.attributes, &["doc"]),
            attributes: attributes_of(self.attributes, &["cfg", "deprecated", "must_use"]),
            callback: None,
            output: quote!(#result),
            apply: format_ident!("apply"),
            apply_with: format_ident!("__apply_with"),
        }
    }

    fn with_callback(&self) -> Form {
        let result = &self.result;
        let span = Span::mixed_site();
        Form {
            docs: self.docs("never blocks; `then` is called with the result, on the worker that called"),
            callback: Some(quote_spanned!(span=> then: impl ::core::ops::FnOnce(#result) + 'static)),
            output: quote!(()),
            ..self.variant("then")
        }
    }

    fn with_future(&self) -> Form {
        let result = &self.result;
        Form {
            docs: self.docs("never blocks; gives the result as a future"),
            output: quote!(::gossamer::Pending<#result>),
            ..self.variant("async")
        }
    }

    fn variant(&self, suffix: &str) -> Form {
        Form {
            name: format_ident!("{}_{}", self.name, suffix),
            attributes: attributes_of(self.attributes, &["cfg", "deprecated"]),
            apply: format_ident!("apply_{}", suffix),
            apply_with: format_ident!("__apply_with_{}", suffix),
            ..self.blocking()
        }
    }

    fn docs(&self, difference: &str) -> Vec<Attribute> {
        let doc = format!("Like `{}`, but {}.", self.name, difference);
        vec![parse_quote!(#[doc = #doc])]
    }
}

impl ToTokens for Method<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for form in [self.blocking(), self.with_callback(), self.with_future()] {
            tokens.extend(self.form(&form));
        }
    }
}

/// In what one form differs from the others.
struct Form {
    name: Ident,
    docs: Vec<Attribute>,
    attributes: Vec<Attribute>,
    callback: Option<TokenStream>,
    output: TokenStream,
    /// The method of `Trust` to call, without arguments and with those before the closure.
    apply: Ident,
    apply_with: Ident,
}

/// The name of an argument in the forms; a pattern has none, so it gets one.
fn argument_name(pattern: &Pat, position: usize) -> Ident {
    match pattern {
        Pat::Ident(pattern) => pattern.ident.clone(),
        _ => Ident::new(&format!("argument_{position}"), Span::mixed_site()),
    }
}

fn parameter_ident(parameter: &GenericParam) -> Option<Ident> {
    match parameter {
        GenericParam::Type(parameter) => Some(parameter.ident.clone()),
        GenericParam::Const(parameter) => Some(parameter.ident.clone()),
        GenericParam::Lifetime(_) => None,
    }
}

fn parameter_name(parameter: &GenericParam) -> Option<String> {
    parameter_ident(parameter).map(|name| name.to_string())
}

fn is_plain(ty: &Type) -> bool {
    PLAIN.contains(&ty.to_token_stream().to_string().as_str())
}

/// Whether one of the names is among the tokens.
fn mentions(tokens: TokenStream, names: &[String]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.contains(&ident.to_string()),
        TokenTree::Group(group) => mentions(group.stream(), names),
        _ => false,
    })
}
