//! [`Distribution`]: how values were distributed.

use crate::NoRef;
use crate::counters::distribution::{BUCKETS, bucket_of, end_of};
use std::collections::BTreeMap;
use std::time::Duration;

/// The distribution of values, with a relative error of at most an eighth: the width of buckets grows with the
/// values. Times are in nanoseconds. Values from 2^40 on (18 minutes) are not distinguished.
#[derive(Clone, Debug, Default, PartialEq, Eq, NoRef)]
pub struct Distribution {
    /// The non-empty buckets, in order: the index of each, and its number of values.
    buckets: Vec<(u16, u64)>,
    sum: u64,
}

impl Distribution {
    /// Made from the counts of all buckets.
    pub(crate) fn new(counts: &[u64], sum: u64) -> Self {
        let counts = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        Self { buckets: counts.map(|(bucket, count)| (bucket as u16, *count)).collect(), sum }
    }

    /// The number of values.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Metric, OwnValue};
    /// let baskets = Metric::new("shop_baskets", "Things in a basket.").histogram();
    /// [1, 3, 3].into_iter().for_each(|things| baskets.record(things));
    /// let OwnValue::Histogram(seen) = &gossamer::metrics().own[0].value else { panic!("it is a histogram") };
    /// assert_eq!(seen.count(), 3);
    /// # });
    /// ```
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The sum of all values.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Metric, OwnValue};
    /// let baskets = Metric::new("shop_baskets", "Things in a basket.").histogram();
    /// [1, 3, 3].into_iter().for_each(|things| baskets.record(things));
    /// let OwnValue::Histogram(seen) = &gossamer::metrics().own[0].value else { panic!("it is a histogram") };
    /// assert_eq!(seen.sum(), 7); // exact, though values are counted in buckets
    /// # });
    /// ```
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The mean, or `None` without values.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Distribution, Metric, OwnValue};
    /// let baskets = Metric::new("shop_baskets", "Things in a basket.").histogram();
    /// [1, 3, 8].into_iter().for_each(|things| baskets.record(things));
    /// let OwnValue::Histogram(seen) = &gossamer::metrics().own[0].value else { panic!("it is a histogram") };
    /// assert_eq!(seen.mean(), Some(4));
    /// assert_eq!(Distribution::default().mean(), None);
    /// # });
    /// ```
    pub fn mean(&self) -> Option<u64> {
        self.sum.checked_div(self.count())
    }

    /// The value below which this share of the values lies, or up to an eighth more: `quantile(0.5)` is the median,
    /// `quantile(1.0)` the maximum. `None` without values.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Metric, OwnValue};
    /// let baskets = Metric::new("shop_baskets", "Things in a basket.").histogram();
    /// (1..=1000).for_each(|things| baskets.record(things));
    /// let OwnValue::Histogram(seen) = &gossamer::metrics().own[0].value else { panic!("it is a histogram") };
    /// let (median, most) = (seen.quantile(0.5).unwrap(), seen.quantile(1.0).unwrap());
    /// assert!((500..=563).contains(&median) && (1000..=1125).contains(&most));
    /// # });
    /// ```
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = (share.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut passed = 0;
        self.buckets.iter().find_map(|(bucket, count)| {
            passed += count;
            (passed >= rank).then(|| end_of(usize::from(*bucket)) - 1)
        })
    }

    /// Like [`quantile`](Self::quantile), for times.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::metrics::{Metric, OwnValue, Unit};
    /// use std::time::Duration;
    /// let waits = Metric::new("shop_waits", "How long customers wait.").unit(Unit::Seconds).histogram();
    /// (1..=100).for_each(|wait| waits.record_time(Duration::from_millis(wait)));
    /// let OwnValue::Histogram(seen) = &gossamer::metrics().own[0].value else { panic!("it is a histogram") };
    /// assert!(seen.quantile_time(0.99).unwrap() >= Duration::from_millis(99));
    /// # });
    /// ```
    pub fn quantile_time(&self, share: f64) -> Option<Duration> {
        self.quantile(share).map(Duration::from_nanos)
    }

    /// How many values lie below `limit`, a power of two.
    pub(crate) fn below(&self, limit: u64) -> u64 {
        let first = bucket_of(limit);
        self.buckets.iter().filter(|(bucket, _)| usize::from(*bucket) < first).map(|(_, count)| count).sum()
    }

    pub(super) fn combine(&mut self, other: &Self, combine: impl Fn(&mut u64, u64)) {
        let mut counts: BTreeMap<u16, u64> = self.buckets.iter().copied().collect();
        // A bucket number from another node may be out of range; such a bucket is ignored.
        for (bucket, count) in other.buckets.iter().filter(|(bucket, _)| usize::from(*bucket) < BUCKETS) {
            combine(counts.entry(*bucket).or_default(), *count);
        }
        self.buckets = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        combine(&mut self.sum, other.sum);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Distribution {
        let mut counts = [0; BUCKETS];
        values.iter().for_each(|value| counts[bucket_of(*value)] += 1);
        Distribution::new(&counts, values.iter().sum())
    }

    #[test]
    fn quantiles_are_known_to_an_eighth() {
        let values: Vec<u64> = (1..=1000).collect();
        let all = of(&values);
        for (share, value) in [(0.5, 500), (0.9, 900), (0.99, 990), (1.0, 1000), (0.0, 1)] {
            let told = all.quantile(share).unwrap();
            assert!((value..=value + value / 8).contains(&told), "{share}: {told}, not {value}");
        }
        assert_eq!((all.count(), all.mean()), (1000, Some(500)));
        assert_eq!(all.below(512), 511);
        assert_eq!(Distribution::default().quantile(0.5), None);
    }

    #[test]
    fn distributions_are_added_and_subtracted() {
        use crate::metrics::arithmetic::Quantity;
        let mut both = of(&[1, 2, 1000]);
        both.plus(&of(&[2, 5]));
        assert_eq!(both, of(&[1, 2, 2, 5, 1000]));
        both.minus(&of(&[2, 5]));
        assert_eq!(both, of(&[1, 2, 1000]));
    }
}
