//! The programs that were shipped to a machine, named after the BLAKE3 hash of their content.
//!
//! A program is written to a file with another name, checked, and renamed once it is complete. So a file with the name
//! of a hash was complete once, and it is checked again before each use.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The hash of a program.
pub type Hash = [u8; 32];

/// The prefix of the names of incomplete files.
const PARTIAL: &str = "partial-";

/// The directory.
#[derive(Debug)]
pub struct ProgramCache {
    directory: PathBuf,
    limit: u64,
    /// How many applications use each program; programs in use are not removed.
    used: Mutex<HashMap<Hash, usize>>,
}

/// A program in the cache. As long as this lives, it stays there.
#[derive(Debug)]
pub struct CachedProgram {
    cache: Arc<ProgramCache>,
    hash: Hash,
}

/// The hash of a file's content, and its length.
///
/// # Errors
/// If it cannot be read.
pub fn hash(file: File) -> io::Result<(Hash, u64)> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok((*hasher.finalize().as_bytes(), hasher.count()))
}

impl ProgramCache {
    /// Opens the directory, makes it if necessary, and removes incomplete files of earlier daemons.
    ///
    /// # Errors
    /// If that is not possible, or others could change what is in it.
    pub fn open(directory: &Path, limit: u64) -> io::Result<Arc<Self>> {
        if !directory.exists() {
            fs::create_dir_all(directory)?;
            // Whatever the mask is: the user of the nodes has to reach the programs.
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
        }
        let metadata = fs::metadata(directory)?;
        if metadata.mode() & 0o022 != 0 || metadata.uid() != rustix::process::geteuid().as_raw() {
            let what = "it belongs to somebody else, or others can write to it; programs in it are executed";
            return Err(io::Error::new(ErrorKind::PermissionDenied, what));
        }
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(PARTIAL) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(Arc::new(Self { directory: directory.to_owned(), limit, used: Mutex::default() }))
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        self.directory.join(blake3::Hash::from_bytes(*hash).to_hex().as_str())
    }

    /// Looks for a program. One that is damaged is removed.
    ///
    /// # Errors
    /// If it is there, but cannot be read or removed.
    pub fn find(self: &Arc<Self>, wanted: Hash) -> io::Result<Option<CachedProgram>> {
        let program = self.hold(wanted);
        let file = match File::open(program.path()) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let times = file.try_clone()?;
        if hash(file)?.0 != wanted {
            fs::remove_file(program.path())?;
            return Ok(None);
        }
        // For the order of removal, which works without it, too.
        let _ = times.set_modified(SystemTime::now());
        Ok(Some(program))
    }

    /// Keeps a program in the cache while the result lives, whether its file is there or not.
    pub(crate) fn hold(self: &Arc<Self>, hash: Hash) -> CachedProgram {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner).entry(hash).or_default() += 1;
        CachedProgram { cache: Arc::clone(self), hash }
    }

    /// The bytes of all programs, and how many there may be.
    #[must_use]
    pub fn room(&self) -> (u64, u64) {
        (self.entries().unwrap_or_default().iter().map(|entry| entry.length).sum(), self.limit)
    }

    fn entries(&self) -> io::Result<Vec<CachedFile>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Another session may have removed it meanwhile.
            if let (Ok(hash), Ok(metadata)) = (blake3::Hash::from_hex(&name), entry.metadata()) {
                let (hash, length) = (*hash.as_bytes(), metadata.len());
                entries.push(CachedFile { hash, length, used: metadata.modified()? });
            }
        }
        Ok(entries)
    }

    /// Where a program is written until it is complete.
    pub(crate) fn partial(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{PARTIAL}{name}"))
    }

    /// The most bytes of all programs.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Removes programs that nobody uses, the least recently used one first, until the others have room.
    pub(crate) fn evict(&self) -> io::Result<()> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = self.entries()?;
        entries.sort_by_key(|entry| entry.used);
        let mut sum: u64 = entries.iter().map(|entry| entry.length).sum();
        for entry in entries.iter().filter(|entry| !used.contains_key(&entry.hash)) {
            if sum <= self.limit {
                break;
            }
            fs::remove_file(self.path(&entry.hash))?;
            sum -= entry.length;
        }
        Ok(())
    }
}

struct CachedFile {
    hash: Hash,
    length: u64,
    used: SystemTime,
}

impl CachedProgram {
    pub(crate) fn cache(&self) -> &Arc<ProgramCache> {
        &self.cache
    }

    pub(crate) fn hash(&self) -> &Hash {
        &self.hash
    }

    /// The file to execute.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.cache.path(&self.hash)
    }
}

impl Drop for CachedProgram {
    fn drop(&mut self) {
        let mut used = self.cache.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = used.get_mut(&self.hash) {
            *count -= 1;
            if *count == 0 {
                used.remove(&self.hash);
            }
        }
    }
}
