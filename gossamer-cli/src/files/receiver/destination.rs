//! Where contents go: into a directory, or to standard output.

use crate::exit::Failure;
use crate::files::arguments::RecvArguments;
use crate::files::protocol::manifest::Entry;
use crate::files::protocol::message::Answer;
use crate::files::receiver::incomplete::is_still;
use crate::files::receiver::location::{EXCHANGED, Identity};
use crate::files::receiver::output::Output;
use crate::files::receiver::partial_file::finish_file;
use crate::files::receiver::tree::{Found, Tree};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// Where contents go.
#[derive(Debug)]
pub enum Destination {
    /// Into files.
    Tree(Tree),
    /// To standard output.
    Output(Output),
}

impl Destination {
    /// The one that the command line names.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn open(arguments: &RecvArguments) -> Result<Self, Failure> {
        match arguments.output.as_os_str() == "-" {
            true => Output::open().map(Self::Output),
            false => Tree::open(&arguments.output, arguments.overwrite).map(Self::Tree),
        }
    }

    /// Looks at what exists of an entry; `each` is called with the numbers of bytes read from it.
    pub fn look(&self, entry: &Entry, each: &mut dyn FnMut(u64)) -> Found {
        match self {
            Self::Tree(tree) => tree.look(entry, each),
            Self::Output(_) => Answer::Send.into(),
        }
    }

    /// Gives the file that was `seen` the time and permissions that it has at the sender.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn confirm(&self, entry: &Entry, seen: Option<Identity>) -> Result<(), Errno> {
        match self {
            Self::Tree(tree) => {
                let file = tree.locate(entry)?.open(OFlags::RDONLY)?;
                if is_still(&file, seen)? { finish_file(&file, entry) } else { Err(EXCHANGED) }
            }
            Self::Output(_) => Ok(()),
        }
    }
}
