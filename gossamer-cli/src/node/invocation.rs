//! What is to be started: the program, its surroundings, and what single nodes get beside that.

use crate::node::resource_limits::ResourceLimits;
use rustix::process::{Gid, Uid};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// What all nodes of an application run.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The file to execute; without a slash it is looked for in `PATH`.
    pub file: PathBuf,
    /// How the program is called, and its arguments.
    pub arguments: Vec<OsString>,
    /// The environment, or this process's.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The working directory, or this process's.
    pub directory: Option<PathBuf>,
    /// The mask for new files, or this process's.
    pub mask: Option<u32>,
    /// The limits.
    pub limits: ResourceLimits,
    /// The user, or this process's.
    pub user: Option<User>,
}

/// Who a node runs as.
#[derive(Clone, Debug)]
pub struct User {
    /// The number of the user.
    pub user: Uid,
    /// The user's own group.
    pub group: Gid,
    /// All groups of the user, if this process may change its own.
    pub groups: Option<Arc<[Gid]>>,
}

impl User {
    /// Becomes this user. The capabilities go with the number of the user, so that comes last. This runs between fork and exec:
    /// it makes system calls only (X1, in `spawn`).
    ///
    /// # Errors
    /// If this process must not.
    pub fn assume(&self) -> io::Result<()> {
        if let Some(groups) = &self.groups {
            rustix::thread::set_thread_groups(groups)?;
        }
        rustix::thread::set_thread_gid(self.group)?;
        Ok(rustix::thread::set_thread_uid(self.user)?)
    }
}

/// What one node gets beside that.
#[derive(Debug)]
pub struct NodeSpec {
    /// Its index.
    pub index: u32,
    /// Variables of its environment.
    pub variables: Vec<(&'static str, String)>,
    /// The socket on which it listens already.
    pub listener: Option<OwnedFd>,
}
