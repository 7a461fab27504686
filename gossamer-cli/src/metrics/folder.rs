//! The folder in which nodes have their sockets.

use rustix::process::{Gid, Uid};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The user that a folder is for.
#[derive(Clone, Copy, Debug)]
pub struct FolderOwner {
    /// The user.
    pub user: Uid,
    /// His group.
    pub group: Gid,
}

/// A folder for its user alone, which goes with this value.
#[derive(Debug)]
pub struct SocketFolder(PathBuf);

impl SocketFolder {
    /// Makes a folder of this name: in the user's runtime directory, or in `/tmp` for nodes of another user.
    ///
    /// # Errors
    /// If it cannot be made, or exists already.
    pub fn new(name: &str, owner: Option<FolderOwner>) -> io::Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
        let place = runtime.filter(|_| owner.is_none());
        // Addresses of Unix sockets are short.
        let folder = place.unwrap_or_else(|| "/tmp".into()).join(format!("gossamer-metrics-{name}"));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let folder = Self(folder);
        if let Some(FolderOwner { user, group }) = owner {
            rustix::fs::chown(&folder.0, Some(user), Some(group))?;
        }
        Ok(folder)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The sockets in it, those of nodes that serve metrics.
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
        // What is left in it is empty, or belongs to nodes that were killed.
        let _ = fs::remove_dir_all(&self.0);
    }
}
