//! The programs that were shipped to a machine, by the BLAKE3 hash of their content.
//!
//! A program is written to a file with another name, checked, and renamed when it is whole; so whatever has the name of a
//! hash was whole once, and it is checked again before each use.

use crate::random;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The hash of a program.
pub type Hash = [u8; 32];

/// Of files that are not whole.
const PARTIAL: &str = "partial-";

/// The directory.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
    limit: u64,
    /// How many applications use a program; such programs are not removed.
    used: Mutex<HashMap<Hash, usize>>,
}

/// A program in the cache. As long as this lives, it stays there.
#[derive(Debug)]
pub struct Program {
    cache: Arc<Cache>,
    hash: Hash,
}

/// A program that is being written.
#[derive(Debug)]
pub struct Upload {
    program: Program,
    file: File,
    path: PathBuf,
    length: u64,
    written: u64,
    hasher: blake3::Hasher,
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

fn wrong(what: String) -> io::Error {
    io::Error::other(what)
}

impl Cache {
    /// Opens the directory, makes it if necessary, and removes what earlier daemons left unfinished.
    ///
    /// # Errors
    /// If that is not possible, or others could change what is in it.
    pub fn open(directory: &Path, limit: u64) -> io::Result<Arc<Self>> {
        if !directory.exists() {
            fs::create_dir_all(directory)?;
            // Whatever the mask: the nodes' user has to reach the programs.
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
    pub fn find(self: &Arc<Self>, wanted: Hash) -> io::Result<Option<Program>> {
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
        // For the order of removal. It works without.
        let _ = times.set_modified(SystemTime::now());
        Ok(Some(program))
    }

    /// Begins to write a program.
    ///
    /// # Errors
    /// If it has no room, or the file cannot be made.
    pub fn upload(self: &Arc<Self>, hash: Hash, length: u64) -> io::Result<Upload> {
        if length > self.limit {
            let limit = self.limit >> 20;
            return Err(wrong(format!(
                "the program has {length} bytes, but the cache holds {limit} MiB only; raise `mebibytes` in [cache]"
            )));
        }
        let name = random::hexadecimal::<8>().map_err(|failure| wrong(failure.message))?;
        let path = self.directory.join(format!("{PARTIAL}{name}"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let program = self.hold(hash);
        Ok(Upload { program, file, path, length, written: 0, hasher: blake3::Hasher::new() })
    }

    fn hold(self: &Arc<Self>, hash: Hash) -> Program {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner).entry(hash).or_default() += 1;
        Program { cache: Arc::clone(self), hash }
    }

    /// The bytes of all programs, and how many there may be.
    #[must_use]
    pub fn room(&self) -> (u64, u64) {
        (self.entries().unwrap_or_default().iter().map(|entry| entry.length).sum(), self.limit)
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Another session may have removed it meanwhile.
            if let (Ok(hash), Ok(metadata)) = (blake3::Hash::from_hex(&name), entry.metadata()) {
                let (hash, length) = (*hash.as_bytes(), metadata.len());
                entries.push(Entry { hash, length, used: metadata.modified()? });
            }
        }
        Ok(entries)
    }

    /// Removes programs that nobody uses, the least recently used one first, until the others have room.
    fn evict(&self) -> io::Result<()> {
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

struct Entry {
    hash: Hash,
    length: u64,
    used: SystemTime,
}

impl Program {
    /// The file to execute.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.cache.path(&self.hash)
    }
}

impl Drop for Program {
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

impl Upload {
    /// Whether all bytes are there.
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
            return Err(wrong(format!("the program has more than the {} bytes it should have", self.length)));
        }
        self.hasher.update(bytes);
        self.file.write_all(bytes)
    }

    /// Checks the program, and gives it its name.
    ///
    /// # Errors
    /// If it is not the announced one, or the file system fails.
    pub fn finish(self) -> io::Result<Program> {
        if !self.is_whole() || *self.hasher.finalize().as_bytes() != self.program.hash {
            return Err(wrong("the program has changed while it was shipped; launch it again".into()));
        }
        self.file.set_permissions(fs::Permissions::from_mode(0o755))?;
        self.file.sync_all()?;
        fs::rename(&self.path, self.program.path())?;
        let program = self.program.cache.hold(self.program.hash);
        program.cache.evict()?;
        // With this the file is closed: one that is open for writing cannot be executed.
        drop(self);
        Ok(program)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // It is not there any more if all went well; and the next daemon removes what is left.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("gossamer-cache-{name}-{}", std::process::id()));
            fs::remove_dir_all(&path).ok();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    fn store(cache: &Arc<Cache>, content: &[u8]) -> Program {
        let hash = *blake3::hash(content).as_bytes();
        let mut upload = cache.upload(hash, content.len() as u64).unwrap();
        for piece in content.chunks(3) {
            upload.write(piece).unwrap();
        }
        upload.finish().unwrap()
    }

    #[test]
    fn a_stored_program_is_found_executable_and_whole() {
        let scratch = Scratch::new("stored");
        let cache = Cache::open(&scratch.0, 100).unwrap();
        let program = store(&cache, b"content");
        assert_eq!(fs::read(program.path()).unwrap(), b"content");
        assert_eq!(fs::metadata(program.path()).unwrap().mode() & 0o777, 0o755);
        assert!(cache.find(*blake3::hash(b"content").as_bytes()).unwrap().is_some());
        assert!(cache.find(*blake3::hash(b"other").as_bytes()).unwrap().is_none());
        assert_eq!(cache.room(), (7, 100));
    }

    #[test]
    fn a_damaged_program_is_not_used() {
        let scratch = Scratch::new("damaged");
        let cache = Cache::open(&scratch.0, 100).unwrap();
        let program = store(&cache, b"content");
        fs::write(program.path(), b"c0ntent").unwrap();
        assert!(cache.find(*blake3::hash(b"content").as_bytes()).unwrap().is_none());
        assert!(!program.path().exists());
    }

    #[test]
    fn an_upload_that_is_not_what_was_announced_leaves_nothing() {
        let scratch = Scratch::new("announced");
        let cache = Cache::open(&scratch.0, 100).unwrap();
        let hash = *blake3::hash(b"content").as_bytes();
        let mut short = cache.upload(hash, 7).unwrap();
        short.write(b"conten").unwrap();
        assert!(!short.is_whole());
        short.finish().unwrap_err();
        let mut long = cache.upload(hash, 7).unwrap();
        long.write(b"contents").unwrap_err();
        drop(long);
        let mut other = cache.upload(hash, 7).unwrap();
        other.write(b"c0ntent").unwrap();
        other.finish().unwrap_err();
        cache.upload(hash, 101).unwrap_err();
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_daemon_left_unfinished_is_removed() {
        let scratch = Scratch::new("unfinished");
        let cache = Cache::open(&scratch.0, 100).unwrap();
        std::mem::forget(cache.upload([1; 32], 7).unwrap());
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1);
        Cache::open(&scratch.0, 100).unwrap();
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
    }

    #[test]
    fn the_least_recently_used_program_that_is_not_in_use_makes_room() {
        let scratch = Scratch::new("room");
        let cache = Cache::open(&scratch.0, 10).unwrap();
        let aged = |content: &[u8], seconds| {
            let program = store(&cache, content);
            let time = SystemTime::now() - std::time::Duration::from_secs(seconds);
            File::options().write(true).open(program.path()).unwrap().set_modified(time).unwrap();
            program
        };
        let oldest_but_used = aged(b"aaaa", 30);
        let older = aged(b"bbb", 20).path();
        let newer = aged(b"ccc", 10).path();
        let newest = store(&cache, b"ddd").path();
        assert!(oldest_but_used.path().exists() && !older.exists() && newer.exists() && newest.exists());
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let scratch = Scratch::new("refused");
        fs::create_dir_all(&scratch.0).unwrap();
        fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o777)).unwrap();
        Cache::open(&scratch.0, 10).unwrap_err();
    }
}
