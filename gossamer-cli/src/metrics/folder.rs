//! The folder in which nodes have their sockets.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder for its user alone, which goes with this value.
#[derive(Debug)]
pub struct SocketFolder(PathBuf);

impl SocketFolder {
    /// One of this name, where the user has files of what runs.
    ///
    /// # Errors
    /// If it cannot be made, or is there.
    pub fn new(name: &str) -> io::Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
        // Addresses of Unix sockets are short.
        let folder = runtime.unwrap_or_else(|| "/tmp".into()).join(format!("gossamer-metrics-{name}"));
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The sockets in it, those of nodes that serve.
    #[must_use]
    pub fn sockets(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut sockets: Vec<_> = entries.map(|entry| entry.path()).collect();
        let number = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        sockets.sort_by_key(number);
        sockets
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        // What is left of it is empty, or of nodes that were killed.
        let _ = fs::remove_dir_all(&self.0);
    }
}
