//! The file that belongs to an entry while it is incomplete: one that this user has made, or a new one. Anybody else
//! who can write to the directory may have put something under its name.

use crate::files::receiver::location::{Identity, Location};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;

/// The bits of a mode that give access to others than the owner.
const OTHERS: u32 = 0o077;

/// What exists under the name that an entry has while it is incomplete.
#[derive(Debug)]
pub enum Incomplete {
    /// A file to continue with: it belongs to this user, has one name, and gives others no access.
    Ours(Location, File),
    /// A file of this user that others may have open, or that has other names, too.
    Exposed(Location, File),
    /// Nothing.
    Free(Location),
}

/// What the user is told if others have taken both names.
pub const TAKEN: &str =
    "the name of its incomplete file belongs to another user: remove that file, or receive elsewhere";

impl Incomplete {
    /// Looks under both names; nothing, if others own what is there.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn find(location: &Location) -> Result<Option<Self>, Errno> {
        let (mut exposed, mut free) = (None, None);
        for name in location.partial_names() {
            let partial = location.renamed(name)?;
            match partial.open(OFlags::RDWR) {
                Ok(file) => match Access::of(&file)? {
                    Access::Ours => return Ok(Some(Self::Ours(partial, file))),
                    Access::Exposed => exposed = exposed.or(Some(Self::Exposed(partial, file))),
                    Access::Others => {}
                },
                Err(Errno::NOENT) => free = free.or(Some(Self::Free(partial))),
                // No file, or one of somebody else.
                Err(
                    Errno::LOOP
                    | Errno::ACCESS
                    | Errno::PERM
                    | Errno::INVAL
                    | Errno::NXIO
                    | Errno::ISDIR
                    | Errno::AGAIN,
                ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(exposed.or(free))
    }
}

enum Access {
    Ours,
    Exposed,
    Others,
}

impl Access {
    fn of(file: &File) -> Result<Self, Errno> {
        let there = rustix::fs::fstat(file)?;
        Ok(match there.st_uid == own_user() {
            false => Self::Others,
            true if there.st_nlink == 1 && there.st_mode & OTHERS == 0 => Self::Ours,
            true => Self::Exposed,
        })
    }
}

/// The user who owns this receiver's files.
#[must_use]
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether a file is the one that was looked at before, belongs to this user, and has no other name.
///
/// # Errors
/// If the file system refuses.
pub fn is_still(file: &File, seen: Option<Identity>) -> Result<bool, Errno> {
    let there = rustix::fs::fstat(file)?;
    Ok(seen == Some(Identity::of(&there)) && there.st_uid == own_user() && there.st_nlink == 1)
}
