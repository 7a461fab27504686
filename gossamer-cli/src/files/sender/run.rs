//! `gossamer send`, from the command line to the exit status.

use crate::exit::Failure;
use crate::files::arguments::SendArguments;
use crate::files::reporter::Reporter;
use crate::files::sender::contents::Channels;
use crate::files::sender::feedback::Feedback;
use crate::files::sender::listing::{self, Listing};
use crate::files::sender::negotiation::{Agreement, agree, block_size, connect, open_stream};
use crate::files::sender::tally::Tally;
use crate::files::sender::transfer::transfer;
use crate::secure::key::Key;

/// Does what the command line says.
///
/// # Errors
/// What stands against it.
pub fn run(arguments: &SendArguments) -> Result<u8, Failure> {
    let key = arguments.key()?;
    let listing = listing::list(&arguments.files)?;
    let mut reporter = arguments.output_format.reporter();
    for (path, why) in &listing.missing {
        reporter.fail(path, why);
    }
    let outcome = match listing.entries.is_empty() {
        true => Ok(0),
        false => send(arguments, &key, &listing, &mut reporter),
    };
    reporter.conclude("sent", outcome)
}

/// Sends what is listed, and says how many files the receiver has then.
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
    let feedback = Feedback::listen(control)?;
    let tally = Tally::begin(listing, reporter);
    transfer(Channels { out, feedback, tally }, &answers)
}
