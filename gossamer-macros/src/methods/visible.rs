//! Finds what visibly cannot travel in a type: references, pointers, `dyn`, lifetimes, `impl Trait`.
//!
//! What an alias or a struct hides is found by the `NoRef` bound instead.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Lifetime, Type};

use crate::messages::{self, Message};

/// A part of a type that cannot travel.
pub(super) struct Obstacle {
    /// The part itself: the place to blame.
    pub(super) culprit: TokenStream,
    /// What to say of it.
    pub(super) message: &'static Message,
    /// What it is, in words.
    pub(super) kind: &'static str,
}

/// The outermost parts of `ty` that cannot travel.
pub(super) fn obstacles(ty: &Type) -> Vec<Obstacle> {
    let mut search = Search::default();
    search.visit_type(ty);
    search.found
}

#[derive(Default)]
struct Search {
    found: Vec<Obstacle>,
}

impl Search {
    fn borrow(&mut self, culprit: impl ToTokens, kind: &'static str) {
        let culprit = culprit.to_token_stream();
        self.found.push(Obstacle { culprit, message: &messages::METHOD_BORROWS, kind });
    }
}

impl<'ast> Visit<'ast> for Search {
    fn visit_type(&mut self, ty: &'ast Type) {
        match ty {
            Type::Reference(_) => self.borrow(ty, "a reference"),
            Type::Ptr(_) => self.borrow(ty, "a raw pointer"),
            Type::FnPtr(_) => self.borrow(ty, "a `fn` pointer"),
            Type::TraitObject(_) => self.borrow(ty, "a `dyn` type"),
            Type::ImplTrait(_) => self.found.push(Obstacle {
                culprit: ty.to_token_stream(),
                message: &messages::METHOD_IMPL_TRAIT,
                kind: "",
            }),
            _ => visit::visit_type(self, ty),
        }
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        self.borrow(lifetime, "a type with a lifetime");
    }
}
