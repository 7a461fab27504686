//! All entries, one after the other, up to the receiver's last word.

use crate::exit::Failure;
use crate::files::interruption::stream_lost;
use crate::files::protocol::manifest::{Entry, Kind};
use crate::files::protocol::message::{Answer, ReceiverMessage};
use crate::files::protocol::record::Record;
use crate::files::sender::contents::{Channels, Unsent, entry_number};
use crate::files::sender::entry::{send_file, send_pipe};
use crate::files::sender::feedback::{lost, stopped};
use gossamer::stream::Error;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for the reason once the stream has ended.
const REASON: Duration = Duration::from_secs(5);

/// Sends what the answers ask for, and returns how many files the receiver has then.
///
/// # Errors
/// If the receiver is lost, or gives up.
pub fn transfer(mut channels: Channels<'_>, answers: &[Answer]) -> Result<usize, Failure> {
    let sent = send_all(&mut channels, answers);
    conclude(channels, sent)
}

fn send_all(channels: &mut Channels<'_>, answers: &[Answer]) -> Result<(), Error> {
    let listing = channels.tally.listing();
    for (index, (entry, answer)) in listing.entries.iter().zip(answers).enumerate() {
        let path = listing.paths.get(index).map_or(Path::new(""), |path| path);
        let outcome = send_entry(channels, index, entry, path, answer);
        let bytes = settle(channels, index, entry, outcome)?;
        channels.tally.settle(bytes);
    }
    Ok(())
}

/// Does for an entry what the receiver has answered, and returns how many bytes the entry turned out to have.
fn send_entry(
    channels: &mut Channels<'_>,
    index: usize,
    entry: &Entry,
    path: &Path,
    answer: &Answer,
) -> Result<u64, Unsent> {
    match answer {
        Answer::Done => {}
        Answer::Refused(why) => channels.tally.fail(index, &format!("the receiver: {why}")),
        _ if entry.kind == Kind::Pipe => return send_pipe(channels, index),
        answer => send_file(channels, index, entry, path, answer)?,
    }
    Ok(entry.bytes())
}

/// Tells the receiver and the user that an entry was not sent.
fn settle(
    channels: &mut Channels<'_>,
    index: usize,
    entry: &Entry,
    outcome: Result<u64, Unsent>,
) -> Result<u64, Error> {
    let why = match outcome {
        Ok(bytes) => return Ok(bytes),
        Err(Unsent::Stream(error)) => return Err(error),
        Err(Unsent::Refused) => "was refused".into(),
        Err(Unsent::Entry(why)) => {
            channels.tally.fail(index, &why);
            why
        }
    };
    channels.out.put(Record::Fail { entry: entry_number(index), why: &why })?;
    Ok(entry.bytes())
}

/// Ends the stream, and waits for the receiver's last word.
fn conclude(channels: Channels<'_>, sent: Result<(), Error>) -> Result<usize, Failure> {
    let Channels { out, feedback, mut tally, .. } = channels;
    // A stream that has not ended well is dropped here, which informs the receiver.
    let ended = sent.and_then(|()| out.finish());
    let due = ended.is_err().then(|| Instant::now() + REASON);
    let last = feedback.wait(due, &mut tally);
    match (last, ended) {
        (Ok(ReceiverMessage::Finished), Ok(())) => Ok(tally.files()),
        (Ok(ReceiverMessage::Stopped { status, why }), _) => Err(stopped(status, &why)),
        (_, Err(error)) => Err(stream_lost("receiver", &error)),
        (Err(error), _) => Err(lost(&error)),
        _ => Err(lost(&"its last word makes no sense")),
    }
}
