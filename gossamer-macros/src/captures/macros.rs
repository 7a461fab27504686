//! The tokens of macro calls inside a function body.
//!
//! The macros of the standard library, and `select!`, are read as what they are. The arguments of others are read as expressions or statements if they
//! parse so. What does not parse is searched for names, with care not to take fields, paths and keys for variables;
//! a name found that way is captured, at worst in vain.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut;
use syn::*;

use super::format_string::inline_names;
use super::frame::Seen;
use super::pattern::{self, Match};
use super::printed_text;
use super::select;
use super::walk::Walker;

/// How the tokens of a macro are read.
#[derive(Clone, Copy)]
enum Grammar {
    /// A format string, at this argument or the next literal after it, and its arguments.
    Format(usize),
    /// Values.
    Values,
    /// A value and a pattern.
    Matches,
    /// Futures and handlers.
    Select,
    /// Text that is not evaluated.
    Opaque,
    /// Not known.
    Unknown,
}

impl Grammar {
    fn of(path: &Path) -> Self {
        let name = path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        match name.as_str() {
            "print" | "println" | "eprint" | "eprintln" | "format" | "format_args" => Self::Format(0),
            "panic" | "todo" | "unimplemented" | "unreachable" => Self::Format(0),
            "write" | "writeln" | "assert" | "debug_assert" => Self::Format(1),
            "assert_eq" | "assert_ne" | "debug_assert_eq" | "debug_assert_ne" => Self::Format(2),
            "vec" | "dbg" => Self::Values,
            "matches" => Self::Matches,
            "select" => Self::Select,
            "stringify" | "concat" | "include" | "include_str" | "include_bytes" | "env" | "option_env"
            | "compile_error" | "cfg" | "line" | "column" | "file" | "module_path" | "macro_rules" => {
                Self::Opaque
            }
            _ => Self::Unknown,
        }
    }
}

/// Walks the arguments of a macro call, and writes them anew where a delegated closure in them was rewritten.
pub(super) fn walk(walker: &mut Walker, call: &mut Macro) {
    let before = walker.rewritten;
    let read = match Grammar::of(&call.path) {
        Grammar::Opaque => return,
        Grammar::Matches => walk_matches(walker, call),
        Grammar::Select => {
            select::walk(walker, call).or_else(|| walk_expressions(walker, call, Grammar::Unknown))
        }
        grammar => walk_expressions(walker, call, grammar),
    };
    match read {
        Some(tokens) if walker.rewritten > before => printed_text::replace_tokens(call, tokens),
        Some(_) => {}
        None => search(walker, call.tokens.clone()),
    }
}

fn walk_expressions(walker: &mut Walker, call: &Macro, grammar: Grammar) -> Option<TokenStream> {
    walk_arguments(walker, call, grammar)
        .or_else(|| walk_repetition(walker, call))
        .or_else(|| walk_statements(walker, call))
}

fn walk_arguments(walker: &mut Walker, call: &Macro, grammar: Grammar) -> Option<TokenStream> {
    let mut arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated).ok()?;
    let named: HashSet<String> = arguments.iter().filter_map(argument_name).collect();
    let strings: Vec<usize> = positions_of_format_strings(&arguments, grammar);
    let seen = if matches!(grammar, Grammar::Unknown) { Seen::Perhaps } else { Seen::Surely };
    for (position, argument) in arguments.iter_mut().enumerate() {
        match argument {
            Expr::Assign(assignment) if argument_name_of(assignment).is_some() => {
                walker.visit_expr_mut(&mut assignment.right);
            }
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if strings.contains(&position) => {
                use_inline_names(walker, text, &named, seen);
            }
            _ => walker.visit_expr_mut(argument),
        }
    }
    Some(arguments.into_token_stream())
}

/// Which arguments are, or may be, format strings.
fn positions_of_format_strings(arguments: &Punctuated<Expr, Token![,]>, grammar: Grammar) -> Vec<usize> {
    let strings = arguments.iter().enumerate().filter(|(_, argument)| is_string(argument));
    let positions = strings.map(|(position, _)| position);
    match grammar {
        Grammar::Format(first) => positions.filter(|position| *position >= first).take(1).collect(),
        Grammar::Unknown => positions.collect(),
        Grammar::Values | Grammar::Matches | Grammar::Select | Grammar::Opaque => Vec::new(),
    }
}

/// `name = value`: the name is the macro's, not a variable.
fn argument_name(argument: &Expr) -> Option<String> {
    match argument {
        Expr::Assign(assignment) => argument_name_of(assignment),
        _ => None,
    }
}

fn argument_name_of(assignment: &ExprAssign) -> Option<String> {
    match &*assignment.left {
        Expr::Path(name) => name.path.get_ident().map(Ident::to_string),
        _ => None,
    }
}

fn is_string(argument: &Expr) -> bool {
    matches!(argument, Expr::Lit(ExprLit { lit: Lit::Str(_), .. }))
}

fn use_inline_names(walker: &mut Walker, text: &LitStr, named: &HashSet<String>, seen: Seen) {
    for name in inline_names(&text.value()).iter().filter(|name| !named.contains(*name)) {
        walker.use_name(name, text.span(), seen);
    }
}

/// `vec![element; length]`.
fn walk_repetition(walker: &mut Walker, call: &Macro) -> Option<TokenStream> {
    struct Repetition(Expr, Token![;], Expr);
    impl Parse for Repetition {
        fn parse(input: ParseStream<'_>) -> Result<Self> {
            Ok(Self(input.parse()?, input.parse()?, input.parse()?))
        }
    }
    let Repetition(mut element, semicolon, mut length) = call.parse_body().ok()?;
    walker.visit_expr_mut(&mut element);
    walker.visit_expr_mut(&mut length);
    let mut tokens = element.into_token_stream();
    semicolon.to_tokens(&mut tokens);
    length.to_tokens(&mut tokens);
    Some(tokens)
}

fn walk_statements(walker: &mut Walker, call: &Macro) -> Option<TokenStream> {
    let mut statements = call.parse_body_with(Block::parse_within).ok()?;
    walker.in_scope(|walker| walker.statements(&mut statements));
    Some(statements.iter().map(ToTokens::to_token_stream).collect())
}

/// `matches!(value, pattern if guard)`.
fn walk_matches(walker: &mut Walker, call: &Macro) -> Option<TokenStream> {
    struct Matches {
        value: Expr,
        comma: Token![,],
        pattern: Pat,
        guard: Option<(Token![if], Expr)>,
        trailing: Option<Token![,]>,
    }
    impl Parse for Matches {
        fn parse(input: ParseStream<'_>) -> Result<Self> {
            Ok(Self {
                value: input.parse()?,
                comma: input.parse()?,
                pattern: Pat::parse_multi_with_leading_vert(input)?,
                guard: if input.peek(Token![if]) { Some((input.parse()?, input.parse()?)) } else { None },
                trailing: input.parse()?,
            })
        }
    }
    let Matches { mut value, comma, pattern, mut guard, trailing } = call.parse_body().ok()?;
    walker.visit_expr_mut(&mut value);
    walker.in_scope(|walker| {
        pattern::bind(&mut walker.scopes, &pattern, Match::Maybe, None);
        if let Some((_, guard)) = &mut guard {
            walker.visit_expr_mut(guard);
        }
    });
    let (if_token, guard) = guard.unzip();
    Some(quote::quote!(#value #comma #pattern #if_token #guard #trailing))
}

/// Searches tokens of an unknown grammar for variables.
fn search(walker: &mut Walker, tokens: TokenStream) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (position, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => search(walker, group.stream()),
            TokenTree::Ident(ident) if may_be_variable(&tokens, position) => {
                walker.use_ident(ident, Seen::Perhaps);
            }
            TokenTree::Literal(_) => {
                if let Ok(text) = parse2::<LitStr>(token.to_token_stream()) {
                    use_inline_names(walker, &text, &HashSet::new(), Seen::Perhaps);
                }
            }
            _ => {}
        }
    }
}

/// Whether the identifier at `position` stands where a variable can: it is not a field, method, path, lifetime, macro or key.
fn may_be_variable(tokens: &[TokenTree], position: usize) -> bool {
    let punctuation = |at: usize| match tokens.get(at) {
        Some(TokenTree::Punct(punctuation)) => Some((punctuation.as_char(), punctuation.spacing())),
        _ => None,
    };
    let before = |steps| position.checked_sub(steps).and_then(punctuation).map(|(letter, _)| letter);
    let called = matches!(tokens.get(position + 2), Some(TokenTree::Group(group)) if group.delimiter() != Delimiter::None);
    let member = before(1) == Some('.') && before(2) != Some('.');
    let in_path = before(1) == Some(':') && before(2) == Some(':');
    let lifetime = before(1) == Some('\'');
    let heads_something = match punctuation(position + 1) {
        Some((':', _) | ('=', Spacing::Alone)) => true,
        Some(('!', _)) => called,
        _ => false,
    };
    !(member || in_path || lifetime || heads_something)
}
