//! How a [`DistMap`] is printed: how many entries, where, and some of them.

use crate::collections::dist_map::{DistMap, Entries};
use crate::lane::context::{self, Context};
use std::fmt;

/// How many entries are shown.
const SHOWN: usize = 8;

/// How many there are on a worker, and some of them as text.
fn told<K: fmt::Debug, V: fmt::Debug>(entries: &mut Entries<K, V>) -> (usize, Vec<(String, String)>) {
    let shown = entries.iter().take(SHOWN);
    (entries.len(), shown.map(|(key, value)| (format!("{key:?}"), format!("{value:?}"))).collect())
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for DistMap<K, V> {
    /// Asks the workers for their first entries, one request each. In delegated closures and callbacks, which cannot
    /// wait, it shows none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.shards.shards();
        let workers = if parts.len() == 1 { "worker" } else { "workers" };
        if !matches!(context::current(), Context::Fiber | Context::Outside) {
            return write!(f, "DistMap(over {} {workers})", parts.len());
        }
        let pending: Vec<_> = parts.iter().map(|entries| entries.apply_async(told)).collect();
        let (mut len, mut shown) = (0, Vec::new());
        for pending in pending {
            match pending.try_wait() {
                Ok((there, entries)) => {
                    len += there;
                    shown.extend(entries);
                }
                Err(_) => shown.push(("?".to_owned(), "?".to_owned())),
            }
        }
        write!(f, "DistMap({len} entries over {} {workers})", parts.len())?;
        let mut map = f.debug_map();
        for (key, value) in shown.iter().take(SHOWN) {
            map.entry(&format_args!("{key}"), &format_args!("{value}"));
        }
        if len > SHOWN {
            return map.finish_non_exhaustive();
        }
        map.finish()
    }
}
