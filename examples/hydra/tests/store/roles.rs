//! Workers that only keep keys, and how clients end the server.

use crate::servers::{Directory, Server, refused};

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

#[test]
fn shutdown_ends_the_server_without_a_reply_and_saves_if_it_is_told_to() {
    let directory = Directory::new();
    let arguments = ["--dir", directory.text()];
    for (how, keys) in [("SHUTDOWN", 0), ("SHUTDOWN SAVE", 1), ("shutdown nosave", 1)] {
        let mut server = Server::start(&arguments);
        let mut client = server.client();
        if how == "SHUTDOWN SAVE" {
            assert_eq!(client.say("SET saved 1"), "+OK\r\n");
        } else {
            // As the test before has left it.
            assert_eq!(client.say("DBSIZE"), if how == "SHUTDOWN" { ":0\r\n" } else { ":1\r\n" });
            assert_eq!(client.say("SET lost 1"), "+OK\r\n");
        }
        client.send(format!("{how}\r\n").as_bytes());
        assert_eq!(client.hear_to_the_end(), b"");
        assert!(server.wait().success(), "{how}");
        let server = Server::start(&arguments);
        assert_eq!(server.client().say("DBSIZE"), format!(":{keys}\r\n"), "after {how}");
    }
}

#[test]
fn shutdown_by_any_node_ends_all_and_what_it_does_not_know_is_refused() {
    let mut server = Server::start_rack_with(2, &[]);
    let mut client = server.client();
    assert_eq!(client.say("SHUTDOWN ABORT"), "-ERR No shutdown in progress.\r\n");
    assert_eq!(client.say("SHUTDOWN SAVE NOSAVE"), "-ERR syntax error\r\n");
    assert_eq!(client.say("SHUTDOWN soon"), "-ERR syntax error\r\n");
    client.send(b"SHUTDOWN NOW\r\n");
    assert_eq!(client.hear_to_the_end(), b"");
    assert!(server.wait().success());
}

#[test]
fn a_shutdown_that_cannot_save_is_refused_unless_it_is_forced() {
    let directory = Directory::new();
    let gone = directory.0.join("gone");
    std::fs::create_dir(&gone).unwrap();
    let mut server = Server::start(&["--dir", gone.to_str().unwrap()]);
    std::fs::remove_dir(&gone).unwrap();
    let mut client = server.client();
    let refused = "-ERR Errors trying to SHUTDOWN. Check logs.\r\n";
    assert_eq!(client.say("SHUTDOWN SAVE"), refused);
    assert_eq!(client.say("PING"), "+PONG\r\n");
    client.send(b"SHUTDOWN SAVE FORCE\r\n");
    assert_eq!(client.hear_to_the_end(), b"");
    assert!(server.wait().success());
    assert!(server.errors().contains("SHUTDOWN SAVE: cannot save to"));
}
