//! The small programs.

use crate::child::{Watched, command, run};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Runs a program with every small number of threads, and expects the same output from all.
fn prints(program: &str, expected: &str) {
    for threads in ["1", "2", "3", "8"] {
        let output = run(command(program).env("GOSSAMER_THREADS", threads)).well();
        assert_eq!(String::from_utf8_lossy(&output), expected, "on {threads} threads");
    }
}

#[test]
fn the_first_program_of_the_readme_greets() {
    prints(env!("CARGO_BIN_EXE_hello"), "1 greeting\n");
}

#[test]
fn the_program_of_table_two_adds_its_second_greeting() {
    prints(env!("CARGO_BIN_EXE_table_two"), "added second greeting\n");
}

#[test]
fn the_bank_loses_no_coin() {
    let expected = "100000 transfers by 50 tellers: 100000 coins before and after\n\
                    7 coins from an account with 5: refused, 2 coins are missing\n";
    prints(env!("CARGO_BIN_EXE_bank"), expected);
}

/// A client of the counter server.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(BufReader::new(stream))
    }

    fn answer(&mut self, line: &str) -> String {
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        answer
    }
}

#[test]
fn the_counter_server_counts_over_all_its_clients() {
    let mut command = command(env!("CARGO_BIN_EXE_counter_server"));
    let mut server = Watched::start(command.arg("127.0.0.1:0").env("GOSSAMER_THREADS", "2"));
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening on ").expect("it says where it listens");

    let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(address)).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.answer("everybody\n"), format!("{}\n", index + 1));
        assert_eq!(client.answer(&format!("client {index}\n")), "1\n");
    }
    // One that talks too much is hung up on, which nobody else notices.
    let mut chatterer = Client::connect(address);
    assert_eq!(chatterer.answer(&"x".repeat(1024)), "");
    assert_eq!(clients[7].answer("everybody\n"), "21\n");
}
