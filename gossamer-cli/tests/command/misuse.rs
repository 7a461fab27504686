//! Peers that know the key but not the protocol: launchers against a daemon, and daemons against a launcher.

use crate::common::rack::Rack;
use crate::common::{WATCHDOG, finish};
use gossamer_cli::node::allowance::Allowance;
use gossamer_cli::node::message::{Command, Event};
use gossamer_cli::node::resource_limits::ResourceLimits;
use gossamer_cli::rack::protocol::{Hello, Launch, PROTOCOL, Reply, Request, SILENCE};
use gossamer_cli::secure::channel::{self, Reader, Writer};
use gossamer_cli::secure::codec::{decode, encode};
use gossamer_cli::secure::key::Key;
use std::future::Future;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Runs a test on one thread, under the watchdog.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(WATCHDOG, test).await.unwrap() });
}

struct Client(Reader, Writer);

impl Client {
    async fn connect(rack: &Rack) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", rack.machines[0].1)).await.unwrap();
        let key = Key::read(&rack.scratch.path("key")).unwrap();
        let (reader, writer) = channel::initiate(stream, &key).await.unwrap();
        Self(reader, writer)
    }

    /// A client that has introduced itself.
    async fn greeted(rack: &Rack) -> Self {
        let mut client = Self::connect(rack).await;
        client.1.send(&encode(&Hello::own()).unwrap()).await.unwrap();
        let hello: Hello = decode(&client.0.receive().await.unwrap().unwrap()).unwrap();
        assert_eq!(hello, Hello::own());
        client
    }

    async fn say(&mut self, request: &Request) {
        // The daemon may have closed the connection already.
        let _ = self.1.send(&encode(request).unwrap()).await;
    }

    /// The messages that come, without heartbeats, until the connection is closed.
    async fn rest(mut self) -> Vec<Reply> {
        let mut replies = Vec::new();
        while let Ok(Some(message)) = self.0.receive().await {
            replies.push(decode(&message).unwrap());
        }
        replies.retain(|reply| *reply != Reply::Heartbeat);
        replies
    }

    #[track_caller]
    fn refused(replies: &[Reply], why: &str) {
        match replies.last() {
            Some(Reply::Refused(said)) => assert!(said.contains(why), "{said}"),
            other => panic!("not refused: {other:?}"),
        }
    }
}

fn launch(content: &[u8]) -> Launch {
    Launch {
        application: "0123abcd".into(),
        owner: "test".into(),
        token: "00".repeat(32),
        nodes: vec![0],
        listen: None,
        arguments: vec![b"program".to_vec()],
        hash: *blake3::hash(content).as_bytes(),
        length: content.len() as u64,
        environment: Vec::new(),
        directory: b"/".to_vec(),
        mask: 0o022,
        limits: ResourceLimits::own(),
        allowance: Allowance::default(),
    }
}

/// A launcher that says these things; returns what the daemon answers.
async fn launched(rack: &Rack, launch: Launch, requests: &[Request]) -> Vec<Reply> {
    let mut client = Client::greeted(rack).await;
    client.say(&Request::Launch(Box::new(launch))).await;
    for request in requests {
        client.say(request).await;
    }
    client.rest().await
}

const SCRIPT: &[u8] = b"#!/bin/sh\necho ran\n";

#[test]
fn launches_that_make_no_sense_start_nothing() {
    run(async {
        let rack = Rack::new("sense", 1);
        let start = Request::Start { addresses: "unix:a".into() };
        let nodes = |nodes| Launch { nodes, ..launch(SCRIPT) };
        let here = Launch { listen: Some(Ipv4Addr::new(192, 0, 2, 1).into()), ..launch(SCRIPT) };
        let huge = Launch { length: 1 << 50, ..launch(SCRIPT) };
        let binary = || Request::Binary(SCRIPT.to_vec());
        let table = [
            (nodes(vec![]), vec![], "0 nodes"),
            (nodes(vec![1, 0]), vec![], "nodes are not in order"),
            (nodes(vec![0, 0]), vec![], "nodes are not in order"),
            (nodes((0..5000).collect()), vec![], "`nodes` in [limits]"),
            (here, vec![], "no port for a node"),
            (huge, vec![binary()], "the cache holds"),
            (launch(SCRIPT), vec![start.clone()], "does not keep to the protocol"),
            (launch(SCRIPT), vec![Request::Status(Vec::new())], "does not keep to the protocol"),
            (
                launch(SCRIPT),
                vec![Request::Binary(vec![0; SCRIPT.len()])],
                "has changed while it was shipped",
            ),
            (launch(SCRIPT), vec![Request::Binary(vec![0; 1000])], "more than the"),
            // By now it is stored.
            (launch(SCRIPT), vec![binary(), binary()], "does not keep to the protocol"),
        ];
        for (launch, requests, why) in table {
            Client::refused(&launched(&rack, launch, &requests).await, why);
        }
        assert!(!rack.daemons[0].log().contains("starts nodes"), "{}", rack.daemons[0].log());
        finish(&mut rack.launch(1, "true")).ended_with(0);
    });
}

#[test]
fn requests_that_belong_into_a_launch_are_refused_elsewhere() {
    run(async {
        let rack = Rack::new("elsewhere", 1);
        for request in [Request::Heartbeat, Request::Command(Command::InputEnd), Request::Binary(vec![1])] {
            let mut client = Client::greeted(&rack).await;
            client.say(&request).await;
            Client::refused(&client.rest().await, "belongs to a launch");
        }
    });
}

#[test]
fn an_upload_that_is_cut_off_leaves_nothing() {
    run(async {
        let rack = Rack::new("cut-off", 1);
        let mut client = Client::greeted(&rack).await;
        client.say(&Request::Launch(Box::new(launch(SCRIPT)))).await;
        client.say(&Request::Binary(SCRIPT[..5].to_vec())).await;
        let cache = rack.scratch.path("cache-a");
        let files = || std::fs::read_dir(&cache).unwrap().count();
        crate::common::eventually("the upload begins", || files() == 1);
        drop(client);
        crate::common::eventually("the upload is removed", || files() == 0);
        rack.daemons[0].says("not started: the program cannot be stored");
    });
}

#[test]
fn a_launcher_that_waits_for_its_disk_before_its_nodes_run_is_waited_for() {
    run(async {
        let rack = Rack::new("disk", 1);
        let mut client = Client::greeted(&rack).await;
        let pause = || tokio::time::sleep(SILENCE + Duration::from_secs(1));
        client.say(&Request::Launch(Box::new(launch(SCRIPT)))).await;
        pause().await;
        client.say(&Request::Binary(SCRIPT.to_vec())).await;
        pause().await;
        client.say(&Request::Start { addresses: "unix:a".into() }).await;
        loop {
            match decode(&client.0.receive().await.unwrap().unwrap()).unwrap() {
                Reply::Event(Event::Ended { end, .. }) => {
                    assert_eq!(end.how, gossamer_cli::node::ending::How::Exited(0));
                    return;
                }
                Reply::Refused(why) => panic!("{why}"),
                _ => {}
            }
        }
    });
}

#[test]
fn more_input_than_may_be_sent_is_lost_but_kills_nothing() {
    run(async {
        let rack = Rack::new("input", 1);
        let script = b"#!/bin/sh\nsleep 1\nexec cat >/dev/null\n";
        let mut requests =
            vec![Request::Binary(script.to_vec()), Request::Start { addresses: "unix:a".into() }];
        requests.extend((0..200).map(|_| Request::Command(Command::Input(vec![b'x'; 100_000]))));
        let mut client = Client::greeted(&rack).await;
        client.say(&Request::Launch(Box::new(launch(script)))).await;
        for request in &requests {
            client.say(request).await;
        }
        loop {
            match decode(&client.0.receive().await.unwrap().unwrap()).unwrap() {
                Reply::Event(Event::Ended { end, .. }) => {
                    assert_eq!(end.how, gossamer_cli::node::ending::How::Exited(0));
                    return;
                }
                _ => client.say(&Request::Heartbeat).await,
            }
        }
    });
}

#[test]
fn a_launcher_of_another_version_is_told_which_the_daemon_has() {
    run(async {
        let rack = Rack::new("version", 1);
        let mut client = Client::connect(&rack).await;
        let other = Hello { protocol: PROTOCOL + 1, version: "9.9".into() };
        client.1.send(&encode(&other).unwrap()).await.unwrap();
        let hello: Hello = decode(&client.0.receive().await.unwrap().unwrap()).unwrap();
        assert_eq!(hello, Hello::own());
        assert!(matches!(client.0.receive().await, Ok(None) | Err(_)));
        rack.daemons[0].says("refused 127.0.0.1: its protocol is");
    });
}

/// A daemon that answers each first request with this, and then closes the connection.
async fn wrong_daemon(listener: TcpListener, key: &Path, hello: Hello, replies: Vec<Reply>) {
    let key = Key::read(key).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (mut reader, mut writer) = channel::respond(stream, &key, |_| true).await.unwrap();
        reader.receive().await.unwrap();
        writer.send(&encode(&hello).unwrap()).await.unwrap();
        let _ = reader.receive().await;
        for reply in &replies {
            let _ = writer.send(&encode(reply).unwrap()).await;
        }
        // Until the client has read it: data that arrives at a closed connection would reset it.
        let _ = reader.receive().await;
    }
}

/// What `gossamer run` says about such a daemon.
fn against(name: &str, hello: Hello, replies: Vec<Reply>) -> crate::common::Finished {
    let rack = Rack::without_daemons(name, 1);
    let (port, key) = (rack.machines[0].1, rack.scratch.path("key"));
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        run(async {
            wrong_daemon(TcpListener::from_std(listener).unwrap(), &key, hello, replies).await;
        });
    });
    finish(&mut rack.launch(1, "true"))
}

#[test]
fn a_daemon_of_another_version_is_named() {
    let hello = Hello { protocol: PROTOCOL + 1, version: "9.9".into() };
    against("old", hello, vec![]).ended_with(3).said("gossamer 9.9").said("install the same version");
}

#[test]
fn a_daemon_that_answers_something_else_is_named() {
    let ready = |ports| Reply::Ready { ports, has_binary: true };
    for (index, replies) in [
        vec![Reply::Killed(true)],
        vec![Reply::Refused("because of \x1b[31m".into())],
        vec![ready(vec![]), Reply::Stored],
        vec![
            ready(vec![]),
            Reply::Event(Event::Ended {
                node: 7,
                end: gossamer_cli::node::ending::End {
                    how: gossamer_cli::node::ending::How::Exited(0),
                    words: None,
                },
            }),
            Reply::Killed(false),
        ],
    ]
    .into_iter()
    .enumerate()
    {
        let finished = against(&format!("else-{index}"), Hello::own(), replies);
        assert!(matches!(finished.status, Some(3 | 75)), "{finished:?}");
        finished.said("gossamer: ").said("a");
        assert!(!finished.err.contains('\x1b'), "{finished:?}");
    }
}

#[test]
fn a_daemon_keeps_nothing_of_applications_that_have_ended() {
    let rack = Rack::new("keeps", 2);
    let files = || {
        let count = |index: usize| {
            let pid = rack.daemons[index].process.pid();
            std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
        };
        (count(0), count(1))
    };
    finish(&mut rack.launch(4, "true")).ended_with(0);
    // The daemons may still be closing connections of the first launch: forty further launches leave no more than that.
    let before = files();
    for _ in 0..40 {
        finish(&mut rack.launch(4, "echo text")).ended_with(0);
    }
    crate::common::eventually("no more files than before", || {
        let after = files();
        after.0 <= before.0 && after.1 <= before.1
    });
    assert_eq!(rack.ask("ps", &["--json"]).out.trim(), "[]");
}
