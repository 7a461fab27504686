//! Collections whose elements are spread over workers, and loops over them.
//!
//! A collection consists of a property on each of its workers, and a handle that knows which of them has which
//! elements. Handles are cloned and sent like trusts, are [`NoRef`](crate::NoRef), and share their elements, which
//! are dropped with the last handle. Closures that are applied to elements are [delegated
//! closures](crate::Trust#delegated-closures): inside a marked function they capture what they need; elsewhere, pass
//! it with the `_with` forms, and on a rack write the closure as `const { |…| … }`, which is what lets it travel. The
//! examples here are in one process, and mostly outside of marked functions.
//!
//! A closure that is called for many elements borrows what it captures, of which each worker has a clone, and for some
//! loops more than one, after another. So what calls leave in a captured `Cell` is not seen by all of them: use a
//! `par_fold`, a [`DistCounter`] or a [`Trust`](crate::Trust).
//!
//! ```
//! use gossamer::collections::DistVec;
//!
//! #[gossamer::delegate]
//! fn histogram(bins: usize, samples: u64, seed: u64) -> Vec<u64> {
//!     let counts = DistVec::filled(bins, 0_u64);
//!     let mut updates = counts.updates(|count, by: u64| *count += by);
//!     for sample in 0..samples {
//!         updates.push((sample * seed) as usize % bins, 1);
//!     }
//!     updates.finish();
//!     counts.to_vec()
//! }
//!
//! let counts = gossamer::run(gossamer::Config::default().threads(2), || histogram(10, 1000, 7));
//! assert_eq!(counts, [100; 10]);
//! ```
//!
//! # From one collection to another
//!
//! A loop that changes another collection emits what is to change: [`DistVec::par_emit`], [`DistMap::par_emit`] and,
//! over numbers, [`par_emit`] gather it by destination and send it in batches. They wait until all is applied.
//! [`FileLines::par_emit`] does so for the lines of a file that need not be in memory.
//!
//! ```
//! use gossamer::collections::{DistMap, DistVec};
//!
//! #[gossamer::delegate]
//! fn count_words(lines: &DistVec<String>) -> DistMap<String, u64> {
//!     let counts = DistMap::new();
//!     lines
//!         .par_emit(|_, line, out| line.split_whitespace().for_each(|word| out.push_ref(word, 1)))
//!         .merge_into(&counts, |count, more| *count += more);
//!     counts
//! }
//!
//! # gossamer::run(gossamer::Config::default().threads(2), || {
//! let lines: DistVec<String> = ["to be or", "not to be"].map(String::from).into_iter().collect();
//! assert_eq!(count_words(&lines).get("be".to_owned()), Some(2));
//! # });
//! ```
//!
//! Any other closure that is applied to elements cannot wait, so it changes other collections by requests that nobody
//! waits for, one for each change: with `counts.update_then(key, 0, |count| *count += 1, drop)`, for example. Some may
//! be under way when a loop ends; [`rack::wait_all`](crate::rack::wait_all) waits for them.
//!
//! If all results fit each worker's memory, a [`par_fold`](DistVec::par_fold), whose values are then merged, takes the
//! fewest requests. Loops over numbers ([`par_for_each`]) run in fibers, which may wait, and use batches of their own
//! ([`DistVec::updates`], [`DistMap::merges`]).
//!
//! # Cost
//!
//! Costs are given in requests. A request is a closure and its arguments: within a process it takes some tens of
//! nanoseconds of work and about a microsecond there and back, between nodes more. Batched operations cost a few
//! nanoseconds for each element.

mod alignment;
mod call_id;
mod combining;
mod debug;
mod dist_counter;
mod dist_map;
mod dist_queue;
mod dist_set;
mod dist_vec;
mod divisor;
mod element_loop;
mod elements;
pub(crate) mod emission;
mod exchange;
mod file_lines;
mod files;
mod filling;
mod frontier;
mod gather;
mod index_range;
mod layout;
mod loops;
mod make;
mod near;
mod offset;
mod outbox;
mod outstanding;
pub(crate) mod par_fold;
pub(crate) mod par_for_each;
mod parts;
#[cfg(all(test, not(loom)))]
mod random_programs;
mod ranges;
mod rearrangement;
mod self_scheduling;
mod travel;
mod update_batches;
mod update_unawaited;
mod updates;
mod values;

pub use dist_counter::DistCounter;
pub use dist_map::{Chunks, DistMap, Entries, KeyedUpdates};
pub use dist_queue::DistQueue;
pub use dist_set::DistSet;
pub use dist_vec::DistVec;
pub use elements::Elements;
pub use emission::{Emission, Emitted, par_emit, par_emit_with};
pub use file_lines::FileLines;
pub use frontier::{Expansion, Frontier, Marker, Outgoing};
pub use index_range::IndexRange;
pub use layout::Layout;
pub use par_fold::{par_fold, par_fold_with, par_map_reduce, par_map_reduce_with};
pub use par_for_each::{par_for_each, par_for_each_with};
pub use updates::Updates;
