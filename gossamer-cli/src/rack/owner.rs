//! The user who asks a daemon for something.

/// The user and the machine of this process.
#[must_use]
pub fn owner() -> String {
    let id = nix::unistd::geteuid();
    let user =
        nix::unistd::User::from_uid(id).ok().flatten().map_or_else(|| id.to_string(), |user| user.name);
    format!("{user}@{}", rustix::system::uname().nodename().to_string_lossy())
}
