//! What `assert!` and `dbg!` print, whose arguments were rewritten: these as they were written, instead of what became of
//! them.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, Macro, Token, parse_quote_spanned, parse_str};

type Arguments = Punctuated<Expr, Token![,]>;

/// Gives a call its rewritten tokens, and the text that it would have printed.
pub(super) fn replace_tokens(call: &mut Macro, rewritten: TokenStream) {
    let names: Vec<_> = call.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let message = match names[..] {
        ["assert" | "debug_assert"] | ["std" | "core", "assert" | "debug_assert"] => message(call),
        ["dbg"] | ["std", "dbg"] => return replace_dbg(call, rewritten),
        _ => None,
    };
    call.tokens = rewritten;
    call.tokens.extend(message);
}

/// The message of an `assert!` that has none.
fn message(call: &Macro) -> Option<TokenStream> {
    let arguments = call.parse_body_with(Arguments::parse_terminated).ok()?;
    if arguments.len() != 1 {
        return None;
    }
    let comma = (!arguments.trailing_punct()).then(<Token![,]>::default);
    let text = format!("assertion failed: {}", written(call, &arguments).concat());
    let text = text.replace('{', "{{").replace('}', "}}");
    Some(quote!(#comma #text))
}

/// `dbg!` takes no text besides, so another macro takes its place, with its text before each value.
fn replace_dbg(call: &mut Macro, rewritten: TokenStream) {
    let arguments = call.parse_body_with(Arguments::parse_terminated);
    let values = Arguments::parse_terminated.parse2(rewritten.clone());
    let (Ok(arguments), Ok(values)) = (arguments, values) else {
        call.tokens = rewritten;
        return;
    };
    let (texts, values) = (written(call, &arguments), values.iter());
    call.tokens = quote!(#(#texts #values),*);
    // The user's span, since it prints its line.
    call.path = parse_quote_spanned!(call.path.span()=> ::gossamer::__private::dbg);
}

/// An argument as the file has it. If there are more, or a macro has made it, their tokens, in which a macro cannot tell
/// where there were spaces.
fn written(call: &Macro, arguments: &Arguments) -> Vec<String> {
    let tokens: Vec<_> = arguments.iter().map(|argument| argument.to_token_stream().to_string()).collect();
    let [only] = &tokens[..] else { return tokens };
    let source = call.delimiter.span().join().source_text().unwrap_or_default();
    let inside = source.get(1..source.len().saturating_sub(1)).unwrap_or_default().trim();
    let text = inside.strip_suffix(',').unwrap_or(inside).trim_end();
    match parse_str::<Expr>(text) {
        Ok(parsed) if parsed.to_token_stream().to_string() == *only => vec![text.to_owned()],
        _ => tokens,
    }
}
