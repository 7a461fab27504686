//! The sender's list of what is to be sent.

use crate::exit::{Failure, USAGE};
use crate::files::protocol::manifest::{Entry, Kind};
use std::collections::HashSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// What is to be sent.
#[derive(Debug, Default)]
pub struct Listing {
    /// Everything, each directory before what is in it.
    pub entries: Vec<Entry>,
    /// Where each entry is.
    pub paths: Vec<PathBuf>,
    /// What cannot be sent: its path and why.
    pub missing: Vec<(String, String)>,
}

/// Lists what the command line names, and what is in directories.
///
/// # Errors
/// If something that was named is not there, or two things would have one name.
pub fn list(files: &[PathBuf]) -> Result<Listing, Failure> {
    let mut listing = Listing::default();
    if files.iter().any(|file| file.as_os_str() == "-") {
        if files.len() > 1 {
            return Err(Failure::new(USAGE, "standard input can only be sent alone"));
        }
        listing.entries.push(Entry { path: b"stdin".into(), kind: Kind::Pipe, mode: 0o644, changed: now() });
        listing.paths.push("/dev/stdin".into());
        return Ok(listing);
    }
    let mut names = HashSet::new();
    for file in files {
        let wrong = |what: String| Failure::new(USAGE, format!("cannot send {}: {what}", file.display()));
        let path = file.canonicalize().map_err(|error| wrong(error.to_string()))?;
        let name = file.file_name().or(path.file_name()).ok_or_else(|| wrong("it has no name".into()))?;
        if !names.insert(name.to_owned()) {
            return Err(wrong("something else with that name is sent, too".into()));
        }
        listing.walk(&path, Path::new(name));
    }
    Ok(listing)
}

fn now() -> (i64, u32) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (now.as_secs() as i64, now.subsec_nanos())
}

impl Listing {
    fn walk(&mut self, root: &Path, name: &Path) {
        let mut walk = WalkDir::new(root).sort_by_file_name().into_iter();
        while let Some(found) = walk.next() {
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    let path = error.path().map(|path| path.display().to_string()).unwrap_or_default();
                    let why = error.into_io_error().unwrap_or_else(|| io::Error::other("cannot be read"));
                    self.missing.push((path, why.to_string()));
                    continue;
                }
            };
            let path = match found.path().strip_prefix(root) {
                Ok(inner) if inner.as_os_str().is_empty() => name.to_owned(),
                Ok(inner) => name.join(inner),
                Err(_) => continue,
            };
            if let Err(why) = found.metadata().map_err(|error| error.to_string()).and_then(|metadata| {
                let entry = entry(&path, found.path(), &metadata)?;
                self.entries.push(entry);
                self.paths.push(found.path().to_owned());
                Ok(())
            }) {
                self.missing.push((found.path().display().to_string(), why));
                if found.file_type().is_dir() {
                    walk.skip_current_dir();
                }
            }
        }
    }
}

fn entry(path: &Path, place: &Path, metadata: &Metadata) -> Result<Entry, String> {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => Kind::File(metadata.len()),
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_symlink() => {
            let target = std::fs::read_link(place).map_err(|error| error.to_string())?;
            Kind::Link(target.as_os_str().as_bytes().into())
        }
        _ => return Err("is not a file, directory or link".into()),
    };
    let changed = (metadata.mtime(), u32::try_from(metadata.mtime_nsec()).unwrap_or_default());
    let path = path.as_os_str().as_bytes().into();
    let entry = Entry { path, kind, mode: metadata.mode() & 0o777, changed };
    entry.check().map_err(|what| format!("its path {what}"))?;
    Ok(entry)
}
