//! Closures that are applied to the value of a key.

use crate::collections::dist_map::{DistMap, Entries};
use crate::lane::operation::refuse_captures;
use crate::trust::rethrow;
use crate::{NoRef, Pending, WithoutCaptures};
use std::hash::Hash;
use std::panic::Location;

impl<K: Hash + Eq + NoRef, V: 'static> DistMap<K, V> {
    /// Applies a closure to the value of a key, and returns its result; `None` if there is no such key. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let lists = gossamer::collections::DistMap::new();
    /// lists.insert("a".to_owned(), vec![1, 2, 3]);
    /// assert_eq!(lists.apply("a".to_owned(), |list| list.len()), Some(3));
    /// assert_eq!(lists.apply("b".to_owned(), |list| list.len()), None);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics ([Panics](Self#panics)).
    #[inline]
    #[track_caller]
    pub fn apply<U: NoRef, F>(&self, key: K, closure: F) -> Option<U>
    where
        F: FnOnce(&mut V) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at::<F, _, _, _>("apply", key, around(move |value, ()| closure(value)), ())
    }

    /// Like [`apply`](Self::apply), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// let left = squares.apply_with(3, |square, by| { *square -= by; *square }, 1);
    /// assert_eq!(left, Some(8));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply`](Self::apply).
    #[inline]
    #[track_caller]
    pub fn apply_with<C: NoRef, U: NoRef, F>(&self, key: K, closure: F, arguments: C) -> Option<U>
    where
        F: FnOnce(&mut V, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at::<F, _, _, _>("apply_with", key, around(closure), arguments)
    }

    /// Like [`apply`](Self::apply), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// let doubled = squares.apply_async(3, |square| 2 * *square);
    /// assert_eq!(doubled.wait(), Some(18));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the backlog is far too long, as for [`Trust::apply_then`](crate::Trust::apply_then).
    #[inline]
    #[track_caller]
    pub fn apply_async<U: NoRef, F>(&self, key: K, closure: F) -> Pending<Option<U>>
    where
        F: FnOnce(&mut V) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_at::<F, _, _, _>(key, around(move |value, ()| closure(value)), ())
    }

    /// Like [`apply_async`](Self::apply_async), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let stock = gossamer::collections::DistMap::new();
    /// ["tea", "milk"].map(|name| stock.insert(name.to_owned(), 10_u64));
    /// let sell = |left: &mut u64, sold: u64| { *left -= sold; *left };
    /// let left = [("tea", 3), ("milk", 4)].map(|(name, sold)| stock.apply_with_async(name.to_owned(), sell, sold));
    /// assert_eq!(left.map(|left| left.wait()), [Some(7), Some(6)]); // both were under way at once
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_async`](Self::apply_async).
    #[inline]
    #[track_caller]
    pub fn apply_with_async<C: NoRef, U: NoRef, F>(
        &self,
        key: K,
        closure: F,
        arguments: C,
    ) -> Pending<Option<U>>
    where
        F: FnOnce(&mut V, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_at::<F, _, _, _>(key, around(closure), arguments)
    }

    /// Like [`apply`](Self::apply), without waiting: `then` is called with the result, on this worker, as by
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{collections::DistMap, sync::oneshot};
    /// let stock = DistMap::new();
    /// stock.insert("tea".to_owned(), 10_u64);
    /// let (sender, receiver) = oneshot::channel();
    /// let sell = |left: &mut u64| { *left -= 1; *left };
    /// stock.apply_then("tea".to_owned(), sell, |left| sender.send(left).unwrap()); // goes on at once
    /// assert_eq!(receiver.recv(), Ok(Some(9)));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_async`](Self::apply_async).
    #[inline]
    #[track_caller]
    pub fn apply_then<U: NoRef, F>(&self, key: K, closure: F, then: impl FnOnce(Option<U>) + 'static)
    where
        F: FnOnce(&mut V) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at_then::<F, _, _, _>(key, around(move |value, ()| closure(value)), (), then);
    }

    /// Like [`apply_then`](Self::apply_then), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{collections::DistMap, sync::oneshot};
    /// let stock = DistMap::new();
    /// stock.insert("tea".to_owned(), 10_u64);
    /// let (sender, receiver) = oneshot::channel();
    /// let sell = |left: &mut u64, sold: u64| { *left -= sold; *left };
    /// stock.apply_with_then("tea".to_owned(), sell, 3, |left| sender.send(left).unwrap());
    /// assert_eq!(receiver.recv(), Ok(Some(7)));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_async`](Self::apply_async).
    #[inline]
    #[track_caller]
    pub fn apply_with_then<C: NoRef, U: NoRef, F>(
        &self,
        key: K,
        closure: F,
        arguments: C,
        then: impl FnOnce(Option<U>) + 'static,
    ) where
        F: FnOnce(&mut V, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at_then::<F, _, _, _>(key, around(closure), arguments, then);
    }

    /// `closure` captures the user's closure, whose type is `N`, and nothing else (`trust::around`); so do those of the next two.
    #[inline]
    #[track_caller]
    pub(super) fn call_at<N, C: NoRef, U: NoRef, F>(
        &self,
        name: &'static str,
        key: K,
        closure: F,
        arguments: C,
    ) -> U
    where
        F: FnOnce(&mut Entries<K, V>, (u64, K, C)) -> U + Send + Copy + 'static,
    {
        let (entries, hash) = self.at(&key);
        match entries.target().call::<N, _, _, _>(name, closure, (hash, key, arguments)) {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn send_at<N, C: NoRef, U: NoRef, F>(&self, key: K, closure: F, arguments: C) -> Pending<U>
    where
        F: FnOnce(&mut Entries<K, V>, (u64, K, C)) -> U + Send + Copy + 'static,
    {
        let (entries, hash) = self.at(&key);
        entries.send::<N, _, _, _>(closure, (hash, key, arguments), Location::caller())
    }

    #[inline]
    #[track_caller]
    pub(super) fn call_at_then<N, C: NoRef, U: NoRef, F>(
        &self,
        key: K,
        closure: F,
        arguments: C,
        then: impl FnOnce(U) + 'static,
    ) where
        F: FnOnce(&mut Entries<K, V>, (u64, K, C)) -> U + Send + Copy + 'static,
    {
        let (entries, hash) = self.at(&key);
        entries.send_then::<N, _, _, _>(closure, (hash, key, arguments), then, Location::caller());
    }
}

/// Applies a closure to an existing value.
fn around<K: Hash + Eq, V, C, U, F>(
    closure: F,
) -> impl FnOnce(&mut Entries<K, V>, (u64, K, C)) -> Option<U> + Send + Copy
where
    F: FnOnce(&mut V, C) -> U + Send + Copy,
{
    move |entries, (hash, key, arguments)| entries.find_mut(hash, &key).map(|value| closure(value, arguments))
}

/// As written by the macros (see `trust::arguments_first`).
#[doc(hidden)]
impl<K: Hash + Eq + NoRef, V: 'static> DistMap<K, V> {
    #[inline(always)]
    #[track_caller]
    pub fn __apply_with<C: NoRef, U: NoRef, F>(&self, key: K, arguments: C, closure: F) -> Option<U>
    where
        F: FnOnce(&mut V, C) -> U + Send + Copy + 'static,
    {
        self.apply_with(key, closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __apply_with_async<C: NoRef, U: NoRef, F>(
        &self,
        key: K,
        arguments: C,
        closure: F,
    ) -> Pending<Option<U>>
    where
        F: FnOnce(&mut V, C) -> U + Send + Copy + 'static,
    {
        self.apply_with_async(key, closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __apply_with_then<C: NoRef, U: NoRef, F>(
        &self,
        key: K,
        arguments: C,
        closure: F,
        then: impl FnOnce(Option<U>) + 'static,
    ) where
        F: FnOnce(&mut V, C) -> U + Send + Copy + 'static,
    {
        self.apply_with_then(key, closure, arguments, then);
    }
}
