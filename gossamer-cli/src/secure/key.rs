//! The key that all machines of a rack share, and its file.

use crate::exit::{FAILED, Failure, USAGE};
use crate::secure::random;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The length of a key in bytes.
pub const LENGTH: usize = 32;

/// A shared key. It is never printed.
#[derive(Clone)]
pub struct Key([u8; LENGTH]);

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key")
    }
}

impl Key {
    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: [u8; LENGTH]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// Parses the text of a key file: 64 hexadecimal digits, with white space around them.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let digits = text.trim_ascii();
        if digits.len() != 2 * LENGTH {
            return None;
        }
        let mut bytes = [0; LENGTH];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            for &digit in pair {
                *byte = *byte << 4 | u8::try_from(char::from(digit).to_digit(16)?).ok()?;
            }
        }
        Some(Self(bytes))
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// If there is none, it is not a key, or others own it or have access to it.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::new(USAGE, format!("key file {}: {what}", path.display()));
        let file = File::open(path).map_err(|error| {
            wrong(match error.kind() {
                ErrorKind::NotFound => format!(
                    "there is no such file; copy it from a machine that has it, or make a new key with `gossamer keygen {}`",
                    path.display()
                ),
                _ => error.to_string(),
            })
        })?;
        let metadata = file.metadata().map_err(|error| wrong(error.to_string()))?;
        if !metadata.is_file() {
            return Err(wrong("this is not a regular file".into()));
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(wrong(format!(
                "mode {:o} gives others than its owner access; run `chmod 600 {}`, and make a new key if somebody may have \
                 read this one",
                metadata.mode() & 0o777,
                path.display()
            )));
        }
        let own = rustix::process::geteuid().as_raw();
        if metadata.uid() != own && metadata.uid() != 0 {
            return Err(wrong(format!(
                "it belongs to user {}, but user {own} runs this command",
                metadata.uid()
            )));
        }
        let mut text = Vec::new();
        file.take(1024).read_to_end(&mut text).map_err(|error| wrong(error.to_string()))?;
        Self::parse(&text).ok_or_else(|| {
            wrong("it does not contain 64 hexadecimal digits, as `gossamer keygen` writes them".into())
        })
    }
}

/// Writes a new key file that only its owner can read. Makes the directory, if only that is missing.
///
/// # Errors
/// If the file exists already, or cannot be written.
pub fn generate(path: &Path) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| {
        let advice = match error.kind() {
            ErrorKind::AlreadyExists => "; a key is never overwritten, so move it away first",
            _ => "",
        };
        Failure::new(FAILED, format!("cannot write the key file {}: {error}{advice}", path.display()))
    };
    let key = random::hexadecimal::<LENGTH>()?;
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        match fs::create_dir(directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(wrong(error)),
            _ => {}
        }
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(wrong)?;
    writeln!(file, "{key}").and_then(|()| file.sync_all()).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_64_hexadecimal_digits() {
        let digits = "0123456789abcdefABCDEF0123456789000000000000000000000000000000ff";
        let key = Key::parse(format!(" {digits}\n").as_bytes()).unwrap();
        assert_eq!((key.0[0], key.0[1], key.0[31]), (0x01, 0x23, 0xff));
        for wrong in
            ["", "00", &digits[1..], &format!("{digits}0"), &digits.replace('f', "g"), &"+1".repeat(32)]
        {
            assert!(Key::parse(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }
}
