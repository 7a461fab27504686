//! HTTP servers with two threads, in a process of their own, with one client in this process. They parse and print with
//! the same crate, khttp, and differ in how they wait.

mod gossamer;
mod tokio;

pub use self::gossamer::gossamer;
pub use self::tokio::tokio;

use crate::clock;
use crate::measure::{METER, Sample, Setting};
use crate::partner::Partner;
use khttp::{Headers, HttpParsingError, HttpPrinter, Request, Status};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

/// Where this process listens for the message from its server.
const PORT: &str = "TABLE_HTTP_PORT";
/// Bytes that a server reads at once.
const BUFFER: usize = 16 * 1024;
const REQUEST: &[u8] = b"GET /hello HTTP/1.1\r\nHost: localhost\r\nUser-Agent: table\r\nAccept: */*\r\n\r\n";
const BODY: &[u8] = b"hello, world\n";

/// What `serve` does when `parallel` connections ask it, `objects` requests at a time each. It is given the connection to the process that
/// measures: it says its address there, and ends when that closes.
fn asked(setting: &Setting, serve: fn(&Setting, TcpStream)) -> Sample {
    if let Some(port) = std::env::var(PORT).ok().and_then(|port| port.parse::<u16>().ok()) {
        let report = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        serve(setting, report.unwrap_or_else(|error| panic!("nobody measures: {error}")));
        std::process::exit(0);
    }
    measure(setting).unwrap_or_else(|error| panic!("no server: {error}"))
}

fn measure(setting: &Setting) -> io::Result<Sample> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let partner = Partner::start(&[(PORT, listener.local_addr()?.port().to_string())]);
    let (mut report, _) = listener.accept()?;
    let mut port = [0; 2];
    report.read_exact(&mut port)?;
    let (server, connections, at_once) = (u16::from_le_bytes(port), setting.parallel, setting.objects);
    let client = std::thread::spawn(move || ask(server, connections, at_once));
    let sample = METER.watch_all(setting, 1, &|| clock::of_process(partner.id()));
    client.join().unwrap_or_else(|_| panic!("the client panicked"))?;
    drop(report);
    partner.join();
    Ok(sample)
}

/// Asks by all connections, then hears from all, until the meter stops.
fn ask(port: u16, connections: usize, at_once: usize) -> io::Result<()> {
    let connect = |_| {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let mut streams = (0..connections).map(connect).collect::<io::Result<Vec<_>>>()?;
    let (requests, length) = (REQUEST.repeat(at_once), response_length());
    let mut answers = vec![0; length * at_once];
    while !METER.stopped() {
        for stream in &mut streams {
            stream.write_all(&requests)?;
        }
        for stream in &mut streams {
            stream.read_exact(&mut answers)?;
            assert!(answers.ends_with(BODY), "an answer of another length");
        }
        METER.add(0, (connections * at_once) as u64);
    }
    Ok(())
}

/// All responses are of one length: their dates are.
fn response_length() -> usize {
    let mut response = Vec::new();
    respond(&mut response);
    response.len()
}

fn respond(output: &mut Vec<u8>) {
    // Memory takes whatever is written.
    let written = HttpPrinter::write_response_bytes(output, &Status::OK, Headers::empty(), BODY);
    written.unwrap_or_else(|error| panic!("a response: {error}"));
}

/// Answers what requests there are in `input`, and takes them out.
fn answer(input: &mut Vec<u8>, output: &mut Vec<u8>) {
    let mut taken = 0;
    loop {
        match Request::parse(&input[taken..]) {
            Ok(request) => {
                assert_eq!(request.uri.path(), "/hello");
                taken += request.buf_offset;
                respond(output);
            }
            Err(HttpParsingError::UnexpectedEof) => break,
            Err(error) => panic!("a request: {error}"),
        }
    }
    input.drain(..taken);
}

/// Says where a server listens.
fn tell(mut report: &TcpStream, address: SocketAddr) {
    let told = report.write_all(&address.port().to_le_bytes());
    told.unwrap_or_else(|error| panic!("nobody measures: {error}"));
}

/// Waits until the measurement is over.
fn wait_for_end(mut report: &TcpStream) {
    // An error is an end, too.
    let _end = report.read(&mut [0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_come_in_parts_are_answered_when_they_are_whole() {
        let (mut input, mut output) = (REQUEST.repeat(2), Vec::new());
        let rest = input.split_off(REQUEST.len() + 10);
        answer(&mut input, &mut output);
        assert_eq!(output.len(), response_length());
        input.extend_from_slice(&rest);
        answer(&mut input, &mut output);
        assert_eq!((input.len(), output.len()), (0, 2 * response_length()));
    }
}
