//! The spans that a fiber is in, kept while it waits.
//!
//! `tracing` keeps a stack of entered spans for each thread, fibers know nothing of each other, and a thread has many
//! of them. So a fiber that is about to wait leaves its spans, top first, with the same calls that their guards make,
//! and enters them again when it goes on; meanwhile they are in its own frame. A subscriber runs code of the program in
//! these calls: that code cannot wait, and its panics do not reach the frames of blocking calls, which must not be left
//! (A3 in `trust/call.rs`).

use crate::lane::catch::contained;
use crate::lane::context::{self, Context};
use tracing::Span;
use tracing::level_filters::LevelFilter;

/// How many spans at most a fiber is in at once: those below stay entered. It bounds the cost of a subscriber that never
/// forgets a span.
const MOST: usize = 1000;

/// Whether there may be spans: without a subscriber, or with one that wants nothing, there are none.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    LevelFilter::current() != LevelFilter::OFF
}

/// The span that the calling code is in.
#[inline]
pub(super) fn current() -> Option<Span> {
    if !is_on() {
        return None;
    }
    Some(Span::current()).filter(|span| !span.is_disabled())
}

/// Spans that were left, and are entered again when this is dropped.
pub(crate) struct Left(Vec<Span>);

/// Leaves all spans that this thread is in, until the returned value is dropped. A fiber calls this before it looks
/// whether it has to wait: code of the program runs here, which may wake it.
#[inline(always)]
pub(crate) fn leave() -> Left {
    Left(if is_on() { leave_all() } else { Vec::new() })
}

/// Leaves all spans that this thread is in, if it runs a fiber, which is in none of them.
#[inline]
pub(crate) fn clear() {
    if is_on() && context::is_fiber() {
        let left = leave_all();
        steadily(|| drop(left));
    }
}

#[cold]
#[inline(never)]
fn leave_all() -> Vec<Span> {
    let mut left = Vec::new();
    for _ in 0..MOST {
        let before = left.len();
        steadily(|| left.extend(current()));
        let Some(span) = left.get(before) else { break };
        steadily(|| {
            span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
        });
    }
    left
}

/// Runs code of the subscriber: it cannot wait, and its panics end here.
fn steadily(f: impl FnOnce()) {
    let inside = if context::current() == Context::Fiber { Context::Steady } else { context::current() };
    let _restore = context::enter(inside);
    contained(f);
}

impl Drop for Left {
    #[inline(always)]
    fn drop(&mut self) {
        if is_on() || !self.0.is_empty() {
            self.enter();
        }
    }
}

impl Left {
    #[cold]
    #[inline(never)]
    fn enter(&mut self) {
        // Spans that others have forgotten to leave.
        clear();
        while let Some(span) = self.0.pop() {
            steadily(|| {
                span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
                drop(span);
            });
        }
    }
}
