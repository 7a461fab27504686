//! [`OpenOptions`]: how a file is opened.

use crate::blocking::unblock_as;
use crate::kernel::fs::File;
use std::io;
use std::path::Path;

/// How a file is opened, like [`std::fs::OpenOptions`]. For options that are missing here, convert one of `std` into
/// this one.
#[derive(Clone, Debug)]
pub struct OpenOptions(std::fs::OpenOptions);

/// A setting that is on or off, as in `std`.
macro_rules! switch {
    ($(#[$doc:meta] $name:ident),+) => {
        $(
            #[$doc]
            pub fn $name(&mut self, on: bool) -> &mut Self {
                self.0.$name(on);
                self
            }
        )+
    };
}

impl OpenOptions {
    /// No option is set.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::OpenOptions;
    /// use std::io::Write;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-log-{}", std::process::id()));
    /// for line in ["one\n", "two\n"] {
    ///     OpenOptions::new().append(true).create(true).open(&path)?.write_all(line.as_bytes())?;
    /// }
    /// assert_eq!(gossamer::fs::read_to_string(&path)?, "one\ntwo\n");
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    #[expect(clippy::new_without_default, reason = "as in std")]
    #[must_use]
    pub fn new() -> Self {
        Self(std::fs::OpenOptions::new())
    }

    switch! {
        #[doc = "Whether it may be read."] read,
        #[doc = "Whether it may be written."] write,
        #[doc = "Whether each write goes to its end."] append,
        #[doc = "Whether it is emptied."] truncate,
        #[doc = "Whether it is created if it does not exist."] create,
        #[doc = "Whether it is created, and must not exist yet."] create_new
    }

    /// Opens a file.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::OpenOptions;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-lock-{}", std::process::id()));
    /// let new = OpenOptions::new().write(true).create_new(true).clone();
    /// let lock = new.open(&path)?;
    /// assert!(new.open(&path).is_err()); // somebody has it
    /// drop(lock);
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`std::fs::OpenOptions::open`].
    #[track_caller]
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let (options, path) = (self.0.clone(), path.as_ref().to_owned());
        unblock_as("OpenOptions::open", move || options.open(path))?.map(File::from_std)
    }
}

impl From<std::fs::OpenOptions> for OpenOptions {
    fn from(options: std::fs::OpenOptions) -> Self {
        Self(options)
    }
}
