//! Random numbers that are functions of a seed and of their purpose, so that every worker makes the same ones.

/// A sequence of numbers (SplitMix64: Steele, Lea and Flood, 2014).
pub struct Random(u64);

impl Random {
    /// The sequence with this number, under a seed.
    pub fn of(seed: u64, number: u64) -> Self {
        Self(mixed(mixed(seed ^ 0x6a09_e667_f3bc_c908) ^ number))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// At least 0, less than 1, and a multiple of 2^-24: an `f32` holds it without rounding.
    pub fn fraction(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }

    /// Less than a bound, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// The mixing function of SplitMix64: no two numbers have the same result.
pub fn mixed(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
