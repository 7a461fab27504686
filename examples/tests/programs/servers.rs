//! The servers, with real clients, on one process and on four nodes; each ends well by SIGTERM and by Ctrl-C.

use crate::client::Client;
use crate::nodes::Nodes;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

#[test]
fn the_echo_server_answers_every_connection_with_what_it_sends() {
    for nodes in [1, 4] {
        let mut server = Nodes::start(env!("CARGO_BIN_EXE_echo_server"), nodes, &["127.0.0.1:0"]);
        let address = server.address();
        let mut clients: Vec<_> = (0..100).map(|_| Client::connect(&address)).collect();
        for round in 0..3 {
            clients.iter_mut().for_each(|client| client.say(&format!("{round} {}\n", client.name())));
            for client in &mut clients {
                assert_eq!(client.hear(), format!("{round} {}\n", client.name()));
            }
        }
        let large = vec![7; 100_000];
        let mut stream = TcpStream::connect(&address).unwrap();
        let mut writer = stream.try_clone().unwrap();
        let sent = large.clone();
        let writer = std::thread::spawn(move || {
            writer.write_all(&sent).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut echoed = Vec::new();
        stream.read_to_end(&mut echoed).unwrap();
        writer.join().unwrap();
        assert!(echoed == large);
        server.end_by_sigterm();
        assert_eq!(clients[0].hear(), "", "it has hung up");
    }
}

/// Each member gets the lines of each member, in the order in which that member has sent them, and none of those who
/// have gone.
fn chat(program: &str) {
    for nodes in [1, 4] {
        let mut server = Nodes::start(program, nodes, &["127.0.0.1:0"]);
        let address = server.address();
        let mut members = Vec::new();
        for _ in 0..10 {
            members.push(Client::connect(&address));
            let line = format!("{} is here\n", members[members.len() - 1].name());
            members.iter_mut().for_each(|member| assert_eq!(member.hear(), line));
        }
        for speaker in 0..10 {
            members[speaker].say("hello\nand good day\n");
            let name = members[speaker].name();
            for member in &mut members {
                assert_eq!(
                    [member.hear(), member.hear()],
                    [format!("{name}: hello\n"), format!("{name}: and good day\n")]
                );
            }
        }
        members.split_off(1).iter_mut().for_each(Client::leave);
        members[0].say("anybody?\n");
        let line = format!("{}: anybody?\n", members[0].name());
        assert_eq!(members[0].hear(), line);
        server.end_by_sigterm();
    }
}

#[test]
fn members_of_the_chat_of_latches_hear_each_other() {
    chat(env!("CARGO_BIN_EXE_chat_latch"));
}

#[test]
fn members_of_the_chat_by_channels_hear_each_other() {
    chat(env!("CARGO_BIN_EXE_chat_channels"));
}

#[test]
fn the_service_of_tokio_counts_over_all_its_clients() {
    let mut server = Nodes::start(env!("CARGO_BIN_EXE_tokio_service"), 1, &["127.0.0.1:0"]);
    let address = server.address();
    let mut clients: Vec<_> = (0..20).map(|_| Client::connect(&address)).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        client.say("everybody\n");
        assert_eq!(client.hear(), format!("{}\n", index + 1));
        client.say(&format!("client {index}\n"));
        assert_eq!(client.hear(), "1\n");
    }
    server.end_by_sigterm();
}

/// A server that is ended by a signal while one client waits for it and another has just come.
fn ends_well(program: &str, nodes: usize, signal: &str) {
    let mut server = Nodes::start(program, nodes, &["127.0.0.1:0"]);
    let address = server.address();
    let mut client = Client::connect(&address);
    client.say("hello\n");
    assert_ne!(client.hear(), "", "it answers");
    let _silent = Client::connect(&address);
    server.end_by(signal);
    while !client.hear().is_empty() {}
    assert!(TcpStream::connect(&address).is_err(), "nobody listens any more");
}

#[test]
fn every_server_ends_well_by_sigint_and_by_sigterm_whatever_its_clients_do() {
    for signal in ["INT", "TERM"] {
        for nodes in [1, 4] {
            ends_well(env!("CARGO_BIN_EXE_counter_server"), nodes, signal);
            ends_well(env!("CARGO_BIN_EXE_echo_server"), nodes, signal);
            ends_well(env!("CARGO_BIN_EXE_chat_latch"), nodes, signal);
            ends_well(env!("CARGO_BIN_EXE_chat_channels"), nodes, signal);
        }
        ends_well(env!("CARGO_BIN_EXE_tokio_service"), 1, signal);
    }
}
