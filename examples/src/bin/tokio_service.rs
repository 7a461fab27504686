//! A service of tokio whose state is in properties: its tasks await what trustees answer.
//!
//! `cargo run --release -p examples --bin tokio_service -- 127.0.0.1:7878`; each line that a client sends is a name, and is answered
//! with how often it was sent so far. tokio runs on a thread of the pool for blocking work; SIGTERM or Ctrl-C ends it.

use gossamer::collections::DistMap;
use gossamer::signal::{SignalKind, Signals};
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Longer lines end their connection.
const LONGEST_LINE: u64 = 1024;

/// How often each name was sent.
type Counts = DistMap<String, u64>;

#[gossamer::main]
fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7878".to_owned());
    let ending = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE])?;
    let counts = Counts::new();
    gossamer::unblock(move || {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        tokio.block_on(async {
            let listener = TcpListener::bind(address).await?;
            println!("listening on {}", listener.local_addr()?);
            tokio::spawn(accept(listener, counts));
            println!("ended by {}", ending.recv_async().await?);
            Ok(())
        })
    })
}

async fn accept(listener: TcpListener, counts: Counts) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let counts = counts.clone();
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, counts).await {
                        eprintln!("{peer}: {error}");
                    }
                });
            }
            Err(error) => return eprintln!("{error}"),
        }
    }
}

async fn serve(stream: TcpStream, counts: Counts) -> io::Result<()> {
    let (input, mut output) = stream.into_split();
    let (mut input, mut line) = (BufReader::new(input), String::new());
    while (&mut input).take(LONGEST_LINE).read_line(&mut line).await? > 0 {
        let name = line.trim_end().to_owned();
        let count = counts.update_async(name, 0, |count| {
            *count += 1;
            *count
        });
        let count = count.await;
        output.write_all(format!("{count}\n").as_bytes()).await?;
        line.clear();
    }
    Ok(())
}
