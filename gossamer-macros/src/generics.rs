//! Adds bounds to the generics of a user's item.

use syn::{Generics, TypeParamBound, WherePredicate, parse_quote};

/// Bounds every type parameter by `bound`, in the place where the user has bounded it: lints dislike two.
pub(crate) fn bound_type_parameters(generics: &mut Generics, bound: &TypeParamBound) {
    let mut predicates = Vec::new();
    for parameter in generics.type_params_mut() {
        let name = &parameter.ident;
        match parameter.bounds.is_empty() {
            true => predicates.push(parse_quote!(#name: #bound)),
            false => parameter.bounds.push(bound.clone()),
        }
    }
    add_predicates(generics, predicates);
}

/// Adds predicates to the where-clause, if there are any.
pub(crate) fn add_predicates(generics: &mut Generics, predicates: Vec<WherePredicate>) {
    if !predicates.is_empty() {
        generics.make_where_clause().predicates.extend(predicates);
    }
}
