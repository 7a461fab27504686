//! Closures that are applied to the value of a key, which is put in first if it is missing.

use crate::collections::dist_map::{DistMap, Entries};
use crate::lane::operation::refuse_captures;
use crate::{NoRef, Pending, WithoutCaptures};
use std::hash::Hash;

impl<K: Hash + Eq + NoRef, V: NoRef> DistMap<K, V> {
    /// Applies a closure to the value of a key, and returns its result. A missing key is inserted with `default`
    /// first; otherwise `default` is dropped there. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// let count = squares.update(4, 0, |square| { *square += 16; *square }); // 0 is put in before
    /// assert_eq!(count, 16);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics ([Panics](Self#panics)); the key stays in the map all the same.
    #[inline]
    #[track_caller]
    pub fn update<U: NoRef, F>(&self, key: K, default: V, closure: F) -> U
    where
        F: FnOnce(&mut V) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at::<F, _, _, _>("update", key, or_default(move |value, ()| closure(value)), (default, ()))
    }

    /// Like [`update`](Self::update), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let lines = gossamer::collections::DistMap::new();
    /// let note = |lines: &mut Vec<usize>, line| { lines.push(line); lines.len() };
    /// for (line, word) in ["to", "be", "to"].into_iter().enumerate() {
    ///     lines.update_with(word.to_owned(), Vec::new(), note, line); // the first one puts the empty list there
    /// }
    /// assert_eq!(lines.get("to".to_owned()), Some(vec![0, 2]));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`update`](Self::update).
    #[inline]
    #[track_caller]
    pub fn update_with<C: NoRef, U: NoRef, F>(&self, key: K, default: V, closure: F, arguments: C) -> U
    where
        F: FnOnce(&mut V, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at::<F, _, _, _>("update_with", key, or_default(closure), (default, arguments))
    }

    /// Like [`update`](Self::update), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let visits = gossamer::collections::DistMap::new();
    /// let count = |visits: &mut u64| { *visits += 1; *visits };
    /// let visits = ["Ada", "Alan", "Ada"].map(|name| visits.update_async(name.to_owned(), 0, count));
    /// assert_eq!(visits.map(|visits| visits.wait()), [1, 1, 2]); // all were under way at once
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_async`](Self::apply_async).
    #[inline]
    #[track_caller]
    pub fn update_async<U: NoRef, F>(&self, key: K, default: V, closure: F) -> Pending<U>
    where
        F: FnOnce(&mut V) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_at::<F, _, _, _>(key, or_default(move |value, ()| closure(value)), (default, ()))
    }

    /// Like [`update_async`](Self::update_async), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let stock = gossamer::collections::DistMap::new();
    /// let add = |stock: &mut u64, crates: u64| { *stock += crates; *stock };
    /// let stock = [("tea", 4), ("milk", 2), ("tea", 3)]
    ///     .map(|(name, crates)| stock.update_with_async(name.to_owned(), 0, add, crates));
    /// assert_eq!(stock.map(|stock| stock.wait()), [4, 2, 7]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_async`](Self::apply_async).
    #[inline]
    #[track_caller]
    pub fn update_with_async<C: NoRef, U: NoRef, F>(
        &self,
        key: K,
        default: V,
        closure: F,
        arguments: C,
    ) -> Pending<U>
    where
        F: FnOnce(&mut V, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_at::<F, _, _, _>(key, or_default(closure), (default, arguments))
    }

    /// Like [`update`](Self::update), without waiting: `then` is called with the result, on this worker, as by
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{collections::DistMap, sync::oneshot};
    /// let visits = DistMap::new();
    /// let (sender, receiver) = oneshot::channel();
    /// let greet = |visits: u64| sender.send(if visits == 1 { "welcome" } else { "welcome back" }).unwrap();
    /// visits.update_then("Ada".to_owned(), 0, |visits| { *visits += 1; *visits }, greet); // goes on at once
    /// assert_eq!(receiver.recv(), Ok("welcome"));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_async`](Self::apply_async).
    #[inline]
    #[track_caller]
    pub fn update_then<U: NoRef, F>(&self, key: K, default: V, closure: F, then: impl FnOnce(U) + 'static)
    where
        F: FnOnce(&mut V) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let closure = or_default(move |value, ()| closure(value));
        self.call_at_then::<F, _, _, _>(key, closure, (default, ()), then);
    }

    /// Like [`update_then`](Self::update_then), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{collections::DistMap, sync::oneshot};
    /// let stock = DistMap::new();
    /// let (sender, receiver) = oneshot::channel();
    /// let add = |stock: &mut u64, crates: u64| { *stock += crates; *stock };
    /// stock.update_with_then("tea".to_owned(), 0, add, 4, |now| sender.send(now).unwrap());
    /// assert_eq!(receiver.recv(), Ok(4));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_async`](Self::apply_async).
    #[inline]
    #[track_caller]
    pub fn update_with_then<C: NoRef, U: NoRef, F>(
        &self,
        key: K,
        default: V,
        closure: F,
        arguments: C,
        then: impl FnOnce(U) + 'static,
    ) where
        F: FnOnce(&mut V, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at_then::<F, _, _, _>(key, or_default(closure), (default, arguments), then);
    }
}

/// Applies a closure to a value, or to the default that a missing key gets.
fn or_default<K: Hash + Eq, V, C, U, F>(
    closure: F,
) -> impl FnOnce(&mut Entries<K, V>, (u64, K, (V, C))) -> U + Send + Copy
where
    F: FnOnce(&mut V, C) -> U + Send + Copy,
{
    move |entries, (hash, key, (default, arguments))| {
        let (value, unused) = entries.entry(hash, key, default);
        drop(unused);
        closure(value, arguments)
    }
}

/// As written by the macros (see `trust::arguments_first`).
#[doc(hidden)]
impl<K: Hash + Eq + NoRef, V: NoRef> DistMap<K, V> {
    #[inline(always)]
    #[track_caller]
    pub fn __update_with<C: NoRef, U: NoRef, F>(&self, key: K, default: V, arguments: C, closure: F) -> U
    where
        F: FnOnce(&mut V, C) -> U + Send + Copy + 'static,
    {
        self.update_with(key, default, closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __update_with_async<C: NoRef, U: NoRef, F>(
        &self,
        key: K,
        default: V,
        arguments: C,
        closure: F,
    ) -> Pending<U>
    where
        F: FnOnce(&mut V, C) -> U + Send + Copy + 'static,
    {
        self.update_with_async(key, default, closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __update_with_then<C: NoRef, U: NoRef, F>(
        &self,
        key: K,
        default: V,
        arguments: C,
        closure: F,
        then: impl FnOnce(U) + 'static,
    ) where
        F: FnOnce(&mut V, C) -> U + Send + Copy + 'static,
    {
        self.update_with_then(key, default, closure, arguments, then);
    }
}
