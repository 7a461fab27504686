//! `#[derive(NoRef)]`: parse, check, expand.
//!
//! The fields are checked in a function of their own, not by bounds of the impl, so that recursive types work. The impl holds only where
//! the type is `Send`: without that bound a field that is not would be reported twice.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{Data, DeriveInput, Field, Generics, Type, TypePath, WherePredicate, parse_quote};

use crate::captures::gossamer_span;
use crate::generics::{add_predicates, bound_type_parameters};
use crate::messages;
use crate::report::Report;
use crate::self_type::SpellOutSelf;

/// The expansion of the derive.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let mut report = Report::default();
    let input = match syn::parse2::<DeriveInput>(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    match check(&input, &mut report) {
        Some(fields) => implement(&input, &fields),
        None => report.into_compile_errors(),
    }
}

/// The fields of the type, if it is one that can hold no reference.
fn check<'a>(input: &'a DeriveInput, report: &mut Report) -> Option<Vec<&'a Field>> {
    if let Some(lifetime) = input.generics.lifetimes().next() {
        report.add(lifetime, &messages::NOREF_LIFETIME, &[]);
        return None;
    }
    match &input.data {
        Data::Struct(data) => Some(data.fields.iter().collect()),
        Data::Enum(data) => Some(data.variants.iter().flat_map(|variant| &variant.fields).collect()),
        Data::Union(data) => {
            report.add(data.union_token, &messages::NOREF_UNION, &[]);
            None
        }
    }
}

fn implement(input: &DeriveInput, fields: &[&Field]) -> TokenStream {
    let name = &input.ident;
    let generics = bounded(&input.generics, fields);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let mut send_generics = generics.clone();
    let is_send = parse_quote!(for<'lazily> #name #type_generics: ::core::marker::Send);
    add_predicates(&mut send_generics, vec![is_send]);
    let (_, _, send_clause) = send_generics.split_for_impl();
    let itself: Type = parse_quote!(#name #type_generics);
    let checks = fields.iter().map(|field| check_of(&field.ty, &itself));
    quote_spanned! {Span::mixed_site()=>
        // SAFETY: a value is its fields and nothing else, and the function below compiles only if each of them is `NoRef`.
        unsafe impl #impl_generics ::gossamer::NoRef for #name #type_generics #send_clause {}
        const _: () = {
            #[allow(dead_code)]
            fn every_field_is_noref #impl_generics () #where_clause {
                fn travels<T: ::gossamer::NoRef + ?::core::marker::Sized>() {}
                #(#checks)*
            }
        };
    }
}

/// Compiles only if the type of a field of `itself` is `NoRef`, with the error on it.
fn check_of(ty: &Type, itself: &Type) -> TokenStream {
    let span = gossamer_span(ty.span());
    let mut ty = ty.clone();
    SpellOutSelf { meaning: itself }.visit_type_mut(&mut ty);
    quote_spanned!(span=> travels::<#ty>();)
}

/// The generics with each type parameter, and each associated type of one that a field has, bounded by `NoRef`.
fn bounded(generics: &Generics, fields: &[&Field]) -> Generics {
    let mut projections = Projections { generics, bounds: Vec::new() };
    for field in fields {
        projections.visit_type(&field.ty);
    }
    let mut bounded = generics.clone();
    bound_type_parameters(&mut bounded, &parse_quote!(::gossamer::NoRef));
    add_predicates(&mut bounded, projections.bounds);
    bounded
}

/// Finds types such as `I::Item`, where `I` is a type parameter.
struct Projections<'a> {
    generics: &'a Generics,
    bounds: Vec<WherePredicate>,
}

impl<'ast> Visit<'ast> for Projections<'_> {
    fn visit_type_path(&mut self, path: &'ast TypePath) {
        let first = path.path.segments.first().map(|segment| &segment.ident);
        let of_parameter = self.generics.type_params().any(|parameter| first == Some(&parameter.ident));
        if path.qself.is_some() || of_parameter && path.path.segments.len() > 1 {
            self.bounds.push(parse_quote!(#path: ::gossamer::NoRef));
        }
        visit::visit_type_path(self, path);
    }
}
