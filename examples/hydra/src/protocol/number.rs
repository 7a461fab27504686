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

/// A cursor of SCAN, as C's `strtoul` reads it: nothing stands for 0, and a negative number counts from the end.
pub fn parse_cursor(text: &[u8]) -> Option<u64> {
    let (is_negative, digits) = match text {
        [] => return Some(0),
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if is_negative { number.wrapping_neg() } else { number })
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

#[cfg(test)]
mod tests {
    use super::*;

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
