//! A client of key-value stores, the same for redis's protocol and for memcached's: one thread, which writes the
//! requests of each connection and then reads the replies of each. Every reply is checked.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

/// Keys that there are: more than fit into a processor's own caches.
pub(super) const KEYS: usize = 100_000;
/// Bytes of a value.
const VALUE: [u8; 32] = [b'v'; 32];
/// A server that says nothing for this long has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a store is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Of redis.
    Resp,
    /// Of memcached, in words.
    Memcached,
}

impl Protocol {
    /// As redis-benchmark names them.
    fn key(number: usize) -> String {
        format!("key:{number:012}")
    }

    fn set(self, key: usize) -> (Vec<u8>, Vec<u8>) {
        let key = Self::key(key);
        let (head, reply) = match self {
            Self::Resp => {
                (format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${}\r\n", key.len(), VALUE.len()), "+OK\r\n")
            }
            Self::Memcached => (format!("set {key} 0 0 {}\r\n", VALUE.len()), "STORED\r\n"),
        };
        ([head.as_bytes(), &VALUE, b"\r\n"].concat(), reply.into())
    }

    fn get(self, key: usize) -> (Vec<u8>, Vec<u8>) {
        let key = Self::key(key);
        let length = VALUE.len();
        match self {
            Self::Resp => (
                format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len()).into_bytes(),
                [format!("${length}\r\n").as_bytes(), &VALUE, b"\r\n"].concat(),
            ),
            Self::Memcached => (
                format!("get {key}\r\n").into_bytes(),
                [format!("VALUE {key} 0 {length}\r\n").as_bytes(), &VALUE, b"\r\nEND\r\n"].concat(),
            ),
        }
    }
}

/// Connections, to one server or to several in turn.
pub(super) struct Client {
    connections: Vec<TcpStream>,
    protocol: Protocol,
    replies: Vec<u8>,
}

impl Client {
    /// This many connections to the servers at these ports of this machine.
    pub(super) fn connect(protocol: Protocol, ports: &[u16], connections: usize) -> io::Result<Self> {
        let connect = |port: &u16| {
            let connection = TcpStream::connect((Ipv4Addr::LOCALHOST, *port))?;
            connection.set_nodelay(true)?;
            connection.set_read_timeout(Some(PATIENCE))?;
            connection.set_write_timeout(Some(PATIENCE))?;
            Ok(connection)
        };
        let connections = ports.iter().cycle().take(connections).map(connect).collect::<io::Result<_>>()?;
        Ok(Self { connections, protocol, replies: Vec::new() })
    }

    /// Gives a value to each key of each server, over one connection to each.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        const AT_ONCE: usize = 100;
        for connection in 0..self.connections.len() {
            for first in (0..KEYS).step_by(AT_ONCE) {
                let requests: Vec<_> = (first..first + AT_ONCE).map(|key| self.protocol.set(key)).collect();
                self.send(connection, &requests)?;
                self.receive(connection, &requests)?;
            }
        }
        Ok(())
    }

    /// Gets random keys, this many at a time on each connection. Returns the requests per second.
    pub(super) fn get(&mut self, at_once: usize, time: Duration) -> io::Result<f64> {
        let mut random = 1_u64;
        let mut key = || {
            // A linear congruential generator: Knuth, MMIX.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % KEYS
        };
        // Prepared beforehand, so that the servers are measured and not this.
        let batches: Vec<Vec<_>> = (0..self.connections.len())
            .map(|_| (0..at_once).map(|_| self.protocol.get(key())).collect())
            .collect();
        let begun = Instant::now();
        let mut answered = 0;
        while begun.elapsed() < time {
            for (connection, batch) in batches.iter().enumerate() {
                self.send(connection, batch)?;
            }
            for (connection, batch) in batches.iter().enumerate() {
                self.receive(connection, batch)?;
                answered += batch.len();
            }
        }
        Ok(answered as f64 / begun.elapsed().as_secs_f64())
    }

    fn send(&mut self, connection: usize, requests: &[(Vec<u8>, Vec<u8>)]) -> io::Result<()> {
        self.replies.clear();
        requests.iter().for_each(|(request, _)| self.replies.extend(request));
        self.connections[connection].write_all(&self.replies)
    }

    fn receive(&mut self, connection: usize, requests: &[(Vec<u8>, Vec<u8>)]) -> io::Result<()> {
        self.replies.resize(requests.iter().map(|(_, reply)| reply.len()).sum(), 0);
        self.connections[connection].read_exact(&mut self.replies)?;
        let mut rest = &self.replies[..];
        for (request, reply) in requests {
            let (found, others) = rest.split_at(reply.len());
            if found != reply {
                let [asked, found] = [request, found].map(String::from_utf8_lossy);
                return Err(io::Error::other(format!("{asked:?} was answered by {found:?}")));
            }
            rest = others;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    /// Answers each line that begins with these words with this text, until no more connections come.
    fn server(begin: &'static str, reply: String) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, reply) = (connection.unwrap(), reply.clone());
                std::thread::spawn(move || {
                    let lines = BufReader::new(connection.try_clone().unwrap()).lines();
                    for line in lines.map_while(Result::ok).filter(|line| line.starts_with(begin)) {
                        let reply = reply.replace("KEY", line.split(' ').nth(1).unwrap_or_default());
                        (&connection).write_all(reply.as_bytes()).unwrap();
                    }
                });
            }
        });
        port
    }

    #[test]
    fn replies_of_both_protocols_are_counted() {
        let value = "v".repeat(32);
        let servers = [
            (Protocol::Resp, server("GET", format!("$32\r\n{value}\r\n"))),
            (Protocol::Memcached, server("get", format!("VALUE KEY 0 32\r\n{value}\r\nEND\r\n"))),
        ];
        for (protocol, port) in servers {
            let mut client = Client::connect(protocol, &[port], 3).unwrap();
            assert!(client.get(4, Duration::from_millis(5)).unwrap() > 0.0);
        }
    }

    #[test]
    fn a_wrong_reply_is_an_error() {
        let port = server("GET", format!("$32\r\n{}\r\n", "w".repeat(32)));
        let mut client = Client::connect(Protocol::Resp, &[port], 1).unwrap();
        let error = client.get(1, Duration::from_millis(5)).unwrap_err();
        assert!(error.to_string().contains("was answered by"), "{error}");
    }
}
