//! Clients that ask too much.

use crate::client::request;
use crate::servers::Server;

#[test]
fn a_long_number_in_hexadecimal_is_read_at_once() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let long = "1".repeat(4 << 20);
    assert_eq!(client.say(&format!("ZADD z 0x0.{long} a")), ":1\r\n");
    assert_eq!(client.say("ZSCORE z a"), "$20\r\n0.066666666666666666\r\n");
    assert_eq!(client.say(&format!("ZADD z 0x{long} a")), "-ERR value is not a valid float\r\n");
    assert_eq!(client.say(&format!("ZCOUNT z 0 0x{long}")), ":1\r\n");
}

#[test]
fn a_client_that_does_not_read_is_held_back_and_stalls_nobody() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let value = vec![b'v'; 4 << 20];
    for key in ["a", "b", "c"] {
        client.ask(&[b"SET", key.as_bytes(), &value]);
    }
    let mut slow = server.client();
    // 1.2 GB of replies.
    let requests: Vec<u8> =
        (0..100).flat_map(|_| ["a", "b", "c"]).flat_map(|key| request(&[b"GET", key.as_bytes()])).collect();
    slow.send(&requests);
    for number in 0..200 {
        assert_eq!(client.say("INCR count"), format!(":{}\r\n", number + 1));
    }
    assert_eq!(client.say("MSET a 1 b 2 c 3"), "+OK\r\n");
    let memory = server.resident_memory();
    assert!(memory < 300 << 20, "{memory} bytes");
    let replies: Vec<_> = (0..300).map(|_| slow.hear().len()).collect();
    assert!(replies.iter().all(|length| *length > value.len() || *length == 7), "{replies:?}");
}

#[test]
fn replies_before_a_command_that_waits_for_them_are_written_meanwhile() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.ask(&[b"SET", b"a", &vec![b'v'; 1_000_000]]);
    let before = server.resident_memory();
    for last in ["WATCH zz", "INFO", "DBSIZE", "PUBLISH b c", "HELLO 3", "KEYS zz"] {
        let mut slow = server.client();
        // 400 MB of replies.
        let mut requests: Vec<u8> = (0..400).flat_map(|_| request(&[b"GET", b"a"])).collect();
        requests.extend(request(&last.split(' ').map(str::as_bytes).collect::<Vec<_>>()));
        slow.send(&requests);
        // Meanwhile it has begun with them.
        (0..20).for_each(|_| assert!(slow.hear().len() > 1_000_000));
        assert_eq!(client.say("INCR count").len(), 4);
        let memory = server.resident_memory().saturating_sub(before);
        assert!(memory < 200 << 20, "{memory} bytes for {last}");
        (20..400).for_each(|_| assert!(slow.hear().len() > 1_000_000));
        assert_ne!(slow.hear(), b"", "{last} is answered");
    }
}

#[test]
fn no_more_clients_come_in_than_may() {
    let server = Server::start(&["--maxclients", "3"]);
    let mut clients: Vec<_> = (0..3).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.say("PING"), "+PONG\r\n"));
    assert_eq!(server.client().hear_to_the_end(), b"-ERR max number of clients reached\r\n");
    assert_eq!(clients.pop().unwrap().say("QUIT"), "+OK\r\n");
    while !server.client().is_served() {}
}

#[test]
fn who_has_no_password_can_do_and_send_little() {
    let server = Server::start(&["--requirepass", "secret"]);
    let mut client = server.client();
    assert_eq!(client.say("GET a"), "-NOAUTH Authentication required.\r\n");
    assert_eq!(
        client.say("AUTH wrong"),
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
    );
    assert_eq!(client.say("AUTH secret"), "+OK\r\n");
    assert_eq!(client.say("GET a"), "$-1\r\n");
    assert!(server.client().say("HELLO 3 AUTH default secret").starts_with("%7\r\n"));
    assert!(server.client().say("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
    let mut client = server.client();
    client.send(b"*11\r\n");
    assert_eq!(client.hear(), b"-ERR Protocol error: unauthenticated multibulk length\r\n");
    let mut client = server.client();
    client.send(b"*2\r\n$20000\r\n");
    assert_eq!(client.hear(), b"-ERR Protocol error: unauthenticated bulk length\r\n");
}

#[test]
fn memory_of_large_requests_and_of_clients_is_given_back() {
    let server = Server::start(&[]);
    server.client().say("PING");
    let before = server.resident_memory();
    let mut clients: Vec<_> = (0..200).map(|_| server.client()).collect();
    let value = vec![b'v'; 1 << 20];
    for client in &mut clients {
        client.ask(&[b"SET", b"key", &value]);
        client.say("GET key");
    }
    assert_eq!(clients[0].say("DEL key"), ":1\r\n");
    let after = server.resident_memory();
    // 200 clients that kept what they once had would have 400 MB.
    assert!(after < before + (64 << 20), "{before} bytes before, {after} after");
}

#[test]
fn keys_go_by_their_policy_when_memory_is_short_or_writes_are_refused() {
    let server = Server::start(&["--maxmemory", "2mb"]);
    let mut client = server.client();
    let value = [b'v'; 500];
    let set = |client: &mut crate::client::Client, key: &str| client.ask(&[b"SET", key.as_bytes(), &value]);
    let refused = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    let first = (0..10_000).find(|number| set(&mut client, &format!("key:{number}")) == refused);
    assert!(first.is_some_and(|first| first > 1000), "{first:?}");
    assert_eq!(client.say("DEL key:0"), ":1\r\n", "what takes no memory goes on");
    for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random"] {
        assert_eq!(client.say(&format!("CONFIG SET maxmemory-policy {policy}")), "+OK\r\n");
        (0..3000).for_each(|number| assert_eq!(set(&mut client, &format!("{policy}:{number}")), b"+OK\r\n"));
    }
    for policy in ["volatile-ttl", "volatile-lru", "volatile-lfu", "volatile-random"] {
        client.say("FLUSHALL");
        client.say(&format!("CONFIG SET maxmemory-policy {policy}"));
        (0..200).for_each(|number| assert_eq!(set(&mut client, &format!("stays:{number}")), b"+OK\r\n"));
        for number in 0..6000 {
            let time = (10_000 + number).to_string();
            let key = format!("goes:{number}");
            assert_eq!(client.ask(&[b"SET", key.as_bytes(), &value, b"EX", time.as_bytes()]), b"+OK\r\n");
        }
        let stay =
            (0..200).filter(|number| client.say(&format!("EXISTS stays:{number}")) == ":1\r\n").count();
        assert_eq!(stay, 200, "of {policy}");
        if policy == "volatile-ttl" {
            assert_eq!(client.say("EXISTS goes:0 goes:1 goes:2"), ":0\r\n", "the first to expire go first");
        }
    }
}

#[test]
fn without_memory_nothing_is_kept_for_exec_and_what_was_kept_is_done_if_it_takes_none() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let mut other = server.client();
    // As redis replies.
    let refused = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    assert_eq!(client.say("SET a 1") + &client.say("CONFIG SET maxmemory 1"), "+OK\r\n+OK\r\n");
    for command in ["SET a 2", "GET a"] {
        assert_eq!(client.say("MULTI") + &client.say(command), format!("+OK\r\n{refused}"));
        let aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
        assert_eq!(client.say("EXEC"), aborted, "after {command}");
    }
    for (command, reply) in [
        ("GET a", "*1\r\n$1\r\n1\r\n".to_owned()),
        ("SET a 2", format!("-EXECABORT Transaction discarded because of: {}", &refused[1..])),
    ] {
        other.say("CONFIG SET maxmemory 0");
        assert_eq!(client.say("MULTI") + &client.say(command), "+OK\r\n+QUEUED\r\n");
        other.say("CONFIG SET maxmemory 1");
        assert_eq!(client.say("EXEC"), reply);
    }
    let twice = "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - duplicate parameter\r\n";
    assert_eq!(client.say("CONFIG SET maxmemory 1 maxmemory 2"), twice);
}
