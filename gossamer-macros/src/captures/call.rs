//! Recognises the calls that delegate a closure.

use syn::{Expr, ExprCall, ExprClosure, ExprMethodCall, Path};

use super::scope::Scopes;
use super::trustee::Trustees;

/// The methods of a trust that delegate a closure, and their forms with explicit arguments. The delegated closure is the last
/// argument, but for the `_then` forms, where the callback comes after it.
const TRUST_METHODS: [(&str, &str); 6] = [
    ("apply", "apply_with"),
    ("apply_then", "apply_with_then"),
    ("apply_async", "apply_with_async"),
    ("try_apply", "try_apply_with"),
    ("launch", "launch_with"),
    ("launch_then", "launch_with_then"),
];

/// The functions that start a fiber from a closure, and their forms with explicit arguments.
const SPAWN_FUNCTIONS: [(&str, &str); 2] = [("spawn", "spawn_with"), ("spawn_on", "spawn_on_with")];

/// How the called function is written, which says how to write the one with explicit arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    /// A method, or the last segment of a path: the name changes in place.
    Renamed,
    /// A bare `spawn`: imported under that name, so the other one has to be written in full.
    Imported,
}

/// A call that delegates a closure literal.
#[derive(Clone, Copy)]
pub(crate) struct Delegation {
    /// The position of the closure among the arguments.
    pub(crate) closure: usize,
    /// The name of the form with explicit arguments.
    pub(crate) explicit: &'static str,
    /// How the function is written.
    pub(crate) callee: Callee,
}

impl Delegation {
    /// The delegation that a method call makes, if it makes one.
    pub(crate) fn of_method(call: &ExprMethodCall, scopes: &Scopes) -> Option<Self> {
        let name = call.method.to_string();
        let on_trustee = || Trustees::of_expr(&call.receiver, scopes) == Some(Trustees::One);
        let explicit = match explicit_form(&TRUST_METHODS, &name) {
            Some(explicit) => explicit,
            None if name == "spawn" && on_trustee() => "spawn_with",
            None => return None,
        };
        let closure = closure_position(&name, call.args.iter())?;
        Some(Self { closure, explicit, callee: Callee::Renamed })
    }

    /// The delegation that a function call makes, if it makes one.
    pub(crate) fn of_function(call: &ExprCall, scopes: &Scopes) -> Option<Self> {
        let Expr::Path(function) = &*call.func else { return None };
        let (name, explicit, callee) = match function.qself {
            None => explicit_function(&function.path, scopes)?,
            Some(_) => return None,
        };
        let closure = closure_position(&name, call.args.iter())?;
        Some(Self { closure, explicit, callee })
    }
}

/// `spawn`, `gossamer::spawn`, `Trust::apply`, `Trustee::spawn` and their like.
fn explicit_function(path: &Path, scopes: &Scopes) -> Option<(String, &'static str, Callee)> {
    let mut names = path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let (name, parent) = (names.next()?, names.next());
    let (explicit, callee) = match parent.as_deref() {
        None if scopes.resolve(&name).is_none() => {
            (explicit_form(&SPAWN_FUNCTIONS, &name)?, Callee::Imported)
        }
        Some("gossamer") if names.next().is_none() => {
            (explicit_form(&SPAWN_FUNCTIONS, &name)?, Callee::Renamed)
        }
        Some("Trust") => (explicit_form(&TRUST_METHODS, &name)?, Callee::Renamed),
        Some("Trustee") if name == "spawn" => ("spawn_with", Callee::Renamed),
        _ => return None,
    };
    Some((name, explicit, callee))
}

fn explicit_form(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(plain, _)| *plain == name).map(|(_, explicit)| *explicit)
}

/// The position of the delegated argument, if a closure literal stands there.
fn closure_position<'a>(name: &str, arguments: impl ExactSizeIterator<Item = &'a Expr>) -> Option<usize> {
    let after = if name.ends_with("_then") { 2 } else { 1 };
    let position = arguments.len().checked_sub(after)?;
    let mut arguments = arguments;
    is_closure(arguments.nth(position)?).then_some(position)
}

fn is_closure(expr: &Expr) -> bool {
    match expr {
        Expr::Closure(_) => true,
        Expr::Paren(inner) => is_closure(&inner.expr),
        Expr::Group(inner) => is_closure(&inner.expr),
        _ => false,
    }
}

/// The closure literal inside parentheses, if any.
pub(crate) fn closure_mut(expr: &mut Expr) -> Option<&mut ExprClosure> {
    match expr {
        Expr::Closure(closure) => Some(closure),
        Expr::Paren(inner) => closure_mut(&mut inner.expr),
        Expr::Group(inner) => closure_mut(&mut inner.expr),
        _ => None,
    }
}
