//! Integers as redis reads and writes them.

/// An integer in its only form: no spaces, no `+`, no leading zeros.
pub fn parse(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut magnitude = 0_u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // Nineteen digits fit.
        magnitude = magnitude * 10 + u64::from(digit - b'0');
    }
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() }
}

/// Appends an integer to `to`.
#[inline]
pub fn write(to: &mut Vec<u8>, number: i64) {
    let mut text = [0_u8; 20];
    let mut at = text.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        at -= 1;
        text[at] = b'-';
    }
    to.extend_from_slice(&text[at..]);
}

/// The same as a text of its own.
pub fn text(number: i64) -> Vec<u8> {
    let mut text = Vec::with_capacity(20);
    write(&mut text, number);
    text
}

/// A finite or infinite number in decimal or scientific notation; no spaces, no NaN.
pub fn parse_float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok().filter(|number: &f64| !number.is_nan())
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
    fn integers_are_read_in_one_notation_and_within_their_range() {
        for number in [0, 7, -7, 10, i64::MAX, i64::MIN, i64::MIN + 1] {
            assert_eq!(parse(&text(number)), Some(number));
            assert_eq!(text(number), number.to_string().into_bytes());
        }
        for wrong in [
            "",
            "-",
            "-0",
            "00",
            "01",
            "+1",
            " 1",
            "1 ",
            "1a",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
