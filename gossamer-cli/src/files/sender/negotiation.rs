//! Up to the open stream: the receiver hears what there is to send, and says which of it it takes.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::files::arguments::SendArguments;
use crate::files::pairing::code::stream_key;
use crate::files::pairing::control::{ControlConnection, ControlReceiver, ControlSender};
use crate::files::protocol::block::{self, BLOCKS};
use crate::files::protocol::message::{Answer, BATCH, Offer, PROTOCOL, ReceiverMessage, SenderMessage};
use crate::files::sender::feedback::{lost, stopped};
use crate::files::sender::listing::Listing;
use crate::files::sender::outgoing::Outgoing;
use crate::files::sender::retry::seconds_of_patience;
use crate::secure::key::Key;
use crate::secure::knock::{self, KnockError};
use gossamer::stream::{self, Error, Length, Options, Route};
use std::net::SocketAddr;
use std::thread;

/// What the receiver has answered.
#[derive(Debug)]
pub struct Agreement {
    /// To each entry.
    pub answers: Vec<Answer>,
    /// For the key of the stream.
    pub nonce: [u8; 32],
}

/// The size of blocks: small ones where a large block would take long to send.
#[must_use]
pub fn block_size(rate: Option<u64>) -> u32 {
    let wanted = rate.map_or(u32::MAX, |rate| u32::try_from(rate / 4).unwrap_or(u32::MAX));
    let wanted = wanted.clamp(*BLOCKS.start(), *BLOCKS.end());
    1 << wanted.ilog2()
}

/// Connects to the receiver, and says what comes.
///
/// # Errors
/// If nobody waits there, or with another code.
pub fn connect(arguments: &SendArguments, key: &Key, block: u32) -> Result<ControlConnection, Failure> {
    let address = &arguments.to;
    let version = env!("CARGO_PKG_VERSION").into();
    let retry_seconds = seconds_of_patience(arguments);
    let offer = Offer { protocol: PROTOCOL, version, retry_seconds, block, plain: arguments.plain };
    let (control, answer) = ControlConnection::connect(address, key, &offer).map_err(|error| {
        let what = match error {
            KnockError::Connect(error) => {
                format!("{error}; --to takes the host and the port at which `gossamer recv` says that it waits")
            }
            KnockError::Handshake(error) if arguments.secret.rack => format!(
                "what listens there does not accept the rack's key ({error}): both machines need the same key file, and \
                 the receiver needs --rack"
            ),
            KnockError::Handshake(error) => format!(
                "the receiver does not accept the code ({error}): check that it is the one that the receiver has printed; it \
                 works once"
            ),
        };
        Failure::new(UNREACHABLE, format!("cannot send to {address}: {what}"))
    })?;
    match answer {
        ReceiverMessage::Welcome => Ok(control),
        ReceiverMessage::Stopped { status, why } => Err(stopped(status, &why)),
        _ => Err(malformed()),
    }
}

fn malformed() -> Failure {
    Failure::new(FAILED, "what the receiver says makes no sense: run the same version on both sides")
}

/// Sends the manifest, and waits for the answers.
///
/// # Errors
/// If the receiver gives up, or is lost.
pub fn agree(control: &mut ControlConnection, listing: &Listing) -> Result<Agreement, Failure> {
    // If the receiver is gone, its last message says why.
    let _told = send_manifest(&mut control.sender, listing);
    receive_answers(&mut control.receiver, listing.entries.len())
}

fn send_manifest(control: &mut ControlSender, listing: &Listing) -> std::io::Result<()> {
    for batch in listing.entries.chunks(BATCH) {
        control.send(&SenderMessage::Entries(batch.to_vec()))?;
    }
    let missing = u32::try_from(listing.missing.len()).unwrap_or(u32::MAX);
    control.send(&SenderMessage::All { missing })
}

fn receive_answers(control: &mut ControlReceiver, count: usize) -> Result<Agreement, Failure> {
    let mut answers = Vec::new();
    loop {
        match control.receive().map_err(|error| lost(&error))? {
            ReceiverMessage::Answers(more) if answers.len() + more.len() <= count => answers.extend(more),
            ReceiverMessage::Ready { nonce } if answers.len() == count => {
                return Ok(Agreement { answers, nonce });
            }
            ReceiverMessage::Stopped { status, why } => return Err(stopped(status, &why)),
            _ => return Err(malformed()),
        }
    }
}

/// Opens the stream to where the receiver is.
///
/// # Errors
/// If it cannot be opened.
pub fn open_stream(
    arguments: &SendArguments,
    key: &Key,
    nonce: &[u8; 32],
    block: u32,
    control: &ControlConnection,
) -> Result<Outgoing, Failure> {
    let doing = |error: Error| Failure::new(UNREACHABLE, format!("cannot send: {error}"));
    let key = stream::Key::from_hex(&stream_key(key, nonce)).map_err(doing)?;
    let mut options = block::options(block as usize, arguments.plain).key(key);
    if let Some(streams) = arguments.streams {
        options = options.route(Route::Tcp).connections(streams.into());
    }
    let address = control.peer().map_err(|error| lost(&error))?;
    let stream = knock_for_stream(address, &options).map_err(doing)?;
    Outgoing::new(stream, block as usize, arguments.compress, arguments.limit_rate)
        .map_err(|error| Failure::new(FAILED, format!("cannot compress: {error}")))
}

/// Among many strangers the stream may be turned away, like the control connection.
fn knock_for_stream(address: SocketAddr, options: &Options) -> Result<stream::Sender, Error> {
    let connect = || stream::Sender::connect(address, Length::Open, options.clone());
    for pause in knock::pauses() {
        match connect() {
            Err(Error::Io { kind, .. }) if knock::is_end(kind) => thread::sleep(pause),
            outcome => return outcome,
        }
    }
    connect()
}
