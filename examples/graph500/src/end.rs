//! An edge as it is listed at one of its ends.

use gossamer::NoRef;

/// The neighbour in the upper half, the bits of the weight in the lower. Weights are not negative, so these numbers are in
/// the order of neighbours, and then of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, NoRef)]
pub struct End(u64);

impl End {
    pub fn new(to: u32, weight: f32) -> Self {
        Self(u64::from(to) << 32 | u64::from(weight.to_bits()))
    }

    pub fn to(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub fn weight(self) -> f32 {
        f32::from_bits(self.0 as u32)
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}
