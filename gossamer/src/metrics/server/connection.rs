//! One connection: it reads a request, writes one answer, and ends.

use crate::metrics::text::TextFormat;
use mio::event::Source;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a request, and lines of its header.
const MOST_BYTES: usize = 8 * 1024;
const MOST_LINES: usize = 64;

/// A socket that does not block.
pub(super) trait ScrapeSocket: Read + Write + Source + Send {}

impl<T: Read + Write + Source + Send> ScrapeSocket for T {}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScrapeProgress {
    /// It waits for its peer.
    Waits,
    Over,
}

enum ScrapeState {
    Asking(Vec<u8>),
    /// The header and the body, and how many bytes of both were written.
    Answering {
        header: Vec<u8>,
        body: Arc<[u8]>,
        written: usize,
    },
}

pub(super) struct ScrapeConnection {
    pub(super) peer: Box<dyn ScrapeSocket>,
    /// Its deadline.
    pub(super) due: Instant,
    state: ScrapeState,
}

/// A request.
#[derive(Debug, PartialEq, Eq)]
enum ScrapeRequest {
    /// It is incomplete.
    More,
    Metrics {
        format: TextFormat,
        head_only: bool,
    },
    /// The status to answer with.
    Refused(&'static str),
}

impl ScrapeConnection {
    pub(super) fn new(peer: Box<dyn ScrapeSocket>, due: Instant) -> Self {
        Self { peer, due, state: ScrapeState::Asking(Vec::new()) }
    }

    /// Reads and writes until it has to wait. `text` gives the answer, or `None` once the node has ended.
    pub(super) fn go_on(&mut self, text: impl FnMut(TextFormat) -> Option<Arc<[u8]>>) -> ScrapeProgress {
        match self.try_go_on(text) {
            Ok(()) => ScrapeProgress::Over,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => ScrapeProgress::Waits,
            // The peer is gone, or was never there.
            Err(_) => ScrapeProgress::Over,
        }
    }

    fn try_go_on(&mut self, mut text: impl FnMut(TextFormat) -> Option<Arc<[u8]>>) -> io::Result<()> {
        if let ScrapeState::Asking(request) = &mut self.state {
            let mut asked = ScrapeRequest::More;
            while asked == ScrapeRequest::More {
                let mut some = [0; 1024];
                let count = retried(|| self.peer.read(&mut some))?;
                if count == 0 {
                    return Ok(());
                }
                request.extend_from_slice(&some[..count]);
                asked = understand(request);
            }
            self.state = answer(&asked, &mut text);
        }
        let ScrapeState::Answering { header, body, written } = &mut self.state else { return Ok(()) };
        while *written < header.len() + body.len() {
            let rest = match written.checked_sub(header.len()) {
                Some(at) => &body[at..],
                None => &header[*written..],
            };
            *written += retried(|| self.peer.write(rest))?;
        }
        Ok(())
    }
}

/// Takes bytes as a request that arrives in two parts, cut anywhere.
#[cfg(fuzzing)]
pub(crate) fn fuzz(bytes: &[u8]) {
    let (first, rest) = bytes.split_first().map_or((0, bytes), |(first, rest)| (usize::from(*first), rest));
    let whole = understand(rest);
    assert!(whole != ScrapeRequest::More || rest.len() < MOST_BYTES);
    // What was understood from a part must not change.
    let part = understand(&rest[..first.min(rest.len())]);
    assert!(part == ScrapeRequest::More || part == whole, "{part:?} became {whole:?}");
}

fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

fn understand(request: &[u8]) -> ScrapeRequest {
    let mut lines = [httparse::EMPTY_HEADER; MOST_LINES];
    let mut parsed = httparse::Request::new(&mut lines);
    match parsed.parse(request) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if request.len() < MOST_BYTES => return ScrapeRequest::More,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return ScrapeRequest::Refused("431 Request Header Fields Too Large");
        }
        Err(_) => return ScrapeRequest::Refused("400 Bad Request"),
    }
    let head_only = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return ScrapeRequest::Refused("405 Method Not Allowed"),
    };
    let path = parsed.path.unwrap_or_default();
    if path.split('?').next() != Some("/metrics") {
        return ScrapeRequest::Refused("404 Not Found");
    }
    let mut accepts = parsed.headers.iter().filter(|line| line.name.eq_ignore_ascii_case("accept"));
    let is_open = accepts.any(|line| line.value.windows(OPEN.len()).any(|some| some == OPEN));
    ScrapeRequest::Metrics {
        format: if is_open { TextFormat::OpenMetrics } else { TextFormat::Plain },
        head_only,
    }
}

/// A client that accepts this gets it.
const OPEN: &[u8] = b"application/openmetrics-text";

fn answer(asked: &ScrapeRequest, text: &mut impl FnMut(TextFormat) -> Option<Arc<[u8]>>) -> ScrapeState {
    let refused = |status: &str| {
        (status.to_owned(), "text/plain; charset=utf-8", format!("{status}\n").into_bytes().into())
    };
    let (status, kind, body): (String, &str, Arc<[u8]>) = match asked {
        ScrapeRequest::Metrics { format, .. } => match text(*format) {
            Some(text) => ("200 OK".to_owned(), format.content_type(), text),
            None => refused("503 Service Unavailable"),
        },
        ScrapeRequest::Refused(status) => refused(status),
        ScrapeRequest::More => refused("400 Bad Request"),
    };
    let header = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let is_head = matches!(asked, ScrapeRequest::Metrics { head_only: true, .. });
    let body = if is_head { Arc::default() } else { body };
    ScrapeState::Answering { header: header.into_bytes(), body, written: 0 }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_or_refused() {
        let asked = |text: &str| understand(text.as_bytes());
        let plain = ScrapeRequest::Metrics { format: TextFormat::Plain, head_only: false };
        assert_eq!(asked("GET /metrics HTTP/1.1\r\n"), ScrapeRequest::More);
        assert_eq!(asked("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), plain);
        assert_eq!(asked("GET /metrics?x HTTP/1.0\r\nAccept: */*\r\n\r\n"), plain);
        let open = "GET /metrics HTTP/1.1\r\naccept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n";
        assert_eq!(asked(open), ScrapeRequest::Metrics { format: TextFormat::OpenMetrics, head_only: false });
        let head = ScrapeRequest::Metrics { format: TextFormat::Plain, head_only: true };
        assert_eq!(asked("HEAD /metrics HTTP/1.1\r\n\r\n"), head);
        for (text, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\x16\x03\x01\x02", "400"),
            (&format!("GET /metrics HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65)), "431"),
            (&format!("GET /metrics HTTP/1.1\r\na: {}", "b".repeat(MOST_BYTES)), "431"),
        ] {
            assert!(
                matches!(asked(text), ScrapeRequest::Refused(told) if told.starts_with(status)),
                "{text:?}"
            );
        }
    }
}
