//! What comes from a client, and what goes to it.

use crate::rack::protocol::{Reply, Request, SILENCE};
use crate::secure::channel::{Reader, Writer};
use crate::secure::codec::{decode, encode};
use std::io;
use tokio::time::{Instant, timeout_at};

/// The next request, if it comes in time.
pub async fn next(reader: &mut Reader, deadline: Instant) -> io::Result<Request> {
    match timeout_at(deadline, reader.receive()).await {
        Ok(Ok(Some(message))) => decode(&message),
        Ok(Ok(None)) => Err(io::Error::other("it has closed the connection")),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other(format!("it said nothing for {} s", SILENCE.as_secs()))),
    }
}

/// Sends a reply.
pub async fn send(writer: &mut Writer, reply: &Reply) -> io::Result<()> {
    writer.send(&encode(reply)?).await
}
