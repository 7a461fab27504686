//! Judges whether an impl, and each of its methods, can be delegated.

use syn::{FnArg, Ident, ImplItemFn, ItemImpl, Receiver, ReceiverKind, ReturnType, Safety, Signature, Type};

use super::visible::obstacles;
use crate::messages;
use crate::report::Report;
use quote::ToTokens;

/// The methods that every `Trust` has, itself or by the traits of the prelude: found before any that it dereferences to.
const TAKEN: [&str; 24] = [
    "apply",
    "apply_with",
    "apply_then",
    "apply_with_then",
    "apply_async",
    "apply_with_async",
    "apply_unawaited",
    "apply_with_unawaited",
    "try_apply",
    "try_apply_with",
    "launch",
    "launch_with",
    "launch_then",
    "launch_with_then",
    "trustee",
    "clone",
    "clone_from",
    "to_owned",
    "into",
    "try_into",
    "drop",
    "deref",
    "fmt",
    "type_id",
];

/// The name of the property, unless its impl cannot be delegated.
pub(super) fn property(item: &ItemImpl, report: &mut Report) -> Option<Ident> {
    if let Some(lifetime) = item.generics.lifetimes().next() {
        report.add(lifetime, &messages::PROPERTY_LIFETIME, &[]);
        return None;
    }
    match &*item.self_ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last().map(|last| last.ident.clone()),
        other => {
            report.add(other, &messages::PROPERTY_UNNAMED, &[]);
            None
        }
    }
}

/// Reports what keeps a method from being delegated.
pub(super) fn method(method: &ImplItemFn, property: &Type, report: &mut Report) {
    let signature = &method.sig;
    qualifiers(signature, report);
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => receiver_borrows(receiver, property, report),
            FnArg::Typed(argument) => travels(&argument.ty, "an argument of a delegated method", report),
        }
    }
    if let ReturnType::Type(_, result) = &signature.output {
        travels(result, "the result of a delegated method", report);
    }
    let name = signature.ident.to_string();
    if TAKEN.contains(&name.as_str()) {
        report.add(&signature.ident, &messages::METHOD_NAME_TAKEN, &[("name", &name)]);
    }
}

/// Reports that the forms of another method have the name of this one.
pub(super) fn collisions(method: &ImplItemFn, functions: &[&ImplItemFn], report: &mut Report) {
    let ident = &method.sig.ident;
    let name = ident.to_string();
    for (suffix, form) in [("_then", "with a callback"), ("_async", "that gives a future")] {
        let plain = name.strip_suffix(suffix);
        let collides = functions.iter().filter(|other| other.sig.receiver().is_some());
        if let Some(plain) = plain
            && collides.into_iter().any(|other| other.sig.ident == plain)
        {
            let parts = [("name", name.as_str()), ("plain", plain), ("form", form)];
            report.add(ident, &messages::METHOD_NAME_COLLIDES, &parts);
        }
    }
}

fn qualifiers(signature: &Signature, report: &mut Report) {
    let name = signature.ident.to_string();
    if let Some(keyword) = &signature.asyncness {
        report.add(keyword, &messages::METHOD_ASYNC, &[("name", &name)]);
    }
    if let Safety::Unsafe(keyword) = &signature.safety {
        report.add(keyword, &messages::METHOD_UNSAFE, &[]);
    }
}

fn receiver_borrows(receiver: &Receiver, property: &Type, report: &mut Report) {
    let borrows = match &receiver.kind {
        ReceiverKind::Reference(..) => true,
        ReceiverKind::Typed(_, ty) => is_borrowed_property(ty, property),
        _ => false,
    };
    if !borrows {
        let written = match &receiver.kind {
            ReceiverKind::Typed(_, ty) => {
                format!("self: {}", ty.to_token_stream().to_string().replace(' ', ""))
            }
            _ => "self".to_owned(),
        };
        report.add(receiver, &messages::METHOD_TAKES_PROPERTY, &[("receiver", &written)]);
    }
}

/// Whether the type of a receiver is `&Self` or `&mut Self`.
fn is_borrowed_property(ty: &Type, property: &Type) -> bool {
    match ty {
        Type::Reference(reference) => {
            let borrowed = reference.elem.to_token_stream().to_string();
            borrowed == "Self" || borrowed == property.to_token_stream().to_string()
        }
        _ => false,
    }
}

fn travels(ty: &Type, place: &str, report: &mut Report) {
    for obstacle in obstacles(ty) {
        report.add(obstacle.culprit, obstacle.message, &[("kind", obstacle.kind), ("place", place)]);
    }
}
