//! The variables that an expression assigns to.

use syn::{BinOp, Expr, ExprPath};

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
