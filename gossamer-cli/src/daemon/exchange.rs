//! Requests from a client, and replies to it.

use crate::rack::protocol::{PREPARATION, Reply, Request, SILENCE};
use crate::rack::silence::{Silence, within};
use crate::secure::channel::{Reader, Writer};
use crate::secure::codec::{decode, encode};
use std::io;
use std::time::Duration;

/// The next request, unless the silence lasts for too long.
pub async fn next(reader: &mut Reader, silence: &mut Silence) -> io::Result<Request> {
    understood(silence.until(reader.receive()).await, SILENCE)
}

/// The same while no nodes run, which would go on without a launcher: it has time for a disk that is busy.
pub async fn next_of_preparation(reader: &mut Reader) -> io::Result<Request> {
    understood(within(PREPARATION, reader.receive()).await, PREPARATION)
}

fn understood(received: Option<io::Result<Option<Vec<u8>>>>, limit: Duration) -> io::Result<Request> {
    match received {
        Some(Ok(Some(message))) => decode(&message),
        Some(Ok(None)) => Err(io::Error::other("it has closed the connection")),
        Some(Err(error)) => Err(error),
        None => Err(io::Error::other(format!("it said nothing for {} s", limit.as_secs()))),
    }
}

/// Sends a reply.
pub async fn send(writer: &mut Writer, reply: &Reply) -> io::Result<()> {
    writer.send(&encode(reply)?).await
}
