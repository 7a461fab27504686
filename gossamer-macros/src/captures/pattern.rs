//! The names that a pattern binds.
//!
//! Syntax alone cannot tell a new variable from a constant or a unit variant (`None`). Rust's own naming rule settles it: where a pattern
//! may fail to match, a plain capitalised name is taken for a path; where it must match (`let`, parameters, `for`), it
//! binds. Constants declared inside the function are known for sure.

use syn::{Ident, Pat, PatIdent};

use super::holding::Holding;
use super::scope::{Meaning, Scopes};

/// Whether a pattern may fail to match where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// `let`, parameters, `for`.
    Always,
    /// `match` arms, `if let`, `while let`, `let … else`, `matches!`.
    Maybe,
}

/// Binds the names of `pat` in the innermost scope. `holding` says what the matched value visibly holds.
pub(crate) fn bind(scopes: &mut Scopes, pat: &Pat, matching: Match, holding: Option<Holding>) {
    match pat {
        Pat::Ident(pat) => bind_ident(scopes, pat, matching, holding),
        Pat::Type(typed) => {
            let visible = Holding::of_type(&typed.ty).or(holding);
            bind(scopes, &typed.pat, matching, visible);
        }
        Pat::Reference(inner) => bind(scopes, &inner.pat, matching, holding),
        Pat::Paren(inner) => bind(scopes, &inner.pat, matching, holding),
        Pat::Guard(guarded) => bind(scopes, &guarded.pat, matching, None),
        Pat::Or(or) => or.cases.iter().for_each(|case| bind(scopes, case, matching, None)),
        Pat::Slice(slice) => slice.elems.iter().for_each(|elem| bind(scopes, elem, matching, None)),
        Pat::Tuple(tuple) => tuple.elems.iter().for_each(|elem| bind(scopes, elem, matching, None)),
        Pat::TupleStruct(tuple) => tuple.elems.iter().for_each(|elem| bind(scopes, elem, matching, None)),
        Pat::Struct(fields) => {
            fields.fields.iter().for_each(|field| bind(scopes, &field.pat, matching, None))
        }
        _ => {}
    }
}

fn bind_ident(scopes: &mut Scopes, pat: &PatIdent, matching: Match, holding: Option<Holding>) {
    if let Some((_, inner)) = &pat.subpat {
        bind(scopes, inner, matching, None);
    }
    if is_binding(scopes, pat, matching) {
        scopes.bind(&pat.ident, Meaning::Local { mutable: pat.mutability.is_some(), holding, stored: None });
    }
}

fn is_binding(scopes: &Scopes, pat: &PatIdent, matching: Match) -> bool {
    let marked = pat.by_ref.is_some() || pat.mutability.is_some() || pat.subpat.is_some();
    let constant =
        || matches!(scopes.resolve_ident(&pat.ident), Some((_, found)) if found.meaning == Meaning::Constant);
    marked || !(constant() || matching == Match::Maybe && is_capitalised(&pat.ident))
}

fn is_capitalised(ident: &Ident) -> bool {
    ident.to_string().starts_with(char::is_uppercase)
}
