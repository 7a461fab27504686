//! [`join_all`]: waiting for several futures.

use crate::waiting::block_on;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::IntoFuture;

/// Waits for several futures, and returns their results in the order of the futures.
///
/// Each wake-up polls only the future that it is for, so waiting for `n` futures costs one allocation each, and as
/// many polls as there are wake-ups.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let counters: Vec<_> = gossamer::Trustee::all().into_iter().map(|there| there.entrust(20)).collect();
/// let sums = gossamer::join_all(counters.iter().map(|counter| counter.apply_async(|count| *count + 1)));
/// assert_eq!(sums, [21, 21]);
/// # });
/// ```
///
/// # Panics
/// As soon as one of the futures panics, such as that of a fiber that panicked; the others are dropped, which stops
/// neither fibers nor requests. And in a delegated closure or a callback, which cannot wait.
#[track_caller]
pub fn join_all<I>(futures: I) -> Vec<<I::Item as IntoFuture>::Output>
where
    I: IntoIterator,
    I::Item: IntoFuture,
{
    let numbered = |(place, future): (usize, I::Item)| {
        let future = future.into_future();
        async move { (place, future.await) }
    };
    let mut waiting: FuturesUnordered<_> = futures.into_iter().enumerate().map(numbered).collect();
    block_on(async {
        let mut outcomes = Vec::with_capacity(waiting.len());
        while let Some(outcome) = waiting.next().await {
            outcomes.push(outcome);
        }
        outcomes.sort_unstable_by_key(|(place, _)| *place);
        outcomes.into_iter().map(|(_, output)| output).collect()
    })
}
