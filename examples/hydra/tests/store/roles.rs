//! Workers that only keep keys.

use crate::servers::{Server, refused};

/// Tries commands that go to several shards, that wait, and that reach other clients.
fn works(server: &Server) {
    let mut clients: Vec<_> = (0..4).map(|_| server.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.say(&format!("MSET a:{number} 1 b:{number} 2 c:{number} 3")), "+OK\r\n");
        assert_eq!(client.say(&format!("INCR a:{number}")), ":2\r\n");
    }
    let [first, second, third, ..] = &mut clients[..] else { unreachable!() };
    assert_eq!(first.say("DBSIZE"), ":12\r\n");
    assert_eq!(first.say("MULTI"), "+OK\r\n");
    assert_eq!(first.say("RENAME a:0 d"), "+QUEUED\r\n");
    assert_eq!(first.say("EXEC"), "*1\r\n+OK\r\n");
    second.send(b"BLPOP row 0\r\n");
    assert_eq!(third.say("RPUSH row x"), ":1\r\n");
    assert_eq!(second.hear(), b"*2\r\n$3\r\nrow\r\n$1\r\nx\r\n");
    assert!(second.say("SUBSCRIBE news").starts_with("*3\r\n"));
    assert_eq!(third.say("PUBLISH news now"), ":1\r\n");
    assert_eq!(second.hear(), b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$3\r\nnow\r\n");
}

#[test]
fn workers_that_have_keys_serve_no_clients_and_any_client_finds_all_keys() {
    let server = Server::start(&["--trustees", "1"]);
    assert!(server.client().say("INFO server").contains("hydra_shards:1\r\n"));
    works(&server);
}

#[test]
fn each_node_of_a_rack_keeps_workers_for_keys() {
    let server = Server::start_rack_with(2, &["--trustees", "1"]);
    assert!(server.client().say("INFO server").contains("hydra_shards:2\r\n"));
    works(&server);
}

#[test]
fn a_server_without_a_worker_for_clients_is_refused() {
    let said = refused(&["--port", "0", "--trustees", "2"]);
    assert!(said.contains("--trustees 2 leaves no worker for clients on node 0, which has 2"), "{said}");
}
