//! The lines of a file, and what is wrong with them.

use flate2::bufread::MultiGzDecoder;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::str::FromStr;

/// Why a file is not a graph, and where.
#[derive(Debug, PartialEq)]
pub struct FileError {
    path: String,
    /// Counted from 1; 0 for the file as a whole.
    line: u64,
    problem: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, problem } = self;
        match line {
            0 => write!(f, "{path}: {problem}"),
            line => write!(f, "{path}:{line}: {problem}"),
        }
    }
}

impl std::error::Error for FileError {}

/// Whether there is room for a graph with so many vertices and edges, and if not, what to say of it.
pub type Room = Box<dyn Fn(usize, u64) -> Result<(), String>>;

/// Bytes of a line that names a few numbers, with a thousand times as much to spare.
const OF_A_LINE: usize = 1 << 20;

/// A file that is read line by line.
pub struct Source {
    reader: Box<dyn BufRead>,
    path: String,
    number: u64,
    line: Vec<u8>,
    /// Bytes that a line may have, since it is kept as a whole. A comment may have more.
    longest: usize,
    is_comment: fn(&[u8]) -> bool,
    room: Room,
}

impl Source {
    /// Opens a file of a graph for which there has to be room. Its first bytes say whether it is compressed, whatever its name is.
    pub fn open(path: &Path, room: Room) -> Result<Self, FileError> {
        let name = path.display().to_string();
        let failed = |error: io::Error| FileError { path: name.clone(), line: 0, problem: error.to_string() };
        let mut reader = BufReader::with_capacity(256 * 1024, File::open(path).map_err(failed)?);
        let is_compressed = reader.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
        let reader: Box<dyn BufRead> = match is_compressed {
            true => Box::new(BufReader::with_capacity(256 * 1024, MultiGzDecoder::new(reader))),
            false => Box::new(reader),
        };
        Ok(Self::new(reader, name, room))
    }

    fn new(reader: Box<dyn BufRead>, path: String, room: Room) -> Self {
        let (longest, is_comment) = (OF_A_LINE, const { |_: &[u8]| false });
        Self { reader, path, number: 0, line: Vec::new(), longest, is_comment, room }
    }

    #[cfg(test)]
    pub fn of(text: &'static str) -> Self {
        Self::new(Box::new(text.as_bytes()), "test".to_owned(), Box::new(|_, _| Ok(())))
    }

    /// From now on lines of which this is true are passed over.
    pub fn skip(&mut self, is_comment: fn(&[u8]) -> bool) {
        self.is_comment = is_comment;
    }

    /// From now on a line may have so many bytes more than others.
    pub fn lengthen(&mut self, bytes: usize) {
        self.longest = OF_A_LINE.saturating_add(bytes);
    }

    /// Goes to the next line that is not a comment; returns false at the end of the file.
    pub fn advance(&mut self) -> Result<bool, FileError> {
        loop {
            self.line.clear();
            self.number += 1;
            // With a byte more, it is too long.
            let mut start = (&mut self.reader).take((self.longest as u64).saturating_add(1));
            let mut read = start.read_until(b'\n', &mut self.line);
            let is_too_long = self.line.len() > self.longest;
            let is_comment = (self.is_comment)(&self.line);
            if is_too_long && is_comment && self.line.last() != Some(&b'\n') {
                read = read.and(self.reader.skip_until(b'\n'));
            }
            match read {
                Ok(0) => return Ok(false),
                Ok(_) if is_comment => {}
                Ok(_) if is_too_long => {
                    let longest = self.longest;
                    return Err(self.wrong(format_args!(
                        "the line has more than {longest} bytes, more than it could need: is this a graph, in the format that the name says?"
                    )));
                }
                Ok(_) => return Ok(true),
                Err(error) => {
                    return Err(self.wrong(format_args!("the file cannot be read any further: {error}")));
                }
            }
        }
    }

    /// Whether there is room for a graph of this size.
    pub fn check(&self, vertices: usize, edges: u64) -> Result<(), FileError> {
        (self.room)(vertices, edges).map_err(|shortage| self.wrong(shortage))
    }

    /// The line.
    pub fn text(&self) -> Result<&str, FileError> {
        let text = str::from_utf8(&self.line).map_err(|_| self.wrong("the line is no UTF-8 text"))?;
        Ok(text.trim_end_matches(['\n', '\r']))
    }

    /// An error in the line.
    pub fn wrong(&self, problem: impl fmt::Display) -> FileError {
        FileError { path: self.path.clone(), line: self.number, problem: problem.to_string() }
    }

    /// A word as a number.
    pub fn number<T: FromStr>(&self, word: Option<&str>, what: &str) -> Result<T, FileError> {
        let Some(word) = word else { return Err(self.wrong(format_args!("{what} is missing"))) };
        word.parse().map_err(|_| self.wrong(format_args!("`{word}` is not a number that {what} can be")))
    }

    /// A number of vertices: each vertex has a number of 32 bits, and one number stands for no vertex.
    pub fn vertices(&self, word: Option<&str>) -> Result<usize, FileError> {
        let vertices: u64 = self.number(word, "the number of vertices")?;
        if vertices >= u64::from(u32::MAX) {
            return Err(self.wrong(format_args!("{vertices} vertices: there may be {}", u32::MAX - 1)));
        }
        Ok(vertices as usize)
    }

    /// A vertex of a file that counts them from 1.
    pub fn vertex(&self, word: Option<&str>, vertices: usize) -> Result<u32, FileError> {
        let vertex: u64 = self.number(word, "a vertex")?;
        if vertex == 0 || vertex > vertices as u64 {
            let problem =
                format_args!("vertex {vertex} is out of range: there are {vertices}, counted from 1")
                    .to_string();
            return Err(self.wrong(problem));
        }
        Ok((vertex - 1) as u32)
    }

    /// A length that searches can add up.
    pub fn weight(&self, word: Option<&str>) -> Result<f32, FileError> {
        let weight: f32 = self.number(word, "a weight")?;
        if weight == f32::INFINITY {
            let word = word.unwrap_or_default();
            return Err(self.wrong(format_args!(
                "the weight {word}: too large for single precision, which ends at {:e}: scale the weights down",
                f32::MAX
            )));
        }
        if weight.is_nan() || weight < 0.0 {
            return Err(
                self.wrong(format_args!("the weight {weight}: paths are made of lengths of at least 0"))
            );
        }
        // Without the sign of -0: weights are compared by their bits, too.
        Ok(weight.abs())
    }

    /// An error if there is another word in the line.
    pub fn no_more(&self, word: Option<&str>, behind: &str) -> Result<(), FileError> {
        word.map_or(Ok(()), |word| Err(self.wrong(format_args!("`{word}` behind {behind}"))))
    }

    /// An error unless the file has as many as it announces.
    pub fn complete(&self, found: u64, said: u64, of: &str) -> Result<(), FileError> {
        if found == said {
            return Ok(());
        }
        Err(self.wrong(format_args!("the file ends after {found} of {said} {of}: is it truncated?")))
    }
}
