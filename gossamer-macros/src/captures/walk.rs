//! The walk over a function body: keeps the scopes, finds the captures, and rewrites the delegated closures.

use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut};
use syn::*;

use super::assignment::{assigned_variables, changes_receiver, is_assignment};
use super::call::{Arguments, Delegation};
use super::frame::{Capture, Frame, Seen};
use super::holding::Holding;
use super::pattern::{self, Match};
use super::scope::{Binding, Meaning, Scopes, StoredClosure};
use super::{items, macros, rewrite, stored};
use crate::messages;
use crate::report::Report;

/// Rewrites the delegated closures in the body of a function. Mistakes become errors inside the body:
/// there, unlike beside the function, they keep rustc from complaining about what follows from them.
pub(super) fn rewrite_body(attributes: &mut Vec<Attribute>, signature: &Signature, body: &mut Block) {
    let mut walker = Walker::default();
    walker.scopes.open();
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                let ident = Ident::new("self", receiver.self_token.span);
                walker.scopes.bind(&ident, Meaning::Receiver);
            }
            FnArg::Typed(typed) => {
                let holding = Holding::of_type(&typed.ty);
                pattern::bind(&mut walker.scopes, &typed.pat, Match::Always, holding);
            }
        }
    }
    walker.visit_block_mut(body);
    if walker.report.len() > 0 {
        let errors = Expr::Verbatim(walker.report.into_compile_errors());
        body.stmts.insert(0, Stmt::Expr(errors, None));
    }
    if walker.captures_mutably {
        // Whether a variable needs its `mut` shows in the closure only, where the copy has it.
        attributes.push(parse_quote!(#[allow(unused_mut)]));
    }
}

/// The state of the walk.
#[derive(Default)]
pub(super) struct Walker {
    pub(super) scopes: Scopes,
    pub(super) frames: Vec<Frame>,
    /// The number of delegated closures so far: tells whether the tokens of a macro call have to be written anew.
    pub(super) rewritten: usize,
    /// Whether a delegated closure captures a variable that is bound by `mut`, and may change its copy, or try to.
    pub(super) captures_mutably: bool,
    /// Closures whose captures a variable holds instead of them, as they were written.
    pub(super) stored: Vec<(ExprClosure, Vec<Capture>)>,
    /// What the last closure with explicit arguments has captured beside them.
    pub(super) beside: Option<Capture>,
    pub(super) report: Report,
}

impl Walker {
    /// Notes that the code uses the name `name`, at `span`.
    pub(super) fn use_name(&mut self, name: &str, span: Span, seen: Seen) {
        let Some((depth, binding)) = self.scopes.resolve(name) else { return };
        match binding.meaning {
            Meaning::Local { mutable, .. } => {
                let around = self.frames.iter_mut().filter(|frame| frame.depth > depth);
                around.for_each(|frame| frame.capture(binding, mutable, span, seen));
            }
            Meaning::Receiver => self.use_receiver(depth, span),
            Meaning::Constant | Meaning::Function => {}
        }
    }

    /// Notes that the code uses the variable `ident`.
    pub(super) fn use_ident(&mut self, ident: &Ident, seen: Seen) {
        self.use_name(&ext::IdentExt::unraw(ident).to_string(), ident.span(), seen);
    }

    /// Walks `body` in a scope of its own.
    pub(super) fn in_scope(&mut self, body: impl FnOnce(&mut Self)) {
        self.scopes.open();
        body(self);
        self.scopes.close();
    }

    /// Walks statements in the innermost scope, where items are known from the first statement on.
    pub(super) fn statements(&mut self, statements: &mut [Stmt]) {
        self.statements_ending(statements, |walker, last| walker.visit_stmt_mut(last));
    }

    /// Walks statements, the last of them by `walk_last`.
    pub(super) fn statements_ending(
        &mut self,
        statements: &mut [Stmt],
        walk_last: impl FnOnce(&mut Self, &mut Stmt),
    ) {
        for statement in statements.iter() {
            if let Stmt::Item(item) = statement {
                items::bind(&mut self.scopes, item);
            }
        }
        let mut rest = statements;
        while let [statement, behind @ ..] = rest {
            match statement {
                last if behind.is_empty() => return walk_last(self, last),
                Stmt::Local(local) if stored::is_only_delegated(local, behind) => self.stored_closure(local),
                statement => self.visit_stmt_mut(statement),
            }
            rest = behind;
        }
    }

    /// Has a variable hold the captures of the closure that was to be stored in it.
    fn stored_closure(&mut self, local: &mut Local) {
        let (Pat::Ident(variable), Some(init)) = (&local.pat, &mut local.init) else { return };
        let Expr::Closure(closure) = &mut *init.expr else { return };
        let captures = self.delegated_closure(closure, Arguments::Captures(""), false).unwrap_or_default();
        let mut stored = None;
        if captures.is_empty() {
            rewrite::record_place(closure);
            *init.expr = rewrite::constant(&init.expr);
        } else {
            stored = Some(StoredClosure { number: self.stored.len(), parameters: closure.inputs.len() });
            let values = rewrite::values(&captures);
            self.stored.push((closure.clone(), captures));
            *init.expr = values;
        }
        self.scopes.bind(&variable.ident, Meaning::Local { mutable: false, holding: None, stored });
    }

    fn use_receiver(&mut self, depth: usize, span: Span) {
        let around = || self.frames.iter().filter(|frame| frame.depth > depth);
        if around().next().is_some() && around().all(|frame| !frame.uses_receiver) {
            self.report.add(Ident::new("self", span), &messages::CAPTURE_OF_SELF, &[]);
        }
        let around = self.frames.iter_mut().filter(|frame| frame.depth > depth);
        around.for_each(|frame| frame.uses_receiver = true);
    }

    /// Reports a method call that changes a variable, as [`assign`](Self::assign) does. Where only rustc knows whether it does,
    /// rustc must not say that the variable needs no `mut`.
    fn call_method(&mut self, call: &ExprMethodCall) {
        if changes_receiver(call, &self.scopes) {
            return self.assign(&call.receiver);
        }
        for variable in assigned_variables(&call.receiver) {
            let Some(ident) = variable.path.get_ident() else { continue };
            if let Some((depth, binding)) = self.scopes.resolve_ident(ident)
                && let Meaning::Local { mutable: true, .. } = binding.meaning
            {
                self.captures_mutably |= self.frames.iter().any(|frame| frame.depth > depth);
            }
        }
    }

    /// Reports changes of `place` that a delegated closure would lose.
    fn assign(&mut self, place: &Expr) {
        for variable in assigned_variables(place) {
            let Some(ident) = variable.path.get_ident() else { continue };
            let Some((depth, binding)) = self.scopes.resolve_ident(ident) else { continue };
            let binding: Binding = binding.clone();
            let in_loop = self.frames.last().is_some_and(|frame| frame.repeats && frame.depth > depth);
            let borrowing = |frame: &&mut Frame| frame.depth > depth && (!frame.moves || in_loop);
            let borrowing = self.frames.iter_mut().filter(borrowing);
            if borrowing.fold(false, |lost, frame| frame.lose_assignment(&binding) | lost) {
                let name = ident.to_string();
                let message =
                    if in_loop { &messages::ASSIGNMENT_IN_LOOP } else { &messages::ASSIGNMENT_LOST };
                self.report.add(ident, message, &[("name", &name)]);
            }
        }
    }
}

impl VisitMut for Walker {
    fn visit_block_mut(&mut self, block: &mut Block) {
        self.in_scope(|walker| walker.statements(&mut block.stmts));
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        let mut holding = None;
        let mut matching = Match::Always;
        if let Some(init) = &mut local.init {
            // As it is written.
            holding = Holding::of_expr(&init.expr, &self.scopes);
            self.visit_expr_mut(&mut init.expr);
            if let Some((_, diverge)) = &mut init.diverge {
                self.visit_expr_mut(diverge);
                matching = Match::Maybe;
            }
        }
        pattern::bind(&mut self.scopes, &local.pat, matching, holding);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        self.in_scope(|walker| {
            let inputs = closure.inputs.iter();
            inputs.for_each(|input| pattern::bind(&mut walker.scopes, input, Match::Always, None));
            walker.visit_expr_mut(&mut closure.body);
        });
    }

    fn visit_expr_if_mut(&mut self, branch: &mut ExprIf) {
        self.in_scope(|walker| {
            walker.visit_expr_mut(&mut branch.cond);
            walker.visit_block_mut(&mut branch.then_branch);
        });
        if let Some((_, otherwise)) = &mut branch.else_branch {
            self.visit_expr_mut(otherwise);
        }
    }

    fn visit_expr_while_mut(&mut self, repeat: &mut ExprWhile) {
        self.in_scope(|walker| {
            walker.visit_expr_mut(&mut repeat.cond);
            walker.visit_block_mut(&mut repeat.body);
        });
    }

    fn visit_expr_for_loop_mut(&mut self, repeat: &mut ExprForLoop) {
        self.visit_expr_mut(&mut repeat.expr);
        let holding = Holding::of_expr(&repeat.expr, &self.scopes).and_then(Holding::element);
        self.in_scope(|walker| {
            pattern::bind(&mut walker.scopes, &repeat.pat, Match::Always, holding);
            walker.visit_block_mut(&mut repeat.body);
        });
    }

    fn visit_expr_let_mut(&mut self, matched: &mut ExprLet) {
        self.visit_expr_mut(&mut matched.expr);
        pattern::bind(&mut self.scopes, &matched.pat, Match::Maybe, None);
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        self.in_scope(|walker| {
            pattern::bind(&mut walker.scopes, &arm.pat, Match::Maybe, None);
            if let Pat::Guard(guarded) = &mut arm.pat {
                walker.visit_expr_mut(&mut guarded.guard);
            }
            walker.visit_expr_mut(&mut arm.body);
        });
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        let Some(delegation) = Delegation::of_method(call, &self.scopes) else {
            visit_mut::visit_expr_method_call_mut(self, call);
            return self.call_method(call);
        };
        self.visit_expr_mut(&mut call.receiver);
        if let Some(taken) = self.delegated_arguments(&mut call.args, &delegation) {
            rewrite::method_call(call, &delegation, &taken);
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let delegation = match expr {
            Expr::Call(call) => Delegation::of_function(call, &self.scopes),
            _ => None,
        };
        match (expr, delegation) {
            (expr @ Expr::Call(_), Some(delegation)) => self.delegating_function_call(expr, &delegation),
            (expr, _) => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_expr_path_mut(&mut self, path: &mut ExprPath) {
        if let (None, Some(ident)) = (&path.qself, path.path.get_ident()) {
            self.use_ident(ident, Seen::Surely);
        }
    }

    fn visit_expr_assign_mut(&mut self, assignment: &mut ExprAssign) {
        visit_mut::visit_expr_assign_mut(self, assignment);
        self.assign(&assignment.left);
    }

    fn visit_expr_binary_mut(&mut self, operation: &mut ExprBinary) {
        visit_mut::visit_expr_binary_mut(self, operation);
        if is_assignment(&operation.op) {
            self.assign(&operation.left);
        }
    }

    fn visit_expr_reference_mut(&mut self, reference: &mut ExprReference) {
        visit_mut::visit_expr_reference_mut(self, reference);
        if reference.mutability.is_some() {
            self.assign(&reference.expr);
        }
    }

    fn visit_expr_raw_addr_mut(&mut self, address: &mut ExprRawAddr) {
        visit_mut::visit_expr_raw_addr_mut(self, address);
        if matches!(address.mutability, PointerMutability::Mut(_)) {
            self.assign(&address.expr);
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        macros::walk(self, call);
    }

    /// An item sees none of the locals around it.
    fn visit_item_mut(&mut self, item: &mut Item) {
        items::rewrite_item(item);
    }

    /// The length is a constant: it sees no locals.
    fn visit_expr_repeat_mut(&mut self, repeat: &mut ExprRepeat) {
        self.visit_expr_mut(&mut repeat.expr);
    }

    /// It sees no locals, but what is delegated in a closure in it is.
    fn visit_expr_const_mut(&mut self, constant: &mut ExprConst) {
        let outside = (std::mem::take(&mut self.scopes), std::mem::take(&mut self.frames));
        self.visit_block_mut(&mut constant.block);
        (self.scopes, self.frames) = outside;
    }

    // None of these sees locals, though names in them may look like one.
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_path_mut(&mut self, _: &mut Path) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_attribute_mut(&mut self, _: &mut Attribute) {}
    fn visit_angle_bracketed_generic_arguments_mut(&mut self, _: &mut AngleBracketedGenericArguments) {}
}
