//! What a word is, and where the words of a text begin and end.

/// The longest words that are told apart: of a longer word only this many bytes count.
///
/// It bounds the memory for text that is one word throughout, such as a genome or a file of letters without spaces.
pub const LONGEST: usize = 64 * 1024;

/// Bytes whose kinds fit in the bits of one number.
const GROUP: usize = u64::BITS as usize;

/// Whether a byte belongs to a word: ASCII letters and digits do, and all bytes above ASCII, so that a word
/// of any alphabet stays whole, in UTF-8 as in the older encodings, and in text that is valid in none.
pub fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Finds the words of a text that comes block by block.
#[derive(Default)]
pub struct Splitter {
    place: Place,
    /// The beginning of the word at the end of the last block.
    begun: Vec<u8>,
    /// Words so far of which only the beginning counts.
    shortened: u64,
}

/// Where the last block ended.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Between,
    /// Inside a word that this splitter is to find.
    Inside,
    /// Inside a word that another splitter finds.
    Skipping,
}

impl Splitter {
    /// A splitter of a text that begins inside a word, the rest of which is skipped.
    pub fn within_a_word() -> Self {
        Self { place: Place::Skipping, ..Self::default() }
    }

    /// Whether more text could change the last word.
    pub fn wants_more(&self) -> bool {
        self.place == Place::Inside && self.begun.len() <= LONGEST
    }

    /// Hands the words that end in this block to `found`, in lower case, which `block` is in afterwards.
    pub fn feed(&mut self, block: &mut [u8], found: &mut impl FnMut(&[u8])) {
        block.make_ascii_lowercase();
        let rest = match self.place {
            Place::Between => &*block,
            Place::Inside | Place::Skipping => {
                let end = block.iter().position(|byte| !is_word_byte(*byte));
                let (word, rest) = block.split_at(end.unwrap_or(block.len()));
                if self.place == Place::Inside {
                    self.begin(word);
                }
                if end.is_none() {
                    return;
                }
                self.finish(found);
                rest
            }
        };
        let begun = whole_words(rest, |word| self.found(word, found));
        if let Some(start) = begun {
            self.place = Place::Inside;
            self.begin(&rest[start..]);
        }
    }

    /// Ends the text, and so its last word.
    pub fn finish(&mut self, found: &mut impl FnMut(&[u8])) {
        if self.place == Place::Inside {
            let word = std::mem::take(&mut self.begun);
            self.found(&word, found);
            // Its memory is reused for the next word.
            self.begun = word;
            self.begun.clear();
        }
        self.place = Place::Between;
    }

    /// How many words were longer than [`LONGEST`].
    pub fn shortened(&self) -> u64 {
        self.shortened
    }

    /// Keeps the beginning of a word, with one byte more than counts if there are more.
    fn begin(&mut self, bytes: &[u8]) {
        let room = LONGEST + 1 - self.begun.len();
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    #[inline(always)]
    fn found(&mut self, word: &[u8], found: &mut impl FnMut(&[u8])) {
        match word.get(..LONGEST) {
            Some(beginning) if word.len() > LONGEST => {
                self.shortened += 1;
                found(beginning);
            }
            _ => found(word),
        }
    }
}

/// Passes the words that end in `text` to `found`. Returns where the word begins that does not end in it, if any.
#[inline(always)]
fn whole_words(text: &[u8], mut found: impl FnMut(&[u8])) -> Option<usize> {
    let mut begin = None;
    let mut before = 0;
    let mut group = |offset: usize, bytes: &[u8; GROUP]| {
        let kinds = word_bytes(bytes);
        // One bit where a word begins, and one where a word has ended.
        let mut edges = kinds ^ (kinds << 1 | before);
        before = kinds >> (GROUP - 1);
        while edges != 0 {
            let edge = offset + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            match begin.take() {
                None => begin = Some(edge),
                Some(begin) => found(&text[begin..edge]),
            }
        }
    };
    let (groups, rest) = text.as_chunks();
    for (index, bytes) in groups.iter().enumerate() {
        group(index * GROUP, bytes);
    }
    for (index, byte) in rest.iter().enumerate() {
        let edge = groups.len() * GROUP + index;
        match (begin, is_word_byte(*byte)) {
            (None, true) => begin = Some(edge),
            (Some(start), false) => {
                found(&text[start..edge]);
                begin = None;
            }
            _ => (),
        }
    }
    begin
}

/// One bit for each byte, the lowest for the first: whether it belongs to a word. Written so that the compiler
/// processes many bytes at once.
#[inline(always)]
fn word_bytes(bytes: &[u8; GROUP]) -> u64 {
    /// Brings the lowest bits of eight bytes together in the highest byte of the product.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let flags = bytes.map(|byte| u8::from(is_word_byte(byte)));
    let (eights, _) = flags.as_chunks::<8>();
    eights
        .iter()
        .rev()
        .fold(0, |bits, eight| bits << 8 | u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a text in blocks of `size` bytes.
    fn split(text: &[u8], size: usize, mut splitter: Splitter) -> (Vec<Vec<u8>>, u64) {
        let mut words = Vec::new();
        let mut found = |word: &[u8]| words.push(word.to_vec());
        for block in text.chunks(size) {
            splitter.feed(&mut block.to_vec(), &mut found);
        }
        splitter.finish(&mut found);
        (words, splitter.shortened())
    }

    /// The definition, as plainly as possible.
    fn words_of(text: &[u8]) -> Vec<Vec<u8>> {
        let words = text.split(|byte| !is_word_byte(*byte)).filter(|word| !word.is_empty());
        words.map(|word| word[..word.len().min(LONGEST)].to_ascii_lowercase()).collect()
    }

    #[test]
    fn words_are_the_same_however_the_text_is_cut_into_blocks() {
        let text = "One, two;three-FOUR\0five_six 7even ÄÖ été\n\n".repeat(9) + "the end";
        let mut bytes = text.into_bytes();
        bytes.extend([b' ', 0xff, 0x80, b'x', b'\n', 0xc3]);
        let expected = words_of(&bytes);
        assert!(expected.contains(&"ÄÖ".into()) && expected.contains(&vec![0xff, 0x80, b'x']));
        for size in (1..200).chain([bytes.len(), 4096]) {
            assert_eq!(split(&bytes, size, Splitter::default()), (expected.clone(), 0), "blocks of {size}");
        }
    }

    #[test]
    fn every_byte_is_taken_for_what_it_is() {
        let text: Vec<u8> = (0..=u8::MAX).flat_map(|byte| [b'-', byte, b'-']).collect();
        assert_eq!(split(&text, text.len(), Splitter::default()).0, words_of(&text));
        assert_eq!(words_of(&text).len(), 10 + 2 * 26 + 128);
    }

    #[test]
    fn the_rest_of_the_word_before_is_passed_over() {
        for size in [1, 2, 3, 64, 1000] {
            assert_eq!(split(b"est of it", size, Splitter::within_a_word()).0, words_of(b"of it"));
            assert_eq!(split(b" of it", size, Splitter::within_a_word()).0, words_of(b"of it"));
            assert_eq!(split(b"est", size, Splitter::within_a_word()).0, words_of(b""));
        }
    }

    #[test]
    fn only_the_beginning_of_a_very_long_word_counts() {
        for (length, shortened) in [(LONGEST, 0), (LONGEST + 1, 1), (5 * LONGEST + 7, 1)] {
            let text = [b"a ".as_slice(), &vec![b'X'; length], b" z"].concat();
            for size in [1000, 4096, LONGEST, text.len()] {
                let (words, counted) = split(&text, size, Splitter::default());
                assert_eq!((words, counted), (words_of(&text), shortened), "{length} in blocks of {size}");
            }
        }
    }

    #[test]
    fn a_splitter_keeps_no_more_of_a_word_than_counts() {
        let mut splitter = Splitter::default();
        for _ in 0..100 {
            splitter.feed(&mut [b'x'; 4096], &mut |_| panic!("the word goes on"));
        }
        assert!(splitter.begun.len() <= LONGEST + 1 && !splitter.wants_more());
    }
}
