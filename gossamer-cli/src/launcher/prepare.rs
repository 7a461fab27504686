//! One machine up to the start of its nodes: its daemon gets the program and ports for the nodes.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::launcher::addresses::NodeAddresses;
use crate::rack::config::{Machine, Rack};
use crate::rack::connect::Connection;
use crate::rack::protocol::{Launch, Reply, Request};
use crate::secure::channel::Writer;
use crate::secure::codec::{decode, encode};
use crate::secure::key::Key;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::timeout;

/// How long a daemon may take to look for a program, or to store it.
const PREPARATION: Duration = Duration::from_secs(60);
/// The bytes of the program in one message.
const PIECE: usize = 256 * 1024;

/// What is needed to start the nodes of one machine.
#[derive(Debug)]
pub struct MachineLaunch {
    /// The machine whose nodes are to be started.
    pub machine: Machine,
    /// The rack that it belongs to.
    pub rack: Rack,
    /// The key of that rack.
    pub key: Key,
    /// The file of the program.
    pub program: PathBuf,
    /// What to tell the machine.
    pub launch: Launch,
    /// Becomes true when all nodes can be started.
    pub alone: bool,
}

impl MachineLaunch {
    fn failure(&self, what: impl std::fmt::Display) -> Failure {
        Failure::new(UNREACHABLE, format!("cannot start nodes on {}: {what}", self.machine.name))
    }

    /// Everything up to `Ready` or `Stored`: the connection, and where the nodes will listen.
    ///
    /// # Errors
    /// Why the machine cannot start its nodes.
    pub async fn prepare(mut self) -> Result<(Connection, NodeAddresses), Failure> {
        let mut connection = Connection::open(&self.machine, &self.rack, &self.key).await?;
        if !self.alone {
            // The nodes are reached at the same address as the daemon.
            self.launch.listen = Some(connection.address.ip());
        }
        let (ports, has_binary) = self.announce(&mut connection).await?;
        if !has_binary {
            self.ship(&mut connection).await?;
        }
        let at = connection.address.ip();
        let addresses = ports.into_iter().map(|port| SocketAddr::new(at, port)).collect();
        Ok((connection, addresses))
    }

    /// Says what is to be started. Returns the ports of the nodes, and whether the machine has the program.
    async fn announce(&self, connection: &mut Connection) -> Result<(Vec<u16>, bool), Failure> {
        let request = Request::Launch(Box::new(self.launch.clone()));
        connection.send(&request).await.map_err(|error| self.failure(error))?;
        match self.reply(connection).await? {
            Reply::Ready { ports, has_binary } if self.alone || ports.len() == self.launch.nodes.len() => {
                Ok((ports, has_binary))
            }
            _ => Err(self.failure("its daemon does not keep to the protocol")),
        }
    }

    async fn reply(&self, connection: &mut Connection) -> Result<Reply, Failure> {
        match timeout(PREPARATION, connection.reader.receive()).await {
            Ok(received) => self.understood(received),
            Err(_) => Err(self.failure(format!("its daemon says nothing for {} s", PREPARATION.as_secs()))),
        }
    }

    fn understood(&self, received: io::Result<Option<Vec<u8>>>) -> Result<Reply, Failure> {
        match received.and_then(|message| message.map(|message| decode(&message)).transpose()) {
            Ok(Some(Reply::Refused(why))) => Err(self.failure(why)),
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(self.failure("its daemon has closed the connection")),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Sends the program.
    async fn ship(&self, connection: &mut Connection) -> Result<(), Failure> {
        let Connection { reader, writer, .. } = &mut *connection;
        let reply = tokio::select! {
            // The daemon may refuse the rest.
            received = reader.receive() => self.understood(received)?,
            sent = self.send_program(writer) => match sent {
                Ok(()) => self.reply(connection).await?,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    let what = "the program became shorter while it was shipped; launch it again";
                    return Err(Failure::new(FAILED, what));
                }
                // If it can, it says why.
                Err(error) => return Err(self.reply(connection).await.err().unwrap_or_else(|| self.failure(error))),
            }
        };
        match reply {
            Reply::Stored => Ok(()),
            _ => Err(self.failure("its daemon does not keep to the protocol")),
        }
    }

    async fn send_program(&self, writer: &mut Writer) -> io::Result<()> {
        let mut file = File::open(&self.program)?;
        let mut left = self.launch.length;
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            let mut piece = vec![0; length];
            // The file was hashed just now, so it is in the page cache.
            file.read_exact(&mut piece)?;
            left -= length as u64;
            writer.send(&encode(&Request::Binary(piece))?).await?;
        }
        Ok(())
    }
}
