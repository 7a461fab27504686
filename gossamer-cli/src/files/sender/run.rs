//! `gossamer send`, from the command line to the exit status.

use crate::exit::{FAILED, Failure, TIMED_OUT};
use crate::files::arguments::SendArguments;
use crate::files::pairing::control::ControlConnection;
use crate::files::reporter::Reporter;
use crate::files::sender::contents::Channels;
use crate::files::sender::feedback::Feedback;
use crate::files::sender::listing::{self, Listing};
use crate::files::sender::negotiation::{Agreement, agree, block_size, connect, open_stream};
use crate::files::sender::retry::Retries;
use crate::files::sender::tally::Tally;
use crate::files::sender::transfer::transfer;
use crate::secure::key::Key;
use std::sync::mpsc;
use std::thread;

/// Does what the command line says.
///
/// # Errors
/// Why it cannot be done.
pub fn run(arguments: &SendArguments) -> Result<u8, Failure> {
    let Some(limit) = arguments.timeout else { return send_all(arguments) };
    let (tell, told) = mpsc::channel();
    let own = arguments.clone();
    // In a thread that ends with the process: the waits in it have no end by themselves.
    let working = thread::Builder::new().spawn(move || tell.send(send_all(&own)));
    working.map_err(|error| Failure::new(FAILED, format!("no thread can be started: {error}")))?;
    told.recv_timeout(limit).unwrap_or_else(|_| {
        let limit = humantime::format_duration(limit);
        let what = format!(
            "not everything was sent within {limit}; what has arrived is kept: run both commands again to continue"
        );
        arguments.output_format.reporter().conclude("sent", Err(Failure::new(TIMED_OUT, what)))
    })
}

/// Sends, and sends again if the receiver was lost, as often as the user has allowed.
fn send_all(arguments: &SendArguments) -> Result<u8, Failure> {
    let key = arguments.key()?;
    let mut listing = listing::list(&arguments.files)?;
    let mut reporter = arguments.output_format.reporter();
    let mut retries = Retries::new(arguments.tries()?);
    let outcome = loop {
        let outcome = send_listed(arguments, &key, &listing, &mut reporter);
        let pause = outcome.as_ref().err().and_then(|failure| retries.next(failure, &reporter));
        let Some(pause) = pause else { break outcome };
        thread::sleep(pause);
        reporter.begin_again();
        // Files may have changed meanwhile.
        listing = listing::list(&arguments.files)?;
    };
    reporter.conclude("sent", outcome)
}

fn send_listed(
    arguments: &SendArguments,
    key: &Key,
    listing: &Listing,
    reporter: &mut Reporter,
) -> Result<usize, Failure> {
    for (path, why) in &listing.missing {
        reporter.fail(path, why);
    }
    match listing.entries.is_empty() {
        true => Ok(0),
        false => send(arguments, key, listing, reporter),
    }
}

/// Sends what is listed, and returns how many files the receiver has then.
fn send(
    arguments: &SendArguments,
    key: &Key,
    listing: &Listing,
    reporter: &mut Reporter,
) -> Result<usize, Failure> {
    let block = block_size(arguments.limit_rate);
    let mut control = connect(arguments, key, block)?;
    let Agreement { answers, nonce } = agree(&mut control, listing)?;
    let out = open_stream(arguments, key, &nonce, block, &control)?;
    let ControlConnection { sender: control, receiver } = control;
    let feedback = Feedback::listen(receiver)?;
    let tally = Tally::begin(listing, reporter);
    transfer(Channels { out, control, feedback, tally }, &answers)
}
