//! Recognises the calls that delegate a closure.

use syn::{Expr, ExprCall, ExprClosure, ExprMethodCall, Path};

use super::block::end;
use super::holding::Holding;
use super::scope::{Meaning, Scopes, StoredClosure};

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
const TRUST_METHODS: [(&str, Arguments); 25] = [
    ("apply", Arguments::Captures("apply_with")),
    ("apply_then", Arguments::Captures("apply_with_then")),
    ("apply_async", Arguments::Captures("apply_with_async")),
    ("apply_unawaited", Arguments::Captures("apply_with_unawaited")),
    ("try_apply", Arguments::Captures("try_apply_with")),
    ("launch", Arguments::Captures("launch_with")),
    ("launch_then", Arguments::Captures("launch_with_then")),
    ("launch_async", Arguments::Captures("launch_with_async")),
    ("launch_read", Arguments::Captures("launch_read_with")),
    ("launch_all", Arguments::Captures("launch_all_with")),
    ("try_launch", Arguments::Captures("try_launch_with")),
    ("apply_into", Arguments::Captures("apply_with_into")),
    ("apply_with", Arguments::Explicit),
    ("apply_with_then", Arguments::Explicit),
    ("apply_with_async", Arguments::Explicit),
    ("apply_with_unawaited", Arguments::Explicit),
    ("try_apply_with", Arguments::Explicit),
    ("launch_with", Arguments::Explicit),
    ("launch_with_then", Arguments::Explicit),
    ("launch_with_async", Arguments::Explicit),
    ("launch_read_with", Arguments::Explicit),
    ("launch_all_with", Arguments::Explicit),
    ("try_launch_with", Arguments::Explicit),
    ("apply_with_into", Arguments::Explicit),
    ("apply_archived", Arguments::Explicit),
];

/// The methods of a trustee that do. Many other types have a `spawn`.
const TRUSTEE_METHODS: [(&str, Arguments); 3] = [
    ("spawn", Arguments::Captures("spawn_with")),
    ("spawn_with", Arguments::Explicit),
    ("entrust_with", Arguments::Explicit),
];

/// Those of a `Sharded`. Other types have them, too; there is no harm in a constant closure.
const SHARDED_METHODS: [(&str, Arguments); 6] = [
    ("map_all", Arguments::Captures("map_all_with")),
    ("apply_batch", Arguments::Captures("apply_batch_with")),
    ("map_all_with", Arguments::Explicit),
    ("apply_batch_with", Arguments::Explicit),
    ("with", Arguments::Nothing),
    ("on", Arguments::Nothing),
];

/// Those of them that are called on a value. Many other types have a `with` and an `on`.
const SHARDED_CALLS: usize = 4;

/// Those of collections that are called on a value. Many other types have an `update`, of a closure alone.
const COLLECTION_METHODS: [(&str, Arguments); 15] = [
    ("update", Arguments::Captures("update_with")),
    ("update_then", Arguments::Captures("update_with_then")),
    ("update_async", Arguments::Captures("update_with_async")),
    ("update_unawaited", Arguments::Captures("update_with_unawaited")),
    ("updates", Arguments::Captures("updates_with")),
    ("updates_marking", Arguments::Captures("updates_marking_with")),
    ("merges", Arguments::Captures("merges_with")),
    ("update_with", Arguments::Explicit),
    ("update_with_then", Arguments::Explicit),
    ("update_with_async", Arguments::Explicit),
    ("update_with_unawaited", Arguments::Explicit),
    ("updates_with", Arguments::Explicit),
    ("updates_marking_with", Arguments::Explicit),
    ("merges_with", Arguments::Explicit),
    ("retain_with", Arguments::Explicit),
];

/// Those of its loops. Some of the names are known from rayon, where a closure that captures nothing may be a constant as well.
const LOOP_METHODS: [(&str, Arguments); 32] = [
    ("par_for_each", Arguments::Captures("par_for_each_with")),
    ("par_map", Arguments::Captures("par_map_with")),
    ("par_filter", Arguments::Captures("par_filter_with")),
    ("par_fold", Arguments::Captures("par_fold_with")),
    ("par_reduce", Arguments::Captures("par_reduce_with")),
    ("par_scan", Arguments::Captures("par_scan_with")),
    ("par_map_reduce", Arguments::Captures("par_map_reduce_with")),
    ("par_zip", Arguments::Captures("par_zip_with")),
    ("par_chunks", Arguments::Captures("par_chunks_with")),
    ("par_group_by", Arguments::Captures("par_group_by_with")),
    ("par_sort_by", Arguments::Captures("par_sort_by_with")),
    ("par_sort_by_key", Arguments::Captures("par_sort_by_key_with")),
    ("par_sort_unstable_by", Arguments::Captures("par_sort_unstable_by_with")),
    ("par_sort_unstable_by_key", Arguments::Captures("par_sort_unstable_by_key_with")),
    ("par_emit", Arguments::Captures("par_emit_with")),
    ("mark_where", Arguments::Captures("mark_where_with")),
    ("par_for_each_with", Arguments::Explicit),
    ("par_map_with", Arguments::Explicit),
    ("par_filter_with", Arguments::Explicit),
    ("par_fold_with", Arguments::Explicit),
    ("par_reduce_with", Arguments::Explicit),
    ("par_scan_with", Arguments::Explicit),
    ("par_map_reduce_with", Arguments::Explicit),
    ("par_zip_with", Arguments::Explicit),
    ("par_chunks_with", Arguments::Explicit),
    ("par_group_by_with", Arguments::Explicit),
    ("par_sort_by_with", Arguments::Explicit),
    ("par_sort_by_key_with", Arguments::Explicit),
    ("par_sort_unstable_by_with", Arguments::Explicit),
    ("par_sort_unstable_by_key_with", Arguments::Explicit),
    ("par_emit_with", Arguments::Explicit),
    ("mark_where_with", Arguments::Explicit),
];

/// Those of a `DistMap` or `DistSet` that collections of the standard library have as well.
const KEYED_METHODS: [(&str, Arguments); 1] = [("retain", Arguments::Captures("retain_with"))];

/// Those of `Workers`. Other types may have them, too.
const WORKERS_METHODS: [(&str, Arguments); 2] =
    [("each", Arguments::Captures("each_with")), ("each_with", Arguments::Explicit)];

/// Those of an `Emission`. Other types may have them, too.
const EMISSION_METHODS: [(&str, Arguments); 6] = [
    ("apply_to", Arguments::Captures("apply_to_with")),
    ("merge_into", Arguments::Captures("merge_into_with")),
    ("update_into", Arguments::Captures("update_into_with")),
    ("apply_to_with", Arguments::Explicit),
    ("merge_into_with", Arguments::Explicit),
    ("update_into_with", Arguments::Explicit),
];

/// What else calls its closure for many elements.
const REPEATING: [&str; 10] = [
    "apply_batch",
    "apply_to",
    "from_fn",
    "mark_where",
    "merge_into",
    "merges",
    "retain",
    "update_into",
    "updates",
    "updates_marking",
];

/// Those of the type `DistVec`.
const DIST_VEC_FUNCTIONS: [(&str, Arguments); 2] =
    [("from_fn", Arguments::Captures("from_fn_with")), ("from_fn_with", Arguments::Explicit)];

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

/// Those in `gossamer::collections`.
const COLLECTIONS_FUNCTIONS: [(&str, Arguments); 8] = [
    ("par_for_each", Arguments::Captures("par_for_each_with")),
    ("par_fold", Arguments::Captures("par_fold_with")),
    ("par_map_reduce", Arguments::Captures("par_map_reduce_with")),
    ("par_emit", Arguments::Captures("par_emit_with")),
    ("par_for_each_with", Arguments::Explicit),
    ("par_fold_with", Arguments::Explicit),
    ("par_map_reduce_with", Arguments::Explicit),
    ("par_emit_with", Arguments::Explicit),
];

/// How the called function is written, which says how to write the one that takes the arguments first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    /// A method, or the last segment of a path: the name changes in place.
    Method,
    /// A path from the crate on, such as `gossamer::spawn`.
    Function,
    /// A bare `spawn`, `collections::par_for_each` or the like: it has to be gossamer's.
    Imported,
}

/// A call that delegates a closure.
#[derive(Clone, Copy)]
pub(crate) struct Delegation {
    /// The name of what is called.
    pub(crate) call: &'static str,
    /// The position of the closure among the arguments.
    pub(crate) closure: usize,
    /// What the closure is handed.
    pub(crate) arguments: Arguments,
    /// How the function is written.
    pub(crate) callee: Callee,
    /// How many parameters the closure has.
    parameters: usize,
}

impl Delegation {
    /// Whether its closure is called for each of many elements, with the same captures.
    pub(crate) fn repeats(&self) -> bool {
        let name = self.call.strip_suffix("_with").unwrap_or(self.call);
        // That of a frontier's `apply` has at least three parameters, all others of this name have two at most.
        name.starts_with("par_") || REPEATING.contains(&name) || name == "apply" && self.parameters > 2
    }

    /// The delegation that a method call makes, if it makes one.
    pub(crate) fn of_method(call: &ExprMethodCall, scopes: &Scopes) -> Option<Self> {
        let name = call.method.to_string();
        let is_on = |holding| Holding::of_expr(&call.receiver, scopes) == Some(holding);
        let called = find(&TRUST_METHODS, &name)
            .or_else(|| find(&SHARDED_METHODS[..SHARDED_CALLS], &name))
            .or_else(|| {
                find(&COLLECTION_METHODS, &name)
                    .filter(|(called, _)| *called != "update" || call.args.len() > 1)
            })
            .or_else(|| find(&LOOP_METHODS, &name))
            .or_else(|| find(&EMISSION_METHODS, &name).filter(|_| is_on(Holding::Emission)))
            .or_else(|| find(&WORKERS_METHODS, &name).filter(|_| is_on(Holding::Workers)))
            .or_else(|| find(&KEYED_METHODS, &name).filter(|_| is_on(Holding::Keyed)))
            .or_else(|| {
                find(&TRUSTEE_METHODS, &name).filter(|_| name != "spawn" || is_on(Holding::Trustee))
            })?;
        Self::of_closure(called, Callee::Method, call.args.iter(), scopes)
    }

    /// The delegation that a function call makes, if it makes one.
    pub(crate) fn of_function(call: &ExprCall, scopes: &Scopes) -> Option<Self> {
        let Expr::Path(function) = &*call.func else { return None };
        let (called, callee) = match function.qself {
            None => delegating_function(&function.path, scopes)?,
            Some(_) => return None,
        };
        Self::of_closure(called, callee, call.args.iter(), scopes)
    }

    /// The delegation of a closure, if a literal stands where the delegated argument does, or at the end of a block there; or a
    /// variable that was to hold one.
    fn of_closure<'a>(
        (call, arguments): (&'static str, Arguments),
        callee: Callee,
        mut given: impl ExactSizeIterator<Item = &'a Expr>,
        scopes: &Scopes,
    ) -> Option<Self> {
        let closure = position(call, arguments, given.len())?;
        let argument = given.nth(closure)?;
        // Explicit arguments come first, and so would what they move before the block.
        let literal = if arguments == Arguments::Explicit { Some(argument) } else { end(argument) };
        let parameters = match literal.and_then(closure_of) {
            Some(closure) => closure.inputs.len(),
            None => stored_in(argument, scopes)?.parameters,
        };
        Some(Self { call, closure, arguments, callee, parameters })
    }
}

/// Where the closure stands among so many arguments.
fn position(call: &str, arguments: Arguments, given: usize) -> Option<usize> {
    let callback = usize::from(call.ends_with("_then") || is_two(call));
    let explicit = usize::from(arguments == Arguments::Explicit);
    given.checked_sub(1 + callback + explicit)
}

/// Whether a call delegates the argument at its end, too: a closure that captures nothing.
pub(super) fn is_two(call: &str) -> bool {
    call.starts_with("par_map_reduce")
}

/// Where a trust's method takes a closure that may capture.
pub(super) fn position_in_method(name: &str, given: usize) -> Option<usize> {
    let (call, arguments) = find(&TRUST_METHODS, name)?;
    matches!(arguments, Arguments::Captures(_)).then(|| position(call, arguments, given))?
}

/// Where `spawn`, `gossamer::spawn` and the like take one.
pub(super) fn position_in_function(path: &Path, given: usize) -> Option<usize> {
    let ours = path.segments.len() == 1 || path.segments.first()?.ident == "gossamer";
    let (call, arguments) = find(&FUNCTIONS, &path.segments.last()?.ident.to_string())?;
    (ours && matches!(arguments, Arguments::Captures(_))).then(|| position(call, arguments, given))?
}

/// The closure whose captures a variable holds instead of it.
pub(super) fn stored_in(expr: &Expr, scopes: &Scopes) -> Option<StoredClosure> {
    let Expr::Path(variable) = expr else { return None };
    match scopes.resolve_ident(variable.path.get_ident()?)?.1.meaning {
        Meaning::Local { stored, .. } => stored,
        _ => None,
    }
}

/// `spawn`, `gossamer::spawn`, `rack::on_each_node`, `par_for_each`, `Trust::apply`, `Trustee::spawn`, `Sharded::with`,
/// `Workers::each`, `DistVec::par_map` and their like.
fn delegating_function(path: &Path, scopes: &Scopes) -> Option<((&'static str, Arguments), Callee)> {
    let mut names = path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let (name, parent) = (names.next()?, names.next());
    let (table, callee): (&[_], _) = match parent.as_deref() {
        None if scopes.resolve(&name).is_none() => {
            let tables = [&FUNCTIONS[..], &RACK_FUNCTIONS, &COLLECTIONS_FUNCTIONS];
            return Some((tables.into_iter().find_map(|table| find(table, &name))?, Callee::Imported));
        }
        Some("DistVec" | "DistMap" | "DistSet" | "DistQueue" | "Frontier" | "FileLines" | "IndexRange") => {
            let calls = &SHARDED_METHODS[..SHARDED_CALLS];
            let own = [&DIST_VEC_FUNCTIONS[..], &KEYED_METHODS, &COLLECTION_METHODS, &LOOP_METHODS];
            let tables = own.into_iter().chain([&TRUST_METHODS[..], calls]);
            return Some((tables.into_iter().find_map(|table| find(table, &name))?, Callee::Method));
        }
        Some("gossamer") if names.next().is_none() => (&FUNCTIONS, Callee::Function),
        Some("rack") => (&RACK_FUNCTIONS, Callee::Imported),
        Some("collections") => (&COLLECTIONS_FUNCTIONS, Callee::Imported),
        Some("Trust") => (&TRUST_METHODS, Callee::Method),
        Some("Trustee") => (&TRUSTEE_METHODS, Callee::Method),
        Some("Sharded") => (&SHARDED_METHODS, Callee::Method),
        Some("Workers") if names.next().is_none_or(|module| module == "gossamer") => {
            (&WORKERS_METHODS, Callee::Method)
        }
        _ => return None,
    };
    Some((find(table, &name)?, callee))
}

fn find(table: &[(&'static str, Arguments)], name: &str) -> Option<(&'static str, Arguments)> {
    table.iter().find(|(delegating, _)| *delegating == name).copied()
}

fn closure_of(expr: &Expr) -> Option<&ExprClosure> {
    match expr {
        Expr::Closure(closure) => Some(closure),
        Expr::Paren(inner) => closure_of(&inner.expr),
        Expr::Group(inner) => closure_of(&inner.expr),
        _ => None,
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
