//! One connection to a daemon: the proof of the key, and the first request.

use crate::daemon::check;
use crate::daemon::examine;
use crate::daemon::exchange::send;
use crate::daemon::inspect;
use crate::daemon::launch;
use crate::daemon::state::Daemon;
use crate::rack::protocol::{Hello, PROTOCOL, Reply, Request};
use crate::rack::silence::within;
use crate::secure::channel::{self, PATIENCE, PEER_PATIENCE, Reader, Writer};
use crate::secure::codec::{decode, encode};
use crate::secure::gate::Ticket;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

/// Serves a connection to its end.
pub async fn serve(daemon: Arc<Daemon>, stream: TcpStream, peer: SocketAddr, ticket: Ticket) {
    let opened = within(PEER_PATIENCE, open(&daemon, stream, &ticket)).await;
    let opened = opened.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()));
    drop(ticket);
    match opened {
        Ok(None) => {}
        Ok(Some((_, mut writer, Request::Launch(launch)))) if daemon.stopping_now() => {
            let _ = (launch, send(&mut writer, &Reply::Refused("the daemon is being stopped".into())).await);
        }
        Ok(Some((reader, writer, Request::Launch(launch)))) => {
            launch::serve(&daemon, reader, writer, *launch).await
        }
        Ok(Some((reader, writer, Request::CheckRdma { variables, report }))) => {
            check::serve(&daemon, reader, writer, variables, report).await
        }
        Ok(Some((_, writer, Request::Inspect { application, inspection }))) => {
            inspect::serve(&daemon, writer, application.as_deref(), inspection).await
        }
        Ok(Some((reader, writer, Request::Examine(first)))) => {
            examine::serve(&daemon, reader, writer, first).await
        }
        Ok(Some((_, mut writer, request))) => {
            let reply = daemon.answer(request).await;
            let _ = within(PATIENCE, send(&mut writer, &reply)).await;
        }
        Err(error) => daemon.refusals.refused(peer.ip(), &error),
    }
}

/// The first messages of both sides. Only the client's first message proves that it knows the key, and has not just
/// replayed the handshake of a client that does. Returns nothing if the client leaves without a word, as probes do that
/// only check whether something listens.
async fn open(
    daemon: &Daemon,
    stream: TcpStream,
    ticket: &Ticket,
) -> io::Result<Option<(Reader, Writer, Request)>> {
    if matches!(stream.peek(&mut [0]).await, Ok(0) | Err(_)) {
        return Ok(None);
    }
    let (mut reader, mut writer) =
        channel::respond(stream, &daemon.key, |message| ticket.heard(message)).await?;
    let hello: Hello = decode(&receive(&mut reader).await?)?;
    writer.send(&encode(&Hello::own())?).await?;
    if hello.protocol != PROTOCOL {
        let what = format!("its protocol is {}, not {PROTOCOL} (gossamer {})", hello.protocol, hello.version);
        return Err(io::Error::other(what));
    }
    let request = decode(&receive(&mut reader).await?)?;
    Ok(Some((reader, writer, request)))
}

async fn receive(reader: &mut Reader) -> io::Result<Vec<u8>> {
    reader.receive().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
