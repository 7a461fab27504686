//! Cheap random numbers, keys by Zipf's law, and which object a client asks next.

use crate::measure::{Asked, Setting};

/// Marsaglia's xorshift: a few cycles per number, the same sequence on every run.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    #[must_use]
    pub fn new(seed: usize) -> Self {
        Random((seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next number, never zero.
    #[inline(always)]
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next number below `bound`, close to uniform.
    #[inline(always)]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.draw()) * bound as u128) >> 64) as usize
    }

    /// The next number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Which object a client asks next.
#[derive(Clone, Debug)]
pub struct Picker {
    /// The worker and the place, if there is no choice: must cost next to nothing.
    only: Option<(usize, usize)>,
    random: Random,
    worker: usize,
    workers: usize,
    objects: usize,
    asked: Asked,
}

impl Picker {
    /// For client `seed` on worker `worker`.
    #[must_use]
    pub fn new(setting: &Setting, seed: usize, worker: usize) -> Self {
        let Setting { workers, objects, asked, .. } = *setting;
        let only = match asked {
            Asked::Others if objects == 1 && workers <= 2 => Some(((worker + 1) % workers, 0)),
            Asked::Shared => Some((0, 0)),
            _ => None,
        };
        Picker { only, random: Random::new(seed), worker, workers, objects, asked }
    }

    /// The worker to ask, and the place of the object there.
    #[inline(always)]
    pub fn pick(&mut self) -> (usize, usize) {
        match self.only {
            Some(only) => only,
            None if self.asked == Asked::Any => {
                let object = self.random.below(self.objects);
                (object % self.workers, object / self.workers)
            }
            None => {
                let others = self.random.below(self.workers - 1);
                ((self.worker + 1 + others) % self.workers, self.random.below(self.objects))
            }
        }
    }

    /// Objects each worker holds.
    #[must_use]
    pub fn held(setting: &Setting) -> usize {
        match setting.asked {
            Asked::Others => setting.objects,
            Asked::Any => setting.objects.div_ceil(setting.workers),
            Asked::Shared => 1,
        }
    }
}

/// Ranks by Zipf's law, after Gray et al., "Quickly generating billion-record synthetic databases".
#[derive(Clone, Debug)]
pub struct Zipf {
    items: f64,
    exponent: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    /// Ranks 0 to `items` - 1. Takes time linear in `items`.
    #[must_use]
    pub fn new(items: usize, exponent: f64) -> Self {
        let zeta = |count: usize| (1..=count).map(|rank| (rank as f64).powf(-exponent)).sum::<f64>();
        let (all, two, items) = (zeta(items), zeta(2), items as f64);
        let eta = (1.0 - (2.0 / items).powf(1.0 - exponent)) / (1.0 - two / all);
        Zipf { items, exponent, zeta: all, eta }
    }

    /// The next rank; 0 is the most frequent.
    pub fn rank(&self, random: &mut Random) -> usize {
        let unit = random.unit();
        let place = unit * self.zeta;
        if place < 1.0 {
            return 0;
        }
        if place < 1.0 + 0.5f64.powf(self.exponent) {
            return 1;
        }
        let rank = self.items * (self.eta * (unit - 1.0) + 1.0).powf(1.0 / (1.0 - self.exponent));
        (rank as usize).min(self.items as usize - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_zipf_rank_has_its_share() {
        let (zipf, mut random) = (Zipf::new(1 << 16, 0.99), Random::new(7));
        let zeros = (0..100_000).filter(|_| zipf.rank(&mut random) == 0).count();
        let expected = 100_000.0 / zipf.zeta;
        assert!((zeros as f64 - expected).abs() < expected / 10.0, "{zeros} of about {expected}");
    }

    #[test]
    fn a_picker_stays_inside_the_objects_it_may_ask() {
        let any = Setting { objects: 4096, asked: Asked::Any, ..Setting::PLAIN };
        let mut picker = Picker::new(&any, 3, 0);
        assert!((0..100_000).map(|_| picker.pick()).all(|(worker, place)| worker < 2 && place < 2048));
        let others = Setting { objects: 7, workers: 3, ..Setting::PLAIN };
        let mut picker = Picker::new(&others, 3, 1);
        assert!((0..100_000).map(|_| picker.pick()).all(|(worker, place)| worker != 1 && place < 7));
    }
}
