//! Closures that are put into a variable first, of which only delegating calls make use:
//!
//! ```text
//! let add = move |total: &mut u64| *total += by;       trust.apply(add);
//! let add = (by,);                                     trust.__apply_with(add, const { move |total, (by,)| … });
//! ```
//!
//! The variable holds the captures from where the closure was written, as the closure would have. It can be used as often as they can.

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprMethodCall, ExprPath, Ident, Local, Macro, Pat, Stmt, Token, Type};

use super::call::{position_in_function, position_in_method};
use super::select;

/// What takes such a closure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taker {
    /// `spawn`: it has no parameters.
    Function,
    /// A trust: its first parameter is a `&mut`, and says so, without which it could not be stored. (Other types have methods of the
    /// same names, whose closures have other parameters.)
    Trust,
}

/// Whether a statement stores a closure of which the rest only makes delegated ones.
pub(super) fn is_only_delegated(local: &Local, rest: &[Stmt]) -> bool {
    let (Pat::Ident(variable), Some(init)) = (&local.pat, &local.init) else { return false };
    let Expr::Closure(closure) = &*init.expr else { return false };
    let plain = variable.by_ref.is_none() && variable.mutability.is_none() && variable.subpat.is_none();
    let taker = match closure.inputs.first() {
        None => Taker::Function,
        Some(Pat::Type(first)) if is_exclusive(&first.ty) => Taker::Trust,
        Some(_) => return false,
    };
    let mut uses = Uses { of: &variable.ident, by: taker, delegated: 0, others: 0 };
    rest.iter().for_each(|statement| uses.visit_stmt(statement));
    plain && init.diverge.is_none() && uses.delegated > 0 && uses.others == 0
}

fn is_exclusive(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference) if reference.mutability.is_some())
}

/// Counts the uses of a variable.
struct Uses<'a> {
    of: &'a Ident,
    by: Taker,
    delegated: usize,
    others: usize,
}

impl Uses<'_> {
    fn is_it(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Path(path) if path.qself.is_none() && path.path.is_ident(self.of))
    }

    /// Counts those in the arguments of a call that delegates the one at this position, if any.
    fn arguments<'b>(&mut self, arguments: impl Iterator<Item = &'b Expr>, delegated: Option<usize>) {
        for (position, argument) in arguments.enumerate() {
            match Some(position) == delegated && self.is_it(argument) {
                true => self.delegated += 1,
                false => self.visit_expr(argument),
            }
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) => self.others += usize::from(ident == *self.of),
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let position = position_in_method(&call.method.to_string(), call.args.len());
        self.arguments(call.args.iter(), position.filter(|_| self.by == Taker::Trust));
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        let Expr::Path(function) = &*call.func else { return visit::visit_expr_call(self, call) };
        self.visit_expr_path(function);
        let position = position_in_function(&function.path, call.args.len());
        self.arguments(call.args.iter(), position.filter(|_| self.by == Taker::Function));
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        self.others += usize::from(path.path.is_ident(self.of));
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        // As the walk reads it.
        let arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        let arguments = arguments.map(|arguments| arguments.into_iter().collect()).ok();
        match arguments.or_else(|| select::expressions(call)) {
            Some(arguments) => arguments.iter().for_each(|argument| Visit::visit_expr(self, argument)),
            None => self.tokens(call.tokens.clone()),
        }
    }
}
