//! Natural numbers of any size: with them fractions are read and written exactly, and rounded once.

use std::cmp::Ordering;

/// What a digit of `write` and `divide` counts for: nine decimal digits at once.
pub const NINE_DIGITS: u32 = 1_000_000_000;

/// Digits of 32 bits, the lowest first; the highest is not 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Natural(Vec<u32>);

impl From<u64> for Natural {
    fn from(number: u64) -> Self {
        let mut new = Self(vec![number as u32, (number >> 32) as u32]);
        new.trim();
        new
    }
}

impl Natural {
    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bits it has, without zeros before them.
    pub fn bits(&self) -> i64 {
        self.0.last().map_or(0, |last| 32 * self.0.len() as i64 - i64::from(last.leading_zeros()))
    }

    /// Multiplies it by a factor, and adds a number.
    pub fn multiply_and_add(&mut self, factor: u32, number: u32) {
        let mut carry = u64::from(number);
        for digit in &mut self.0 {
            carry += u64::from(*digit) * u64::from(factor);
            *digit = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    /// Divides it, and returns the remainder.
    pub fn divide(&mut self, divisor: u32) -> u32 {
        let mut rest = 0;
        for digit in self.0.iter_mut().rev() {
            rest = rest << 32 | u64::from(*digit);
            *digit = (rest / u64::from(divisor)) as u32;
            rest %= u64::from(divisor);
        }
        self.trim();
        rest as u32
    }

    /// Multiplies it by a power of two.
    pub fn shift_left(&mut self, bits: i64) {
        if self.is_zero() {
            return;
        }
        self.multiply_and_add(1 << (bits % 32), 0);
        self.0.splice(..0, std::iter::repeat_n(0, bits as usize / 32));
    }

    fn bit(&self, at: i64) -> bool {
        self.0.get(at as usize / 32).is_some_and(|digit| digit >> (at % 32) & 1 == 1)
    }

    /// Divides it by a power of two, and rounds to the nearest number, or to the even one of two that are as near. With
    /// `is_more`, it was a fraction more than it is.
    pub fn shift_right_and_round(&mut self, bits: i64, is_more: bool) {
        if bits <= 0 {
            return;
        }
        let half = self.bit(bits - 1);
        let is_more = is_more || (0..bits - 1).any(|at| self.bit(at));
        self.0.drain(..self.0.len().min(bits as usize / 32));
        for at in 0..self.0.len() {
            let above = u64::from(self.0.get(at + 1).copied().unwrap_or(0)) << 32;
            self.0[at] = ((above | u64::from(self.0[at])) >> (bits % 32)) as u32;
        }
        self.trim();
        if half && (is_more || self.bit(0)) {
            self.add(&Self::from(1));
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()) + 1, 0);
        let mut carry = 0;
        for (at, digit) in self.0.iter_mut().enumerate() {
            carry += u64::from(*digit) + u64::from(other.0.get(at).copied().unwrap_or(0));
            *digit = carry as u32;
            carry >>= 32;
        }
        self.trim();
    }

    /// Subtracts a number that is not greater.
    pub fn subtract(&mut self, other: &Self) {
        let mut borrowed = false;
        for (at, digit) in self.0.iter_mut().enumerate() {
            let (less, first) = digit.overflowing_sub(other.0.get(at).copied().unwrap_or(0));
            let (less, second) = less.overflowing_sub(u32::from(borrowed));
            (*digit, borrowed) = (less, first || second);
        }
        self.trim();
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    /// The number, if it has 64 bits at most.
    pub fn to_u64(&self) -> Option<u64> {
        let digit = |at: usize| u64::from(self.0.get(at).copied().unwrap_or(0));
        (self.0.len() <= 2).then(|| digit(1) << 32 | digit(0))
    }

    /// In decimal notation.
    pub fn text(mut self) -> String {
        let mut parts = Vec::new();
        while !self.is_zero() {
            parts.push(self.divide(NINE_DIGITS));
        }
        let last = parts.pop().unwrap_or(0);
        let rest = parts.iter().rev().map(|part| format!("{part:09}"));
        rest.fold(last.to_string(), |text, part| text + &part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn natural(text: &str) -> Natural {
        let mut number = Natural::default();
        text.bytes().for_each(|digit| number.multiply_and_add(10, u32::from(digit - b'0')));
        number
    }

    #[test]
    fn numbers_are_written_as_they_were_read() {
        for text in
            ["0", "7", "1000000000", "18446744073709551616", "340282366920938463463374607431768211455"]
        {
            assert_eq!(natural(text).text(), text);
        }
    }

    #[test]
    fn calculations_agree_with_those_of_128_bits() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (u128::from(state >> (state >> 58)) * u128::from(state >> 32)) >> 2
        };
        for _ in 0..2000 {
            let (one, other) = (random(), random());
            let (large, small) = (one.max(other), one.min(other));
            let of = |number: u128| natural(&number.to_string());
            let (mut sum, mut difference) = (of(one), of(large));
            sum.add(&of(other));
            difference.subtract(&of(small));
            assert_eq!((sum, difference), (of(one + other), of(large - small)));
            assert_eq!(of(one).compare(&of(other)), one.cmp(&other));
            assert_eq!(of(one).bits(), i64::from(128 - one.leading_zeros()));
            let bits = (other % 100) as i64;
            let mut shifted = of(one >> 32);
            shifted.shift_left(bits % 32);
            assert_eq!(shifted, of(one >> 32 << (bits % 32)));
            let (mut rounded, unit) = (of(one), 1_u128 << bits);
            rounded.shift_right_and_round(bits, false);
            let (down, rest) = (one / unit, one % unit);
            let is_up = 2 * rest > unit || 2 * rest == unit && down % 2 == 1;
            assert_eq!(rounded, of(down + u128::from(is_up)), "{one} by {bits} bits");
        }
    }
}
