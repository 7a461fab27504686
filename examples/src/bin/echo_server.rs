//! An echo server: what a client sends, it gets back. SIGTERM or Ctrl-C ends it.
//!
//! `cargo run --release -p examples --bin echo_server -- 127.0.0.1:7878`, then for example `nc 127.0.0.1 7878`. A connection that is
//! silent holds no buffer: `readable` waits without one.

use gossamer::net::{TcpListener, TcpStream};
use gossamer::signal::{SignalKind, Signals};
use std::io::{self, Read, Write};

#[gossamer::main]
fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7878".to_owned());
    let ending = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE])?;
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let connection = gossamer::select! {
            connection = listener.accept_async() => connection,
            signal = ending.recv_async() => {
                println!("ended by {}", signal?);
                return Ok(()); // fibers that wait for their clients are cancelled
            }
        };
        let (stream, peer) = connection?;
        // Nobody joins this fiber. Like its socket, it stays on this node.
        drop(gossamer::spawn(move || {
            if let Err(error) = echo(stream) {
                eprintln!("{peer}: {error}");
            }
        }));
    }
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    loop {
        stream.readable()?;
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            length => stream.write_all(&buffer[..length])?,
        }
    }
}
