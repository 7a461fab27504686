//! Clients that wait for a list or a sorted set.

use crate::client::{Client, request};
use crate::servers::Server;
use std::thread;
use std::time::Duration;

fn send(client: &mut Client, line: &str) {
    client.send(&request(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>()));
}

fn hear(client: &mut Client) -> String {
    String::from_utf8_lossy(&client.hear()).into_owned()
}

/// Waits until this many clients wait.
fn wait_for_blocked(server: &Server, count: usize) {
    let mut client = server.client();
    while !client.say("INFO clients").contains(&format!("blocked_clients:{count}\r\n")) {}
}

fn pair(key: &str, element: &str) -> String {
    format!("*2\r\n${}\r\n{key}\r\n${}\r\n{element}\r\n", key.len(), element.len())
}

#[test]
fn who_waits_first_is_served_first_whichever_worker_it_is_of() {
    let server = Server::start(&[]);
    let mut waiting: Vec<_> = (0..8).map(|_| server.client()).collect();
    for (index, client) in waiting.iter_mut().enumerate() {
        // Some wait for several keys, which are on several shards.
        send(client, if index % 2 == 0 { "BLPOP row 0" } else { "BLPOP a b c row d e f 0" });
        wait_for_blocked(&server, index + 1);
    }
    let mut client = server.client();
    for (index, waiting) in waiting.iter_mut().enumerate() {
        client.say(&format!("RPUSH row {index}"));
        assert_eq!(hear(waiting), pair("row", &index.to_string()));
    }
    assert_eq!(client.say("EXISTS row"), ":0\r\n");
    wait_for_blocked(&server, 0);
}

#[test]
fn a_key_of_another_type_is_refused_at_once_although_others_wait_for_it() {
    let server = Server::start(&[]);
    let (mut waiting, mut ranked) = (server.client(), server.client());
    send(&mut waiting, "BLPOP row 0");
    send(&mut ranked, "BZPOPMIN row 0");
    wait_for_blocked(&server, 2);
    let mut client = server.client();
    client.say("SET row text");
    for line in [
        "BLPOP row 0",
        "BRPOP nosuch row 0",
        "BLMPOP 0 1 row LEFT",
        "BLMOVE row other LEFT LEFT 0",
        "BZPOPMAX row 0",
        "BZMPOP 0 2 nosuch row MIN",
    ] {
        let reply = client.say(line);
        assert!(reply.starts_with("-WRONGTYPE "), "{line}: {reply}");
    }
    client.say("DEL row");
    client.say("RPUSH row a");
    assert_eq!(hear(&mut waiting), pair("row", "a"));
}

#[test]
fn who_has_waited_passes_over_keys_that_have_another_type_now() {
    let server = Server::start(&[]);
    let mut waiting = server.client();
    send(&mut waiting, "BLPOP first second third 0");
    wait_for_blocked(&server, 1);
    let mut client = server.client();
    client.say("SET first text");
    client.say("RPUSH third a");
    assert_eq!(hear(&mut waiting), pair("third", "a"));
}

#[test]
fn several_elements_serve_several_clients_and_the_rest_stays() {
    let server = Server::start(&[]);
    let mut waiting: Vec<_> = (0..3).map(|_| server.client()).collect();
    for (index, client) in waiting.iter_mut().enumerate() {
        send(client, "BLPOP row 0");
        wait_for_blocked(&server, index + 1);
    }
    let mut client = server.client();
    assert_eq!(client.say("RPUSH row 0 1 2 3 4"), ":5\r\n");
    for (index, waiting) in waiting.iter_mut().enumerate() {
        assert_eq!(hear(waiting), pair("row", &index.to_string()));
    }
    assert_eq!(client.say("LRANGE row 0 -1"), "*2\r\n$1\r\n3\r\n$1\r\n4\r\n");
}

#[test]
fn what_is_sent_while_a_client_waits_is_served_after_that() {
    let server = Server::start(&[]);
    let (mut client, mut other) = (server.client(), server.client());
    send(&mut client, "BLPOP row 0");
    wait_for_blocked(&server, 1);
    let second = request(&[b"ECHO", b"second"]);
    client.send(&[&request(&[b"PING"]), &second[..10]].concat());
    // So that it is read while the client waits.
    thread::sleep(Duration::from_millis(200));
    other.say("RPUSH row 1");
    assert_eq!(hear(&mut client), pair("row", "1"));
    assert_eq!(hear(&mut client), "+PONG\r\n");
    client.send(&second[10..]);
    assert_eq!(hear(&mut client), "$6\r\nsecond\r\n");
}

#[test]
fn who_has_gone_or_waited_enough_takes_nothing() {
    let server = Server::start(&[]);
    let (mut gone, mut over, mut last) = (server.client(), server.client(), server.client());
    send(&mut gone, "BLPOP row other 0");
    wait_for_blocked(&server, 1);
    drop(gone);
    wait_for_blocked(&server, 0);
    for time in ["0.01", "1e-300"] {
        assert_eq!(over.say(&format!("BLPOP row {time}")), "*-1\r\n");
    }
    let mut patient = server.client();
    let number = patient.say("CLIENT ID")[1..].trim_end().to_owned();
    send(&mut patient, "BLPOP nosuch 9000000000000000");
    wait_for_blocked(&server, 1);
    assert_eq!(over.say(&format!("CLIENT UNBLOCK {number} ERROR")), ":1\r\n");
    assert_eq!(hear(&mut patient), "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
    send(&mut last, "BRPOP row 0");
    wait_for_blocked(&server, 1);
    let mut client = server.client();
    client.say("RPUSH row a");
    assert_eq!(hear(&mut last), pair("row", "a"));
}

#[test]
fn what_a_transaction_puts_in_and_takes_out_wakes_nobody() {
    let server = Server::start(&[]);
    let (mut waiting, mut client) = (server.client(), server.client());
    send(&mut waiting, "BLPOP row 0");
    wait_for_blocked(&server, 1);
    for line in ["MULTI", "RPUSH row a", "DEL row", "SET row x", "BLPOP nosuch 0"] {
        client.say(line);
    }
    assert_eq!(client.say("EXEC"), "*4\r\n:1\r\n:1\r\n+OK\r\n*-1\r\n", "nobody waits in a transaction");
    client.say("DEL row");
    client.say("ZADD row 1 a");
    client.say("DEL row");
    client.say("RPUSH row b");
    assert_eq!(hear(&mut waiting), pair("row", "b"));
}

#[test]
fn elements_go_round_lists_of_several_shards_and_none_is_lost() {
    let server = Server::start(&[]);
    let lists = 5;
    thread::scope(|scope| {
        for list in 0..lists {
            let mut client = server.client();
            scope.spawn(move || {
                for _ in 0..40 {
                    let next = (list + 1) % lists;
                    let reply = client.say(&format!("BLMOVE list:{list} list:{next} LEFT RIGHT 0"));
                    assert!(reply.starts_with('$') && reply != "$-1\r\n", "{reply}");
                }
            });
        }
        let mut client = server.client();
        (0..3).for_each(|element| drop(client.say(&format!("RPUSH list:0 {element}"))));
    });
    let mut client = server.client();
    let length = |list| client.say(&format!("LLEN list:{list}"))[1..].trim_end().parse::<usize>().unwrap();
    assert_eq!((0..lists).map(length).sum::<usize>(), 3);
}

#[test]
fn clients_of_other_nodes_wait_too_and_requests_behind_a_wait_are_kept() {
    let server = Server::start_rack(2);
    let mut waiting: Vec<_> = (0..6).map(|_| server.client()).collect();
    for client in &mut waiting {
        send(client, "BZPOPMIN a b c 0");
        send(client, "PING");
    }
    let mut client = server.client();
    for number in 0..waiting.len() {
        client.say(&format!("ZADD {} 1.5 {number}", ["a", "b", "c"][number % 3]));
    }
    for waiting in &mut waiting {
        let reply = hear(waiting);
        assert!(reply.starts_with("*3\r\n$1\r\n") && reply.ends_with("$3\r\n1.5\r\n"), "{reply}");
        assert_eq!(hear(waiting), "+PONG\r\n");
    }
}

#[test]
fn waiting_for_replicas_ends_with_its_time_since_there_are_none() {
    let server = Server::start(&[]);
    let mut client = server.client();
    assert_eq!(client.say("WAIT 0 0"), ":0\r\n");
    assert_eq!(client.say("WAIT 1 5"), ":0\r\n");
    assert_eq!(client.say("WAIT 1 x"), "-ERR timeout is not an integer or out of range\r\n");
    assert_eq!(client.say("WAIT 1 -1"), "-ERR timeout is negative\r\n");
    // For ever, until the client goes.
    let mut gone = server.client();
    send(&mut gone, "WAIT 1 0");
    wait_for_blocked(&server, 1);
    drop(gone);
    wait_for_blocked(&server, 0);
    for line in ["MULTI", "WAIT 1 0"] {
        client.say(line);
    }
    assert_eq!(client.say("EXEC"), "*1\r\n:0\r\n");
    let cluster = client.say("CLUSTER SLOTS");
    assert_eq!(cluster, "-ERR This instance has cluster support disabled\r\n");
    assert_eq!(client.say("ROLE"), "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
}

#[test]
fn clients_are_listed_by_their_numbers_and_types() {
    let server = Server::start(&[]);
    let (mut client, mut other) = (server.client(), server.client());
    let id = other.say("CLIENT ID").trim_start_matches(':').trim_end().to_owned();
    let lines = |text: String| text.lines().filter(|line| line.starts_with("id=")).count();
    assert_eq!(lines(client.say("CLIENT LIST")), 2);
    let listed = client.say(&format!("CLIENT LIST ID {id} 999999"));
    assert!(listed.contains(&format!("id={id} ")) && lines(listed) == 1);
    assert_eq!(lines(client.say("CLIENT LIST TYPE normal")), 2);
    assert_eq!(lines(client.say("CLIENT LIST TYPE replica")), 0);
    assert!(client.say("CLIENT LIST TYPE nosuch").starts_with("-ERR Unknown client type 'nosuch'"));
    assert_eq!(client.say("CLIENT LIST ID x"), "-ERR Invalid client ID\r\n");
    assert_eq!(client.say("CLIENT LIST NOSUCH"), "-ERR syntax error\r\n");
}
