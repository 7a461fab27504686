//! The file of a snapshot: chunks, each with its length and its checksum; after the last chunk, their number.
//!
//! It is written under another name, and renamed once all of it is on disk: so there is always a complete file, the old
//! one or the new one.

use crate::store::snapshot::VERSION;
use crc::{CRC_64_XZ, Crc, Table};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// It is followed by the digit of the version.
const MAGIC: &[u8; 15] = b"hydra snapshot ";
/// A chunk has at least one segment of a shard, and so may be long, but not as long as this.
const LONGEST_CHUNK: u64 = 1 << 40;

/// Sixteen bytes at a time.
static CHECKSUM: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_XZ);

pub struct Writer {
    file: File,
    written_to: PathBuf,
    path: PathBuf,
    count: u64,
}

impl Writer {
    pub fn create(path: PathBuf) -> io::Result<Self> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".tmp");
        let written_to = path.with_file_name(name);
        let mut file = File::create(&written_to)?;
        file.write_all(MAGIC)?;
        file.write_all(&[b'0' + VERSION])?;
        Ok(Self { file, written_to, path, count: 0 })
    }

    pub fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.count += 1;
        self.file.write_all(&(chunk.len() as u64).to_le_bytes())?;
        self.file.write_all(&CHECKSUM.checksum(chunk).to_le_bytes())?;
        self.file.write_all(chunk)
    }

    /// Puts the file in its place.
    pub fn finish(mut self) -> io::Result<()> {
        let count = self.count.to_le_bytes();
        self.file.write_all(&0_u64.to_le_bytes())?;
        self.file.write_all(&CHECKSUM.checksum(&count).to_le_bytes())?;
        self.file.write_all(&count)?;
        self.file.sync_all()?;
        fs::rename(&self.written_to, &self.path)?;
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // It is gone already if it was renamed.
        drop(fs::remove_file(&self.written_to));
    }
}

pub struct Reader {
    file: BufReader<File>,
    count: u64,
    pub version: u8,
}

impl Reader {
    /// Nothing if there is no file.
    ///
    /// # Errors
    /// If it cannot be read, or is not a snapshot.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut reader = Self { file: BufReader::new(file), count: 0, version: 0 };
        let magic: [u8; 15] = reader.exactly()?;
        let [version]: [u8; 1] = reader.exactly()?;
        if magic != *MAGIC {
            return Err(damaged("this is not a snapshot of hydra"));
        }
        reader.version = version.wrapping_sub(b'0');
        if !(1..=VERSION).contains(&reader.version) {
            return Err(damaged("the snapshot is of a version that this hydra does not know"));
        }
        Ok(Some(reader))
    }

    fn exactly<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes).map_err(cut_off)?;
        Ok(bytes)
    }

    /// The next chunk; nothing at the end, provided that all chunks were there.
    pub fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let length = u64::from_le_bytes(self.exactly()?);
        let expected = u64::from_le_bytes(self.exactly()?);
        if length == 0 {
            let count: [u8; 8] = self.exactly()?;
            let is_whole = CHECKSUM.checksum(&count) == expected && u64::from_le_bytes(count) == self.count;
            return match self.file.fill_buf()? {
                [] if is_whole => Ok(None),
                [_, ..] if is_whole => Err(damaged("there is more behind the end of the snapshot")),
                _ => Err(damaged("the end of the snapshot does not fit the rest")),
            };
        }
        let mut chunk = Vec::new();
        if length > LONGEST_CHUNK || (&mut self.file).take(length).read_to_end(&mut chunk)? as u64 != length {
            return Err(cut_off(ErrorKind::UnexpectedEof.into()));
        }
        self.count += 1;
        if CHECKSUM.checksum(&chunk) != expected {
            return Err(damaged("the checksum of a chunk is wrong: the snapshot was changed or damaged"));
        }
        Ok(Some(chunk))
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

fn cut_off(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::UnexpectedEof { damaged("the snapshot is cut off") } else { error }
}
