//! The variables that an expression assigns to, or changes otherwise.

use syn::{BinOp, Expr, ExprMethodCall, ExprPath};

use super::holding::Holding;
use super::scope::Scopes;

/// The variables at the root of an assigned place: `total` of `total.hits[3]`, `a` and `b` of `(a, b.0)`.
///
/// A dereference ends the search: what a pointer leads to is not part of the variable.
pub(crate) fn assigned_variables(place: &Expr) -> Vec<&ExprPath> {
    match place {
        Expr::Path(path) if path.qself.is_none() => vec![path],
        Expr::Field(field) => assigned_variables(&field.base),
        Expr::Index(index) => assigned_variables(&index.expr),
        Expr::Paren(inner) => assigned_variables(&inner.expr),
        Expr::Group(inner) => assigned_variables(&inner.expr),
        Expr::Tuple(tuple) => tuple.elems.iter().flat_map(assigned_variables).collect(),
        Expr::Array(array) => array.elems.iter().flat_map(assigned_variables).collect(),
        Expr::Struct(fields) => {
            fields.fields.iter().flat_map(|field| assigned_variables(&field.expr)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the operator assigns to its left operand.
pub(crate) fn is_assignment(operator: &BinOp) -> bool {
    use BinOp::*;
    matches!(
        operator,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

/// The methods of the standard library's collections that are sure to change them. (Of other types they may take a `&self`.)
const CHANGING: [&str; 50] = [
    "append",
    "clear",
    "clone_from_slice",
    "copy_from_slice",
    "dedup",
    "dedup_by",
    "dedup_by_key",
    "drain",
    "entry",
    "extend",
    "extend_from_slice",
    "fill",
    "fill_with",
    "first_mut",
    "get_mut",
    "insert",
    "insert_str",
    "iter_mut",
    "last_mut",
    "pop",
    "pop_back",
    "pop_first",
    "pop_front",
    "pop_last",
    "push",
    "push_back",
    "push_front",
    "push_str",
    "remove",
    "remove_entry",
    "replace_range",
    "resize",
    "resize_with",
    "retain",
    "retain_mut",
    "reverse",
    "rotate_left",
    "rotate_right",
    "sort",
    "sort_by",
    "sort_by_key",
    "sort_unstable",
    "sort_unstable_by",
    "sort_unstable_by_key",
    "split_off",
    "swap",
    "swap_remove",
    "take",
    "truncate",
    "values_mut",
];

/// Whether a method call surely changes its receiver.
pub(crate) fn changes_receiver(call: &ExprMethodCall, scopes: &Scopes) -> bool {
    Holding::of_expr(&call.receiver, scopes) == Some(Holding::Collection)
        && CHANGING.contains(&call.method.to_string().as_str())
}
