//! Using a property of the fiber's own worker, without a request.

use crate::DelegationError;
use crate::trust::Trust;
use crate::trust::apply::rethrow;
use std::panic::Location;

impl<T: 'static> Trust<T> {
    /// Applies a closure to a property of the fiber's own worker, within this call, and returns its result.
    ///
    /// The closure is not sent anywhere, so it may capture and return anything, including references; the
    /// macros leave it alone. Like a delegated closure it cannot wait. What this fiber has sent to its own
    /// worker before is served first.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let numbers = gossamer::entrust(vec![1, 2, 3]);
    /// let mut sum = 0;
    /// numbers.apply_here(|numbers| numbers.iter().for_each(|number| sum += number));
    /// assert_eq!(sum, 6);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the property belongs to another worker; if the closure panics, with its message and both source
    /// lines; and in the cases listed under [Panics](Self#panics).
    #[track_caller]
    pub fn apply_here<U>(&self, closure: impl FnOnce(&mut T) -> U) -> U {
        match self.try_apply_here(closure) {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    /// Like `apply_here`, with an error instead of a panic.
    #[track_caller]
    pub(crate) fn try_apply_here<U, F: FnOnce(&mut T) -> U>(&self, closure: F) -> Result<U, DelegationError> {
        self.target().call_at_hand::<F, _>(closure)
    }

    /// Whether both are handles of one property.
    pub(crate) fn is_same<V: 'static>(&self, other: &Trust<V>) -> bool {
        let (one, other) = (self.target(), other.target());
        one.number == other.number && one.property == other.property
    }

    /// Like `apply_here`, for a closure of this crate around the user's: its panic goes on as if it had happened in the
    /// caller.
    #[track_caller]
    pub(crate) fn visit<U>(&self, closure: impl FnOnce(&mut T) -> U) -> U {
        match self.try_apply_here(closure) {
            Ok(result) => result,
            Err(error) => error.resume(),
        }
    }

    /// The same for two properties at once.
    ///
    /// # Panics
    /// If both are the same.
    #[track_caller]
    pub(crate) fn visit_both<V: 'static, U>(
        &self,
        other: &Trust<V>,
        closure: impl FnOnce(&mut T, &mut V) -> U,
    ) -> U {
        match self.target().call_both_at_hand(other.target(), closure) {
            Ok(result) => result,
            Err(error) => error.resume(),
        }
    }
}
