//! The steps of one entry: a file, or standard input.

use crate::files::content::digest::{Digest, Hasher};
use crate::files::content::file::{hash_start, next_extent};
use crate::files::protocol::manifest::Entry;
use crate::files::protocol::message::Answer;
use crate::files::sender::contents::{Channels, Contents, Unsent};
use crate::files::sender::input::Input;
use crate::files::sender::source::Source;
use crate::files::sender::tally::Tally;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// How often a thread that waits for input checks whether the receiver is still there.
const LISTENS: Duration = Duration::from_millis(500);

/// Sends those parts of a file that the receiver does not have.
///
/// # Errors
/// Why it was not sent.
pub fn send_file(
    channels: &mut Channels<'_>,
    index: usize,
    entry: &Entry,
    path: &Path,
    answer: &Answer,
) -> Result<(), Unsent> {
    let source = Source::open(path, entry).map_err(Unsent::Entry)?;
    let hasher = agreed_start(&source, answer, &mut channels.tally)?;
    let mut contents = Contents::begin(channels, index, hasher)?;
    send_extents(&mut contents, &source)?;
    source.check_unchanged().map_err(Unsent::Entry)?;
    contents.end(source.bytes())
}

/// A hasher of the beginning of a file that both sides have.
fn agreed_start(source: &Source, answer: &Answer, tally: &mut Tally<'_>) -> Result<Hasher, Unsent> {
    let agreed = match answer {
        Answer::Have { bytes, digest } if *bytes <= source.bytes() => {
            same_start(source, *bytes, *digest, tally)?
        }
        Answer::Compare { digest, replace } => {
            let same = same_start(source, source.bytes(), *digest, tally)?;
            if same.is_none() && !replace {
                let why = "exists there with other contents; `gossamer recv --overwrite` replaces it";
                return Err(Unsent::Entry(why.into()));
            }
            same
        }
        _ => None,
    };
    Ok(agreed.unwrap_or_default())
}

/// A hasher of the first bytes of a file, if they have this digest.
fn same_start(
    source: &Source,
    bytes: u64,
    digest: Digest,
    tally: &mut Tally<'_>,
) -> io::Result<Option<Hasher>> {
    let hasher = hash_start(source.file(), bytes, |at| tally.reach(at))?;
    let is_same = hasher.clone().finish(bytes) == digest;
    Ok(is_same.then_some(hasher))
}

/// Sends the parts that are not holes.
fn send_extents(contents: &mut Contents<'_, '_>, source: &Source) -> Result<(), Unsent> {
    let file = source.file();
    while let Some(extent) = next_extent(file, contents.at(), source.bytes())? {
        contents.pass_over(extent.start);
        while contents.at() < extent.end {
            if !contents.piece(extent.end - contents.at(), |place, at| file.read_at(place, at))? {
                return Err(Unsent::Entry("became shorter while it was being sent; send it again".into()));
            }
        }
    }
    Ok(())
}

/// Sends standard input as it comes, and returns how many bytes that were.
///
/// # Errors
/// Why it was not sent.
pub fn send_pipe(channels: &mut Channels<'_>, index: usize) -> Result<u64, Unsent> {
    let mut input = Input::open()?;
    let mut contents = Contents::begin(channels, index, Hasher::default())?;
    loop {
        while !input.wait(LISTENS) {
            contents.check_wanted()?;
        }
        if !contents.piece(u64::MAX, |place, _| input.read(place))? {
            break;
        }
        if input.begin_piece() {
            contents.flush()?;
        }
    }
    let bytes = contents.at();
    contents.end(bytes)?;
    Ok(bytes)
}
