//! What an assertion prints whose condition was rewritten.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{Expr, Macro, Token, parse_str};

/// The message of an `assert!` that has none: the condition as it was written, since `assert!` would print what became
/// of it.
pub(super) fn message(call: &Macro) -> Option<TokenStream> {
    let name = call.path.get_ident()?;
    if name != "assert" && name != "debug_assert" {
        return None;
    }
    let arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated).ok()?;
    if arguments.len() != 1 {
        return None;
    }
    let comma = (!arguments.trailing_punct()).then(<Token![,]>::default);
    let text = format!("assertion failed: {}", written(call, &arguments[0]));
    let text = text.replace('{', "{{").replace('}', "}}");
    Some(quote!(#comma #text))
}

/// A condition as the file has it; as its tokens if a macro has made it.
fn written(call: &Macro, condition: &Expr) -> String {
    let tokens = condition.to_token_stream().to_string();
    let source = call.delimiter.span().join().source_text().unwrap_or_default();
    let inside = source.get(1..source.len().saturating_sub(1)).unwrap_or_default().trim();
    let text = inside.strip_suffix(',').unwrap_or(inside).trim_end();
    match parse_str::<Expr>(text) {
        Ok(parsed) if parsed.to_token_stream().to_string() == tokens => text.to_owned(),
        _ => tokens,
    }
}
