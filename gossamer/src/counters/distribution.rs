//! The distribution of values: a histogram whose buckets grow with the values, as in HDR histograms (G. Tene,
//! HdrHistogram). The crate of that name needs `&mut` to be read, or a lock and memory for its recorders; this one is
//! an array of counts, which is read while it is written.

use crate::counters::Count;

/// Bits of the buckets in each power of two: values have a relative error of an eighth.
const PARTS_BITS: u32 = 3;
const PARTS: usize = 1 << PARTS_BITS;
/// Powers of two that are distinguished: values from 2^40 on are in the last bucket. In nanoseconds that is 18
/// minutes.
const POWERS: usize = 40;
/// The number of buckets.
pub(crate) const BUCKETS: usize = (POWERS - PARTS_BITS as usize + 1) * PARTS;

/// The bucket of a value.
#[inline]
pub(crate) fn bucket_of(value: u64) -> usize {
    let power = (value | 1).ilog2();
    if power < PARTS_BITS {
        return value as usize;
    }
    let shift = power - PARTS_BITS;
    let part = (value >> shift) as usize & (PARTS - 1);
    ((shift as usize + 1) * PARTS + part).min(BUCKETS - 1)
}

/// The smallest value above a bucket.
pub(crate) fn end_of(bucket: usize) -> u64 {
    let (row, part) = (bucket / PARTS, bucket % PARTS);
    match row {
        0 => part as u64 + 1,
        row => ((PARTS + part + 1) as u64) << (row - 1),
    }
}

/// Written by one thread.
#[derive(Debug)]
pub(crate) struct BucketCounts {
    counts: Box<[Count]>,
    sum: Count,
}

impl Default for BucketCounts {
    fn default() -> Self {
        Self { counts: (0..BUCKETS).map(|_| Count::default()).collect(), sum: Count::default() }
    }
}

impl BucketCounts {
    /// Records a value this many times.
    #[inline]
    pub(crate) fn record(&self, value: u64, times: u64) {
        self.counts[bucket_of(value)].add(times);
        self.sum.add(value.wrapping_mul(times));
    }

    /// By anybody: adds the buckets to others, and returns the sum of all values.
    pub(crate) fn add_to(&self, buckets: &mut [u64]) -> u64 {
        for (to, count) in buckets.iter_mut().zip(&self.counts) {
            *to = to.wrapping_add(count.get());
        }
        self.sum.get()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_in_a_bucket_that_is_an_eighth_of_it_wide() {
        let powers = (0..39).map(|power| 1_u64 << power);
        for value in powers.flat_map(|power| [power, power + power / 3, 2 * power - 1]) {
            let bucket = bucket_of(value);
            let start = if bucket == 0 { 0 } else { end_of(bucket - 1) };
            assert!(start <= value && value < end_of(bucket), "{value} in {start}..{}", end_of(bucket));
            assert!(end_of(bucket) - start <= 1.max(start / 8), "{value} in {start}..{}", end_of(bucket));
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert_eq!(end_of(BUCKETS - 1), 1 << POWERS);
    }
}
