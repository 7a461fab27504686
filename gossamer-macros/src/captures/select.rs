//! The arms of `select!`: futures, conditions and handlers are expressions, and a handler sees what its pattern binds.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::visit_mut::VisitMut;
use syn::{Expr, ExprBlock, Macro, Pat, Result, Token, token};

use super::pattern::{self, Match};
use super::walk::Walker;

mod keyword {
    syn::custom_keyword!(biased);
}

/// `biased; pattern = future, if condition => handler, else => handler`.
struct Select {
    biased: Option<(keyword::biased, Token![;])>,
    arms: Vec<Arm>,
    otherwise: Option<(Token![else], Handler)>,
}

struct Arm {
    pattern: Pat,
    equals: Token![=],
    future: Expr,
    condition: Option<(Token![,], Token![if], Expr)>,
    handler: Handler,
}

struct Handler {
    arrow: Token![=>],
    body: Expr,
    comma: Option<Token![,]>,
}

impl Parse for Select {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let biased = input.peek(keyword::biased) && input.peek2(Token![;]);
        let biased = if biased { Some((input.parse()?, input.parse()?)) } else { None };
        let mut arms = Vec::new();
        while !input.is_empty() && !input.peek(Token![else]) {
            arms.push(input.parse()?);
        }
        let otherwise = if input.is_empty() { None } else { Some((input.parse()?, input.parse()?)) };
        Ok(Self { biased, arms, otherwise })
    }
}

impl Parse for Arm {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ok(Self {
            pattern: Pat::parse_multi_with_leading_vert(input)?,
            equals: input.parse()?,
            future: input.parse()?,
            condition: if input.peek(Token![,]) {
                Some((input.parse()?, input.parse()?, input.parse()?))
            } else {
                None
            },
            handler: input.parse()?,
        })
    }
}

impl Parse for Handler {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let arrow = input.parse()?;
        // As in a `match`, nothing has to follow a block.
        let is_block = input.peek(token::Brace);
        let body = if is_block { Expr::Block(input.parse::<ExprBlock>()?) } else { input.parse()? };
        let ends = is_block || input.is_empty();
        Ok(Self { arrow, body, comma: if ends { input.parse()? } else { Some(input.parse()?) } })
    }
}

impl Handler {
    fn write(&self) -> TokenStream {
        let Self { arrow, body, comma } = self;
        quote!(#arrow #body #comma)
    }
}

/// The futures, conditions and handlers of a call, if it is one.
pub(super) fn expressions(call: &Macro) -> Option<Vec<Expr>> {
    if call.path.segments.last()?.ident != "select" {
        return None;
    }
    let Select { arms, otherwise, .. } = call.parse_body().ok()?;
    let of_arm = |arm: Arm| {
        let condition = arm.condition.map(|(.., condition)| condition);
        [Some(arm.future), condition, Some(arm.handler.body)].into_iter().flatten()
    };
    let otherwise = otherwise.map(|(_, handler)| handler.body);
    Some(arms.into_iter().flat_map(of_arm).chain(otherwise).collect())
}

/// Walks the arms, and gives them as they are then, if this is how the tokens of the call are to be read.
pub(super) fn walk(walker: &mut Walker, call: &Macro) -> Option<TokenStream> {
    let Select { biased, mut arms, otherwise } = call.parse_body().ok()?;
    let (biased, semicolon) = biased.unzip();
    let mut written = quote!(#biased #semicolon);
    for Arm { pattern, equals, future, condition, handler } in &mut arms {
        walker.visit_expr_mut(future);
        if let Some((.., condition)) = condition {
            walker.visit_expr_mut(condition);
        }
        walker.in_scope(|walker| {
            // That of another crate takes patterns that may not match.
            pattern::bind(&mut walker.scopes, pattern, Match::Maybe, None);
            walker.visit_expr_mut(&mut handler.body);
        });
        quote!(#pattern #equals #future).to_tokens(&mut written);
        if let Some((comma, if_token, condition)) = condition {
            quote!(#comma #if_token #condition).to_tokens(&mut written);
        }
        written.extend(handler.write());
    }
    if let Some((else_token, mut handler)) = otherwise {
        walker.visit_expr_mut(&mut handler.body);
        else_token.to_tokens(&mut written);
        written.extend(handler.write());
    }
    Some(written)
}
