//! The names that are bound at a point of a function body, and what each of them stands for.

use std::collections::HashMap;

use syn::Ident;
use syn::ext::IdentExt;

use super::holding::Holding;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// A local variable or parameter. A closure that uses it captures it.
    Local {
        /// Whether it is bound by `mut`.
        mutable: bool,
        /// Whether it visibly holds one trustee, or a row of them.
        holding: Option<Holding>,
        /// What it holds the captures of, if it was a closure that is only delegated.
        stored: Option<StoredClosure>,
    },
    /// The receiver of the enclosing method.
    Receiver,
    /// A constant, static or unit struct: a path in expressions and in patterns alike.
    Constant,
    /// A function: a path in expressions, but a pattern of this name binds.
    Function,
}

/// A closure whose captures a variable holds instead of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StoredClosure {
    /// Its number among those.
    pub(crate) number: usize,
    /// How many parameters it has.
    pub(crate) parameters: usize,
}

/// A bound name.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    /// The name as it was written where it was bound: `r#type`, not `type`.
    pub(crate) ident: Ident,
    /// What it stands for.
    pub(crate) meaning: Meaning,
}

/// The nested scopes that are open at a point of a function body, outermost first.
#[derive(Default)]
pub(crate) struct Scopes {
    open: Vec<HashMap<String, Binding>>,
}

impl Scopes {
    /// Opens a scope inside the innermost one.
    pub(crate) fn open(&mut self) {
        self.open.push(HashMap::new());
    }

    /// Closes the innermost scope; its names are gone.
    pub(crate) fn close(&mut self) {
        self.open.pop();
    }

    /// The number of open scopes.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Binds a name in the innermost scope, in place of what it meant there before.
    pub(crate) fn bind(&mut self, ident: &Ident, meaning: Meaning) {
        let binding = Binding { ident: ident.clone(), meaning };
        if let Some(innermost) = self.open.last_mut() {
            innermost.insert(key(ident), binding);
        }
    }

    /// What the name stands for here, and the index of the scope that binds it.
    pub(crate) fn resolve(&self, name: &str) -> Option<(usize, &Binding)> {
        let scopes = self.open.iter().enumerate().rev();
        scopes.into_iter().find_map(|(depth, scope)| scope.get(name).map(|binding| (depth, binding)))
    }

    /// As [`resolve`](Self::resolve), for a name as it stands in the source.
    pub(crate) fn resolve_ident(&self, ident: &Ident) -> Option<(usize, &Binding)> {
        self.resolve(&key(ident))
    }
}

/// The name itself: `r#type` and `type` are the same name, and so are `r#count` and `count`.
fn key(ident: &Ident) -> String {
    ident.unraw().to_string()
}
