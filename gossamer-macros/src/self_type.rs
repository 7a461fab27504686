//! Spells out `Self` in code that is moved to where it would mean another type, or none.

use syn::visit_mut::{self, VisitMut};
use syn::{ExprPath, Path, QSelf, Type, TypePath, parse_quote};

/// Replaces `Self` by the type that it means.
pub(crate) struct SpellOutSelf<'a> {
    pub(crate) meaning: &'a Type,
}

impl SpellOutSelf<'_> {
    /// `Self::Item` becomes `<Meaning>::Item`.
    fn spell_out_path(&self, qself: &mut Option<QSelf>, path: &mut Path) {
        let starts_with_self = path.segments.first().is_some_and(|first| first.ident == "Self");
        if qself.is_none() && starts_with_self && path.segments.len() > 1 {
            let rest = path.segments.iter().skip(1);
            let meaning = self.meaning;
            let spelled: ExprPath = parse_quote!(<#meaning>::#(#rest)::*);
            (*qself, *path) = (spelled.qself, spelled.path);
        }
    }
}

impl VisitMut for SpellOutSelf<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        match ty {
            Type::Path(path) if path.qself.is_none() && path.path.is_ident("Self") => {
                *ty = self.meaning.clone();
            }
            _ => visit_mut::visit_type_mut(self, ty),
        }
    }

    fn visit_type_path_mut(&mut self, path: &mut TypePath) {
        visit_mut::visit_type_path_mut(self, path);
        self.spell_out_path(&mut path.qself, &mut path.path);
    }

    fn visit_expr_path_mut(&mut self, path: &mut ExprPath) {
        visit_mut::visit_expr_path_mut(self, path);
        self.spell_out_path(&mut path.qself, &mut path.path);
    }
}
