//! Fractions as redis reads them, with C's `strtod`, and writes them.

use crate::protocol::extended::{DOUBLE, hexadecimal, round, sign};

/// A number as `strtod` reads it, and whether a double can have it: otherwise it is infinite or 0 instead. Nothing if
/// the text is no number, or ends after it.
fn read(text: &[u8]) -> Option<(f64, bool)> {
    let (is_negative, rest) = sign(text);
    if let [b'0', b'x' | b'X', digits @ ..] = rest {
        let (number, exponent, is_more) = hexadecimal(digits)?;
        let is_large = number.bits() + exponent > 0;
        let signed = |number: f64| if is_negative { -number } else { number };
        return Some(match round(number, exponent, is_more, &DOUBLE) {
            // Both factors are powers of two that a double has, and so is each product.
            Some((digits, exponent)) => {
                let half = (exponent / 2) as i32;
                let number = digits as f64 * 2_f64.powi(half) * 2_f64.powi(exponent as i32 - half);
                (signed(number), true)
            }
            None => (signed(if is_large { f64::INFINITY } else { 0.0 }), false),
        });
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let mantissa = rest.split(|byte| matches!(byte, b'e' | b'E')).next().unwrap_or_default();
    let is_spelt = rest.first().is_some_and(u8::is_ascii_alphabetic);
    let is_too_large = number.is_infinite() && !is_spelt;
    let is_too_small = number == 0.0 && mantissa.iter().any(|byte| matches!(byte, b'1'..=b'9'));
    (!number.is_nan()).then_some((number, !is_too_large && !is_too_small))
}

/// A finite or infinite number in decimal, scientific or hexadecimal notation; no spaces, no NaN, and nothing that a
/// double cannot have.
pub fn parse_float(text: &[u8]) -> Option<f64> {
    read(text).filter(|(_, has_room)| *has_room).map(|(number, _)| number)
}

/// What C takes for the whole of a text: up to the first zero byte, without spaces before it. A text without any byte
/// stands for 0, one of spaces for nothing.
fn as_c_reads(text: &[u8]) -> &[u8] {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let spaces = text.iter().take_while(|byte| is_space(byte)).count();
    if text.is_empty() { b"0" } else { &text[spaces..] }
}

/// A bound of a range: redis takes what is too large for infinite, and what is too small for 0.
pub fn parse_bound(text: &[u8]) -> Option<f64> {
    read(as_c_reads(text)).map(|(number, _)| number)
}

/// A weight of SORT.
pub fn parse_weight(text: &[u8]) -> Option<f64> {
    let (number, has_room) = read(as_c_reads(text))?;
    (has_room && !number.is_subnormal()).then_some(number)
}

/// With 17 significant digits, without zeros at the end, as C's `%.17g` prints it.
pub fn text_of_float(number: f64) -> String {
    const DIGITS: i32 = 17;
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if number == 0.0 {
        return if number.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{number:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let without_zeros = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..DIGITS).contains(&exponent) {
        without_zeros(&format!("{number:.*}", (DIGITS - 1 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_c_writes_them() {
        for (number, text) in [
            (0.0, "0"),
            (3.0, "3"),
            (0.1, "0.10000000000000001"),
            (-2.5, "-2.5"),
            (1e17, "1e+17"),
            (12_345_678_901_234_568.0, "12345678901234568"),
            (1e-5, "1.0000000000000001e-05"),
            (0.0001, "0.0001"),
            (1.7e308, "1.6999999999999999e+308"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(text_of_float(number), text);
        }
    }

    #[test]
    fn floats_are_read_as_c_reads_them() {
        for (text, number) in [
            ("0", 0.0),
            ("+5", 5.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("-1e3", -1000.0),
            ("0x10", 16.0),
            ("-0X.8p1", -1.0),
            ("0x1p-1074", 5e-324),
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x1.00000000000008", 1.0),
            ("0x1.000000000000080000001", 1.000_000_000_000_000_2),
            ("0x3p-1075", 1e-323),
            ("iNfinity", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
            ("0e400", 0.0),
        ] {
            assert_eq!(parse_float(text.as_bytes()), Some(number), "{text}");
            assert_eq!(parse_bound(text.as_bytes()), Some(number), "{text}");
        }
        assert!(parse_float(b"-0").is_some_and(|zero| zero.is_sign_negative()));
        for text in ["nan", "1 ", "0x", "0x1p", "1e", "e1", "1_0", "--1", "0x-1", ".", "infi", "\u{e9}"] {
            assert_eq!((parse_float(text.as_bytes()), parse_bound(text.as_bytes())), (None, None), "{text}");
        }
        for (text, bound) in [
            ("", Some(0.0)),
            (" ", None),
            (" \x0b1", Some(1.0)),
            ("1\0x", Some(1.0)),
            ("\0", Some(0.0)),
            ("1e400", Some(f64::INFINITY)),
            ("-0x1p1024", Some(f64::NEG_INFINITY)),
            ("1e-400", Some(0.0)),
            ("0x1p-1080", Some(0.0)),
        ] {
            assert_eq!(
                (parse_float(text.as_bytes()), parse_bound(text.as_bytes())),
                (None, bound),
                "{text:?}"
            );
        }
        assert_eq!(
            (parse_weight(b"1e400"), parse_weight(b"1e-310"), parse_weight(b"")),
            (None, None, Some(0.0))
        );
    }
}
