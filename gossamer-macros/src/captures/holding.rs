//! Tells from syntax alone whether an expression or a type visibly is a `Trustee`, a row of them, or something else whose methods have
//! the names of others.
//!
//! `spawn` is a method of many types (a scope of threads, a pool, an async runtime), so `x.spawn(closure)` is only taken
//! for a delegation where `x` visibly is a trustee; `x.apply_to(y, closure)` where `x` comes from a `par_emit`, `x.each(closure)` where
//! it is a `Workers`, and `x.retain(closure)` where it is a `DistMap`. And `x.push(y)` surely changes `x` if that is a `Vec`
//! ([`super::assignment`]).

use syn::{Expr, ExprMethodCall, GenericArgument, Path, PathArguments, Type};

use super::scope::{Meaning, Scopes};

/// What a value visibly holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holding {
    /// A trustee, or a reference to one.
    Trustee,
    /// A vector, slice, array or iterator of trustees.
    Trustees,
    /// What `par_emit` returns.
    Emission,
    /// A `Workers`, or a reference to one.
    Workers,
    /// A `DistMap` or a `DistSet`, or a reference to one.
    Keyed,
    /// A collection of the standard library, and no reference to one.
    Collection,
}

/// The types of such collections.
const COLLECTIONS: [&str; 8] =
    ["BTreeMap", "BTreeSet", "BinaryHeap", "HashMap", "HashSet", "String", "Vec", "VecDeque"];

/// The functions and macros that return one.
const MAKING: [&str; 6] = ["default", "format", "from", "new", "vec", "with_capacity"];

/// What returns an `Emission`.
const EMITTING: [&str; 2] = ["par_emit", "par_emit_with"];

/// Methods that lead from a row of trustees to a row of them.
const ROW_TO_ROW: [&str; 9] =
    ["iter", "into_iter", "copied", "cloned", "clone", "to_vec", "as_slice", "rev", "collect"];

/// Whether the type that a path names is not in a module of somebody else; `behind` counts from it to the path's end.
fn may_be_ours(path: &Path, behind: usize) -> bool {
    let module = path.segments.iter().rev().nth(behind);
    module.is_none_or(|module| ["collections", "gossamer", "rack"].iter().any(|name| module.ident == name))
}

impl Holding {
    /// What a value of this type holds.
    pub(crate) fn of_type(ty: &Type) -> Option<Self> {
        match ty {
            Type::Reference(reference) => {
                Self::of_type(&reference.elem).filter(|held| *held != Self::Collection)
            }
            Type::Paren(inner) => Self::of_type(&inner.elem),
            Type::Group(inner) => Self::of_type(&inner.elem),
            Type::Slice(slice) => Self::row_of(&slice.elem),
            Type::Array(array) => Self::row_of(&array.elem).or(Some(Self::Collection)),
            Type::Path(path) => Self::of_type_path(&path.path),
            _ => None,
        }
    }

    /// What the value of this expression holds.
    pub(crate) fn of_expr(expr: &Expr, scopes: &Scopes) -> Option<Self> {
        match expr {
            Expr::Paren(inner) => Self::of_expr(&inner.expr, scopes),
            Expr::Group(inner) => Self::of_expr(&inner.expr, scopes),
            Expr::Reference(inner) => {
                Self::of_expr(&inner.expr, scopes).filter(|held| *held != Self::Collection)
            }
            Expr::Array(_) | Expr::Repeat(_) => Some(Self::Collection),
            Expr::Macro(call) if MAKING.iter().any(|name| call.mac.path.is_ident(name)) => {
                Some(Self::Collection)
            }
            Expr::Index(index) => Self::of_expr(&index.expr, scopes)?.element(),
            Expr::Call(call) => Self::of_function(&call.func),
            Expr::MethodCall(call) => Self::of_method(call, scopes),
            Expr::Path(path) => match scopes.resolve_ident(path.path.get_ident()?)?.1.meaning {
                Meaning::Local { holding, .. } => holding,
                _ => None,
            },
            _ => None,
        }
    }

    /// What one element of the row holds; a range index of a row is a row as well, but nothing is spawned on that.
    pub(crate) fn element(self) -> Option<Self> {
        (self == Self::Trustees).then_some(Self::Trustee)
    }

    fn row_of(element: &Type) -> Option<Self> {
        (Self::of_type(element)? == Self::Trustee).then_some(Self::Trustees)
    }

    fn of_type_path(path: &Path) -> Option<Self> {
        let last = path.segments.last()?;
        match (last.ident.to_string().as_str(), &last.arguments) {
            ("Trustee", PathArguments::None) => Some(Self::Trustee),
            ("Workers", PathArguments::None) if may_be_ours(path, 1) => Some(Self::Workers),
            ("DistMap" | "DistSet", _) if may_be_ours(path, 1) => Some(Self::Keyed),
            ("Vec", PathArguments::AngleBracketed(arguments)) => match arguments.args.first()? {
                GenericArgument::Type(element) => Self::row_of(element).or(Some(Self::Collection)),
                _ => None,
            },
            (name, _) => COLLECTIONS.contains(&name).then_some(Self::Collection),
        }
    }

    /// `Trustee::here()`, `gossamer::Trustee::all()`, `collections::par_emit(…)`.
    fn of_function(function: &Expr) -> Option<Self> {
        let Expr::Path(function) = function else { return None };
        let mut names = function.path.segments.iter().rev().map(|segment| segment.ident.to_string());
        let name = names.next()?;
        if EMITTING.contains(&name.as_str()) {
            return Some(Self::Emission);
        }
        match (name.as_str(), names.next()?.as_str()) {
            ("here", "Trustee") => Some(Self::Trustee),
            ("all", "Trustee") => Some(Self::Trustees),
            ("all" | "on", "Workers") if may_be_ours(&function.path, 2) => Some(Self::Workers),
            ("default" | "from_iter" | "new" | "on", "DistMap" | "DistSet")
                if may_be_ours(&function.path, 2) =>
            {
                Some(Self::Keyed)
            }
            (name, ty) => (COLLECTIONS.contains(&ty) && MAKING.contains(&name)).then_some(Self::Collection),
        }
    }

    /// `trust.trustee()`, what leads from trustees to trustees, and `vector.par_emit(…)`.
    fn of_method(call: &ExprMethodCall, scopes: &Scopes) -> Option<Self> {
        let method = call.method.to_string();
        if EMITTING.contains(&method.as_str()) {
            return Some(Self::Emission);
        }
        if method == "trustee" && call.args.is_empty() {
            return Some(Self::Trustee);
        }
        match Self::of_expr(&call.receiver, scopes)? {
            Self::Trustees if ROW_TO_ROW.contains(&method.as_str()) => Some(Self::Trustees),
            held @ (Self::Trustee | Self::Workers | Self::Keyed) if method == "clone" => Some(held),
            _ => None,
        }
    }
}
