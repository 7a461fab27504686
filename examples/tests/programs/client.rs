//! A client that says lines to a server, and hears lines.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(BufReader::new(stream))
    }

    /// The name by which the chats call it.
    pub fn name(&self) -> u16 {
        self.0.get_ref().local_addr().unwrap().port()
    }

    pub fn say(&mut self, line: &str) {
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
    }

    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    /// Ends what it says, and listens until the server hangs up, too.
    pub fn leave(&mut self) {
        self.0.get_ref().shutdown(Shutdown::Write).unwrap();
        while !self.hear().is_empty() {}
    }

    /// What it hears when it has said a line.
    pub fn answer(&mut self, line: &str) -> String {
        self.say(line);
        self.hear()
    }
}
