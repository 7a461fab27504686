//! Large messages over one connection, each answered by a word, a few under way at once; both ends block.

use super::between;
use crate::measure::{METER, Sample, Setting};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

/// As many messages under way as the setting says, of as many bytes.
pub fn bulk(setting: &Setting) -> Sample {
    between(setting, ask, serve)
}

fn ask(setting: &Setting, mut socket: &TcpStream) {
    let message = vec![7; setting.bytes];
    let send = |mut socket: &TcpStream| assert!(socket.write_all(&message).is_ok(), "the connection is lost");
    (1..setting.parallel).for_each(|_| send(socket));
    while !METER.stopped() {
        send(socket);
        let mut answer = [0; size_of::<u64>()];
        assert!(socket.read_exact(&mut answer).is_ok(), "the connection is lost");
        METER.add(0, 1);
    }
}

fn serve(setting: &Setting, mut socket: &TcpStream) {
    let mut message = vec![0; setting.bytes];
    loop {
        match socket.read_exact(&mut message) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                return;
            }
            Err(error) => panic!("reading: {error}"),
        }
        let answer = u64::from(message[message.len() - 1]).to_ne_bytes();
        if socket.write_all(&answer).is_err() {
            return; // the client has stopped
        }
    }
}
