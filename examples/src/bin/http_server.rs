//! An HTTP/1.1 server on each worker of each node. The crate `khttp` parses requests, reads bodies and prints
//! responses; it needs only `Read` and `Write`, and knows nothing of fibers.
//!
//! `cargo run --release -p examples --bin http_server -- 127.0.0.1:8080`, then `curl --data text http://127.0.0.1:8080/upper`.

use gossamer::Trust;
use gossamer::net::{self, TcpStream};
use gossamer::signal::{SignalKind, Signals};
use khttp::{BodyReader, Headers, HttpPrinter, Method, Request, Status};
use std::io::{self, Read};

/// Longer heads and bodies are refused.
const LARGEST: usize = 64 * 1024;

#[gossamer::main]
fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let ending = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE])?;
    let visits = gossamer::entrust(0);
    let acceptors = net::serve(address, serve, visits)?;
    println!("listening on {}", acceptors.local_addr());
    println!("ended by {}", ending.recv()?);
    acceptors.close()
}

fn serve(stream: TcpStream, visits: Trust<u64>) {
    if let Err(error) = answer_all(&stream, &visits) {
        eprintln!("{error}");
    }
}

/// Answers one request after the other, as long as the client keeps the connection.
fn answer_all(mut stream: &TcpStream, visits: &Trust<u64>) -> io::Result<()> {
    let mut input = Vec::new();
    loop {
        while !input.windows(4).any(|end| end == b"\r\n\r\n") {
            if input.len() >= LARGEST {
                return HttpPrinter::write_response_empty(stream, &Status::of(431), Headers::close());
            }
            stream.readable()?; // without a buffer, as long as the client is silent
            let mut more = [0; 4096];
            match stream.read(&mut more)? {
                0 => return Ok(()),
                length => input.extend_from_slice(&more[..length]),
            }
        }
        let Ok(request) = Request::parse(&input) else {
            return HttpPrinter::write_response_empty(stream, &Status::BAD_REQUEST, Headers::close());
        };
        let length = request.headers.get_content_length().unwrap_or(0) as usize;
        if length > LARGEST || request.headers.is_transfer_encoding_chunked() {
            return HttpPrinter::write_response_empty(stream, &Status::of(413), Headers::close());
        }
        let (end, closes) = (request.buf_offset + length, request.headers.is_connection_close());
        let body = BodyReader::new_fixed(&input[request.buf_offset..end.min(input.len())], stream, length);
        answer(stream, &request, body, visits)?;
        if closes {
            return Ok(());
        }
        input.drain(..end.min(input.len()));
    }
}

#[gossamer::delegate]
fn answer(to: &TcpStream, request: &Request, mut body: impl Read, visits: &Trust<u64>) -> io::Result<()> {
    let text = match (&request.method, request.uri.path()) {
        (Method::Get, "/") => "hello\n".to_owned(),
        (Method::Get, "/visits") => {
            let count = visits.apply(|visits| {
                *visits += 1;
                *visits
            });
            format!("{count}\n")
        }
        (Method::Post, "/upper") => io::read_to_string(&mut body)?.to_uppercase(),
        _ => return HttpPrinter::write_response_empty(to, &Status::NOT_FOUND, Headers::empty()),
    };
    HttpPrinter::write_response_bytes(to, &Status::OK, Headers::empty(), text.as_bytes())
}
