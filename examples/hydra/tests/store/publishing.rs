//! Channels, and clients whose connections others end.

use crate::client::request;
use crate::servers::Server;
use std::sync::mpsc::sync_channel;
use std::thread;

#[test]
fn messages_come_to_all_who_have_subscribed_in_their_order() {
    for server in [Server::start(&[]), Server::start_rack(2)] {
        let mut subscribers: Vec<_> = (0..10).map(|_| server.client()).collect();
        for subscriber in &mut subscribers {
            assert_eq!(subscriber.say("SUBSCRIBE news"), "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
            assert_eq!(subscriber.say("PSUBSCRIBE n?ws"), "*3\r\n$10\r\npsubscribe\r\n$4\r\nn?ws\r\n:2\r\n");
        }
        let mut client = server.client();
        assert_eq!(
            client.say("PUBSUB NUMSUB news other"),
            "*4\r\n$4\r\nnews\r\n:10\r\n$5\r\nother\r\n:0\r\n"
        );
        for number in 0..50 {
            assert_eq!(client.say(&format!("PUBLISH news {number:03}")), ":20\r\n");
        }
        for subscriber in &mut subscribers {
            for number in 0..50 {
                let message = format!("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$3\r\n{number:03}\r\n");
                assert_eq!(String::from_utf8_lossy(&subscriber.hear()), message);
                let reply = subscriber.hear();
                assert!(reply.starts_with(b"*4\r\n$8\r\npmessage\r\n"), "{}", reply.escape_ascii());
            }
        }
    }
}

#[test]
fn an_empty_pattern_lists_only_the_channel_without_a_name() {
    let server = Server::start(&[]);
    let (mut client, mut subscriber) = (server.client(), server.client());
    subscriber.say("SUBSCRIBE a");
    assert_eq!(client.ask(&[b"PUBSUB", b"CHANNELS", b""]), b"*0\r\n");
    assert_eq!(client.say("PUBSUB CHANNELS"), "*1\r\n$1\r\na\r\n");
    subscriber.ask(&[b"SUBSCRIBE", b""]);
    assert_eq!(client.ask(&[b"PUBSUB", b"CHANNELS", b""]), b"*1\r\n$0\r\n\r\n");
    assert_eq!(client.say("PUBSUB CHANNELS"), "*2\r\n$0\r\n\r\n$1\r\na\r\n");
}

#[test]
fn who_has_subscribed_may_do_little_in_resp2_and_all_in_resp3() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.say("SUBSCRIBE a");
    assert!(client.say("GET a").starts_with("-ERR Can't execute 'get': only (P|S)SUBSCRIBE"));
    assert!(client.say("PUBSUB NUMPAT").starts_with("-ERR Can't execute 'pubsub|numpat': only"));
    assert_eq!(client.say("PING"), "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    assert_eq!(client.say("UNSUBSCRIBE"), "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n");
    assert_eq!(client.say("GET a"), "$-1\r\n");
    client.say("HELLO 3");
    client.send(&request(&[b"SUBSCRIBE", b"a"]));
    assert_eq!(client.hear(), b">3\r\n");
    (0..3).for_each(|_| drop(client.hear()));
    assert_eq!(client.say("GET a"), "_\r\n");
    // The client's own message comes before the reply.
    client.send(&request(&[b"PUBLISH", b"a", b"x"]));
    let heard: Vec<_> = (0..5).map(|_| client.hear()).collect();
    assert_eq!(heard.concat(), b">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n:1\r\n");
    client.say("MULTI");
    client.say("PUBLISH a y");
    assert_eq!(client.say("EXEC"), "*1\r\n:1\r\n", "a message is not within a reply");
    (0..4).for_each(|_| drop(client.hear()));
    assert_eq!(client.say("RESET"), "+RESET\r\n");
    assert_eq!(server.client().say("PUBLISH a x"), ":0\r\n");
}

#[test]
fn a_subscriber_that_does_not_read_is_dropped_and_stalls_nobody() {
    let server = Server::start(&[]);
    let (mut slow, mut reading, mut client) = (server.client(), server.client(), server.client());
    slow.say("SUBSCRIBE news");
    reading.say("SUBSCRIBE news");
    let text = vec![b'x'; 1 << 20];
    thread::scope(|scope| {
        // Each message is published when the reader has heard the last one: on a busy machine it would be dropped, too.
        let ((heard, last), reader) = (sync_channel(0), &mut reading);
        scope.spawn(move || {
            (0..60).for_each(|_| {
                assert!(reader.hear().len() > 1 << 20);
                heard.send(()).unwrap();
            });
        });
        for number in 0..60 {
            let reply = client.ask(&[b"PUBLISH", b"news", &text]);
            assert!(reply == b":2\r\n" || reply == b":1\r\n", "{number}: {}", reply.escape_ascii());
            client.say("SET a 1");
            last.recv().unwrap();
        }
    });
    while client.say("PUBSUB NUMSUB news") != "*2\r\n$4\r\nnews\r\n:1\r\n" {}
    assert!(slow.hear_to_the_end().len() < 60 << 20);
    assert!(server.resident_memory() < 300 << 20);
}

#[test]
fn a_client_may_end_others_by_number_and_by_address() {
    let server = Server::start(&[]);
    let (mut client, mut first, mut second) = (server.client(), server.client(), server.client());
    let number = first.say("CLIENT ID")[1..].trim_end().to_owned();
    assert_eq!(client.say(&format!("CLIENT KILL ID {number}")), ":1\r\n");
    assert_eq!(client.say(&format!("CLIENT KILL ID {number}")), ":0\r\n");
    assert_eq!(first.hear_to_the_end(), b"");
    let info = second.say("CLIENT INFO");
    let address = info.split("addr=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert_eq!(client.say(&format!("CLIENT KILL {address}")), "+OK\r\n");
    assert_eq!(second.hear_to_the_end(), b"");
    assert_eq!(client.say(&format!("CLIENT KILL {address}")), "-ERR No such client\r\n");
    assert_eq!(client.say("CLIENT KILL SKIPME no TYPE normal"), ":1\r\n");
    assert_eq!(client.hear_to_the_end(), b"");
}

#[test]
fn a_client_that_was_ended_is_not_listed() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let others: Vec<_> = (0..100)
        .map(|_| {
            let mut other = server.client();
            let number = other.say("CLIENT ID")[1..].trim_end().to_owned();
            (other, number)
        })
        .collect();
    for (_, number) in &others {
        assert_eq!(client.say(&format!("CLIENT KILL ID {number}")), ":1\r\n");
        assert_eq!(client.say(&format!("CLIENT LIST ID {number}")), "$0\r\n\r\n");
    }
}

#[test]
fn clients_that_have_subscribed_are_of_a_type_of_their_own() {
    let server = Server::start(&[]);
    let (mut client, mut subscriber) = (server.client(), server.client());
    let lines = |text: String| text.lines().filter(|line| line.starts_with("id=")).count();
    for (word, end) in [("SUBSCRIBE", "UNSUBSCRIBE"), ("PSUBSCRIBE", "RESET")] {
        subscriber.say(&format!("{word} a"));
        assert_eq!(lines(client.say("CLIENT LIST TYPE pubsub")), 1);
        assert_eq!(lines(client.say("CLIENT LIST TYPE normal")), 1);
        subscriber.say(end);
        assert_eq!(lines(client.say("CLIENT LIST TYPE normal")), 2);
    }
    for (filter, reply) in [
        ("TYPE foo", "-ERR Unknown client type 'foo'"),
        ("USER foo", "-ERR No such user 'foo'"),
        ("USER default LADDR 1.1.1.1:1", ":0"),
        ("TYPE pubsub", ":0"),
        ("TYPE replica", ":0"),
    ] {
        assert_eq!(client.say(&format!("CLIENT KILL {filter}")), format!("{reply}\r\n"), "{filter}");
    }
    subscriber.say("SUBSCRIBE a");
    assert_eq!(client.say(&format!("CLIENT KILL TYPE pubsub LADDR {}", server.address)), ":1\r\n");
    assert_eq!(subscriber.hear_to_the_end(), b"");
    assert_eq!(client.say("CLIENT LIST ID 0 -1"), "$0\r\n\r\n");
}
