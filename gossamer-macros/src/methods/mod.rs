//! The methods of a property, made callable on its `Trust`: three forms of each, in a struct beside the impl.
//!
//! [`check`] judges the impl and its methods, [`forms`] writes the three forms of a method.

mod check;
mod forms;
mod visible;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Attribute, Generics, Ident, ImplItem, ImplItemFn, ItemImpl, Type, parse_quote};

use crate::generics::bound_type_parameters;
use crate::report::Report;
use forms::Method;

/// How methods are taken that cannot be delegated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They are mistakes, and so are types that do not travel: the impl was marked itself.
    Strict,
    /// They are passed over, and bounds are checked where methods are called: the module was marked. The report is not shown.
    Lenient,
}

/// What an impl expands to, beside itself.
pub(crate) struct Methods {
    /// The name of the property.
    pub(crate) name: String,
    /// The impl's generics, bounds and type: impls that agree in them can share one struct.
    pub(crate) header: String,
    /// The struct that holds the forms, and what ties it to the property.
    declaration: TokenStream,
    /// The forms of the methods.
    pub(crate) forms: TokenStream,
}

impl Methods {
    /// Everything.
    pub(crate) fn all(&self) -> TokenStream {
        let Self { declaration, forms, .. } = self;
        quote!(#declaration #forms)
    }
}

/// A type whose impl is expanded.
struct Property {
    name: Ident,
    ty: Type,
    /// The impl's generics, with type parameters bound to be `'static`.
    generics: Generics,
    /// The attributes that say whether the impl is there at all.
    cfgs: Vec<Attribute>,
}

/// The methods of `item` in their three forms; nothing if it has no method that can be delegated.
pub(crate) fn expand(item: &ItemImpl, mode: Mode, report: &mut Report) -> Option<Methods> {
    let name = check::property(item, report)?;
    let mut generics = item.generics.clone();
    bound_type_parameters(&mut generics, &parse_quote!('static));
    let property =
        Property { name, ty: (*item.self_ty).clone(), generics, cfgs: attributes_of(&item.attrs, &["cfg"]) };
    let methods = delegated_methods(item, report);
    let forms: Vec<Method> = methods.into_iter().map(|method| Method::new(method, &property)).collect();
    (!forms.is_empty()).then(|| Methods {
        name: property.name.to_string(),
        header: header_of(item),
        declaration: property.declaration(),
        forms: property.implementation(&forms, mode),
    })
}

/// The methods that can be delegated; of the others the mistakes are reported.
fn delegated_methods<'a>(item: &'a ItemImpl, report: &mut Report) -> Vec<&'a ImplItemFn> {
    let functions = item.items.iter().filter_map(|item| match item {
        ImplItem::Fn(function) => Some(function),
        _ => None,
    });
    let functions: Vec<&ImplItemFn> = functions.collect();
    let with_receiver = functions.iter().copied().filter(|function| function.sig.receiver().is_some());
    with_receiver
        .filter(|method| {
            let before = report.len();
            check::method(method, &item.self_ty, report);
            check::collisions(method, &functions, report);
            report.len() == before
        })
        .collect()
}

fn header_of(item: &ItemImpl) -> String {
    let ItemImpl { generics, self_ty, .. } = item;
    let where_clause = &generics.where_clause;
    quote!(#generics #self_ty #where_clause).to_string()
}

/// The attributes with one of these names.
fn attributes_of(attributes: &[Attribute], names: &[&str]) -> Vec<Attribute> {
    let named = |attribute: &&Attribute| names.iter().any(|name| attribute.path().is_ident(name));
    attributes.iter().filter(named).cloned().collect()
}

impl Property {
    fn methods_name(&self) -> Ident {
        format_ident!("{}Methods", self.name)
    }

    /// The struct that `Trust` of the property dereferences to.
    fn declaration(&self) -> TokenStream {
        let Self { ty, cfgs, generics, .. } = self;
        let methods = self.methods_name();
        let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
        let doc = format!("The methods of `{}`, as they are called on its `Trust`.", ty.to_token_stream());
        quote_spanned! {Span::mixed_site()=>
            #(#cfgs)*
            #[doc = #doc]
            #[repr(transparent)]
            #[allow(missing_debug_implementations, private_bounds, unreachable_pub)]
            pub struct #methods #impl_generics (::gossamer::Trust<#ty>) #where_clause;

            // SAFETY: the struct is `repr(transparent)` over the trust.
            #(#cfgs)*
            #[automatically_derived]
            unsafe impl #impl_generics ::gossamer::__private::Delegate for #ty #where_clause {
                type Methods = #methods #type_generics;
            }
        }
    }

    /// The forms of the methods, and the check that what travels is `NoRef`.
    fn implementation(&self, forms: &[Method<'_>], mode: Mode) -> TokenStream {
        let Self { cfgs, generics, .. } = self;
        let methods = self.methods_name();
        let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
        let checks = (mode == Mode::Strict).then(|| self.checks(forms));
        quote_spanned! {Span::mixed_site()=>
            #(#cfgs)*
            #[automatically_derived]
            #[allow(dead_code, deprecated, private_bounds, private_interfaces, unreachable_pub, clippy::all)]
            impl #impl_generics #methods #type_generics #where_clause {
                #(#forms)*
            }
            #checks
        }
    }

    /// Compiles only if every type that travels, and depends on no parameter, is `NoRef`.
    fn checks(&self, forms: &[Method<'_>]) -> Option<TokenStream> {
        let cfgs = &self.cfgs;
        let checks: Vec<TokenStream> = forms.iter().flat_map(Method::checks).collect();
        (!checks.is_empty()).then(|| {
            quote_spanned! {Span::mixed_site()=>
                #(#cfgs)*
                const _: () = {
                    #[allow(dead_code)]
                    fn every_value_is_noref() {
                        fn travels<T: ::gossamer::NoRef>() {}
                        #(#checks)*
                    }
                };
            }
        })
    }
}
