//! [`Snapshot`]: one version of a replicated value.

use arc_swap::Guard;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A version of a [`Replicated`](crate::Replicated) value: what its [`read`](crate::Replicated::read) returns. It
/// dereferences to the value.
///
/// It never changes. It may be kept while its fiber waits, but does not travel: send the
/// [`Replicated`](crate::Replicated).
pub struct Snapshot<T: 'static>(pub(super) Guard<Arc<Version<T>>>);

/// The value as it was between two replacements.
pub(super) struct Version<T> {
    /// 1 is the initial value.
    pub(super) number: u64,
    pub(super) value: T,
}

impl<T> Snapshot<T> {
    /// The number of the version: the initial value has 1, and later versions have higher numbers. Compare it to
    /// learn whether something that was computed from the value is still current.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Replicated;
    /// let limit = Replicated::new(10_u64);
    /// let before = limit.read().version();
    /// limit.replace(20);
    /// assert!(limit.read().version() > before);
    /// # });
    /// ```
    #[inline]
    pub fn version(&self) -> u64 {
        self.0.number
    }
}

impl<T> Deref for Snapshot<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Snapshot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("version", &self.version()).field("value", &**self).finish()
    }
}
