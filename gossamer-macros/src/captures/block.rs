//! Closures at the end of a block, such as one that clones what they capture:
//!
//! ```text
//! trust.apply({ let name = name.clone(); move |account| account.rename(name) })
//! trust.__apply_with({ let name = name.clone(); (name,) }, const { move |account, (name,)| account.rename(name) })
//! ```
//!
//! The block stays the argument that it was, and so its statements run when they did.

use syn::{Expr, ExprBlock, Stmt};

/// What an argument ends with: the argument itself, or the end of the block that it is.
pub(super) fn end(argument: &Expr) -> Option<&Expr> {
    let Expr::Block(block) = argument else { return Some(argument) };
    match block.block.stmts.last()? {
        Stmt::Expr(last, None) if is_transparent(block) => end(last),
        _ => None,
    }
}

/// As [`end`], to be replaced.
pub(super) fn end_mut(argument: &mut Expr) -> Option<&mut Expr> {
    match argument {
        Expr::Block(block) if !is_transparent(block) => None,
        Expr::Block(block) => match block.block.stmts.last_mut()? {
            Stmt::Expr(last, None) => end_mut(last),
            _ => None,
        },
        argument => Some(argument),
    }
}

/// Whether its end may leave it: it would miss items of the block.
fn is_transparent(block: &ExprBlock) -> bool {
    let has_items = || block.block.stmts.iter().any(|statement| matches!(statement, Stmt::Item(_)));
    block.attrs.is_empty() && block.label.is_none() && !has_items()
}
