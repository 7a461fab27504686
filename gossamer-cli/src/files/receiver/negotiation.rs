//! Up to the open stream: what the sender offers, and which of it the receiver takes.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::files::interruption::{self, stream_lost};
use crate::files::pairing::code::stream_key;
use crate::files::pairing::control::{ControlReceiver, ControlSender};
use crate::files::protocol::block::BLOCKS;
use crate::files::protocol::manifest::{Entry, Manifest};
use crate::files::protocol::message::{BATCH, Offer, PROTOCOL, ReceiverMessage, SenderMessage};
use crate::files::receiver::destination::Destination;
use crate::files::receiver::incoming::malformed;
use crate::files::receiver::tree::Found;
use crate::files::reporter::Reporter;
use crate::rack::silence::told_within;
use crate::secure::key::Key;
use gossamer::stream::{self, Options};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long the sender's stream may take to arrive, once the sender was told to open it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The sender cannot be reached any more.
pub fn lost(error: &dyn std::fmt::Display) -> Failure {
    interruption::lost("sender", error)
}

/// The size of blocks that the sender offers.
///
/// # Errors
/// If it has another version, or the size is not a valid one.
pub fn check_offer(offer: &Offer) -> Result<usize, Failure> {
    let Offer { protocol, version, block, .. } = offer;
    if *protocol != PROTOCOL {
        let what = format!(
            "the sender is gossamer {version} (protocol {protocol}), the receiver is {} (protocol {PROTOCOL}); install \
             one version on both machines",
            env!("CARGO_PKG_VERSION"),
        );
        return Err(Failure::new(UNREACHABLE, what));
    }
    match block.is_power_of_two() && BLOCKS.contains(block) {
        true => Ok(*block as usize),
        false => Err(Failure::new(
            FAILED,
            format!("the sender asks for blocks of {block} bytes, which is not possible"),
        )),
    }
}

/// Receives the list of everything to be sent, and how many files the sender itself could not read.
///
/// # Errors
/// If the list is refused, or the sender is lost.
pub fn receive_manifest(control: &mut ControlReceiver) -> Result<(Vec<Entry>, u32), Failure> {
    let mut manifest = Manifest::default();
    loop {
        match control.receive().map_err(|error| lost(&error))? {
            SenderMessage::Entries(entries) => manifest.add(entries).map_err(|what| {
                Failure::new(FAILED, format!("the sender's list of files is refused: {what}"))
            })?,
            SenderMessage::All { missing } => return Ok((manifest.into_entries(), missing)),
            SenderMessage::Sent { .. } => return Err(malformed("contents before its list")),
        }
    }
}

/// Looks for what is here of each entry, and answers.
///
/// # Errors
/// If the sender is lost.
pub fn look_and_answer(
    destination: &Destination,
    entries: &[Entry],
    control: &mut ControlSender,
    reporter: &mut Reporter,
) -> Result<Vec<Found>, Failure> {
    let (mut found, mut behind) = (Vec::with_capacity(entries.len()), 0);
    for batch in entries.chunks(BATCH) {
        let look = |entry| {
            let mut checked = 0;
            let found = destination.look(entry, &mut |at| {
                checked = at;
                reporter.checked(behind + at);
            });
            behind += checked;
            found
        };
        let batch: Vec<Found> = batch.iter().map(look).collect();
        let answers = batch.iter().map(|found| found.answer.clone()).collect();
        control.send(&ReceiverMessage::Answers(answers)).map_err(|error| lost(&error))?;
        found.extend(batch);
    }
    Ok(found)
}

/// Waits for the stream at the address to which the sender has connected, and tells the sender to open it. If it does
/// not come, the sender cannot try again.
///
/// # Errors
/// If it does not come.
pub fn open_stream(
    socket: TcpListener,
    key: &Key,
    options: Options,
    control: &mut ControlSender,
    comes_again: &mut Option<Duration>,
) -> Result<stream::Receiver, Failure> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce)
        .map_err(|error| Failure::new(FAILED, format!("the kernel gives no random bytes: {error}")))?;
    let doing = |error: stream::Error| Failure::new(UNREACHABLE, format!("cannot receive: {error}"));
    let key = stream::Key::from_hex(&stream_key(key, &nonce)).map_err(doing)?;
    let listener = stream::Receiver::listen_on(socket, options.key(key)).map_err(doing)?;
    control.send(&ReceiverMessage::Ready { nonce }).map_err(|error| lost(&error))?;
    let (tell, told) = mpsc::channel();
    // In a thread of its own, because this wait has no end.
    let waiting = thread::Builder::new().spawn(move || tell.send(listener.accept()));
    waiting.map_err(|error| Failure::new(UNREACHABLE, format!("cannot receive: {error}")))?;
    match told_within(PATIENCE, &told) {
        Some(stream) => stream.map_err(|error| stream_lost("sender", &error)),
        None => {
            // The thread goes on to take connections.
            *comes_again = Some(Duration::ZERO);
            Err(lost(&"its stream did not come"))
        }
    }
}
