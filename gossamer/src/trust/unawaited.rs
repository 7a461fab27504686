//! Errors of requests that nobody waits for.

use crate::lane::error::{DelegationError, print};
use std::panic::Location;

/// The completion of a request whose error nobody takes: prints the error.
#[inline(always)]
pub(super) fn or_report<U: 'static>(
    then: impl FnOnce(U) + 'static,
    sent_from: &'static Location<'static>,
) -> impl FnOnce(Result<U, DelegationError>) + 'static {
    #[cfg(feature = "tracing")]
    let then = crate::spans::after(then);
    move |outcome| match outcome {
        Ok(result) => then(result),
        Err(error) => report_unawaited(error, sent_from),
    }
}

/// Reports an error that nobody waits for.
#[cold]
pub(crate) fn report_unawaited(error: DelegationError, sent_from: &'static Location<'static>) {
    print(&format!("gossamer: {}; its callback is not called\n", error.with_sender(sent_from)));
}
