//! Archives from which the kernel makes its first file system: cpio, in the format `newc`. The kernel unpacks several
//! in a row.

use std::collections::BTreeSet;

const FOLDER: u32 = 0o040_755;
/// A regular file, whose permissions are added.
const FILE: u32 = 0o100_000;

/// An archive that is being written.
#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// Adds a folder, and those that it is in.
    pub(crate) fn folder(&mut self, path: &str) {
        let path = path.trim_matches('/');
        if path.is_empty() || !self.folders.insert(path.to_owned()) {
            return;
        }
        self.parent(path);
        self.entry(path, FOLDER, &[]);
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, path: &str, permissions: u32, contents: &[u8]) {
        let path = path.trim_start_matches('/');
        self.parent(path);
        self.entry(path, FILE | permissions, contents);
    }

    /// The whole archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn parent(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
        }
    }

    fn entry(&mut self, name: &str, mode: u32, contents: &[u8]) {
        self.entries += 1;
        // Number, mode, user, group, links, time, size, four numbers of devices, length of the name, checksum.
        let (size, name_size) = (contents.len() as u32, name.len() as u32 + 1);
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        fields.iter().for_each(|field| self.bytes.extend_from_slice(format!("{field:08x}").as_bytes()));
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names and contents of an archive.
    fn entries(archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < archive.len() {
            let field = |index: usize| {
                let text = &archive[at + 6 + index * 8..][..8];
                usize::from_str_radix(std::str::from_utf8(text).unwrap(), 16).unwrap()
            };
            assert_eq!(&archive[at..at + 6], b"070701");
            let (mode, size, name_size) = (field(1), field(6), field(11));
            let name = String::from_utf8(archive[at + 110..][..name_size - 1].to_vec()).unwrap();
            let start = (at + 110 + name_size).next_multiple_of(4);
            found.push((name, mode as u32, archive[start..start + size].to_vec()));
            at = (start + size).next_multiple_of(4);
        }
        found
    }

    #[test]
    fn a_file_comes_behind_the_folders_that_it_is_in_each_of_which_comes_once() {
        let mut archive = Archive::default();
        archive.file("/usr/bin/true", 0o755, b"true");
        archive.file("usr/bin/yes", 0o644, b"yes, yes");
        archive.folder("/usr/");
        let names = ["usr", "usr/bin", "usr/bin/true", "usr/bin/yes", "TRAILER!!!"];
        let found = entries(&archive.finish());
        assert_eq!(found.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), names);
        assert_eq!((found[2].1, &found[2].2[..]), (0o100_755, &b"true"[..]));
        assert_eq!((found[3].1, &found[3].2[..]), (0o100_644, &b"yes, yes"[..]));
    }
}
