//! [`WeakTrust`]: a trust that does not keep its property.

use crate::trust::handle::Handle;
use crate::trust::{NoRef, Trust};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

/// A trust that does not keep its property: what [`Trust::downgrade`] returns.
///
/// Trusts in a cycle keep each other's properties until the runtime ends, unless one trust of each cycle is weak. A
/// weak trust depends on the trusts of its own node: it can be [upgraded](Self::upgrade) as long as the node on which
/// it was made has another trust of the property. So it travels between the workers of a node, but does not leave the
/// node: send a trust, and downgrade it there.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let list = gossamer::entrust(vec![1, 2, 3]);
/// let weak = list.downgrade();
/// assert_eq!(weak.upgrade().map(|list| list.apply(|list| list.len())), Some(3));
/// drop(list);
/// assert!(weak.upgrade().is_none());
/// # });
/// ```
pub struct WeakTrust<T: 'static> {
    handle: Weak<Handle>,
    of: PhantomData<fn(&mut T)>,
}

impl<T: 'static> Trust<T> {
    /// A trust of the same property that does not keep it. It costs as much as a clone.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let list = gossamer::entrust(vec![1, 2]);
    /// let weak = list.downgrade(); // does not keep it
    /// drop(list);
    /// assert!(weak.upgrade().is_none());
    /// # });
    /// ```
    pub fn downgrade(&self) -> WeakTrust<T> {
        WeakTrust { handle: Arc::downgrade(self.handle()), of: PhantomData }
    }
}

impl<T: 'static> WeakTrust<T> {
    /// A weak trust of no property: it is never upgraded.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::{Trust, WeakTrust, entrust};
    /// struct Child { parent: WeakTrust<Vec<Trust<Child>>> }
    /// let child = entrust(Child { parent: WeakTrust::new() }); // no parent yet
    /// let parent = entrust(vec![child.clone()]);
    /// child.apply_with(|child, parent| child.parent = parent, parent.downgrade()); // not a cycle that stays for ever
    /// assert!(child.apply(|child| child.parent.upgrade().is_some()));
    /// # });
    /// ```
    pub const fn new() -> Self {
        Self { handle: Weak::new(), of: PhantomData }
    }

    /// A trust of the property, unless the last trust of this node is gone.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let list = gossamer::entrust(vec![1, 2]);
    /// let weak = list.downgrade();
    /// assert_eq!(weak.upgrade().map(|list| list.apply(|list| list.len())), Some(2));
    /// # });
    /// ```
    pub fn upgrade(&self) -> Option<Trust<T>> {
        self.handle.upgrade().map(Trust::of_handle)
    }
}

impl<T> Default for WeakTrust<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for WeakTrust<T> {
    fn clone(&self) -> Self {
        Self { handle: Weak::clone(&self.handle), of: PhantomData }
    }
}

impl<T> fmt::Debug for WeakTrust<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.upgrade() {
            Some(trust) => write!(f, "Weak{trust:?}"),
            None => write!(f, "WeakTrust<{}>(gone)", std::any::type_name::<T>()),
        }
    }
}

// SAFETY: inside a process its handle is valid on every thread; it is not encoded.
unsafe impl<T> NoRef for WeakTrust<T> {}
