//! Tests of the cache and of uploads into it.

use crate::program::cache::{CachedProgram, ProgramCache};
use crate::program::upload::Upload;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

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

fn store(cache: &Arc<ProgramCache>, content: &[u8]) -> CachedProgram {
    let hash = *blake3::hash(content).as_bytes();
    let mut upload = Upload::begin(cache, hash, content.len() as u64).unwrap();
    for piece in content.chunks(3) {
        upload.write(piece).unwrap();
    }
    upload.finish().unwrap()
}

#[test]
fn a_stored_program_is_found_executable_and_whole() {
    let scratch = Scratch::new("stored");
    let cache = ProgramCache::open(&scratch.0, 100).unwrap();
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
    let cache = ProgramCache::open(&scratch.0, 100).unwrap();
    let program = store(&cache, b"content");
    fs::write(program.path(), b"c0ntent").unwrap();
    assert!(cache.find(*blake3::hash(b"content").as_bytes()).unwrap().is_none());
    assert!(!program.path().exists());
}

#[test]
fn an_upload_that_is_not_what_was_announced_leaves_nothing() {
    let scratch = Scratch::new("announced");
    let cache = ProgramCache::open(&scratch.0, 100).unwrap();
    let hash = *blake3::hash(b"content").as_bytes();
    let mut short = Upload::begin(&cache, hash, 7).unwrap();
    short.write(b"conten").unwrap();
    assert!(!short.is_whole());
    short.finish().unwrap_err();
    let mut long = Upload::begin(&cache, hash, 7).unwrap();
    long.write(b"contents").unwrap_err();
    drop(long);
    let mut other = Upload::begin(&cache, hash, 7).unwrap();
    other.write(b"c0ntent").unwrap();
    other.finish().unwrap_err();
    Upload::begin(&cache, hash, 101).unwrap_err();
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
}

#[test]
fn what_a_killed_daemon_left_unfinished_is_removed() {
    let scratch = Scratch::new("unfinished");
    let cache = ProgramCache::open(&scratch.0, 100).unwrap();
    std::mem::forget(Upload::begin(&cache, [1; 32], 7).unwrap());
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1);
    ProgramCache::open(&scratch.0, 100).unwrap();
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
}

#[test]
fn the_least_recently_used_program_that_is_not_in_use_makes_room() {
    let scratch = Scratch::new("room");
    let cache = ProgramCache::open(&scratch.0, 10).unwrap();
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
    ProgramCache::open(&scratch.0, 10).unwrap_err();
}
