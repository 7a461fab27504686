//! Sums and differences of what was counted.

use crate::metrics::Distribution;
use std::time::Duration;

/// A quantity that can be added up over workers, and from which an earlier one can be subtracted.
pub(super) trait Quantity {
    fn plus(&mut self, other: &Self);
    /// Saturates at zero: a wrong order of operands gives zeros, not a panic.
    fn minus(&mut self, earlier: &Self);
}

impl Quantity for u64 {
    fn plus(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }

    fn minus(&mut self, earlier: &Self) {
        *self = self.saturating_sub(*earlier);
    }
}

impl Quantity for Duration {
    fn plus(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }

    fn minus(&mut self, earlier: &Self) {
        *self = self.saturating_sub(*earlier);
    }
}

impl<const N: usize> Quantity for [u64; N] {
    fn plus(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(count, other)| count.plus(other));
    }

    fn minus(&mut self, earlier: &Self) {
        self.iter_mut().zip(earlier).for_each(|(count, earlier)| count.minus(earlier));
    }
}

impl Quantity for Distribution {
    fn plus(&mut self, other: &Self) {
        self.combine(other, |one, other| one.plus(&other));
    }

    fn minus(&mut self, earlier: &Self) {
        self.combine(earlier, |one, other| one.minus(&other));
    }
}

/// An item that occurs at most once in a list.
pub(super) trait Keyed {
    /// Whether the two have the same key.
    fn is_of(&self, other: &Self) -> bool;
}

impl<T: Keyed + Quantity + Clone> Quantity for Vec<T> {
    fn plus(&mut self, other: &Self) {
        for more in other {
            match self.iter_mut().find(|own| own.is_of(more)) {
                Some(own) => own.plus(more),
                None => self.push(more.clone()),
            }
        }
    }

    fn minus(&mut self, earlier: &Self) {
        for own in self {
            let before = earlier.iter().find(|before| before.is_of(own));
            before.into_iter().for_each(|before| own.minus(before));
        }
    }
}

/// The arithmetic of a type: which of its fields are counters, which are gauges, and which are maxima.
macro_rules! quantity {
    ($type:ty: counted $($counted:ident)*; present $($present:ident)*; largest $($largest:ident)*) => {
        impl Quantity for $type {
            fn plus(&mut self, other: &Self) {
                $(self.$counted.plus(&other.$counted);)*
                $(self.$present.plus(&other.$present);)*
                $(self.$largest = self.$largest.max(other.$largest);)*
            }

            fn minus(&mut self, earlier: &Self) {
                $(self.$counted.minus(&earlier.$counted);)*
            }
        }

        impl Sub for &$type {
            type Output = $type;

            /// What was counted between the two snapshots. Gauges, such as the number of live fibers, keep the value
            /// of the later one.
            fn sub(self, earlier: Self) -> $type {
                let mut difference = self.clone();
                difference.minus(earlier);
                difference
            }
        }
    };
}

/// The fields that identify an item.
macro_rules! keyed {
    ($($type:ty: $($key:ident)*;)*) => {$(
        impl Keyed for $type {
            fn is_of(&self, other: &Self) -> bool {
                ($(&self.$key,)*) == ($(&other.$key,)*)
            }
        }
    )*};
}
pub(super) use {keyed, quantity};
