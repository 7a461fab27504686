//! A listener on each worker, and a fiber for each connection.

use super::{BUFFER, answer, asked, tell, wait_for_end};
use crate::measure::{Sample, Setting};
use ::gossamer::Config;
use ::gossamer::net::{self, TcpStream};
use std::io::{Read, Write};

/// Fibers.
pub fn gossamer(setting: &Setting) -> Sample {
    asked(setting, |setting, report| {
        ::gossamer::run(Config::default().threads(setting.workers), move || {
            let acceptors = net::serve("127.0.0.1:0", serve, ());
            let acceptors = acceptors.unwrap_or_else(|error| panic!("no listener: {error}"));
            tell(&report, acceptors.local_addr());
            ::gossamer::unblock(move || wait_for_end(&report));
        });
    })
}

fn serve(mut stream: TcpStream, (): ()) {
    let (mut input, mut output, mut buffer) = (Vec::new(), Vec::new(), vec![0; BUFFER]);
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        input.extend_from_slice(&buffer[..length]);
        answer(&mut input, &mut output);
        if stream.write_all(&output).is_err() {
            return;
        }
        output.clear();
    }
}
