//! `gossamer recv`, from the command line to the exit status.

use crate::exit::{FAILED, Failure};
use crate::files::arguments::RecvArguments;
use crate::files::interruption::stream_lost;
use crate::files::pairing::code::Code;
use crate::files::pairing::control::{ControlConnection, ControlReceiver, ControlSender};
use crate::files::pairing::listener::Listener;
use crate::files::protocol::block;
use crate::files::protocol::manifest::{Entry, Kind};
use crate::files::protocol::message::{Offer, ReceiverMessage};
use crate::files::receiver::again::receive_again;
use crate::files::receiver::announcements::Announcements;
use crate::files::receiver::destination::Destination;
use crate::files::receiver::incoming::Incoming;
use crate::files::receiver::ledger::Ledger;
use crate::files::receiver::negotiation::{
    check_offer, look_and_answer, lost, open_stream, receive_manifest,
};
use crate::files::reporter::Reporter;
use crate::secure::key::Key;
use crate::terminal::flood::Flood;
use nix::sys::signal::{SigSet, Signal};
use serde_json::json;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

/// Does what the command line says.
///
/// # Errors
/// Why it cannot be done.
pub fn run(arguments: &RecvArguments) -> Result<u8, Failure> {
    // A limit on the size of files (`ulimit -f`) should fail single files only: with the signal blocked, the write
    // returns an error instead.
    let mut limit = SigSet::empty();
    limit.add(Signal::SIGXFSZ);
    limit.thread_block().map_err(|error| Failure::new(FAILED, format!("cannot block a signal: {error}")))?;
    // Finds out whether the output can be used before anybody is told to send something.
    drop(Destination::open(arguments)?);
    let key = arguments.secret.key()?;
    let listener = Listener::open(&arguments.listen)?;
    let mut reporter = arguments.output_format.reporter();
    let key = announce(listener.address(), key, &reporter)?;
    let outcome = receive_again(arguments, &listener, &key, &mut reporter);
    reporter.conclude("received", outcome)
}

/// Tells the user what the sender needs, and returns the key that the sender will use.
fn announce(address: SocketAddr, key: Option<Key>, reporter: &Reporter) -> Result<Key, Failure> {
    let address = match address.ip().is_unspecified() {
        true => format!("{}:{}", rustix::system::uname().nodename().to_string_lossy(), address.port()),
        false => address.to_string(),
    };
    let say = |code: Option<&str>, option: &str| {
        let event = json!({ "event": "waiting", "address": address, "code": code });
        reporter.tell(&event, &format!("waiting at {address}: gossamer send FILE… --to {address} {option}"));
    };
    match key {
        Some(key) => {
            say(None, "--rack");
            Ok(key)
        }
        None => {
            let code = Code::generate()?;
            say(Some(&code.to_string()), &format!("--code {code}"));
            Ok(code.key())
        }
    }
}

/// Waits for the sender, receives what it sends, and tells it the outcome. If a sender came, also returns how long it
/// tries to reconnect when it is cut off.
pub(super) fn receive(
    destination: Destination,
    listener: Listener,
    key: &Key,
    patience: Option<Duration>,
    comes_again: &mut Option<Duration>,
    reporter: &mut Reporter,
) -> Result<usize, Failure> {
    let turned_away = Flood::default();
    let (control, offer, socket) = listener.wait(key, patience, |from| {
        if let Some(more) = turned_away.turn(Instant::now()) {
            tell_turned_away(reporter, from, more);
        }
    })?;
    *comes_again = Some(Duration::from_secs(offer.retry_seconds.into()));
    let ControlConnection { mut sender, receiver } = control;
    let outcome = take(destination, socket, key, (&mut sender, receiver), (&offer, comes_again), reporter);
    // If everything is in its place, that is so whether or not the sender learns it.
    let _told = sender.send(&match &outcome {
        Ok(_) => ReceiverMessage::Finished,
        Err(Failure { status, message }) => {
            ReceiverMessage::Stopped { status: *status, why: message.clone() }
        }
    });
    outcome
}

fn tell_turned_away(reporter: &Reporter, from: SocketAddr, more: u64) {
    let event = json!({ "event": "turned away", "from": from.to_string(), "more": more });
    let others = match more {
        0 => String::new(),
        more => format!(", as {more} others before"),
    };
    reporter.tell(&event, &format!("gossamer: {from} has a wrong code and was turned away{others}"));
}

/// Receives what the sender sends, and returns how many files that were.
fn take(
    destination: Destination,
    socket: TcpListener,
    key: &Key,
    (control, mut said): (&mut ControlSender, ControlReceiver),
    (offer, comes_again): (&Offer, &mut Option<Duration>),
    reporter: &mut Reporter,
) -> Result<usize, Failure> {
    let block = check_offer(offer)?;
    control.send(&ReceiverMessage::Welcome).map_err(|error| lost(&error))?;
    let (entries, missing) = receive_manifest(&mut said)?;
    check_fits(&destination, &entries)?;
    let found = look_and_answer(&destination, &entries, control, reporter)?;
    let sizes = entries.iter().all(|entry| entry.kind != Kind::Pipe);
    reporter.begin(sizes.then(|| entries.iter().map(Entry::bytes).sum()));
    let mut stream = open_stream(socket, key, block::options(block, offer.plain), control, comes_again)?;
    let announcements = Announcements::listen(said, entries.len())?;
    let ledger = Ledger::new(entries, &found, control, reporter);
    let mut incoming = Incoming::new(destination, found, ledger, announcements, block);
    // Read once only: a sender on this machine could change the shared memory between two reads.
    let mut own = vec![0; block];
    loop {
        let filled = match stream.next_block().map_err(|error| stream_lost("sender", &error))? {
            Some(block) => copied(&block, &mut own),
            None => break,
        };
        incoming.take(filled)?;
    }
    let files = incoming.finish();
    if missing > 0 {
        reporter.fail("the sender", &format!("could not read {missing} of its files"));
    }
    Ok(files)
}

fn copied<'a>(block: &[u8], own: &'a mut [u8]) -> &'a [u8] {
    let own = own.get_mut(..block.len()).unwrap_or_default();
    own.copy_from_slice(block);
    own
}

/// Standard output takes one file.
fn check_fits(destination: &Destination, entries: &[Entry]) -> Result<(), Failure> {
    match (destination, entries) {
        (Destination::Output(_), [Entry { kind: Kind::File(_) | Kind::Pipe, .. }]) => Ok(()),
        (Destination::Output(_), _) => {
            let count = entries.len();
            let what = format!("standard output takes one file, not {count} files or directories");
            Err(Failure::new(FAILED, what))
        }
        (Destination::Tree(_), _) => Ok(()),
    }
}
