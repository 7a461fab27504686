//! Where a process lets its user look: a socket in a directory of that user, and who asks there.
//!
//! The directory is `gossamer` in `$XDG_RUNTIME_DIR`, or `/tmp/gossamer-UID` where there is none; it is used only if it belongs to the
//! user and to nobody else. A socket is called after its process. Who comes is asked for his name by the kernel (`SO_PEERCRED`): the
//! same user, or root.

use rustix::net::sockopt::socket_peercred;
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A process that can be asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InspectionSocket {
    /// The process.
    pub process: u32,
    path: PathBuf,
}

/// The socket of this process; it is removed with this.
pub(super) struct OwnInspectionSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl OwnInspectionSocket {
    /// Opens it.
    ///
    /// # Errors
    /// If there is no directory for it, or the system refuses.
    pub(super) fn open() -> io::Result<Self> {
        let directory = own_directory();
        // Refused if it is there.
        let _there = DirBuilder::new().mode(0o700).create(&directory);
        if !is_ours_alone(&fs::symlink_metadata(&directory)?) {
            return Err(io::Error::other(format!("others can use {}", directory.display())));
        }
        remove_left(&directory)?;
        let path = directory.join(format!("{}.sock", std::process::id()));
        // Of a process that had this number before.
        let _left = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }
}

impl Drop for OwnInspectionSocket {
    fn drop(&mut self) {
        // What stays of a process that is killed is passed over by those who ask.
        let _gone = fs::remove_file(&self.path);
    }
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn own_directory() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    runtime.map_or_else(|| temporary(user()), |path| path.join("gossamer"))
}

fn temporary(user: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/gossamer-{user}"))
}

/// Removes the sockets of processes that were killed.
fn remove_left(directory: &Path) -> io::Result<()> {
    for path in entries(directory)? {
        // One that is alive, but not seen from here, is in another container.
        let is_left = process_of(&path).is_some_and(|process| !is_alive(process))
            && UnixStream::connect(&path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if is_left {
            // Somebody else may do the same.
            let _gone = fs::remove_file(path);
        }
    }
    Ok(())
}

/// The process that a socket is called after.
fn process_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_suffix(".sock")?.parse().ok()
}

fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// Whether a directory belongs to this user, and nobody else may use it.
fn is_ours_alone(directory: &Metadata) -> bool {
    directory.is_dir() && directory.uid() == user() && directory.permissions().mode() & 0o077 == 0
}

/// Whether whoever is at the other end may ask: the same user, or root.
///
/// # Errors
/// If he may not, or the kernel does not say who he is.
pub(super) fn require_own_user(stream: &UnixStream) -> io::Result<()> {
    let peer = socket_peercred(stream)?.uid.as_raw();
    if peer == user() || peer == 0 { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The processes of this user on this machine that run a runtime, in order; for root, those of all users.
///
/// # Errors
/// If a directory is there and cannot be read.
pub fn inspection_sockets() -> io::Result<Vec<InspectionSocket>> {
    let mut directories = vec![own_directory(), temporary(user()), runtime_of(&user().to_string())];
    if user() == 0 {
        directories.extend(entries(Path::new("/run/user"))?.into_iter().map(|path| path.join("gossamer")));
        let temporary = entries(Path::new("/tmp"))?.into_iter();
        directories.extend(temporary.filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("gossamer-"))
        }));
    }
    let mut sockets = Vec::new();
    for directory in directories {
        let trusted = fs::symlink_metadata(&directory)
            .is_ok_and(|directory| directory.is_dir() && (user() == 0 || is_ours_alone(&directory)));
        if trusted {
            sockets.extend(entries(&directory)?.into_iter().filter_map(socket_at));
        }
    }
    sockets.sort();
    sockets.dedup_by_key(|socket| socket.process);
    Ok(sockets)
}

fn runtime_of(user: &str) -> PathBuf {
    Path::new("/run/user").join(user).join("gossamer")
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The process behind a socket, if it is alive.
fn socket_at(path: PathBuf) -> Option<InspectionSocket> {
    let process = process_of(&path)?;
    is_alive(process).then_some(InspectionSocket { process, path })
}

impl InspectionSocket {
    /// Goes there.
    ///
    /// # Errors
    /// If the process has ended.
    pub(super) fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.path)
    }
}
