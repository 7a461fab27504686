//! What to start: the program, its surroundings, and what single nodes get in addition.

use crate::node::allowance::Allowance;
use crate::node::resource_limits::ResourceLimits;
use rustix::process::{Gid, Uid};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

/// What all nodes of an application run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Invocation {
    /// The file to execute; a name without a slash is looked up in `PATH`.
    pub file: OsString,
    /// The name by which the program is called, and its arguments.
    pub arguments: Vec<OsString>,
    /// The environment, or this process's.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The working directory, or this process's.
    pub directory: Option<OsString>,
    /// The mask for new files, or this process's.
    pub mask: Option<u32>,
    /// The limits.
    pub limits: ResourceLimits,
    /// What each node may use of its machine.
    pub allowance: Allowance,
    /// The user, or this process's.
    pub user: Option<User>,
}

/// The user that a node runs as.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "UserNumbers", into = "UserNumbers")]
pub struct User {
    /// The number of the user.
    pub user: Uid,
    /// The user's own group.
    pub group: Gid,
    /// All groups of the user, if this process may change its own.
    pub groups: Option<Vec<Gid>>,
}

/// The numbers of a user, of its own group, and of all its groups.
type UserNumbers = (u32, u32, Option<Vec<u32>>);

impl From<UserNumbers> for User {
    fn from((user, group, groups): UserNumbers) -> Self {
        let groups = groups.map(|groups| groups.into_iter().map(Gid::from_raw).collect());
        Self { user: Uid::from_raw(user), group: Gid::from_raw(group), groups }
    }
}

impl From<User> for UserNumbers {
    fn from(User { user, group, groups }: User) -> Self {
        let groups = groups.map(|groups| groups.into_iter().map(Gid::as_raw).collect());
        (user.as_raw(), group.as_raw(), groups)
    }
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

/// What one node gets in addition.
#[derive(Debug)]
pub struct NodeSpec {
    /// Its index.
    pub index: u32,
    /// Variables of its environment.
    pub variables: Vec<(&'static str, String)>,
    /// The socket on which it listens already.
    pub listener: Option<OwnedFd>,
}
