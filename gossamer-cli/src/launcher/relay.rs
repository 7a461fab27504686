//! One machine from the start of its nodes on: commands go to its daemon, events come from there.

use crate::launcher::application::LastHeard;
use crate::node::message::{Command, Event};
use crate::rack::connect::Connection;
use crate::rack::protocol::{HEARTBEAT, Reply, Request, SILENCE};
use crate::rack::silence::Silence;
use crate::secure::channel::{Reader, Writer};
use crate::secure::codec::{decode, encode};
use std::io;
use std::sync::PoisonError;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::timeout;

/// Starts the nodes as soon as all machines are ready, and passes on what daemon and launcher tell each other, until one of
/// them is gone.
pub async fn relay(
    mut connection: Connection,
    addresses: watch::Receiver<Option<String>>,
    orders: UnboundedReceiver<Command>,
    heard: &LastHeard,
    tell: impl Fn(Event) -> bool,
) {
    match start(&mut connection.writer, addresses).await {
        Ok(true) => serve(connection, orders, heard, tell).await,
        Ok(false) => {}
        Err(error) => drop(tell(Event::Lost(unsent(&error)))),
    }
}

fn unsent(error: &io::Error) -> String {
    format!("nothing can be sent to its daemon: {error}")
}

/// Starts the nodes once their addresses are known, and sends heartbeats to the daemon until then. Returns false if the
/// launch was given up.
async fn start(writer: &mut Writer, mut addresses: watch::Receiver<Option<String>>) -> io::Result<bool> {
    loop {
        let known = timeout(HEARTBEAT, addresses.wait_for(Option::is_some)).await;
        match known.map(|known| known.ok().map(|addresses| addresses.clone().unwrap_or_default())) {
            Ok(Some(addresses)) => {
                send(writer, &Request::Start { addresses }).await?;
                return Ok(true);
            }
            Ok(None) => return Ok(false),
            Err(_) => send(writer, &Request::Heartbeat).await?,
        }
    }
}

async fn send(writer: &mut Writer, request: &Request) -> io::Result<()> {
    writer.send(&encode(request)?).await
}

/// Passes on what daemon and launcher tell each other, until one of them is gone.
async fn serve(
    connection: Connection,
    orders: UnboundedReceiver<Command>,
    heard: &LastHeard,
    tell: impl Fn(Event) -> bool,
) {
    let Connection { reader, writer, .. } = connection;
    tokio::select! {
        why = listen(reader, heard, &tell) => {
            tell(Event::Lost(why));
        }
        result = speak(writer, orders) => {
            if let Err(error) = result {
                tell(Event::Lost(unsent(&error)));
            }
        }
    }
}

/// Passes on events until the daemon is lost, and returns the reason.
async fn listen(mut reader: Reader, heard: &LastHeard, tell: &impl Fn(Event) -> bool) -> String {
    let mut silence = Silence::begin();
    loop {
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let message = match silence.until(reader.receive()).await {
            Some(Ok(Some(message))) => message,
            Some(Ok(None)) => return "its daemon has closed the connection".into(),
            Some(Err(error)) => return format!("the connection to its daemon is broken: {error}"),
            None => return format!("nothing was heard of its daemon for {} s", SILENCE.as_secs()),
        };
        match decode(&message) {
            Ok(Reply::Event(event)) => {
                tell(event);
            }
            Ok(Reply::Heartbeat) => {}
            Ok(Reply::Refused(why)) => return format!("its daemon has given up: {why}"),
            Ok(_) | Err(_) => return "its daemon does not keep to the protocol".into(),
        }
    }
}

/// Sends commands, or heartbeats while there are none, until the launcher is gone.
async fn speak(mut writer: Writer, mut orders: UnboundedReceiver<Command>) -> io::Result<()> {
    loop {
        let request = match timeout(HEARTBEAT, orders.recv()).await {
            Ok(Some(command)) => Request::Command(command),
            Ok(None) => return Ok(()),
            Err(_) => Request::Heartbeat,
        };
        send(&mut writer, &request).await?;
    }
}
