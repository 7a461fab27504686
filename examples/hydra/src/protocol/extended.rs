//! Numbers with 64 significant bits, as C's `long double` has them on the processors that redis mostly runs on: redis
//! counts with them in INCRBYFLOAT, so that 0.1 and 0.2 make 0.3.

use crate::protocol::natural::{NINE_DIGITS, Natural};
use std::cmp::Ordering;

/// Longer texts are no numbers for redis.
const LONGEST_TEXT: usize = 5 * 1024;
/// How many decimals are written at most.
const DECIMALS: usize = 17;
/// Hexadecimal digits beyond as many bits only tell whether a number is a little more.
const MOST_BITS: i64 = 128;
/// Numbers of this many digits before the point, or zeros behind it, are far out of range.
const MOST_DIGITS: i64 = 5000;

/// How many bits a kind of numbers has, and which powers of two they may stand for.
pub struct Format {
    bits: i64,
    lowest: i64,
    highest: i64,
}

const EXTENDED: Format = Format { bits: 64, lowest: -16_445, highest: 16_383 };
pub const DOUBLE: Format = Format { bits: 53, lowest: -1074, highest: 1023 };

/// A number: its sign, its digits, and by which power of two they are multiplied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extended {
    is_negative: bool,
    digits: u64,
    exponent: i64,
    is_infinite: bool,
}

/// The next number of a format to `number`, or a little more with `is_more`, times a power of two: its digits, and the
/// power; nothing if it is too large, or too small not to vanish.
pub fn round(mut number: Natural, exponent: i64, is_more: bool, format: &Format) -> Option<(u64, i64)> {
    if number.is_zero() && !is_more {
        return Some((0, 0));
    }
    let dropped = (number.bits() - format.bits).max(format.lowest - exponent).max(0);
    // A fraction of less than a quarter of a unit is nothing; the bits of the other numbers are looked at.
    number.shift_right_and_round(dropped.min(number.bits() + 2), is_more);
    let exponent = exponent + dropped;
    let is_vanished = number.is_zero();
    let is_too_large = number.bits() + exponent - 1 > format.highest;
    if is_vanished || is_too_large {
        return None;
    }
    // Rounded up, it may have one bit more, which is a power of two.
    match number.to_u64() {
        Some(digits) => Some((digits, exponent)),
        None => Some((1 << 63, exponent + 1)),
    }
}

/// Digits and a power of two of a text in C's hexadecimal notation, after its sign and `0x`; and whether it is a little
/// more.
pub fn hexadecimal(text: &[u8]) -> Option<(Natural, i64, bool)> {
    let (mut number, mut exponent, mut is_fraction, mut count) = (Natural::default(), 0, false, 0);
    let mut is_more = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'.' if !is_fraction => is_fraction = true,
            b'p' | b'P' if count > 0 => {
                exponent += power(&text[at + 1..])?;
                break;
            }
            byte => {
                let digit = char::from(*byte).to_digit(16)?;
                if number.bits() < MOST_BITS {
                    number.multiply_and_add(16, digit);
                } else {
                    is_more |= digit > 0;
                    exponent += 4;
                }
                exponent -= 4 * i64::from(is_fraction);
                count += 1;
            }
        }
    }
    (count > 0).then_some((number, exponent, is_more))
}

/// The exponent of a text; one that is far out of range is replaced by another one that is.
fn power(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| (number * 10 + i64::from(digit - b'0')).min(1 << 20));
    Some(if is_negative { -number } else { number })
}

/// The text after a sign, and whether that is a minus.
pub fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

fn decimal(text: &[u8]) -> Option<(u64, i64)> {
    let (mut number, mut exponent, mut is_fraction, mut count) = (Natural::default(), 0, false, 0);
    // As many digits as there are from the first that is not 0.
    let mut significant = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'.' if !is_fraction => is_fraction = true,
            b'e' | b'E' if count > 0 => {
                exponent += power(&text[at + 1..])?;
                break;
            }
            b'0'..=b'9' => {
                number.multiply_and_add(10, u32::from(byte - b'0'));
                exponent -= i64::from(is_fraction);
                count += 1;
                significant += i64::from(!number.is_zero());
            }
            _ => return None,
        }
    }
    if count == 0 {
        return None;
    }
    if number.is_zero() {
        return Some((0, 0));
    }
    if (significant + exponent).abs() > MOST_DIGITS {
        return None;
    }
    if exponent >= 0 {
        (0..exponent).for_each(|_| number.multiply_and_add(10, 0));
        return round(number, 0, false, &EXTENDED);
    }
    // So many bits more that the quotient has enough of them: each decimal digit has fewer than four.
    let more = (EXTENDED.bits + 2 - 4 * exponent - number.bits()).max(0);
    number.shift_left(more);
    let (mut left, mut is_more) = (-exponent, false);
    while left > 0 {
        let digits = left.min(9);
        is_more |= number.divide(10_u32.pow(digits as u32)) != 0;
        left -= digits;
    }
    round(number, -more, is_more, &EXTENDED)
}

impl Extended {
    /// A number as C's `strtold` reads it, without spaces around it; nothing if it is none, or too large or too small.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() >= LONGEST_TEXT {
            return None;
        }
        let (is_negative, rest) = sign(text);
        let is_infinite = rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"infinity");
        let (digits, exponent) = match rest {
            _ if is_infinite => (0, 0),
            [b'0', b'x' | b'X', rest @ ..] => {
                let (number, exponent, is_more) = hexadecimal(rest)?;
                round(number, exponent, is_more, &EXTENDED)?
            }
            rest => decimal(rest)?,
        };
        Some(Self { is_negative, digits, exponent, is_infinite })
    }

    pub fn is_infinite(&self) -> bool {
        self.is_infinite
    }

    /// Nothing if the sum is not finite.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        if self.is_infinite || other.is_infinite {
            return None;
        }
        let exponent = if self.digits == 0 {
            other.exponent
        } else if other.digits == 0 {
            self.exponent
        } else {
            self.exponent.min(other.exponent)
        };
        let aligned = |number: &Self| {
            let mut digits = Natural::from(number.digits);
            digits.shift_left(number.exponent - exponent);
            digits
        };
        let (mut one, mut two) = (aligned(self), aligned(other));
        let mut is_negative = self.is_negative;
        if self.is_negative == other.is_negative {
            one.add(&two);
        } else if one.compare(&two) == Ordering::Less {
            two.subtract(&one);
            (one, is_negative) = (two, other.is_negative);
        } else {
            one.subtract(&two);
        }
        let (digits, exponent) = round(one, exponent, false, &EXTENDED)?;
        Some(Self { is_negative, digits, exponent, is_infinite: false })
    }

    /// The next double, but not 0 if this is not 0.
    pub fn to_double(&self) -> f64 {
        let size = match self.digits {
            _ if self.is_infinite => f64::INFINITY,
            0 => 0.0,
            digits => (digits as f64 * 2_f64.powi(self.exponent as i32)).max(f64::MIN_POSITIVE),
        };
        if self.is_negative { -size } else { size }
    }

    /// With up to 17 decimals, as C's `%.17Lf` prints it, without zeros at the end. It is finite.
    pub fn text(&self) -> String {
        let mut number = Natural::from(self.digits);
        number.multiply_and_add(NINE_DIGITS, 0);
        number.multiply_and_add(NINE_DIGITS / 10, 0);
        if self.exponent >= 0 {
            number.shift_left(self.exponent);
        } else {
            number.shift_right_and_round(-self.exponent, false);
        }
        let sign = if self.is_negative && !number.is_zero() { "-" } else { "" };
        let digits = format!("{:0>1$}", number.text(), DECIMALS + 1);
        let (whole, fraction) = digits.split_at(digits.len() - DECIMALS);
        let text = format!("{sign}{whole}.{fraction}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(one: &str, other: &str) -> Option<String> {
        let [one, other] = [one, other].map(|text| Extended::parse(text.as_bytes()));
        Some(one?.plus(&other?)?.text())
    }

    /// As redis 7.0.15 replies to INCRBYFLOAT on x86-64.
    #[test]
    fn sums_are_those_of_redis() {
        for (one, other, expected) in [
            ("0", "1e-18", "0"),
            ("0", "1e-7", "0.0000001"),
            ("1e17", "0.0000001", "100000000000000000"),
            ("0.1", "0.2", "0.3"),
            ("3", "0x10", "19"),
            ("10.5", "0.1", "10.6"),
            ("1.1", "-1.1", "0"),
            ("-1.1", "1.1", "0"),
            ("0.5", "123456789012345.678", "123456789012346.17800140380859375"),
            ("0", "1e20", "100000000000000000000"),
            ("0", "-1e-300", "0"),
            ("-0.5", "0", "-0.5"),
            ("-5", "2", "-3"),
            ("0X1.8P1", ".5", "3.5"),
            ("9223372036854775807", "1", "9223372036854775808"),
            ("18446744073709551615", "1", "18446744073709551616"),
            ("18446744073709551617", "0", "18446744073709551616"),
            ("0", "000.25e+1", "2.5"),
        ] {
            assert_eq!(sum(one, other).as_deref(), Some(expected), "{one} + {other}");
        }
        let large = sum("1e300", "1").unwrap_or_default();
        assert_eq!(&large[..60], "100000000000000000000899732407955919387052394427329074793826");
        let larger = sum("0", "-1e400").unwrap_or_default();
        assert_eq!(&larger[..40], "-100000000000000000002818806839475865145");
    }

    #[test]
    fn what_is_no_number_or_out_of_range_is_refused() {
        for text in [
            "",
            "-",
            ".",
            "e5",
            "1e",
            "1e+",
            "0x",
            "0x.",
            "0x1p",
            "0xg",
            "1 ",
            " 1",
            "1..2",
            "nan",
            "1e5000",
            "0x1p-20000",
            "1e-5000",
        ] {
            assert_eq!(Extended::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(sum("1e4932", "9e4931"), None);
        assert_eq!(sum("inf", "-inf"), None);
        assert_eq!(Extended::parse(b"2e-4951").map(|number| number.text()).as_deref(), Some("0"));
        assert!(Extended::parse(b"-Infinity").is_some_and(|number| number.is_infinite()));
    }
}
