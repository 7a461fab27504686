//! The span of the code that sends a closure, on its way with the arguments.

use crate::lane::constant::ClosurePath;
use crate::spans::{TraceContext, entered, propagator};
use std::any::type_name;
use tracing::Span;

/// In which span a closure is to run.
#[derive(Clone)]
pub(crate) enum Sender {
    /// In this span, of this process.
    Here(Span),
    /// In a span that continues one of another process, if that is known.
    Away(Option<TraceContext>),
}

impl Sender {
    /// The span that the calling code is in, if it is in one.
    #[inline]
    pub(crate) fn current() -> Option<Self> {
        entered::current().map(Self::Here)
    }

    /// The place of the span in its trace, for another process.
    pub(super) fn into_context(self) -> Option<TraceContext> {
        match self {
            Self::Here(span) => propagator()?.context_of(&span),
            Self::Away(context) => context,
        }
    }

    /// Runs the closure, or this crate's part that calls the user's closure, which is of type `N`.
    pub(crate) fn run<N, R>(self, f: impl FnOnce() -> R) -> R {
        match self {
            Self::Here(span) => span.in_scope(f),
            Self::Away(Some(parent)) => continued::<N>(&parent).in_scope(f),
            Self::Away(None) => f(),
        }
    }
}

/// A span of this process whose parent is in another.
fn continued<N>(parent: &TraceContext) -> Span {
    let closure = ClosurePath(type_name::<N>());
    let span = tracing::info_span!(
        target: "gossamer",
        parent: None,
        "delegated",
        otel.name = %closure,
        otel.kind = "server",
        closure = %closure,
    );
    if let Some(propagator) = propagator().filter(|_| !span.is_disabled()) {
        propagator.set_parent(&span, parent);
    }
    span
}

/// The body of a fiber of this process, in the span that is current now.
pub(crate) fn inside<R>(body: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let run = after(|()| body());
    move || run(())
}

/// A callback, in the span that is current now. It adds at most a box to what the callback captures.
pub(crate) fn after<U, R>(then: impl FnOnce(U) -> R) -> impl FnOnce(U) -> R {
    let span = entered::current().map(Box::new);
    move |value| match span {
        Some(span) => span.in_scope(|| then(value)),
        None => then(value),
    }
}
