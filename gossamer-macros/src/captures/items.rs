//! Items: the names they bind in a block, and the functions inside them.

use syn::{Fields, ImplItem, Item, ItemFn, TraitItem};

use super::scope::{Meaning, Scopes};
use super::walk::rewrite_body;

/// Binds the name of an item of a block.
///
/// Imports bind nothing here: they cannot be told from modules and types (`use std::io`), which share no names with variables.
pub(super) fn bind(scopes: &mut Scopes, item: &Item) {
    match item {
        Item::Const(item) => scopes.bind(&item.ident, Meaning::Constant),
        Item::Static(item) => scopes.bind(&item.ident, Meaning::Constant),
        Item::Struct(item) if matches!(item.fields, Fields::Unit) => {
            scopes.bind(&item.ident, Meaning::Constant)
        }
        Item::Fn(item) => scopes.bind(&item.sig.ident, Meaning::Function),
        _ => {}
    }
}

/// Rewrites the delegated closures in every function inside `item`.
pub(crate) fn rewrite_item(item: &mut Item) {
    match item {
        Item::Fn(item) => rewrite_function(item),
        Item::Impl(item) => rewrite_impl_functions(&mut item.items),
        Item::Trait(item) => rewrite_trait_functions(&mut item.items),
        Item::Mod(item) => {
            let items = item.content.iter_mut().flat_map(|(_, items)| items);
            items.for_each(rewrite_item);
        }
        _ => {}
    }
}

/// Rewrites the delegated closures in a function.
pub(crate) fn rewrite_function(item: &mut ItemFn) {
    rewrite_body(&mut item.attrs, &item.sig, &mut item.block);
}

/// Rewrites the delegated closures in every function of an impl.
pub(crate) fn rewrite_impl_functions(items: &mut [ImplItem]) {
    for item in items {
        if let ImplItem::Fn(item) = item {
            rewrite_body(&mut item.attrs, &item.sig, &mut item.block);
        }
    }
}

fn rewrite_trait_functions(items: &mut [TraitItem]) {
    for item in items {
        if let TraitItem::Fn(item) = item
            && let Some(body) = &mut item.default
        {
            rewrite_body(&mut item.attrs, &item.sig, body);
        }
    }
}
