//! Programs of unpacked packages: they run here with their own libraries, which the loader among them finds.

use crate::failure::{Context, Failure, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where packages have the libraries of this architecture.
pub(crate) const LIBRARIES: [&str; 2] = ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"];
const LOADER: &str = "ld-linux-x86-64.so.2";

/// The loader of unpacked packages.
pub(crate) struct Loader {
    root: PathBuf,
}

impl Loader {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// A file of the packages, whether it lies in `/` or in `/usr`.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn find(&self, path: &str) -> Result<PathBuf> {
        let short = path.strip_prefix("usr/").unwrap_or(path);
        let mut places = [self.root.join("usr").join(short), self.root.join(short)].into_iter();
        places.find(|place| place.exists()).ok_or_else(|| Failure::new(format!("no package has {path}")))
    }

    /// A program of the packages, to run here.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn command(&self, program: &str) -> Result<Command> {
        let mut command = Command::new(self.loader()?);
        command.arg("--library-path").arg(self.search_path()).arg(self.find(program)?);
        Ok(command)
    }

    /// The shared libraries that a program needs, by path: from the packages, or from this machine if the packages lack
    /// them. Empty if the file is not such a program.
    ///
    /// # Errors
    /// The loader cannot be run.
    pub(crate) fn libraries(&self, program: &Path) -> Result<Vec<PathBuf>> {
        let loader = self.loader()?;
        let mut list = Command::new(&loader);
        list.arg("--library-path").arg(self.search_path()).arg("--list").arg(program);
        let listed = list.output().at(&loader)?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        // `name => path (address)`
        let paths = listed.lines().filter_map(|line| line.split_once("=> ")?.1.split_whitespace().next());
        Ok(paths.filter(|path| path.starts_with('/')).map(PathBuf::from).collect())
    }

    pub(crate) fn loader(&self) -> Result<PathBuf> {
        self.find(&format!("{}/{LOADER}", LIBRARIES[0])).or_else(|_| self.find(&format!("lib64/{LOADER}")))
    }

    fn search_path(&self) -> impl AsRef<OsStr> {
        LIBRARIES.map(|folder| self.root.join(folder).to_string_lossy().into_owned()).join(":")
    }
}
