//! The program that is launched: its file, its arguments, and what it inherits from the launcher's surroundings.

use crate::exit::{FAILED, Failure, NOT_EXECUTABLE, NOT_FOUND};
use crate::node::allowance::Allowance;
use crate::node::resource_limits::ResourceLimits;
use crate::program::cache;
use crate::program::settings::NodeSettings;
use crate::rack::owner::owner;
use crate::rack::protocol::Launch;
use crate::secure::random;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program that is there and executable.
#[derive(Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// What to tell every machine.
    pub launch: Launch,
}

impl Program {
    /// Looks for the program, as a shell does, and takes note of this process's surroundings.
    ///
    /// # Errors
    /// If it is not there (127), or cannot be executed (126).
    pub fn find(
        command: Vec<OsString>,
        settings: NodeSettings,
        allowance: Allowance,
    ) -> Result<Self, Failure> {
        let path = search(Path::new(command.first().map_or("".as_ref(), OsString::as_os_str)))?;
        let hashed = File::open(&path).and_then(cache::hash);
        let (hash, length) = hashed.map_err(|error| {
            Failure::new(NOT_EXECUTABLE, format!("cannot read {}: {error}", path.display()))
        })?;
        let directory = std::env::current_dir()
            .map_err(|error| Failure::new(FAILED, format!("the working directory is gone: {error}")))?;
        let launch = Launch {
            application: random::hexadecimal::<4>()?,
            owner: owner(),
            token: random::hexadecimal::<32>()?,
            nodes: Vec::new(),
            listen: None,
            arguments: command.into_iter().map(OsString::into_vec).collect(),
            hash,
            length,
            environment: environment(settings),
            directory: directory.into_os_string().into_vec(),
            mask: mask(),
            limits: ResourceLimits::own(),
            allowance,
        };
        Ok(Self { path, launch })
    }
}

/// The environment of this process, with the variables that the command line sets.
fn environment(settings: NodeSettings) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    for (name, value) in settings.variables() {
        environment.retain(|(known, _)| known != name);
        environment.push((name.into(), value.into()));
    }
    environment.into_iter().map(|(name, value)| (name.into_vec(), value.into_vec())).collect()
}

/// The mask for new files. It can only be read by setting it; no other thread exists yet that could create files
/// meanwhile.
fn mask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(mask);
    mask.as_raw_mode()
}

/// Where the program is, as a shell looks for it.
fn search(name: &Path) -> Result<PathBuf, Failure> {
    if name.as_os_str().as_encoded_bytes().contains(&b'/') {
        return if is_executable(name) { Ok(name.to_owned()) } else { Err(not_executable(name)) };
    }
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&directories)
        .map(|directory| directory.join(name))
        .find(|path| is_executable(path));
    found.ok_or_else(|| {
        let name = name.display();
        let what = format!("it is not in PATH; for a program in this directory write ./{name}");
        Failure::new(NOT_FOUND, format!("cannot start {name}: {what}"))
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn not_executable(name: &Path) -> Failure {
    let (exists, name) = (name.exists(), name.display());
    match exists {
        true => Failure::new(
            NOT_EXECUTABLE,
            format!("cannot start {name}: permission denied; is it an executable file (chmod +x)?"),
        ),
        false => Failure::new(
            NOT_FOUND,
            format!("cannot start {name}: there is no such file; build it, or correct the path"),
        ),
    }
}
