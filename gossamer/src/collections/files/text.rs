//! A text file, of which each worker reads some of the lines, section by section.

use crate::collections::files::regular;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::str;

/// Bytes that are read at once of a line that goes on behind its section.
const MORE: u64 = 64 << 10;

/// A file whose lines are read.
pub(in crate::collections) struct TextFile {
    file: File,
    len: u64,
}

/// Some lines of a file.
#[derive(Default)]
pub(in crate::collections) struct TextSection {
    bytes: Vec<u8>,
    /// Where `bytes` begins in the file.
    at: u64,
    /// Where the first line begins in `bytes`.
    first: usize,
}

impl TextFile {
    /// The first `len` bytes of a file, as if it had no more.
    ///
    /// # Errors
    /// If it cannot be opened, or has fewer.
    pub(in crate::collections) fn open(path: &Path, len: u64) -> io::Result<Self> {
        let (file, now) = regular::open(path)?;
        if now < len {
            let text = format!("it has {now} bytes, and had {len} before");
            return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
        }
        Ok(Self { file, len })
    }

    /// Reads the lines that begin in a range of the file's bytes. The section's memory is used again.
    ///
    /// # Errors
    /// If the file cannot be read, or has become shorter.
    pub(in crate::collections) fn read(
        &self,
        range: Range<u64>,
        mut section: TextSection,
    ) -> io::Result<TextSection> {
        let TextSection { bytes, at, first } = &mut section;
        bytes.clear();
        // The byte before says whether a line begins at the first one.
        *at = range.start.saturating_sub(1);
        self.append(*at..range.end, bytes)?;
        *first = if range.start == 0 { 0 } else { after_line(bytes) };
        let mut end = range.end;
        while *first < bytes.len() && bytes.last() != Some(&b'\n') && end < self.len {
            let (from, next) = (bytes.len(), self.len.min(end + MORE));
            self.append(end..next, bytes)?;
            bytes.truncate(from + after_line(&bytes[from..]));
            end = next;
        }
        Ok(section)
    }

    fn append(&self, range: Range<u64>, bytes: &mut Vec<u8>) -> io::Result<()> {
        let from = bytes.len();
        bytes.resize(from + (range.end - range.start) as usize, 0);
        self.file.read_exact_at(&mut bytes[from..], range.start).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                let text = format!("it ends before byte {}, and had {} bytes before", range.end, self.len);
                io::Error::new(ErrorKind::UnexpectedEof, text)
            }
            _ => error,
        })
    }
}

/// How many bytes there are to the end of a line, or all of them.
fn after_line(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1)
}

impl TextSection {
    /// The lines, without what ends them (`\n`, or `\r\n`), and where they begin in the file.
    ///
    /// # Errors
    /// Where a line begins that is not UTF-8, and what is wrong with it.
    pub(in crate::collections) fn lines(&self) -> Result<impl Iterator<Item = (u64, &str)>, (u64, String)> {
        let (bytes, begin) = (&self.bytes[self.first..], self.at + self.first as u64);
        let text = str::from_utf8(bytes).map_err(|error| {
            let good = &bytes[..error.valid_up_to()];
            let line = good.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let wrong = bytes[good.len()];
            (begin + line as u64, format!("not UTF-8: the byte {wrong:#04x} at {} in it", good.len() - line))
        })?;
        let mut next = begin;
        Ok(text.split_inclusive('\n').map(move |line| {
            let at = next;
            next += line.len() as u64;
            let text = line.strip_suffix('\n').map_or(line, |text| text.strip_suffix('\r').unwrap_or(text));
            (at, text)
        }))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{TextFile, TextSection};
    use std::{env, fs, process};

    #[test]
    fn each_line_is_in_one_piece_however_the_file_is_cut() {
        let path = env::temp_dir().join(format!("gossamer-sections-{}", process::id()));
        for text in
            ["", "\n", "one", "one\n", "\n\none\r\n\rtwo\r\n", "a\nlonger than any section\n\nb", "end\r"]
        {
            fs::write(&path, text).unwrap();
            let file = TextFile::open(&path, text.len() as u64).unwrap();
            let expected: Vec<_> = text.lines().collect();
            for length in 1..=text.len() as u64 + 1 {
                let (mut section, mut found) = (TextSection::default(), Vec::new());
                for start in (0..file.len).step_by(length as usize) {
                    section = file.read(start..file.len.min(start + length), section).unwrap();
                    for (at, line) in section.lines().unwrap() {
                        assert!(
                            text[at as usize..].starts_with(line) && (start..start + length).contains(&at)
                        );
                        found.push(line.to_owned());
                    }
                }
                assert_eq!(found, expected, "{text:?} in sections of {length}");
            }
        }
        fs::remove_file(path).unwrap();
    }
}
