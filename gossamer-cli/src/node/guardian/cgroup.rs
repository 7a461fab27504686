//! A cgroup of version 2 for a node: everything that the node starts is in it, and the kernel kills all of it at once.

use crate::node::guardian::controllers;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A cgroup that was made here.
#[derive(Clone, Debug)]
pub struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes one.
    ///
    /// # Errors
    /// If this process may not make one, or the kernel cannot kill a cgroup.
    pub fn make(parent: &Path, name: &str) -> io::Result<Self> {
        let path = parent.join(name);
        fs::create_dir(&path)?;
        let made = Self(path);
        if made.0.join("cgroup.kill").exists() && made.entrance().is_ok() {
            return Ok(made);
        }
        made.remove();
        Err(io::Error::new(ErrorKind::Unsupported, "it has no cgroup.kill (Linux 5.14) that may be written"))
    }

    /// One that was made by another process.
    #[must_use]
    pub fn at(path: &OsStr) -> Self {
        Self(path.into())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Its directory, open: a process can be made in it.
    ///
    /// # Errors
    /// If it is gone.
    pub fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(&self.0, flags, Mode::empty())?)
    }

    /// A process that writes `0` to this file is in the cgroup from then on, with everything that it starts.
    ///
    /// # Errors
    /// If this process may not write it.
    pub fn entrance(&self) -> io::Result<File> {
        let may_move = File::options().write(true).open(self.0.join("cgroup.procs"));
        // Whoever moves a process must also be allowed to write this file of the cgroup above both.
        let parent = self.0.parent().unwrap_or(&self.0);
        File::options().write(true).open(parent.join("cgroup.procs"))?;
        may_move
    }

    /// Kills everything in it and below it.
    pub fn kill(&self) {
        // If that fails, a permission is missing, or the cgroup is gone.
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }

    /// Removes it, with the cgroups that its processes have made below it; returns whether that worked. It stays if
    /// something still runs in it.
    pub fn remove(&self) -> bool {
        remove(&self.0)
    }
}

fn remove(path: &Path) -> bool {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    matches!(fs::remove_dir(path).map_err(|error| error.kind()), Ok(()) | Err(ErrorKind::NotFound))
}

/// The cgroup of this process, below which the cgroups of its nodes are made; or the one above it, if this process has
/// made a cgroup for itself.
///
/// # Errors
/// Why there is none, as a clause.
pub fn own() -> Result<PathBuf, String> {
    let read = |file: &str| fs::read_to_string(file).map_err(|error| format!("{file}: {error}"));
    let groups = read("/proc/self/cgroup")?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let group = group.ok_or("the kernel has no cgroups of version 2")?;
    let path = beneath_mount(&read("/proc/self/mountinfo")?, group);
    let path = path.ok_or("cgroups of version 2 are not mounted")?;
    let path =
        if path.ends_with(controllers::HOST) { path.parent().unwrap_or(&path).to_owned() } else { path };
    match fs::exists("/run/systemd/system").unwrap_or(false) && rustix::process::geteuid().is_root() {
        true if !is_delegated(&path) => Err("systemd has not delegated its cgroup (`Delegate=yes`)".into()),
        _ => Ok(path),
    }
}

/// Where a cgroup is in the file system.
fn beneath_mount(mounts: &str, group: &str) -> Option<PathBuf> {
    let mut found = mounts.lines().filter_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        let rest = Path::new(group).strip_prefix(root).ok()?;
        (file_system.starts_with("cgroup2 ") && !group.contains("..")).then(|| Path::new(at).join(rest))
    });
    found.next()
}

/// Whether systemd leaves a cgroup, or one above it, to its processes. It has to be asked because root could write to
/// any.
fn is_delegated(path: &Path) -> bool {
    let says = |path: &Path, name: &str| {
        let mut value = [0; 8];
        let length = rustix::fs::getxattr(path, name, &mut value).unwrap_or(0);
        value.get(..length) == Some(b"1")
    };
    path.ancestors().any(|path| says(path, "trusted.delegate") || says(path, "user.delegate"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_is_found_below_its_mount() {
        let hybrid = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n\
                      33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct";
        let of = |mounts, group| beneath_mount(mounts, group).map(|path| path.display().to_string());
        assert_eq!(of(hybrid, "/a/b"), Some("/sys/fs/cgroup/unified/a/b".into()));
        let container = "29 23 0:26 /docker/7 /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup rw";
        assert_eq!(of(container, "/docker/7/x"), Some("/sys/fs/cgroup/x".into()));
        assert_eq!(of(container, "/docker/8"), None);
        assert_eq!(of(hybrid, "/../outside"), None);
        assert_eq!(of("30 23 0:27 / /proc rw - proc proc rw", "/"), None);
    }
}
