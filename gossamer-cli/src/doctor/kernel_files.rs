//! Where the kernel describes a machine: its files, below a root, so that a test can have a machine of its own.

use std::fs;
use std::path::{Path, PathBuf};

/// What the kernel says about a machine, given the folder that contains `proc` and `sys`.
pub struct KernelFiles {
    root: PathBuf,
}

impl KernelFiles {
    /// This machine.
    #[must_use]
    pub fn this() -> Self {
        Self { root: "/".into() }
    }

    /// One whose files are in a folder.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The contents of a file, without surrounding white space; nothing if there is no such file.
    pub fn read(&self, file: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(file.trim_start_matches('/'))).ok()?;
        Some(text.trim().to_owned())
    }

    /// The number that a file says.
    pub fn number(&self, file: &str) -> Option<u64> {
        self.read(file)?.parse().ok()
    }

    /// Whether a file or folder is there.
    pub fn has(&self, path: &str) -> bool {
        self.root.join(path.trim_start_matches('/')).exists()
    }

    /// The names in a folder, in order.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder.trim_start_matches('/'))).into_iter().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The lowest value of a limit over the cgroups (of version 2) of this process; nothing where there is no limit.
    /// `parse` takes the contents of the cgroup's file.
    pub fn least_of_cgroups<T: PartialOrd>(
        &self,
        file: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let own = self.read("proc/self/cgroup")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
        let limits = Path::new(own).ancestors().filter_map(|cgroup| {
            let cgroup = cgroup.to_str()?.trim_start_matches('/');
            parse(&self.read(&format!("sys/fs/cgroup/{cgroup}/{file}"))?)
        });
        limits.fold(None, |least: Option<T>, limit| match least {
            Some(least) if least <= limit => Some(least),
            _ => Some(limit),
        })
    }
}
