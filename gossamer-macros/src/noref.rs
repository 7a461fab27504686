//! `#[derive(NoRef)]`: parse, check, expand.
//!
//! The fields are checked in a table of their own, not by bounds of the impl, so that recursive types work, and each is mentioned
//! there only, so that one that does not travel is one error. The impl holds only where the type is `Send`: without that bound a
//! field that is not would be reported twice.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{
    Data, DataEnum, DeriveInput, Field, Fields, Generics, Type, TypePath, WherePredicate, parse_quote,
};

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
    let (impl_generics, type_generics, _) = generics.split_for_impl();
    let mut send_generics = generics.clone();
    let is_send = parse_quote!(for<'lazily> #name #type_generics: ::core::marker::Send);
    add_predicates(&mut send_generics, vec![is_send]);
    let (_, _, send_clause) = send_generics.split_for_impl();
    let itself: Type = parse_quote!(#name #type_generics);
    let mentions = fields.iter().map(|field| mention_of(field, &itself));
    let (shape, encode, decode) = match &input.data {
        Data::Enum(data) => (shape_of_enum(data), encode_enum(data, &itself), decode_enum(data, &itself)),
        Data::Struct(data) => {
            let whole = construct(&quote!(Self), &data.fields, 0, &itself);
            (shape_of_struct(data.fields.len()), encode_struct(&data.fields, &itself), whole)
        }
        Data::Union(_) => Default::default(),
    };
    quote_spanned! {Span::mixed_site()=>
        // SAFETY: a value is its fields and nothing else, and `FIELDS` compiles only if each of them is `NoRef`. A field is
        // moved out of a value that is not dropped after, by the entry that was made for its type. The type is named where an entry
        // is used, since a macro below this one may have changed the field. Fields are read in the order in which they are written.
        unsafe impl #impl_generics ::gossamer::NoRef for #name #type_generics #send_clause {
            const SHAPE: ::gossamer::__private::Shape = #shape;
            const FIELDS: &'static [::gossamer::__private::Field] = &[#(#mentions),*];

            fn encode(self, to: &mut ::gossamer::Encoder) {
                let this = ::core::mem::ManuallyDrop::new(self);
                #encode
            }

            fn decode(
                from: &mut ::gossamer::Decoder<'_>,
            ) -> ::core::result::Result<Self, ::gossamer::Malformed> {
                #decode
            }
        }
    }
}

/// The one place where the type of a field of `itself` has to be `NoRef`, with the error on it.
fn mention_of(field: &Field, itself: &Type) -> TokenStream {
    let span = gossamer_span(field.ty.span());
    let ty = spelled_out(&field.ty, itself);
    quote_spanned!(span=> ::gossamer::__private::Field::of::<#ty>())
}

/// The types of fields of `itself`, as they can be named in its impl.
fn types_of(fields: &Fields, itself: &Type) -> Vec<Type> {
    fields.iter().map(|field| spelled_out(&field.ty, itself)).collect()
}

fn spelled_out(ty: &Type, itself: &Type) -> Type {
    let mut ty = ty.clone();
    SpellOutSelf { meaning: itself }.visit_type_mut(&mut ty);
    ty
}

fn shape_of_struct(fields: usize) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        ::gossamer::__private::Field::struct_shape::<#fields>(
            ::core::mem::size_of::<Self>(),
            <Self as ::gossamer::NoRef>::FIELDS,
        )
    }
}

fn shape_of_enum(data: &DataEnum) -> TokenStream {
    let mut first = 0;
    let variants = data.variants.iter().map(|variant| {
        let (start, fields) = (first, variant.fields.len());
        first += fields;
        quote_spanned! {Span::mixed_site()=>
            ::gossamer::__private::Field::variant_shape::<#fields>(#start, <Self as ::gossamer::NoRef>::FIELDS)
        }
    });
    quote_spanned!(Span::mixed_site()=> ::gossamer::__private::Field::enum_shape([#(#variants),*]))
}

/// By raw references, since a packed struct has no others.
fn encode_struct(fields: &Fields, itself: &Type) -> TokenStream {
    let fields = fields.members().zip(types_of(fields, itself)).enumerate();
    let encode = fields.map(|(index, (member, ty))| {
        let field = quote_spanned!(gossamer_span(ty.span())=> &raw const (*this).#member);
        quote_spanned! {Span::mixed_site()=>
            // SAFETY: `this` is not dropped, and the entry was made for this type, which the compiler finds the field to have.
            unsafe { <Self as ::gossamer::NoRef>::FIELDS[#index].encode::<#ty>(#field, to) };
        }
    });
    quote!(#(#encode)*)
}

fn encode_enum(data: &DataEnum, itself: &Type) -> TokenStream {
    let mut first = 0;
    let arms = data.variants.iter().enumerate().map(|(tag, variant)| {
        let (name, members) = (&variant.ident, variant.fields.members());
        let types = types_of(&variant.fields, itself);
        let value =
            |(index, ty): (usize, &Type)| format_ident!("field_{index}", span = gossamer_span(ty.span()));
        let values: Vec<_> = types.iter().enumerate().map(value).collect();
        let indices = first..first + values.len();
        first += values.len();
        quote_spanned! {Span::mixed_site()=>
            Self::#name { #(#members: #values),* } => {
                to.length(#tag);
                // SAFETY: as in `encode_struct`; the indices count the fields of all variants, as `FIELDS` does.
                #(unsafe { <Self as ::gossamer::NoRef>::FIELDS[#indices].encode::<#types>(#values, to) };)*
            }
        }
    });
    // An enum without variants has no values.
    match data.variants.is_empty() {
        true => quote_spanned!(Span::mixed_site()=> match *this {}),
        false => quote_spanned!(Span::mixed_site()=> match &*this { #(#arms)* }),
    }
}

fn decode_enum(data: &DataEnum, itself: &Type) -> TokenStream {
    let mut first = 0;
    let arms = data.variants.iter().enumerate().map(|(tag, variant)| {
        let name = &variant.ident;
        let name = quote_spanned!(Span::mixed_site()=> Self::#name);
        let whole = construct(&name, &variant.fields, first, itself);
        first += variant.fields.len();
        quote_spanned!(Span::mixed_site()=> #tag => #whole,)
    });
    quote_spanned! {Span::mixed_site()=>
        match from.length()? {
            #(#arms)*
            _ => ::core::result::Result::Err(::gossamer::Malformed::instead_of::<Self>()),
        }
    }
}

/// A struct or variant of decoded fields, of which `first` is the number of the first.
fn construct(name: &TokenStream, fields: &Fields, first: usize, itself: &Type) -> TokenStream {
    let values = types_of(fields, itself).into_iter().zip(first..).map(|(ty, index)| {
        quote_spanned! {gossamer_span(ty.span())=>
            // SAFETY: the entry was made for this type.
            unsafe { <Self as ::gossamer::NoRef>::FIELDS[#index].decode::<#ty>(from) }?
        }
    });
    let members = fields.members();
    quote_spanned!(Span::mixed_site()=> ::core::result::Result::Ok(#name { #(#members: #values),* }))
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
