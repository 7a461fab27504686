//! What a machine runs: a command, with its files.

use crate::failure::{Context, Failure, Result};
use crate::rdma_vm::archive::Archive;
use crate::rdma_vm::image::{Image, in_machine};
use crate::rdma_vm::loader::Loader;
use rustix::fs::{MemfdFlags, memfd_create};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The first program of the machine.
const INIT: &str = include_str!("../../guest/init");

/// A command with its files, on top of an image.
pub(crate) struct Job {
    archive: Archive,
    loader: Loader,
    /// Libraries that the machine has.
    libraries: BTreeSet<String>,
}

impl Job {
    /// A command for the machine's shell.
    ///
    /// # Errors
    /// The image is damaged.
    pub(crate) fn new(image: &Image, script: &str) -> Result<Self> {
        let mut archive = Archive::default();
        archive.file("init", 0o755, INIT.as_bytes());
        archive.file("job/.command", 0o755, format!("{script}\n").as_bytes());
        Ok(Self { archive, loader: image.loader(), libraries: image.libraries()? })
    }

    /// Adds a file of this text in `/job`.
    pub(crate) fn add_text(&mut self, name: &str, text: &str) {
        self.archive.file(&format!("job/{name}"), 0o644, text.as_bytes());
    }

    /// Adds a file with the libraries that it needs: in `/job`, unless another place is given.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn add_file(&mut self, source: &Path, target: Option<&str>) -> Result<()> {
        let contents = fs::read(source).at(source)?;
        let name =
            source.file_name().ok_or_else(|| Failure::new(format!("{} is no file", source.display())))?;
        let own = format!("job/{}", name.to_string_lossy());
        self.archive.file(target.unwrap_or(&own), 0o755, &contents);
        for library in self.loader.libraries(source)? {
            let name =
                library.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if self.libraries.insert(name.clone()) {
                self.archive.file(&in_machine(&name), 0o755, &fs::read(&library).at(&library)?);
            }
        }
        Ok(())
    }

    /// The file system of a machine, in memory: nothing of it is left when this process ends, however it ends.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn file_system(self, image: &Image) -> Result<File> {
        let path = image.file_system();
        let made = || -> io::Result<File> {
            let mut file = File::from(memfd_create("file-system", MemfdFlags::CLOEXEC)?);
            io::copy(&mut File::open(&path)?, &mut file)?;
            file.write_all(&self.archive.finish())?;
            Ok(file)
        };
        made().at(&path)
    }
}
