//! The manifest: what is to be sent. It comes from outside, so a receiver accepts only paths that stay inside its
//! directory.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The most entries.
pub const MOST_ENTRIES: usize = 1 << 22;
/// The most bytes of all paths and targets.
const MOST_TEXT: usize = 512 << 20;
/// The longest path, and the longest name in it: the limits of Linux.
const MOST_PATH: usize = 4096;
const MOST_NAME: usize = 255;
/// The suffix of file names while the files are incomplete.
pub const PART: &[u8] = b".gossamer-part";

/// One file, directory or link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Names with `/` between them.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// Its permissions.
    pub mode: u32,
    /// When it was last changed: seconds since 1970, and nanoseconds.
    pub changed: (i64, u32),
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A regular file of this many bytes.
    File(u64),
    /// A pipe, whose length is known only at its end.
    Pipe,
    /// A directory.
    Directory,
    /// A symbolic link to this target.
    Link(Vec<u8>),
}

impl Entry {
    /// Its path, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.path).into()
    }

    /// The length of its contents, as far as that is known.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self.kind {
            Kind::File(bytes) => bytes,
            _ => 0,
        }
    }

    /// Whether it could be in a manifest.
    ///
    /// # Errors
    /// What is wrong with its path, or else with the entry itself.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.path.is_empty() || self.path.len() > MOST_PATH || self.path.contains(&0) {
            return Err("is not a path");
        }
        if self.path.starts_with(b"/") {
            return Err("is absolute");
        }
        for name in self.path.split(|byte| *byte == b'/') {
            match name {
                b"" | b"." | b".." => return Err("has a part that is empty, `.` or `..`"),
                name if name.len() > MOST_NAME => return Err("has a name that is too long"),
                name if name.ends_with(PART) => {
                    return Err("ends like the names of incomplete files: rename it");
                }
                _ => {}
            }
        }
        match &self.kind {
            Kind::File(bytes) if i64::try_from(*bytes).is_err() => Err("has an impossible size"),
            Kind::Link(target) if target.is_empty() || target.len() > MOST_PATH || target.contains(&0) => {
                Err("is a link to nothing")
            }
            _ if self.changed.1 >= 1_000_000_000 => Err("has an impossible time"),
            _ => Ok(()),
        }
    }

    /// Whether it is a link that leads out of the directory that all entries are in.
    ///
    /// `..` may only come first: after a name, which may itself be a link, nobody can say where it leads.
    #[must_use]
    pub fn leads_out(&self) -> bool {
        let Kind::Link(target) = &self.kind else { return false };
        let depth = self.path.iter().filter(|byte| **byte == b'/').count();
        let names = || target.split(|byte| *byte == b'/');
        let ups = names().take_while(|name| matches!(*name, b".." | b"." | b""));
        let climbs = ups.filter(|name| *name == b"..").count();
        let all = names().filter(|name| *name == b"..").count();
        target.starts_with(b"/") || climbs > depth || all > climbs
    }
}

/// All entries, in an order in which directories come before what is in them.
#[derive(Debug, Default)]
pub struct Manifest {
    entries: Vec<Entry>,
    /// Whether a path is a directory.
    paths: HashMap<Vec<u8>, bool>,
    text: usize,
    bytes: u64,
}

impl Manifest {
    /// Adds further entries.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn add(&mut self, entries: Vec<Entry>) -> Result<(), String> {
        for entry in entries {
            let wrong = |what: &str| Err(format!("the path {:?} {what}", entry.name()));
            if let Err(what) = entry.check() {
                return wrong(what);
            }
            self.text += entry.path.len();
            if let Kind::Link(target) = &entry.kind {
                self.text += target.len();
            }
            if self.entries.len() >= MOST_ENTRIES || self.text > MOST_TEXT {
                return Err(format!("there are more than {MOST_ENTRIES} files, or their names are too long"));
            }
            if let Some(end) = entry.path.iter().rposition(|byte| *byte == b'/')
                && self.paths.get(entry.path.get(..end).unwrap_or_default()) != Some(&true)
            {
                return wrong("is in a directory that was not listed before");
            }
            self.bytes = self.bytes.saturating_add(entry.bytes());
            if i64::try_from(self.bytes).is_err() {
                return wrong("is of more files than can be counted in bytes");
            }
            if self.paths.contains_key(&entry.path) {
                return wrong("is listed twice");
            }
            self.paths.insert(entry.path.clone(), entry.kind == Kind::Directory);
            self.entries.push(entry);
        }
        Ok(())
    }

    /// All that were added.
    #[must_use]
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, kind: Kind) -> Entry {
        Entry { path: path.into(), kind, mode: 0o644, changed: (0, 0) }
    }

    #[test]
    fn paths_stay_inside() {
        for wrong in ["", "/", "/a", "..", "../a", "a/../b", "a//b", "a/", "./a", "a\0b", "a.gossamer-part"] {
            let mut manifest = Manifest::default();
            manifest.add(vec![entry("a", Kind::Directory)]).unwrap();
            assert!(manifest.add(vec![entry(wrong, Kind::Directory)]).is_err(), "{wrong:?}");
        }
        for wrong in [&"a".repeat(256), &"a/".repeat(3000)] {
            assert!(Manifest::default().add(vec![entry(wrong, Kind::File(0))]).is_err());
        }
    }

    #[test]
    fn a_path_comes_once_and_behind_its_directory() {
        let file = |path| entry(path, Kind::File(1));
        let directory = |path| entry(path, Kind::Directory);
        let good = vec![directory("a"), file("a/b"), file("c")];
        let mut manifest = Manifest::default();
        manifest.add(good.clone()).unwrap();
        for wrong in [file("a/b"), directory("c"), file("c/d"), file("x/y")] {
            assert!(manifest.add(vec![wrong.clone()]).is_err(), "{wrong:?}");
        }
        assert_eq!(manifest.into_entries(), good);
    }

    #[test]
    fn links_stay_inside() {
        let leads_out = |path: &str, target: &str| entry(path, Kind::Link(target.into())).leads_out();
        for (path, target) in
            [("l", "a"), ("l", "a/b"), ("a/l", "../b"), ("a/b/l", "../../c"), ("l", "."), ("a/l", ".././b")]
        {
            assert!(!leads_out(path, target), "{path} -> {target}");
        }
        for (path, target) in
            [("l", "/"), ("l", "/etc"), ("l", ".."), ("a/l", "../.."), ("a/l", "../b/.."), ("l", "a/..")]
        {
            assert!(leads_out(path, target), "{path} -> {target}");
        }
    }

    #[test]
    fn impossible_entries_are_refused() {
        let wrong = [
            entry("a", Kind::File(u64::MAX)),
            entry("a", Kind::Link(Vec::new())),
            entry("a", Kind::Link(b"b\0c".to_vec())),
            Entry { changed: (0, 1_000_000_000), ..entry("a", Kind::File(0)) },
        ];
        let huge = |path| entry(path, Kind::File(i64::MAX as u64));
        assert!(Manifest::default().add(vec![huge("a"), huge("b")]).is_err());
        for wrong in wrong {
            assert!(Manifest::default().add(vec![wrong.clone()]).is_err(), "{wrong:?}");
        }
    }
}
