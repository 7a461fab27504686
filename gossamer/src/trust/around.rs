//! Delegating a closure of this crate that wraps one of the user's.

use crate::DelegationError;
use crate::lane::error::Origin;
use crate::trust::unawaited::or_report;
use crate::trust::{NoRef, Pending, Trust};
use std::panic::Location;

/// Reports name the type `N`, which also says whether the closure travels: the user's closure, where
/// `closure` only wraps it. The caller must see to it that `closure` captures that one and nothing else,
/// which is why these calls are not public.
impl<T: 'static> Trust<T> {
    /// Like `apply_with_async`.
    pub(crate) fn send<N, C: NoRef, U: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        let target = self.target();
        let origin = Origin::of::<N>(self.handle().trustee, sent_from);
        let pending = target.call_async::<N, _, _, _>(closure, arguments, origin);
        target.send_first();
        pending
    }

    /// Like `apply_with_then`.
    #[inline(always)]
    pub(crate) fn send_then<N, C: NoRef, U: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
        then: impl FnOnce(U) + 'static,
        sent_from: &'static Location<'static>,
    ) where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        self.target().call_then::<N, _, _, _, _>(closure, arguments, or_report(then, sent_from));
    }

    /// Like `apply_with_unawaited`.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn send_unawaited<N, C: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) where
        F: FnOnce(&mut T, C) + Send + 'static,
    {
        self.target().call_unawaited::<N, _, _>(closure, arguments, sent_from);
    }

    /// Like `apply_here`, with an error instead of a panic.
    #[track_caller]
    pub(crate) fn apply_here_around<N, U>(
        &self,
        closure: impl FnOnce(&mut T) -> U,
    ) -> Result<U, DelegationError> {
        self.target().call_at_hand::<N, _>(closure)
    }
}
