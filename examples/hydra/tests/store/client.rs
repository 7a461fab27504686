//! A client: sends bytes, and reads replies byte for byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(100);

pub trait Both: Read + Write + Send {}
impl<T: Read + Write + Send> Both for T {}

pub struct Client(BufReader<Box<dyn Both>>);

/// A request of words.
pub fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

impl Client {
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self(BufReader::new(Box::new(stream)))
    }

    pub fn connect_unix(path: &str) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self(BufReader::new(Box::new(stream)))
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// The next complete reply; if the connection ends, the part of it that came.
    pub fn hear(&mut self) -> Vec<u8> {
        let mut reply = Vec::new();
        self.hear_into(&mut reply);
        reply
    }

    fn hear_into(&mut self, reply: &mut Vec<u8>) {
        let start = reply.len();
        // A server that ends a connection may reset it.
        if self.0.read_until(b'\n', reply).is_err() || reply.len() == start {
            return;
        }
        let line = String::from_utf8_lossy(&reply[start..]).trim_end().to_owned();
        let number = || line[1..].parse::<i64>().unwrap();
        match line.as_bytes()[0] {
            b'$' | b'=' if number() >= 0 => {
                let at = reply.len();
                reply.resize(at + number() as usize + 2, 0);
                self.0.read_exact(&mut reply[at..]).unwrap();
            }
            b'*' => (0..number()).for_each(|_| self.hear_into(reply)),
            b'%' => (0..2 * number()).for_each(|_| self.hear_into(reply)),
            _ => {}
        }
    }

    /// Whatever comes until the connection ends.
    pub fn hear_to_the_end(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // As above.
        let _ = self.0.read_to_end(&mut bytes);
        bytes
    }

    /// As `say`; if the server has ended meanwhile, what came of the reply.
    pub fn try_say(&mut self, line: &str) -> String {
        // Only the reply tells whether it was received.
        let _ = self.0.get_mut().write_all(format!("{line}\r\n").as_bytes());
        String::from_utf8_lossy(&self.hear()).into_owned()
    }

    /// Whether the server accepts this client.
    pub fn is_served(&mut self) -> bool {
        // The server may refuse it and close its connection before it asks.
        let _ = self.0.get_mut().write_all(b"PING\r\n");
        self.hear() == b"+PONG\r\n"
    }

    /// The reply to a command of words.
    pub fn ask(&mut self, words: &[&[u8]]) -> Vec<u8> {
        self.send(&request(words));
        self.hear()
    }

    /// The same as text; words are separated by spaces.
    pub fn say(&mut self, line: &str) -> String {
        let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        String::from_utf8_lossy(&self.ask(&words)).into_owned()
    }
}
