//! How a [`DistVec`] is printed: how many elements, where, and the first of them.

use crate::collections::{DistVec, Elements};
use crate::lane::context::{self, Context};
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
