//! A proxy: what a client sends goes to another server, and the answer comes back, without entering the memory of this
//! program.
//!
//! `cargo run --release -p examples --bin proxy -- 127.0.0.1:8000 example.org:80`, then `curl -H 'Host: example.org' http://127.0.0.1:8000/`.
//! The kernel moves the bytes, through pipes; SIGTERM or Ctrl-C ends it.

use gossamer::io::copy_bidirectional;
use gossamer::net::{TcpListener, TcpStream};
use gossamer::signal::{SignalKind, Signals};
use std::io;
use std::process::ExitCode;

#[gossamer::main]
fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [address, target] = arguments.as_slice() else {
        eprintln!("usage: proxy ADDRESS TARGET");
        return ExitCode::from(2);
    };
    match listen(address, target) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[gossamer::delegate]
fn listen(address: &str, target: &str) -> io::Result<()> {
    let ending = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE])?;
    let listener = TcpListener::builder().nodelay(true).bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    gossamer::scope(|s| {
        s.spawn(|| {
            if let Ok(signal) = ending.recv() {
                println!("ended by {signal}");
            }
            listener.close() // which ends `accept`
        });
        while let Ok((client, _peer)) = listener.accept() {
            let target = target.to_owned();
            // Nobody joins this fiber. Like its socket, it stays on this node.
            drop(gossamer::spawn(move || pass_on(client, &target)));
        }
    });
    Ok(())
}

fn pass_on(mut client: TcpStream, target: &str) {
    let outcome = TcpStream::connect(target).and_then(|mut server| {
        server.set_nodelay(true)?;
        copy_bidirectional(&mut client, &mut server)
    });
    if let Err(error) = outcome {
        eprintln!("{target}: {error}");
    }
}
