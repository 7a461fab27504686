//! A program that a daemon receives: it enters the cache once it is complete and was checked.

use crate::program::cache::{CachedProgram, Hash, ProgramCache};
use crate::secure::random;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;

/// A program that is being written.
#[derive(Debug)]
pub struct Upload {
    program: CachedProgram,
    file: File,
    path: PathBuf,
    length: u64,
    written: u64,
    hasher: blake3::Hasher,
}

impl Upload {
    /// Begins to write a program into a cache.
    ///
    /// # Errors
    /// If the cache has no room, or the file cannot be made.
    pub fn begin(cache: &Arc<ProgramCache>, hash: Hash, length: u64) -> io::Result<Self> {
        if length > cache.limit() {
            let limit = cache.limit() >> 20;
            return Err(io::Error::other(format!(
                "the program has {length} bytes, but the cache holds {limit} MiB only; raise `mebibytes` in [cache]"
            )));
        }
        let name = random::hexadecimal::<8>().map_err(|failure| io::Error::other(failure.message))?;
        let path = cache.partial(&name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let program = cache.hold(hash);
        Ok(Self { program, file, path, length, written: 0, hasher: blake3::Hasher::new() })
    }

    /// Whether all bytes have arrived.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.written == self.length
    }

    /// Writes the next bytes.
    ///
    /// # Errors
    /// If they are too many, or cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        if self.written > self.length {
            return Err(io::Error::other(format!(
                "the program has more than the {} bytes it should have",
                self.length
            )));
        }
        self.hasher.update(bytes);
        self.file.write_all(bytes)
    }

    /// Checks the program, and gives it its name.
    ///
    /// # Errors
    /// If it is not the program that was announced, or the file system fails.
    pub fn finish(self) -> io::Result<CachedProgram> {
        if !self.is_whole() || self.hasher.finalize().as_bytes() != self.program.hash() {
            return Err(io::Error::other("the program has changed while it was shipped; launch it again"));
        }
        self.file.set_permissions(fs::Permissions::from_mode(0o755))?;
        self.file.sync_all()?;
        fs::rename(&self.path, self.program.path())?;
        let program = self.program.cache().hold(*self.program.hash());
        program.cache().evict()?;
        // This closes the file: a file that is open for writing cannot be executed.
        drop(self);
        Ok(program)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // If all went well, it is gone by now; and the next daemon removes what is left.
        let _ = fs::remove_file(&self.path);
    }
}
