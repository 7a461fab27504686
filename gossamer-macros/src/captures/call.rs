//! Recognises the calls that delegate a closure.

use syn::{Expr, ExprCall, ExprClosure, ExprMethodCall, Path};

use super::scope::Scopes;
use super::trustee::Trustees;

/// What a delegating call hands to its closure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// The captures, in the form with explicit arguments of this name.
    Captures(&'static str),
    /// The argument behind the closure.
    Explicit,
    /// Nothing.
    Nothing,
}

/// The methods of a trust that delegate a closure.
const TRUST_METHODS: [(&str, Arguments); 13] = [
    ("apply", Arguments::Captures("apply_with")),
    ("apply_then", Arguments::Captures("apply_with_then")),
    ("apply_async", Arguments::Captures("apply_with_async")),
    ("try_apply", Arguments::Captures("try_apply_with")),
    ("launch", Arguments::Captures("launch_with")),
    ("launch_then", Arguments::Captures("launch_with_then")),
    ("apply_with", Arguments::Explicit),
    ("apply_with_then", Arguments::Explicit),
    ("apply_with_async", Arguments::Explicit),
    ("try_apply_with", Arguments::Explicit),
    ("launch_with", Arguments::Explicit),
    ("launch_with_then", Arguments::Explicit),
    ("apply_archived", Arguments::Explicit),
];

/// The methods of a trustee that do. Many other types have a `spawn`.
const TRUSTEE_METHODS: [(&str, Arguments); 3] = [
    ("spawn", Arguments::Captures("spawn_with")),
    ("spawn_with", Arguments::Explicit),
    ("entrust_with", Arguments::Explicit),
];

/// Those of a `Sharded`. Other types have them, too; there is no harm in a constant closure.
const SHARDED_METHODS: [(&str, Arguments); 2] =
    [("map_all", Arguments::Nothing), ("with", Arguments::Nothing)];

/// The functions that do.
const FUNCTIONS: [(&str, Arguments); 5] = [
    ("spawn", Arguments::Captures("spawn_with")),
    ("spawn_on", Arguments::Captures("spawn_on_with")),
    ("spawn_with", Arguments::Explicit),
    ("spawn_on_with", Arguments::Explicit),
    ("spawn_many_with", Arguments::Explicit),
];

/// Those in `gossamer::rack`.
const RACK_FUNCTIONS: [(&str, Arguments); 1] = [("on_each_node", Arguments::Explicit)];

/// How the called function is written, which says how to write the one that takes the arguments first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    /// A method, or the last segment of a path: the name changes in place.
    Method,
    /// The path of a function.
    Function,
    /// A bare `spawn` or its like: it has to be gossamer's.
    Imported,
}

/// A call that delegates a closure literal.
#[derive(Clone, Copy)]
pub(crate) struct Delegation {
    /// The position of the closure among the arguments.
    pub(crate) closure: usize,
    /// What the closure is handed.
    pub(crate) arguments: Arguments,
    /// How the function is written.
    pub(crate) callee: Callee,
}

impl Delegation {
    /// The delegation that a method call makes, if it makes one.
    pub(crate) fn of_method(call: &ExprMethodCall, scopes: &Scopes) -> Option<Self> {
        let name = call.method.to_string();
        let on_trustee = || Trustees::of_expr(&call.receiver, scopes) == Some(Trustees::One);
        let arguments = find(&TRUST_METHODS, &name)
            .or_else(|| (name == "map_all").then_some(Arguments::Nothing))
            .or_else(|| find(&TRUSTEE_METHODS, &name).filter(|_| name != "spawn" || on_trustee()))?;
        Self::of_literal(&name, arguments, Callee::Method, call.args.iter())
    }

    /// The delegation that a function call makes, if it makes one.
    pub(crate) fn of_function(call: &ExprCall, scopes: &Scopes) -> Option<Self> {
        let Expr::Path(function) = &*call.func else { return None };
        let (name, arguments, callee) = match function.qself {
            None => delegating_function(&function.path, scopes)?,
            Some(_) => return None,
        };
        Self::of_literal(&name, arguments, callee, call.args.iter())
    }

    /// The delegation of a closure, if a literal stands where the delegated argument does.
    fn of_literal<'a>(
        name: &str,
        arguments: Arguments,
        callee: Callee,
        mut given: impl ExactSizeIterator<Item = &'a Expr>,
    ) -> Option<Self> {
        let callback = usize::from(name.ends_with("_then"));
        let explicit = usize::from(arguments == Arguments::Explicit);
        let closure = given.len().checked_sub(1 + callback + explicit)?;
        is_closure(given.nth(closure)?).then_some(Self { closure, arguments, callee })
    }
}

/// `spawn`, `gossamer::spawn`, `rack::on_each_node`, `Trust::apply`, `Trustee::spawn`, `Sharded::with` and their like.
fn delegating_function(path: &Path, scopes: &Scopes) -> Option<(String, Arguments, Callee)> {
    let mut names = path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let (name, parent) = (names.next()?, names.next());
    let (table, callee): (&[_], _) = match parent.as_deref() {
        None if scopes.resolve(&name).is_none() => (&FUNCTIONS, Callee::Imported),
        Some("gossamer") if names.next().is_none() => (&FUNCTIONS, Callee::Function),
        Some("rack") => (&RACK_FUNCTIONS, Callee::Function),
        Some("Trust") => (&TRUST_METHODS, Callee::Method),
        Some("Trustee") => (&TRUSTEE_METHODS, Callee::Method),
        Some("Sharded") => (&SHARDED_METHODS, Callee::Method),
        _ => return None,
    };
    Some((name.clone(), find(table, &name)?, callee))
}

fn find(table: &[(&str, Arguments)], name: &str) -> Option<Arguments> {
    table.iter().find(|(delegating, _)| *delegating == name).map(|(_, arguments)| *arguments)
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
