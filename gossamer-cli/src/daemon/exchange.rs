//! Requests from a client, and replies to it.

use crate::rack::protocol::{Reply, Request, SILENCE};
use crate::rack::silence::Silence;
use crate::secure::channel::{Reader, Writer};
use crate::secure::codec::{decode, encode};
use std::io;

/// The next request, unless the silence lasts for too long.
pub async fn next(reader: &mut Reader, silence: &mut Silence) -> io::Result<Request> {
    match silence.until(reader.receive()).await {
        Some(Ok(Some(message))) => decode(&message),
        Some(Ok(None)) => Err(io::Error::other("it has closed the connection")),
        Some(Err(error)) => Err(error),
        None => Err(io::Error::other(format!("it said nothing for {} s", SILENCE.as_secs()))),
    }
}

/// Sends a reply.
pub async fn send(writer: &mut Writer, reply: &Reply) -> io::Result<()> {
    writer.send(&encode(reply)?).await
}
