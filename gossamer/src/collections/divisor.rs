//! Division by an invariant number, done by a multiplication.

use crate::NoRef;

/// A divisor of numbers up to a bound, and its inverse to multiply with (Lemire, Kaser and Kurz, "Faster remainder by
/// direct computation", 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoRef)]
pub(super) struct Divisor {
    by: u64,
    /// 2^64 / `by`, rounded up.
    inverse: u64,
    /// Numbers below this are divided by multiplying.
    limit: u64,
}

impl Divisor {
    /// For numbers below `end`.
    ///
    /// # Panics
    /// If `by` is zero.
    pub(super) fn new(by: usize, end: usize) -> Self {
        let (by, end) = (by as u64, end as u64);
        // 2^64 does not fit 64 bits, and divisors above 2^32 leave too few bits for the quotient.
        let limit = if (2..=1 << 32).contains(&by) { end.min(1 << 32) } else { 0 };
        Self { by, inverse: (u64::MAX / by).wrapping_add(1), limit }
    }

    /// Quotient and remainder, if the number is below the bound, and a multiplication finds them. So one comparison is
    /// enough for nearly all.
    #[inline(always)]
    pub(super) fn divide(self, number: usize) -> Option<(usize, usize)> {
        let number = number as u64;
        if number >= self.limit {
            return None;
        }
        let quotient = ((u128::from(number) * u128::from(self.inverse)) >> 64) as u64;
        Some((quotient as usize, (number - quotient * self.by) as usize))
    }

    pub(super) fn by(self) -> usize {
        self.by as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Divisor;

    #[test]
    fn a_quotient_is_that_of_the_processor() {
        let edges =
            [1, 2, 3, 5, 7, 64, 1000, 65_535, 65_536, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, usize::MAX];
        let mut random = fastrand::Rng::with_seed(7);
        let mut numbers: Vec<usize> = edges.to_vec();
        numbers.extend((0..1000).map(|bits| random.usize(1..=usize::MAX >> (bits % 64))));
        for by in &numbers {
            let near = [0, by - 1, by.saturating_add(1), by.saturating_mul(3) - 1, by.saturating_mul(3)];
            for end in [by.saturating_mul(3), usize::MAX] {
                let divisor = Divisor::new(*by, end);
                for number in near.iter().chain(&numbers) {
                    let is_quick = (2..=1 << 32).contains(by) && *number < end.min(1 << 32);
                    let expected = is_quick.then_some((number / by, number % by));
                    assert_eq!(divisor.divide(*number), expected, "{number} / {by} below {end}");
                }
            }
        }
    }
}
