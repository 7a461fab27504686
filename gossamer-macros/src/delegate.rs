//! `#[gossamer::delegate]`: tells apart the items that it can stand on.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Item, ItemImpl, ItemMod, TraitItemFn};

use crate::captures::{rewrite_impl_functions, rewrite_item};
use crate::messages;
use crate::methods::{self, Mode};
use crate::report::Report;

/// The expansion of the attribute.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut report = Report::default();
    if !arguments.is_empty() {
        report.add(&arguments, &messages::DELEGATE_ARGUMENT, &[]);
    }
    let expanded = match syn::parse2::<Item>(item.clone()) {
        Ok(item) => expand_item(item, &mut report),
        Err(error) => {
            report.add_error(error);
            item
        }
    };
    let errors = report.into_compile_errors();
    quote!(#expanded #errors)
}

fn expand_item(mut item: Item, report: &mut Report) -> TokenStream {
    match &mut item {
        Item::Fn(_) => rewrite_item(&mut item),
        Item::Impl(property) => match &property.trait_ {
            None => return expand_impl(property, report),
            Some((implemented, _)) => report.add(implemented, &messages::DELEGATE_TRAIT_IMPL, &[]),
        },
        Item::Mod(module) => match &mut module.content {
            Some((_, items)) => expand_module(items),
            None => report.add(&*module, &messages::DELEGATE_NO_BODY, &[]),
        },
        other => refuse(other, report),
    }
    item.into_token_stream()
}

fn expand_impl(property: &mut ItemImpl, report: &mut Report) -> TokenStream {
    let generated = methods::expand(property, Mode::Strict, report).map(|methods| methods.all());
    rewrite_impl_functions(&mut property.items);
    quote!(#property #generated)
}

/// Rewrites everything in the module, and adds the methods of its properties.
fn expand_module(items: &mut Vec<Item>) {
    let mut generated = Vec::new();
    let mut headers = HashMap::new();
    for item in items.iter_mut() {
        match item {
            Item::Mod(ItemMod { content: Some((_, items)), .. }) => expand_module(items),
            Item::Impl(property) if property.trait_.is_none() && !has_delegate(&property.attrs) => {
                generated.extend(methods_in_module(property, &mut headers));
                rewrite_impl_functions(&mut property.items);
            }
            other => rewrite_item(other),
        }
    }
    items.extend(generated.into_iter().map(Item::Verbatim));
}

/// The methods of an impl in an annotated module. The first impl of a type sets the header (its generics and bounds); further ones
/// with the same header add to it, ones with another are left alone.
fn methods_in_module(property: &ItemImpl, headers: &mut HashMap<String, String>) -> Option<TokenStream> {
    let methods = methods::expand(property, Mode::Lenient, &mut Report::default())?;
    match headers.get(&methods.name) {
        Some(header) => (*header == methods.header).then(|| methods.forms.clone()),
        None => {
            headers.insert(methods.name.clone(), methods.header.clone());
            Some(methods.all())
        }
    }
}

fn has_delegate(attributes: &[Attribute]) -> bool {
    let mut names = attributes.iter().filter_map(|attribute| attribute.path().segments.last());
    names.any(|name| name.ident == "delegate")
}

/// Reports that the attribute cannot stand on `item`.
fn refuse(item: &Item, report: &mut Report) {
    let (keyword, name): (TokenStream, _) = match item {
        Item::Struct(item) => (item.struct_token.to_token_stream(), "a struct"),
        Item::Enum(item) => (item.enum_token.to_token_stream(), "an enum"),
        Item::Union(item) => (item.union_token.to_token_stream(), "a union"),
        Item::Trait(item) => (item.trait_token.to_token_stream(), "a trait"),
        Item::Const(item) => (item.const_token.to_token_stream(), "a constant"),
        Item::Static(item) => (item.static_token.to_token_stream(), "a static"),
        Item::Type(item) => (item.type_token.to_token_stream(), "a type alias"),
        Item::Use(item) => (item.use_token.to_token_stream(), "an import"),
        Item::Macro(item) => (item.mac.path.to_token_stream(), "a macro"),
        Item::Verbatim(tokens) if syn::parse2::<TraitItemFn>(tokens.clone()).is_ok() => {
            return report.add(item, &messages::DELEGATE_NO_BODY, &[]);
        }
        other => (other.to_token_stream(), "this item"),
    };
    report.add(keyword, &messages::DELEGATE_WRONG_ITEM, &[("item", name)]);
}
