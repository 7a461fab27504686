//! What is known of a delegated closure while the walk is inside it.

use proc_macro2::Span;
use syn::{ExprClosure, Ident};

use super::scope::Binding;

/// Where a name was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// In code, or where a macro of the standard library is known to read it.
    Surely,
    /// In the tokens of a macro whose grammar is unknown, which may ignore it.
    Perhaps,
}

/// A variable that a delegated closure takes along.
pub(crate) struct Capture {
    /// The name, with the span of its first use inside the closure: the place to blame.
    pub(crate) ident: Ident,
    /// Where the variable is bound, or the closure begins: the place that rustc may advise to change.
    pub(crate) bound_at: Span,
    /// Whether the closure may change its copy.
    pub(crate) mutable: bool,
    /// Whether it is known that the closure assigns to what it does not own.
    assigned: bool,
    /// Whether the closure is known to use it.
    pub(crate) seen: Seen,
}

/// What goes along with a delegated closure.
pub(crate) enum Taken {
    /// What it captures.
    Captures(Vec<Capture>),
    /// What this variable holds: the captures of a closure that was to be stored in it.
    Stored(Ident),
}

impl Taken {
    /// Whether it is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Captures(captures) if captures.is_empty())
    }
}

/// A delegated closure.
pub(crate) struct Frame {
    /// The number of scopes that were open around it: a local of one of those is a capture.
    pub(crate) depth: usize,
    /// Where it begins.
    begins_at: Span,
    /// Whether it is a `move` closure.
    pub(crate) moves: bool,
    /// Whether it is called for each of many elements.
    pub(crate) repeats: bool,
    /// Whether it uses the receiver of the enclosing method, so that it cannot be rewritten.
    pub(crate) uses_receiver: bool,
    /// Its captures, in the order of their first use.
    pub(crate) captures: Vec<Capture>,
}

impl Frame {
    /// A closure that is about to be walked, with `depth` scopes open around it.
    pub(crate) fn new(depth: usize, closure: &ExprClosure, repeats: bool) -> Self {
        let (begins_at, moves) = (closure.inputs_begin.span, closure.capture.is_some());
        Self { depth, begins_at, moves, repeats, uses_receiver: false, captures: Vec::new() }
    }

    /// Notes a use, at `span`, of a local that was bound outside.
    pub(crate) fn capture(&mut self, binding: &Binding, mutable: bool, span: Span, seen: Seen) {
        match self.captures.iter_mut().find(|capture| capture.ident == binding.ident) {
            Some(capture) if seen == Seen::Surely => capture.seen = seen,
            Some(_) => {}
            None => {
                let mut ident = binding.ident.clone();
                ident.set_span(span);
                // In a loop rustc then says that the calls share it, and not that it lacks a `mut`, which it has. Otherwise it is
                // the closure that lacks one.
                let in_vain = mutable && !(self.moves || self.repeats);
                let bound_at = if in_vain { self.begins_at } else { binding.ident.span() };
                let mutable = mutable && !in_vain;
                self.captures.push(Capture { ident, bound_at, mutable, assigned: false, seen });
            }
        }
    }

    /// Notes that the closure assigns to a captured local that it does not own. False if that was known.
    pub(crate) fn lose_assignment(&mut self, binding: &Binding) -> bool {
        let captured = self.captures.iter_mut().find(|capture| capture.ident == binding.ident);
        captured.is_some_and(|capture| {
            capture.mutable = true;
            !std::mem::replace(&mut capture.assigned, true)
        })
    }
}
