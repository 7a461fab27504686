//! Spans of the crate [`tracing`] across workers and nodes (feature `tracing`).
//!
//! With this feature, what a fiber delegates runs inside the span that was current where it was sent. So one trace
//! shows everything that a request has caused, wherever it was done:
//!
//! | call | what runs inside the sender's span |
//! |---|---|
//! | [`apply`](crate::Trust::apply), [`apply_async`](crate::Trust::apply_async), [`apply_into`](crate::Trust::apply_into), and the calls of collections | the closure, at its trustee |
//! | [`apply_then`](crate::Trust::apply_then) | the closure, and the callback at home |
//! | [`launch`](crate::Trust::launch) and its like | the fiber that holds the latch; the callback of [`launch_then`](crate::Trust::launch_then) |
//! | [`spawn`](crate::spawn), [`spawn_on`](crate::spawn_on), [`spawn_many_with`](crate::spawn_many_with), [`spawn_local`](crate::spawn_local), [`Scope::spawn`](crate::Scope::spawn), [`Runtime::spawn`](crate::Runtime::spawn) | the fiber, for all of its life |
//!
//! Closures of [`unblock`](crate::unblock) and coroutines of `spawn_may` do not; nor do blocks of streams carry a span.
//!
//! Inside one process this needs no calls: the closure runs in the very span, which stays open until the closure is
//! done. Install a subscriber for all threads (`tracing::subscriber::set_global_default`); one for a single thread
//! (`tracing::subscriber::with_default`) sees only what that thread does.
//!
//! # Between nodes
//! A span does not leave its process; only its place in the trace goes to another node: a [`TraceContext`] of the W3C
//! recommendation [Trace Context](https://www.w3.org/TR/trace-context/): 34 bytes in the request, and its `tracestate`.
//! There the closure or fiber runs in a span of its own, whose parent is the sender's: target `gossamer`, level INFO,
//! name `delegated`, with the path of the closure in the fields `otel.name` and `closure`. A filter of the subscriber
//! has to let it pass, or the trace ends there.
//!
//! Only the code that exports spans knows which context a span has, and how a new span gets its parent. So each node
//! installs a [`Propagator`] before it delegates. For `tracing-opentelemetry` it is this:
//!
//! ```rust,ignore
#![doc = include_str!("opentelemetry.rs")]
//! ```
//!
//! and in `main`, on all nodes:
//!
//! ```rust,ignore
//! gossamer::spans::set_propagator(OpenTelemetry).expect("installed once");
//! ```
//!
//! The code is in this documentation, and not in the library, since each version of `opentelemetry` has types of its
//! own, and the program chooses the version. Without a propagator, closures run in no span at other nodes. Nodes of one
//! application run one program, so either all have the feature, or none. Baggage does not travel. If
//! [`spawn`](crate::spawn) meant a fiber for another node, and the fiber stays because its arguments cannot leave this
//! one, it also runs in a span that continues the sender's.
//!
//! # Spans of a fiber
//! Fibers of one worker share its thread, and `tracing` keeps the entered spans by thread. So a fiber that waits leaves
//! the spans that it is in, and enters them again when it goes on: a guard of `Span::enter` may be held over any call
//! of this crate that waits, and no other fiber sees the span. To the subscriber this looks like an instrumented
//! future. A fiber begins with the span of the code that started it, if that has one.
//!
//! A subscriber's code that runs when spans are left and entered for a wait cannot wait itself: it panics there, and
//! the panic is printed. If a delegated closure forgets a guard (`mem::forget`), the span stays entered for everything
//! that its worker serves, until one of the worker's fibers runs.
//!
//! # Cost
//! A call looks once at the level that subscribers want; without any subscriber, that is one load from memory that
//! nothing writes. With a subscriber and a current span, a request takes 40 bytes more on its lane inside a process,
//! the subscriber clones the span and enters it at the trustee, and each wait leaves and enters it. `docs/profiling.md`
//! in the repository has figures.

mod context;
mod entered;
mod sender;
mod travel;

pub use context::TraceContext;
pub(crate) use entered::{clear, is_on, leave};
pub(crate) use sender::{Sender, after, inside};

use std::error::Error;
use std::fmt;
use std::sync::OnceLock;
use tracing::Span;

static PROPAGATOR: OnceLock<Box<dyn Propagator>> = OnceLock::new();

/// Knows the place of spans in traces that continue in other processes: the code that exports spans provides it.
pub trait Propagator: Send + Sync {
    /// The context of a span of this process, which becomes the parent of spans elsewhere; `None` if it is in no trace.
    ///
    /// Called when a request of this span is sent to another node, in the calling fiber or on its worker; it cannot wait.
    fn context_of(&self, span: &Span) -> Option<TraceContext>;

    /// Makes a span a child of a span of another process. It was just made, and nothing has entered it.
    ///
    /// Called where the request is served. A panic counts as a panic of the delegated closure.
    fn set_parent(&self, span: &Span, parent: &TraceContext);
}

/// Installs the [`Propagator`] of this process, for good.
///
/// ```
/// use gossamer::spans::{self, Propagator, TraceContext};
/// use tracing::Span;
///
/// /// Has all requests of this process go on in one trace.
/// struct OneTrace(TraceContext);
///
/// impl Propagator for OneTrace {
///     fn context_of(&self, _span: &Span) -> Option<TraceContext> {
///         Some(self.0.clone())
///     }
///
///     fn set_parent(&self, span: &Span, parent: &TraceContext) {
///         span.record("parent", parent.traceparent());
///     }
/// }
///
/// let context = TraceContext::new([1; 16], [2; 8], 1).unwrap();
/// assert_eq!(spans::set_propagator(OneTrace(context.clone())), Ok(()));
/// assert!(spans::set_propagator(OneTrace(context)).is_err());
/// ```
///
/// # Errors
/// If there is one already.
pub fn set_propagator(propagator: impl Propagator + 'static) -> Result<(), PropagatorIsSet> {
    PROPAGATOR.set(Box::new(propagator)).map_err(|_refused| PropagatorIsSet)
}

fn propagator() -> Option<&'static dyn Propagator> {
    PROPAGATOR.get().map(|propagator| &**propagator)
}

/// This process has a [`Propagator`] already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropagatorIsSet;

impl fmt::Display for PropagatorIsSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this process has a propagator of spans already: install it once, where `main` begins")
    }
}

impl Error for PropagatorIsSet {}
