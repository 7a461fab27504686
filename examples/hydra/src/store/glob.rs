//! Patterns of keys: `*`, `?`, `[a-c]`, `[^a]` and `\`.

/// Whether a pattern stands for everything, and need not be looked at: as in redis, other patterns of stars do not match
/// the empty text, and so this one, where it is looked at, does not either.
pub fn is_all(pattern: &[u8]) -> bool {
    pattern == b"*"
}

/// Whether a pattern matches a whole text. This takes time in proportion to the product of their lengths at most.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut pattern_at, mut text_at) = (0, 0);
    // Behind the last star, and how much of the text it has taken.
    let mut star = None;
    while text_at < text.len() {
        match pattern.get(pattern_at) {
            Some(b'*') => {
                pattern_at += 1;
                star = Some((pattern_at, text_at));
                continue;
            }
            Some(_) => {
                let (is_match, next) = matches_one(pattern, pattern_at, text[text_at]);
                if is_match {
                    (pattern_at, text_at) = (next, text_at + 1);
                    continue;
                }
            }
            None => {}
        }
        let Some((behind, taken)) = star else { return false };
        star = Some((behind, taken + 1));
        (pattern_at, text_at) = (behind, taken + 1);
    }
    pattern[pattern_at..].iter().all(|byte| *byte == b'*')
}

/// Whether the item at this place of a pattern, which is not a star, matches a byte; and the rest after it.
fn matches_one(pattern: &[u8], at: usize, byte: u8) -> (bool, usize) {
    match pattern[at] {
        b'?' => (true, at + 1),
        b'[' => matches_class(pattern, at + 1, byte),
        b'\\' if at + 1 < pattern.len() => (pattern[at + 1] == byte, at + 2),
        literal => (literal == byte, at + 1),
    }
}

/// As `matches_one`, after an opening bracket. A class that does not end takes the rest of the pattern.
fn matches_class(pattern: &[u8], mut at: usize, byte: u8) -> (bool, usize) {
    let is_negated = pattern.get(at) == Some(&b'^');
    at += usize::from(is_negated);
    let mut is_match = false;
    loop {
        match pattern[at.min(pattern.len())..] {
            [] => return (is_match != is_negated, pattern.len()),
            [b']', ..] => return (is_match != is_negated, at + 1),
            [b'\\', escaped, ..] => {
                is_match |= escaped == byte;
                at += 2;
            }
            [first, b'-', last, ..] => {
                // In redis bytes from 0x80 on are negative on x86-64, and come before the others.
                let [first, last, byte] = [first, last, byte].map(u8::cast_signed);
                is_match |= (first.min(last)..=first.max(last)).contains(&byte);
                at += 3;
            }
            [single, ..] => {
                is_match |= single == byte;
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_those_of_redis_do() {
        for (pattern, text, is_match) in [
            ("*", "", false),
            ("**", "", false),
            ("**", "a", true),
            ("a**", "a", true),
            ("", "", true),
            ("", "a", false),
            ("h?llo", "hello", true),
            ("h*llo", "heeeello", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-d", false),
            ("[a", "a", true),
            ("a\\", "a\\", true),
            ("*:*", "key:1", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), is_match, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let pattern = b"a*".repeat(200);
        assert!(!matches(&[&pattern[..], b"b"].concat(), &[b'a'; 2000]));
    }
}
