//! A chat whose members are latches: a line is written to each of them by a closure that may wait, one at a time.
//!
//! `cargo run --release -p examples --bin chat_latch -- 127.0.0.1:7878`, then `nc 127.0.0.1 7878` in several terminals. A member that
//! reads slowly holds up nobody: `launch_then` does not wait.

use gossamer::net::{TcpListener, TcpStream};
use gossamer::signal::{SignalKind, Signals};
use gossamer::{Latch, Trust};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};

/// Longer lines are split.
const LONGEST_LINE: u64 = 1024;

type Member = Trust<Latch<TcpStream>>;
type Members = Trust<HashMap<String, Member>>;

#[gossamer::main]
fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7878".to_owned());
    let ending = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE])?;
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    let members: Members = gossamer::entrust(HashMap::new());
    loop {
        let connection = gossamer::select! {
            connection = listener.accept_async() => connection,
            signal = ending.recv_async() => {
                println!("ended by {}", signal?);
                return Ok(());
            }
        };
        let ((stream, peer), members) = (connection?, members.clone());
        // Nobody joins this fiber. Like its socket, it stays on this node.
        drop(gossamer::spawn(move || {
            let name = peer.port().to_string();
            if let Err(error) = talk(stream, &name, &members) {
                eprintln!("{name}: {error}");
            }
            members.apply(move |members| members.remove(&name).is_some());
        }));
    }
}

#[gossamer::delegate]
fn talk(stream: TcpStream, name: &str, members: &Members) -> io::Result<()> {
    let member: Member = gossamer::entrust(Latch::new(stream.try_clone()?));
    let own_name = name.to_owned();
    members.apply(move |members| members.insert(own_name, member).is_none());
    tell(members, &format!("{name} is here\n"));
    let (mut lines, mut line) = (BufReader::new(stream), String::new());
    while lines.by_ref().take(LONGEST_LINE).read_line(&mut line)? > 0 {
        tell(members, &format!("{name}: {}\n", line.trim_end()));
        line.clear();
    }
    Ok(())
}

#[gossamer::delegate]
fn tell(members: &Members, line: &str) {
    let all: Vec<Member> = members.apply(|members| members.values().cloned().collect());
    for member in all {
        let line = line.to_owned();
        // When a member goes, its own fiber takes it off the list.
        member.launch_then(move |stream| stream.write_all(line.as_bytes()).is_ok(), |_written| ());
    }
}
