//! A chat over channels: a fiber is the room. It hears from all members, and tells each of them what it hears.
//!
//! `cargo run --release -p examples --bin chat_channels -- 127.0.0.1:7878`, then `nc 127.0.0.1 7878` in several terminals. A member
//! that is 100 lines behind is no longer told.

use gossamer::net::{TcpListener, TcpStream};
use gossamer::signal::{SignalKind, Signals};
use gossamer::sync::mpsc::{self, Receiver, Sender};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

const LONGEST_LINE: u64 = 1024;

/// What the room hears.
enum Event {
    Came(u16, Sender<Arc<str>>),
    Said(u16, String),
    Went(u16),
}

#[gossamer::main]
fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7878".to_owned());
    let ending = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE])?;
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    let (tell, heard) = mpsc::channel(100);
    // Sockets and channels stay on their node, and so do the fibers that use them.
    drop(gossamer::spawn(move || room(heard)));
    loop {
        let connection = gossamer::select! {
            connection = listener.accept_async() => connection,
            signal = ending.recv_async() => {
                println!("ended by {}", signal?);
                return Ok(());
            }
        };
        let ((stream, peer), tell) = (connection?, tell.clone());
        let (output, (to_member, lines)) = (stream.try_clone()?, mpsc::channel(100));
        drop(gossamer::spawn(move || write(lines, output)));
        drop(gossamer::spawn(move || listen(stream, peer.port(), &tell, to_member)));
    }
}

fn write(lines: Receiver<Arc<str>>, mut output: TcpStream) {
    // If this fails, the member has gone, which it reports itself.
    drop(lines.map(|line| output.write_all(line.as_bytes())).find(Result::is_err));
}

/// Tells the room what a member says. Without a room the program ends.
fn listen(stream: TcpStream, name: u16, room: &Sender<Event>, member: Sender<Arc<str>>) {
    let (mut lines, mut line) = (BufReader::new(stream), String::new());
    let mut told = room.send(Event::Came(name, member));
    while told.is_ok()
        && lines.by_ref().take(LONGEST_LINE).read_line(&mut line).is_ok_and(|length| length > 0)
    {
        told = room.send(Event::Said(name, std::mem::take(&mut line)));
    }
    drop(room.send(Event::Went(name)));
}

fn room(heard: Receiver<Event>) {
    let mut members = HashMap::new();
    for event in heard {
        let line: Arc<str> = match event {
            Event::Came(name, member) => {
                members.insert(name, member);
                format!("{name} is here\n").into()
            }
            Event::Said(name, line) => format!("{name}: {}\n", line.trim_end()).into(),
            Event::Went(name) => {
                members.remove(&name);
                continue;
            }
        };
        members.retain(|_, member| member.try_send(Arc::clone(&line)).is_ok());
    }
}
