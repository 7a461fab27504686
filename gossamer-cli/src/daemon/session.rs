//! One connection to a daemon: the proof of the key, the first request, and the answers to all requests but launches.

use super::Daemon;
use super::gate::Ticket;
use super::launch;
use crate::channel::{self, Reader, Writer};
use crate::protocol::{self, HANDSHAKE, Hello, PROTOCOL, Reply, Request, Status, decode, encode};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Serves a connection to its end.
pub async fn serve(daemon: Arc<Daemon>, stream: TcpStream, peer: SocketAddr, ticket: Ticket) {
    let opened = match timeout(HANDSHAKE, open(&daemon, stream)).await {
        Ok(opened) => opened,
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut)),
    };
    drop(ticket);
    match opened {
        Ok((_, mut writer, Request::Launch(launch))) if daemon.stopping_now() => {
            let _ = (launch, send(&mut writer, &Reply::Refused("the daemon is being stopped".into())).await);
        }
        Ok((reader, writer, Request::Launch(launch))) => {
            launch::serve(&daemon, reader, writer, *launch).await
        }
        Ok((_, mut writer, request)) => {
            let reply = daemon.answer(request);
            let _ = timeout(HANDSHAKE, send(&mut writer, &reply)).await;
        }
        Err(error) => daemon.refusals.add(&format!("refused {}: {error}", peer.ip())),
    }
}

/// What both sides say first. Only its first message proves that the peer knows the key, and has not just recorded the
/// handshake of one who does.
async fn open(daemon: &Daemon, stream: TcpStream) -> io::Result<(Reader, Writer, Request)> {
    let (mut reader, mut writer) = channel::respond(stream, &daemon.key).await?;
    let hello: Hello = decode(&receive(&mut reader).await?)?;
    writer.send(&encode(&Hello::own())?).await?;
    if hello.protocol != PROTOCOL {
        let what = format!("its protocol is {}, not {PROTOCOL} (gossamer {})", hello.protocol, hello.version);
        return Err(io::Error::other(what));
    }
    let request = decode(&receive(&mut reader).await?)?;
    Ok((reader, writer, request))
}

async fn receive(reader: &mut Reader) -> io::Result<Vec<u8>> {
    reader.receive().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Sends a reply.
pub async fn send(writer: &mut Writer, reply: &Reply) -> io::Result<()> {
    writer.send(&protocol::encode(reply)?).await
}

impl Daemon {
    fn stopping_now(&self) -> bool {
        *self.stopping.borrow()
    }

    fn answer(&self, request: Request) -> Reply {
        match request {
            Request::Status => Reply::Status(self.status()),
            Request::List => Reply::List(self.registry.list()),
            Request::Kill { application, by } => Reply::Killed(self.registry.kill(&application, &by)),
            Request::Logs { application } => Reply::Logs(self.registry.logs(&application)),
            Request::Launch(_)
            | Request::Binary(_)
            | Request::Start { .. }
            | Request::Command(_)
            | Request::Beat => Reply::Refused("this belongs into a launch".into()),
        }
    }

    fn status(&self) -> Status {
        let listed = self.registry.list();
        let nodes = listed.iter().flat_map(|application| &application.nodes);
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Status {
            up_seconds: self.started.elapsed().as_secs(),
            processors: u32::try_from(processors).unwrap_or(u32::MAX),
            load_hundredths: (load * 100.0) as u64,
            memory: memory(&fs::read_to_string("/proc/meminfo").unwrap_or_default()),
            applications: u32::try_from(listed.len()).unwrap_or(u32::MAX),
            nodes: u32::try_from(nodes.filter(|node| node.2.is_none()).count()).unwrap_or(u32::MAX),
            cache: self.cache.room(),
            machines: self
                .rack
                .machines()
                .into_iter()
                .map(|machine| (machine.name, machine.address))
                .collect(),
        }
    }
}

/// Memory, and memory that is available, in bytes.
fn memory(text: &str) -> (u64, u64) {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kibibytes.unwrap_or(0) << 10
    };
    (field("MemTotal:"), field("MemAvailable:"))
}
