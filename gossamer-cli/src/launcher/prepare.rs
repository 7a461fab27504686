//! One machine up to the start of its nodes: its daemon gets the program and ports for the nodes.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::launcher::addresses::NodeAddresses;
use crate::rack::config::{Machine, Rack};
use crate::rack::connect::Connection;
use crate::rack::protocol::{HEARTBEAT, Launch, PREPARATION, Reply, Request};
use crate::secure::channel::Writer;
use crate::secure::codec::{decode, encode};
use crate::secure::key::Key;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::timeout;

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

    /// Sends the program, and heartbeats while the disk has the next part of it wait.
    async fn send_program(&self, writer: &mut Writer) -> io::Result<()> {
        let file = File::open(&self.program)?;
        let sent = send_pieces(writer, pieces_of(file, self.launch.length)).await?;
        if sent == self.launch.length {
            Ok(())
        } else {
            Err(io::Error::other("it cannot be read to its end"))
        }
    }
}

/// The program in pieces, as a thread reads them, since this one serves all machines.
fn pieces_of(mut file: impl Read + Send + 'static, length: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (put, pieces) = channel(2);
    drop(spawn_blocking(move || {
        let mut left = length;
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            let mut piece = vec![0; length];
            let read = file.read_exact(&mut piece).map(|()| piece);
            let is_last = read.is_err();
            // Nobody takes it if the launch was given up.
            if put.blocking_send(read).is_err() || is_last {
                return;
            }
            left -= length as u64;
        }
    }));
    pieces
}

/// Returns how many bytes they had.
async fn send_pieces(writer: &mut Writer, mut pieces: Receiver<io::Result<Vec<u8>>>) -> io::Result<u64> {
    let mut sent = 0;
    loop {
        let request = match timeout(HEARTBEAT, pieces.recv()).await {
            Ok(Some(piece)) => {
                let piece = piece?;
                sent += piece.len() as u64;
                Request::Binary(piece)
            }
            Ok(None) => return Ok(sent),
            Err(_) => Request::Heartbeat,
        };
        writer.send(&encode(&request)?).await?;
        // A socket with room for it would take all of the program at once, while other machines wait.
        yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secure::channel::{Reader, initiate, respond};
    use tokio::net::{TcpListener, TcpStream};

    /// A file on a disk that is busy for a while after its first byte.
    struct SlowFile(u8);

    impl Read for SlowFile {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 1 {
                std::thread::sleep(HEARTBEAT * 3);
            }
            self.0 += 1;
            buffer[..1].fill(self.0);
            Ok(1)
        }
    }

    /// A reader and a writer of one connection.
    async fn connected() -> (Reader, Writer) {
        let key = Key::new([7; 32]);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (to, from) = tokio::join!(initiate(stream, &key), async {
            let (stream, _) = listener.accept().await.unwrap();
            respond(stream, &key, |_| true).await
        });
        (from.unwrap().0, to.unwrap().1)
    }

    #[tokio::test]
    async fn a_launcher_whose_disk_is_slow_says_that_it_is_there() {
        let (mut reader, mut writer) = connected().await;
        assert_eq!(send_pieces(&mut writer, pieces_of(SlowFile(0), 2)).await.unwrap(), 2);
        drop(writer);
        let mut heartbeats = 0;
        loop {
            match decode(&reader.receive().await.unwrap().unwrap()).unwrap() {
                Request::Heartbeat => heartbeats += 1,
                Request::Binary(piece) => {
                    assert_eq!(piece, [1, 2]);
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(heartbeats > 0);
    }

    #[tokio::test]
    async fn other_machines_have_a_turn_after_each_piece() {
        const PIECES: usize = 40;
        let (mut reader, mut writer) = connected().await;
        let drain = tokio::spawn(async move { while let Ok(Some(_)) = reader.receive().await {} });
        let turns = tokio::spawn(async {
            // It is over in its turn after the last piece.
            for _ in 1..PIECES {
                yield_now().await;
            }
        });
        let length = (PIECES * PIECE) as u64;
        assert_eq!(send_pieces(&mut writer, pieces_of(std::io::repeat(7), length)).await.unwrap(), length);
        assert!(turns.is_finished());
        drop(writer);
        drain.await.unwrap();
    }

    #[tokio::test]
    async fn a_program_that_became_shorter_is_not_sent_as_if_it_were_whole() {
        let (_reader, mut writer) = connected().await;
        let sent = send_pieces(&mut writer, pieces_of(&[1, 2][..], 3)).await;
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
