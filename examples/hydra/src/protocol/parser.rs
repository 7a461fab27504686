//! Requests: arrays of bulk strings, or lines. The bytes of a request are parsed once, in however many pieces they
//! arrive.

use crate::protocol::number;

/// Above this length, a line without an end is refused.
const LONGEST_LINE: usize = 64 * 1024;
/// What a client may send before it is authenticated.
const MOST_UNAUTHENTICATED_ARGUMENTS: i64 = 10;
const LONGEST_UNAUTHENTICATED_ARGUMENT: i64 = 16 * 1024;

/// What this client may send.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Bytes of one argument.
    pub longest_argument: i64,
    pub is_authenticated: bool,
}

/// How much of a request there is.
#[derive(Debug, PartialEq)]
pub enum Parsed {
    /// All of it; it ends before this byte of the input.
    Request(usize),
    Incomplete,
}

/// What the client is told before its connection is closed, after "Protocol error: ".
#[derive(Debug, PartialEq)]
pub struct Malformed(pub Vec<u8>);

/// Reads one request after another. Between calls the input may grow; the request that is under way stays at its
/// beginning.
#[derive(Default)]
pub struct Parser {
    /// Offsets in the input, or in `line` if the request is one.
    arguments: Vec<(usize, usize)>,
    line: Vec<u8>,
    is_line: bool,
    /// How far the request has been read.
    at: usize,
    /// How many arguments are still to come; nothing, before their number is known.
    left: Option<i64>,
    /// The length of the argument under way.
    length: Option<usize>,
}

impl Parser {
    /// Reads the request that begins at `start`.
    ///
    /// # Errors
    /// If this is not a request: nothing more can be read from this client.
    #[inline]
    pub fn parse(&mut self, input: &[u8], start: usize, limits: Limits) -> Result<Parsed, Malformed> {
        let rest = &input[start..];
        if self.left.is_none() {
            match rest.first() {
                None => return Ok(Parsed::Incomplete),
                Some(b'*') => {}
                Some(_) => return self.parse_line(rest, start),
            }
            self.arguments.clear();
            self.is_line = false;
            let Some((count, next)) = header(rest, 0, "too big mbulk count string")? else {
                return Ok(Parsed::Incomplete);
            };
            let count = number::parse(count).filter(|count| *count <= i64::from(i32::MAX));
            let count = count.ok_or_else(|| malformed("invalid multibulk length"))?;
            if count > MOST_UNAUTHENTICATED_ARGUMENTS && !limits.is_authenticated {
                return Err(malformed("unauthenticated multibulk length"));
            }
            (self.left, self.at) = (Some(count), next);
        }
        let mut left = self.left.unwrap_or_default();
        while left > 0 {
            let length = match self.length {
                Some(length) => length,
                None => {
                    let Some((text, next)) = header(rest, self.at, "too big bulk count string")? else {
                        self.left = Some(left);
                        return Ok(Parsed::Incomplete);
                    };
                    if rest[self.at] != b'$' {
                        return Err(Malformed(
                            [b"expected '$', got '", &rest[self.at..=self.at], b"'"].concat(),
                        ));
                    }
                    let length =
                        number::parse(text).filter(|length| (0..=limits.longest_argument).contains(length));
                    let length = length.ok_or_else(|| malformed("invalid bulk length"))?;
                    if length > LONGEST_UNAUTHENTICATED_ARGUMENT && !limits.is_authenticated {
                        return Err(malformed("unauthenticated bulk length"));
                    }
                    self.at = next;
                    length as usize
                }
            };
            if rest.len() - self.at < length + 2 {
                (self.left, self.length) = (Some(left), Some(length));
                return Ok(Parsed::Incomplete);
            }
            self.length = None;
            self.arguments.push((self.at, self.at + length));
            self.at += length + 2;
            left -= 1;
        }
        self.left = None;
        Ok(Parsed::Request(start + self.at))
    }

    fn parse_line(&mut self, rest: &[u8], start: usize) -> Result<Parsed, Malformed> {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            let is_too_long = rest.len() > LONGEST_LINE;
            return if is_too_long {
                Err(malformed("too big inline request"))
            } else {
                Ok(Parsed::Incomplete)
            };
        };
        self.is_line = true;
        self.arguments.clear();
        self.line.clear();
        let text = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        split_line(text, &mut self.line, &mut self.arguments)
            .ok_or_else(|| malformed("unbalanced quotes in request"))?;
        Ok(Parsed::Request(start + end + 1))
    }

    /// How many arguments the request has, its name among them.
    #[inline]
    pub fn count(&self) -> usize {
        self.arguments.len()
    }

    /// An argument of the request that was read last, which begins at `start`.
    #[inline]
    pub fn argument<'a>(&'a self, input: &'a [u8], start: usize, index: usize) -> &'a [u8] {
        let (from, to) = self.arguments[index];
        if self.is_line { &self.line[from..to] } else { &input[start + from..start + to] }
    }

    /// Releases the memory of a request with many arguments.
    pub fn shrink(&mut self) {
        self.arguments.shrink_to(16);
        self.line = Vec::new();
    }
}

fn malformed(text: &str) -> Malformed {
    Malformed(text.into())
}

/// The text between the type at `at` and the end of the line, and where the next line begins.
#[inline]
fn header<'a>(rest: &'a [u8], at: usize, too_long: &str) -> Result<Option<(&'a [u8], usize)>, Malformed> {
    let line = &rest[at.min(rest.len())..];
    match line.iter().position(|byte| *byte == b'\r') {
        Some(end) if end + 1 < line.len() => Ok(Some((line.get(1..end).unwrap_or_default(), at + end + 2))),
        Some(_) => Ok(None),
        None if line.len() > LONGEST_LINE => Err(malformed(too_long)),
        None => Ok(None),
    }
}

/// Splits a line into arguments, which may be quoted as in redis-cli; nothing if a quotation does not end, or does not
/// end its argument.
fn split_line(text: &[u8], to: &mut Vec<u8>, arguments: &mut Vec<(usize, usize)>) -> Option<()> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let mut at = 0;
    loop {
        at += text[at..].iter().take_while(|byte| is_space(byte)).count();
        if at == text.len() || text[at] == 0 {
            return Some(());
        }
        let from = to.len();
        while let Some(byte) = text.get(at).filter(|byte| !is_space(byte) && **byte != 0) {
            at += 1;
            match byte {
                b'"' => at = quoted(text, at, to)?,
                b'\'' => at = single_quoted(text, at, to)?,
                byte => {
                    to.push(*byte);
                    continue;
                }
            }
            if text.get(at).is_some_and(|byte| !is_space(byte) && *byte != 0) {
                return None;
            }
        }
        arguments.push((from, to.len()));
    }
}

/// The text up to the closing quotation mark; parsing continues after it.
fn quoted(text: &[u8], mut at: usize, to: &mut Vec<u8>) -> Option<usize> {
    let hexadecimal = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    loop {
        match text.get(at..)? {
            [b'"', ..] => return Some(at + 1),
            [b'\\', b'x', high, low, ..] if hexadecimal(high).is_some() && hexadecimal(low).is_some() => {
                to.push(hexadecimal(high)? << 4 | hexadecimal(low)?);
                at += 4;
            }
            [b'\\', escaped, ..] => {
                to.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                at += 2;
            }
            [byte, ..] => {
                to.push(*byte);
                at += 1;
            }
            [] => return None,
        }
    }
}

fn single_quoted(text: &[u8], mut at: usize, to: &mut Vec<u8>) -> Option<usize> {
    loop {
        match text.get(at..)? {
            [b'\'', ..] => return Some(at + 1),
            [b'\\', b'\'', ..] => {
                to.push(b'\'');
                at += 2;
            }
            [byte, ..] => {
                to.push(*byte);
                at += 1;
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { longest_argument: 1 << 20, is_authenticated: true };

    /// All requests of an input that arrives in pieces which end at these places, and why it ended.
    fn parse_in_pieces(
        input: &[u8],
        ends: impl Iterator<Item = usize>,
    ) -> (Vec<Vec<Vec<u8>>>, Option<Malformed>) {
        let (mut parser, mut requests, mut start) = (Parser::default(), Vec::new(), 0);
        for end in ends.chain([input.len()]) {
            loop {
                match parser.parse(&input[..end], start, LIMITS) {
                    Ok(Parsed::Incomplete) => break,
                    Ok(Parsed::Request(next)) => {
                        assert!(next > start && next <= end, "it goes on, and not beyond what there is");
                        let arguments = (0..parser.count())
                            .map(|index| parser.argument(&input[..end], start, index).to_vec());
                        requests.push(arguments.collect());
                        start = next;
                    }
                    Err(malformed) => return (requests, Some(malformed)),
                }
            }
        }
        (requests, None)
    }

    #[test]
    fn requests_are_the_same_however_they_are_cut() {
        let input = b"*2\r\n$3\r\nGET\r\n$0\r\n\r\nPING\r\n*0\r\n*-1\r\n\r\nset \"a\\x41\" 'b'\r\n*1\r\n$4\r\n\r\n\r\n\r\n*1\r\n$x\r\n";
        let whole = parse_in_pieces(input, [].into_iter());
        assert_eq!(whole.0.len(), 7);
        assert_eq!(whole.0[5], [b"set".to_vec(), b"aA".to_vec(), b"b".to_vec()]);
        assert_eq!(whole.1, Some(malformed("invalid bulk length")));
        for first in 0..input.len() {
            for second in first..input.len() {
                assert_eq!(
                    parse_in_pieces(input, [first, second].into_iter()),
                    whole,
                    "cut at {first} and {second}"
                );
            }
        }
        assert_eq!(parse_in_pieces(input, 0..input.len()), whole, "byte by byte");
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused_and_the_same_in_pieces() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        // Mostly characters of which requests consist, so that some are nearly well formed.
        let words: [&[u8]; 14] = [
            b"*",
            b"$",
            b"\r\n",
            b"\r\n",
            b"1",
            b"2",
            b"3",
            b"-1",
            b"GET",
            b"\"",
            b" ",
            b"\0\xff",
            b"99999999999",
            b"*1\r\n$1\r\na\r\n",
        ];
        for _ in 0..20_000 {
            let input: Vec<u8> =
                (0..random() % 24).flat_map(|_| words[random() % words.len()]).copied().collect();
            let whole = parse_in_pieces(&input, [].into_iter());
            let (first, second) = (random() % (input.len() + 1), random() % (input.len() + 1));
            let cuts = [first.min(second), first.max(second)].into_iter();
            assert_eq!(parse_in_pieces(&input, cuts), whole, "{}", input.escape_ascii());
            assert_eq!(parse_in_pieces(&input, 0..input.len()), whole, "{}", input.escape_ascii());
        }
    }

    #[test]
    fn a_header_that_does_not_end_is_refused_before_it_takes_much_memory() {
        let long = vec![b'1'; LONGEST_LINE + 2];
        for (start, why) in [
            (&b"*"[..], "too big mbulk count string"),
            (b"*1\r\n$", "too big bulk count string"),
            (b"1", "too big inline request"),
        ] {
            let (requests, malformed) = parse_in_pieces(&[start, &long].concat(), [].into_iter());
            assert_eq!((requests.len(), malformed), (0, Some(super::malformed(why))));
        }
    }
}
