//! The small programs.

use crate::child::{Watched, command, run};
use crate::client::Client;
use std::io::{BufRead, BufReader};
use std::process::Command;

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

#[test]
fn the_programs_of_one_subject_each_print_their_results() {
    prints(env!("CARGO_BIN_EXE_async_executor"), "42\n");
    prints(env!("CARGO_BIN_EXE_latch"), "spent all but some coins\n");
    prints(env!("CARGO_BIN_EXE_try_apply"), "at 2: 3\nat 7: it has panicked\n3 numbers are still there\n");
}

/// Where a counter server says that it listens.
fn address_of(server: &mut Watched) -> String {
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim_end().strip_prefix("listening on ").expect("it says where it listens").to_owned()
}

fn counter_server() -> Command {
    let mut command = command(env!("CARGO_BIN_EXE_counter_server"));
    command.arg("127.0.0.1:0").env("GOSSAMER_THREADS", "2");
    command
}

#[test]
fn the_counter_server_answers_every_connection_also_on_several_nodes() {
    for nodes in [2, 4] {
        let token = format!("{:064x}", u64::from(std::process::id()) << 8 | nodes);
        let names: Vec<_> =
            (0..nodes).map(|node| format!("unix:counter-{}-{nodes}-{node}", std::process::id())).collect();
        let start = |node: u64| {
            let mut command = counter_server();
            command.env("GOSSAMER_NODES", names.join(",")).env("GOSSAMER_NODE", node.to_string());
            Watched::start(command.env("GOSSAMER_TOKEN", &token).env("GOSSAMER_FABRIC", "shm"))
        };
        let mut servers: Vec<_> = (0..nodes).map(start).collect();
        let address = address_of(&mut servers[0]);
        for round in 0..10 {
            let mut clients: Vec<_> = (0..100).map(|_| Client::connect(&address)).collect();
            for (index, client) in clients.iter_mut().enumerate() {
                let count = 100 * round + index + 1;
                assert_eq!(client.answer("everybody\n"), format!("{count}\n"), "on {nodes} nodes");
            }
        }
    }
}

#[test]
fn the_counter_server_counts_over_all_its_clients() {
    let mut server = Watched::start(&mut counter_server());
    let address = &address_of(&mut server);

    let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(address)).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.answer("everybody\n"), format!("{}\n", index + 1));
        assert_eq!(client.answer(&format!("client {index}\n")), "1\n");
    }
    // A client that talks too much is hung up on, and nobody else notices.
    let mut chatterer = Client::connect(address);
    assert_eq!(chatterer.answer(&"x".repeat(1024)), "");
    assert_eq!(clients[7].answer("everybody\n"), "21\n");
}
