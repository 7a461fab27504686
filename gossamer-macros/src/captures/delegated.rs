//! Walks the arguments of delegating calls, and has the calls rewritten.

use quote::quote;
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut;
use syn::*;

use super::call::{Arguments, Callee, Delegation, closure_mut, is_two, stored_in};
use super::frame::{Capture, Frame, Seen, Taken};
use super::scope::StoredClosure;
use super::walk::Walker;
use super::{repeated, rewrite};
use crate::messages;

impl Walker {
    /// Walks the arguments of a delegating call. Gives the captures of the delegated closure if the call has to be rewritten.
    pub(super) fn delegated_arguments(
        &mut self,
        arguments: &mut Punctuated<Expr, Token![,]>,
        delegation: &Delegation,
    ) -> Option<Taken> {
        let mut taken = None;
        let last = arguments.len().saturating_sub(1);
        for (position, argument) in arguments.iter_mut().enumerate() {
            if position == delegation.closure {
                taken = self.delegated_argument(argument, delegation);
            } else if position == last && is_two(delegation.call) {
                self.combining_argument(argument, delegation);
            } else {
                self.visit_expr_mut(argument);
            }
        }
        taken
    }

    /// Walks the closure that combines the results of a loop, to which no captures can be handed.
    fn combining_argument(&mut self, argument: &mut Expr, delegation: &Delegation) {
        let Some(closure) = closure_mut(argument) else { return self.visit_expr_mut(argument) };
        self.delegated_closure(closure, Arguments::Nothing, false);
        if let Some(Capture { ident, .. }) = self.beside.take() {
            let parts = [("call", delegation.call), ("name", &ident.to_string())];
            self.report.add(&ident, &messages::CAPTURE_IN_COMBINING_CLOSURE, &parts);
            // Not a constant, where rustc would report it, too.
            *argument = Expr::Verbatim(quote!(#argument));
        }
    }

    fn delegated_argument(&mut self, argument: &mut Expr, delegation: &Delegation) -> Option<Taken> {
        if let Some(stored) = stored_in(argument, &self.scopes) {
            return self.stored_argument(argument, stored, delegation);
        }
        if let Expr::Block(block) = argument {
            return self.end_of_block(&mut block.block.stmts, delegation);
        }
        let closure = closure_mut(argument)?;
        let repeats = delegation.repeats();
        let captures = self.delegated_closure(closure, delegation.arguments, repeats);
        if !repeats {
            rewrite::record_place(closure);
        }
        self.refuse_captures_beside(delegation);
        captures.map(Taken::Captures)
    }

    /// Walks a block with the delegated closure at its end, which also captures what the statements bind.
    fn end_of_block(&mut self, statements: &mut [Stmt], delegation: &Delegation) -> Option<Taken> {
        let mut taken = None;
        self.in_scope(|walker| {
            walker.statements_ending(statements, |walker, last| {
                if let Stmt::Expr(last, None) = last {
                    taken = walker.delegated_argument(last, delegation);
                }
            });
        });
        taken
    }

    /// Puts a closure into the call again to which its captures are handed.
    fn stored_argument(
        &mut self,
        argument: &mut Expr,
        stored: StoredClosure,
        delegation: &Delegation,
    ) -> Option<Taken> {
        self.visit_expr_mut(argument);
        self.rewritten += 1;
        let (closure, captures) = self.stored.get(stored.number)?;
        let mut closure = closure.clone();
        if delegation.repeats() {
            repeated::take_once(&mut closure, captures, delegation.arguments);
        } else {
            rewrite::record_place(&mut closure);
            rewrite::take_captures(&mut closure, captures);
        }
        let Expr::Path(variable) = std::mem::replace(argument, Expr::Closure(closure)) else { return None };
        variable.path.get_ident().cloned().map(Taken::Stored)
    }

    /// Reports what the closure of the last call has captured beside its arguments.
    fn refuse_captures_beside(&mut self, delegation: &Delegation) {
        let Some(Capture { ident, .. }) = self.beside.take() else { return };
        // Without arguments any type may have such a method, and types with a `spawn_with` are many.
        let surely = delegation.callee != Callee::Method || delegation.call != "spawn_with";
        if delegation.arguments == Arguments::Explicit && surely {
            let parts = [("call", delegation.call), ("name", &ident.to_string())];
            self.report.add(&ident, &messages::CAPTURE_BESIDE_ARGUMENTS, &parts);
        }
    }

    pub(super) fn delegating_function_call(&mut self, expr: &mut Expr, delegation: &Delegation) {
        let Expr::Call(call) = expr else { return };
        if let Some(taken) = self.delegated_arguments(&mut call.args, delegation)
            && let Some(rewritten) = rewrite::function_call(call, delegation, &taken)
        {
            *expr = rewritten;
        }
    }

    /// Gives what the closure captures, to be made its arguments; nothing if it has to stay as it is.
    pub(super) fn delegated_closure(
        &mut self,
        closure: &mut ExprClosure,
        arguments: Arguments,
        repeats: bool,
    ) -> Option<Vec<Capture>> {
        self.frames.push(Frame::new(self.scopes.depth(), closure, repeats));
        self.visit_expr_closure_mut(closure);
        let frame = self.frames.pop()?;
        self.rewritten += 1;
        if !matches!(arguments, Arguments::Captures(_)) {
            // It has its arguments. If it captures all the same, the library says so; in a constant rustc would, in other words.
            self.beside = frame.captures.into_iter().find(|capture| capture.seen == Seen::Surely);
            return (self.beside.is_none() && !frame.uses_receiver).then(Vec::new);
        }
        self.captures_mutably |= frame.captures.iter().any(|capture| capture.mutable);
        (!frame.uses_receiver).then_some(frame.captures)
    }
}
