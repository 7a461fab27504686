//! How a [`DistVec`] and a [`DistQueue`] are printed: how many elements, where, and some of them.

use crate::NoRef;
use crate::collections::{DistQueue, DistVec, Elements};
use crate::lane::context::{self, Context};
use std::collections::VecDeque;
use std::fmt;

/// How many elements are shown.
const SHOWN: usize = 8;

impl<T: fmt::Debug> fmt::Debug for DistVec<T> {
    /// Asks the workers that have the first elements, one request each. In delegated closures and callbacks, which
    /// cannot wait, it shows none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistVec({} elements {})", self.len(), self.spread.words())?;
        if !matches!(context::current(), Context::Fiber | Context::Outside) {
            return Ok(());
        }
        let shown = 0..self.len().min(SHOWN);
        let told = const {
            |elements: &mut Elements<T>, offset: usize| {
                elements.get(offset).map(|element| format!("{element:?}"))
            }
        };
        let place = |index| self.spread.find(index).map(|(part, offset)| (&self.parts[part], offset.get()));
        let pending: Vec<_> =
            shown.filter_map(place).map(|(part, offset)| part.apply_with_async(told, offset)).collect();
        let mut list = f.debug_list();
        for pending in pending {
            match pending.try_wait() {
                Ok(Some(text)) => list.entry(&format_args!("{text}")),
                _ => list.entry(&format_args!("?")),
            };
        }
        if self.len() > SHOWN {
            return list.finish_non_exhaustive();
        }
        list.finish()
    }
}

/// How many items a worker has, and some of them as text.
fn told<T: fmt::Debug>(part: &mut Elements<VecDeque<T>>) -> (usize, Vec<String>) {
    let items = || part.iter().flatten();
    (items().count(), items().take(SHOWN).map(|item| format!("{item:?}")).collect())
}

impl<T: NoRef + fmt::Debug> fmt::Debug for DistQueue<T> {
    /// Asks each worker, one request each. In delegated closures and callbacks, which cannot wait, it shows no items.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &self.parts.parts;
        let workers = if parts.len() == 1 { "worker" } else { "workers" };
        if !matches!(context::current(), Context::Fiber | Context::Outside) {
            return write!(f, "DistQueue(over {} {workers})", parts.len());
        }
        let pending: Vec<_> = parts.iter().map(|part| part.apply_async(told)).collect();
        let (mut len, mut shown) = (0, Vec::new());
        for pending in pending {
            match pending.try_wait() {
                Ok((there, items)) => {
                    len += there;
                    shown.extend(items);
                }
                Err(_) => shown.push("?".to_owned()),
            }
        }
        write!(f, "DistQueue({len} items over {} {workers})", parts.len())?;
        let mut list = f.debug_list();
        for item in shown.iter().take(SHOWN) {
            list.entry(&format_args!("{item}"));
        }
        if len > SHOWN {
            return list.finish_non_exhaustive();
        }
        list.finish()
    }
}
