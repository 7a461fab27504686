//! A macro of somebody else, for tests of what happens when it and gossamer's stand on one item.

use proc_macro::{Ident, TokenStream, TokenTree};

/// Makes each `u128` of an item a `u8`.
#[proc_macro_attribute]
pub fn narrow(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let narrowed = item.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            let mut inner =
                proc_macro::Group::new(group.delimiter(), narrow(TokenStream::new(), group.stream()));
            inner.set_span(group.span());
            inner.into()
        }
        TokenTree::Ident(ident) if ident.to_string() == "u128" => Ident::new("u8", ident.span()).into(),
        token => token,
    });
    narrowed.collect()
}
