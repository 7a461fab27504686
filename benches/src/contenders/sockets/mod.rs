//! The speed of a plain TCP connection between two processes: the limit for everything that goes over one.

mod bulk;
mod echo;

pub use bulk::bulk;
pub use echo::{blocking, spinning};

use crate::latency::Latency;
use crate::machine;
use crate::measure::{METER, Sample, Setting};
use crate::partner::Partner;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Where the client listens, for the process that serves it.
const PORT: &str = "TABLE_PORT";

/// Runs `serve` in a second process, and `ask` in this one, each on a processor and at an end of a connection, until the
/// meter stops.
pub(super) fn between(
    setting: &Setting,
    ask: fn(&Setting, &TcpStream),
    serve: fn(&Setting, &TcpStream),
) -> Sample {
    let setting = *setting;
    match connect(&setting, serve) {
        Ok((socket, partner)) => {
            let client = machine::pinned(0, move || ask(&setting, &socket));
            let sample = METER.watch_all(&setting, 1, &|| partner.used_by_both());
            assert!(client.join().is_ok(), "the client panicked");
            partner.join();
            Sample { latency: Latency::found(), ..sample }
        }
        Err(error) => panic!("no connection: {error}"),
    }
}

/// In the second process: serves, and ends it.
fn connect(setting: &Setting, serve: fn(&Setting, &TcpStream)) -> std::io::Result<(TcpStream, Partner)> {
    if let Some(port) = std::env::var(PORT).ok().and_then(|port| port.parse::<u16>().ok()) {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        socket.set_nodelay(true)?;
        machine::pin(1);
        serve(setting, &socket);
        std::process::exit(0);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let partner = Partner::start(&[(PORT, listener.local_addr()?.port().to_string())]);
    let (socket, _) = listener.accept()?;
    socket.set_nodelay(true)?;
    Ok((socket, partner))
}
