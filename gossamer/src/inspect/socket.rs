//! Where a process lets its user look: a socket in a directory of that user, and the check of its clients.
//!
//! The directory is `gossamer` in `$XDG_RUNTIME_DIR`, or `/tmp/gossamer-UID` where there is none; it is used only if it
//! belongs to the user and nobody else may use it. A socket is named after its process. The kernel names the user of a
//! client (`SO_PEERCRED`): it must be the same user, or root.

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
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

/// The socket of this process; dropping this removes it.
pub(super) struct OwnInspectionSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl OwnInspectionSocket {
    /// Opens the socket.
    ///
    /// # Errors
    /// If there is no directory for it, or the system refuses.
    pub(super) fn open() -> io::Result<Self> {
        let directory = own_directory();
        // Refused if it exists already.
        let _there = DirBuilder::new().mode(0o700).create(&directory);
        if !is_ours_alone(&fs::symlink_metadata(&directory)?) {
            return Err(io::Error::other(format!("others can use {}", directory.display())));
        }
        remove_left(&directory)?;
        let path = directory.join(format!("{}.sock", std::process::id()));
        // Under another name until it listens: before, clients are refused, and take it for one that is left. Either name
        // may remain from a process that had this number before.
        let opening = path.with_extension("new");
        let _left = fs::remove_file(&opening);
        let listener = UnixListener::bind(&opening)?;
        listener.set_nonblocking(true)?;
        fs::rename(&opening, &path)?;
        Ok(Self { listener, path })
    }
}

impl Drop for OwnInspectionSocket {
    fn drop(&mut self) {
        // Clients skip what a killed process leaves behind.
        let _gone = fs::remove_file(&self.path);
    }
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn own_directory() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    directory_of(user(), runtime.as_deref())
}

/// The directory where a user's processes with this `XDG_RUNTIME_DIR` have their sockets. A directory of another user,
/// which something has passed on to them, does not count.
fn directory_of(user: u32, runtime: Option<&Path>) -> PathBuf {
    let is_his = |path: &&Path| fs::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == user);
    runtime.filter(is_his).map_or_else(|| temporary(user), |path| path.join("gossamer"))
}

fn temporary(user: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/gossamer-{user}"))
}

/// Removes the sockets of processes that were killed.
fn remove_left(directory: &Path) -> io::Result<()> {
    for path in entries(directory)? {
        // A process that is alive but not visible from here is in another container.
        let is_left = process_of(&path).is_some_and(|process| !is_alive(process))
            && UnixStream::connect(&path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if is_left {
            // Another process may do the same.
            let _gone = fs::remove_file(path);
        }
    }
    Ok(())
}

/// The process that a socket is named after.
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

/// Whether the other end may ask: the same user, or root.
///
/// # Errors
/// If it may not, or the kernel does not name its user.
pub(super) fn require_own_user(stream: &UnixStream) -> io::Result<()> {
    let peer = socket_peercred(stream)?.uid.as_raw();
    if peer == user() || peer == 0 { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The processes of this user on this machine that run a runtime, in order; for root, those of all users.
///
/// # Errors
/// If a directory exists and cannot be read.
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
    /// The socket of a process that was started as this user and with this `XDG_RUNTIME_DIR`. It may have none.
    #[must_use]
    pub fn of_process(process: u32, user: u32, runtime: Option<&Path>) -> Self {
        Self { process, path: directory_of(user, runtime).join(format!("{process}.sock")) }
    }

    /// Connects to the process. Never waits: at a stopped process, earlier clients pile up.
    ///
    /// # Errors
    /// If the process has ended, or has accepted no client for a long time.
    pub(super) fn connect(&self) -> io::Result<UnixStream> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&socket, &SocketAddrUnix::new(&self.path)?) {
            Err(Errno::AGAIN) => {
                return Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    "it has accepted nobody for a long time",
                ));
            }
            outcome => outcome?,
        }
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(false)?;
        Ok(stream)
    }

    /// Connects to the process, if it is the one that listens, as the kernel reports it: anything that may write to
    /// that directory can have put a socket there.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect), and if another process listens there.
    pub(super) fn connect_to_its_process(&self) -> io::Result<UnixStream> {
        let stream = self.connect()?;
        let listens = socket_peercred(&stream)?.pid.as_raw_nonzero().get();
        match u32::try_from(listens) == Ok(self.process) {
            true => Ok(stream),
            false => Err(io::Error::other(format!("process {listens} listens there, which is another one"))),
        }
    }
}
