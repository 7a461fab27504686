//! Tells from syntax alone whether an expression or a type visibly is a `Trustee`, or a row of them.
//!
//! `spawn` is a method of many types (a scope of threads, a pool, an async runtime), so `x.spawn(closure)` is only taken
//! for a delegation where `x` visibly is a trustee.

use syn::{Expr, ExprMethodCall, GenericArgument, Path, PathArguments, Type};

use super::scope::{Meaning, Scopes};

/// What a value visibly holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trustees {
    /// A trustee, or a reference to one.
    One,
    /// A vector, slice, array or iterator of trustees.
    Row,
}

/// Methods that lead from a row of trustees to a row of them.
const ROW_TO_ROW: [&str; 9] =
    ["iter", "into_iter", "copied", "cloned", "clone", "to_vec", "as_slice", "rev", "collect"];

impl Trustees {
    /// What a value of this type holds.
    pub(crate) fn of_type(ty: &Type) -> Option<Self> {
        match ty {
            Type::Reference(reference) => Self::of_type(&reference.elem),
            Type::Paren(inner) => Self::of_type(&inner.elem),
            Type::Group(inner) => Self::of_type(&inner.elem),
            Type::Slice(slice) => Self::row_of(&slice.elem),
            Type::Array(array) => Self::row_of(&array.elem),
            Type::Path(path) => Self::of_type_path(&path.path),
            _ => None,
        }
    }

    /// What the value of this expression holds.
    pub(crate) fn of_expr(expr: &Expr, scopes: &Scopes) -> Option<Self> {
        match expr {
            Expr::Paren(inner) => Self::of_expr(&inner.expr, scopes),
            Expr::Group(inner) => Self::of_expr(&inner.expr, scopes),
            Expr::Reference(inner) => Self::of_expr(&inner.expr, scopes),
            Expr::Index(index) => Self::of_expr(&index.expr, scopes)?.element(),
            Expr::Call(call) => Self::of_function(&call.func),
            Expr::MethodCall(call) => Self::of_method(call, scopes),
            Expr::Path(path) => match scopes.resolve_ident(path.path.get_ident()?)?.1.meaning {
                Meaning::Local { trustees, .. } => trustees,
                _ => None,
            },
            _ => None,
        }
    }

    /// What one element of the row holds; a range index of a row is a row as well, but nothing is spawned on that.
    pub(crate) fn element(self) -> Option<Self> {
        (self == Self::Row).then_some(Self::One)
    }

    fn row_of(element: &Type) -> Option<Self> {
        (Self::of_type(element)? == Self::One).then_some(Self::Row)
    }

    fn of_type_path(path: &Path) -> Option<Self> {
        let last = path.segments.last()?;
        match (last.ident.to_string().as_str(), &last.arguments) {
            ("Trustee", PathArguments::None) => Some(Self::One),
            ("Vec", PathArguments::AngleBracketed(arguments)) => match arguments.args.first()? {
                GenericArgument::Type(element) => Self::row_of(element),
                _ => None,
            },
            _ => None,
        }
    }

    /// `Trustee::here()`, `gossamer::Trustee::all()`.
    fn of_function(function: &Expr) -> Option<Self> {
        let Expr::Path(function) = function else { return None };
        let mut names = function.path.segments.iter().rev().map(|segment| segment.ident.to_string());
        match (names.next()?.as_str(), names.next()?.as_str()) {
            ("here", "Trustee") => Some(Self::One),
            ("all", "Trustee") => Some(Self::Row),
            _ => None,
        }
    }

    /// `trust.trustee()`, and what leads from trustees to trustees.
    fn of_method(call: &ExprMethodCall, scopes: &Scopes) -> Option<Self> {
        let method = call.method.to_string();
        if method == "trustee" && call.args.is_empty() {
            return Some(Self::One);
        }
        match Self::of_expr(&call.receiver, scopes)? {
            Self::Row if ROW_TO_ROW.contains(&method.as_str()) => Some(Self::Row),
            Self::One if method == "clone" => Some(Self::One),
            _ => None,
        }
    }
}
