//! INFO and CLIENT LIST: what programs that watch a server read there.

use crate::client::{Client, request};
use crate::servers::{Directory, Server};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

fn info(client: &mut Client, sections: &str) -> BTreeMap<String, String> {
    let text = client.say(&format!("INFO {sections}"));
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn number(fields: &BTreeMap<String, String>, name: &str) -> u64 {
    fields[name].parse().unwrap_or_else(|error| panic!("{name}:{}: {error}", fields[name]))
}

#[test]
fn requests_and_connections_are_counted_on_all_workers_and_from_zero_again() {
    for server in [Server::start(&[]), Server::start_rack(2)] {
        let mut clients: Vec<_> = (0..5).map(|_| server.client()).collect();
        for client in &mut clients {
            client.say("SET a 1");
            client.say("GET a");
            client.say("GET nothing");
        }
        let client = &mut clients[0];
        client.say("SUBSCRIBE sport");
        client.say("PSUBSCRIBE n*");
        client.say("RESET");
        clients[1].say("SUBSCRIBE news");
        clients[2].say("SUBSCRIBE news");
        let client = &mut clients[0];
        let found = info(client, "stats");
        assert_eq!(number(&found, "total_connections_received"), 5);
        assert_eq!(number(&found, "total_commands_processed"), 5 * 3 + 5);
        assert_eq!((number(&found, "keyspace_hits"), number(&found, "keyspace_misses")), (5, 5));
        assert_eq!((number(&found, "pubsub_channels"), number(&found, "pubsub_patterns")), (1, 0));
        assert_eq!(client.say("CONFIG RESETSTAT"), "+OK\r\n");
        let found = info(client, "stats");
        assert_eq!(number(&found, "total_connections_received"), 0);
        // RESETSTAT itself, which had not ended.
        assert_eq!(number(&found, "total_commands_processed"), 1);
        assert_eq!(number(&found, "keyspace_hits"), 0);
    }
}

#[test]
fn every_node_tells_all_sections() {
    let server = Server::start_rack(2);
    let mut nodes = HashSet::new();
    // The system picks the worker that accepts a client.
    for _ in 0..1000 {
        let found = info(&mut server.client(), "all");
        assert_eq!(found["rdb_bgsave_in_progress"], "0");
        assert_eq!(found["role"], "master");
        nodes.insert(found["process_id"].clone());
        if nodes.len() == 2 {
            return;
        }
    }
    panic!("all clients were on node {nodes:?}");
}

#[test]
fn clients_that_are_too_many_are_counted() {
    let server = Server::start(&["--maxclients", "1"]);
    let mut client = server.client();
    client.say("PING");
    for _ in 0..3 {
        assert_eq!(server.client().hear_to_the_end(), b"-ERR max number of clients reached\r\n");
    }
    let found = info(&mut client, "all");
    assert_eq!((number(&found, "rejected_connections"), number(&found, "connected_clients")), (3, 1));
    assert_eq!(number(&found, "total_connections_received"), 1);
}

#[test]
fn what_clients_and_exporters_look_for_is_there_and_of_redis_s_names() {
    let directory = Directory::new();
    let server = Server::start(&["--dir", directory.text(), "--maxmemory", "1536kb"]);
    let mut client = server.client();
    let found = info(&mut client, "everything");
    assert_eq!(found["arch_bits"], "64");
    assert_eq!(found["cluster_enabled"], "0");
    assert_eq!(found["aof_enabled"], "0");
    assert_eq!(found["maxmemory_human"], "1.50M");
    assert_eq!(found["run_id"].len(), 40);
    assert!(found["run_id"].bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert!(number(&found, "used_memory_rss") > 1 << 20);
    assert!(number(&found, "total_system_memory") > number(&found, "used_memory_rss"));
    assert!(number(&found, "server_time_usec") > 1_700_000_000_000_000);
    assert!(
        found["used_cpu_sys"].parse::<f64>().unwrap() + found["used_cpu_user"].parse::<f64>().unwrap() < 1e6
    );
    if let Some(redis) = Server::start_redis(&directory) {
        let theirs: HashSet<_> = info(&mut redis.client(), "everything").into_keys().collect();
        let unknown = found.keys().filter(|name| !theirs.contains(*name) && !name.starts_with("hydra_"));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new());
    }
    let run = found["run_id"].clone();
    let other = Server::start(&[]);
    assert_ne!(info(&mut other.client(), "server")["run_id"], run);
}

#[test]
fn the_progress_and_the_failure_of_a_snapshot_are_told() {
    let directory = Directory::new();
    let server = Server::start(&["--dir", directory.text()]);
    let mut client = server.client();
    client.say("SET a 1");
    let save = |client: &mut Client| {
        client.say("BGSAVE");
        while info(client, "persistence")["rdb_bgsave_in_progress"] == "1" {}
        info(client, "persistence")["rdb_last_bgsave_status"].clone()
    };
    assert_eq!(save(&mut client), "ok");
    std::fs::remove_file(directory.0.join("dump.hydra")).unwrap();
    let away =
        std::env::temp_dir().join(format!("{}-away", directory.0.file_name().unwrap().to_str().unwrap()));
    std::fs::rename(&directory.0, &away).unwrap();
    let status = save(&mut client);
    std::fs::rename(&away, &directory.0).unwrap();
    assert_eq!(status, "err");
    assert_eq!(save(&mut client), "ok");
}

#[test]
fn a_client_is_listed_with_both_addresses_and_its_kind() {
    let server = Server::start(&[]);
    let (mut client, mut subscriber) = (server.client(), server.client());
    subscriber.say("SUBSCRIBE a");
    let list = client.say("CLIENT LIST");
    let lines: Vec<_> = list.lines().filter(|line| line.starts_with("id=")).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line.contains(&format!(" laddr={} ", server.address))), "{list}");
    assert!(lines.iter().all(|line| line.contains(" user=default ")), "{list}");
    assert_eq!(lines.iter().filter(|line| line.contains(" flags=P ")).count(), 1, "{list}");
    assert_eq!(lines.iter().filter(|line| line.contains(" flags=N ")).count(), 1, "{list}");
}

#[test]
fn a_client_is_listed_with_what_it_does() {
    let server = Server::start(&[]);
    let (mut watcher, mut client, mut waiter) = (server.client(), server.client(), server.client());
    let number = client.say("CLIENT ID");
    let number = number.trim_start_matches(':').trim_end().to_owned();
    let mut line = || watcher.say(&format!("CLIENT LIST ID {number}"));
    assert!(line().contains(" flags=N db=0 sub=0 psub=0 multi=-1 cmd=client|id "));
    client.say("SET a 1");
    assert!(line().contains(" multi=-1 cmd=set "));
    client.say("MULTI");
    client.say("GET a");
    client.say("GET a");
    assert!(line().contains(" flags=x db=0 sub=0 psub=0 multi=2 cmd=get "));
    client.say("EXEC");
    assert!(line().contains(" flags=N db=0 sub=0 psub=0 multi=-1 cmd=exec "));
    client.say("nosuch");
    assert!(line().contains(" cmd=exec "));
    client.say("SUBSCRIBE a");
    client.say("PSUBSCRIBE b*");
    assert!(line().contains(" flags=P db=0 sub=1 psub=1 multi=-1 cmd=psubscribe "));
    client.say("UNSUBSCRIBE a");
    assert!(line().contains(" flags=P db=0 sub=0 psub=1 "));
    waiter.send(&request(&[b"BLPOP", b"nothing", b"0"]));
    // However long that takes: it is tried for as long as a client waits for a reply.
    let is_blocked = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let list = watcher.say("CLIENT LIST");
        list.lines().any(|line| line.contains(" flags=b ") && line.contains(" cmd=blpop "))
    });
    assert!(is_blocked);
}

#[test]
fn a_client_is_idle_since_something_came_of_it() {
    let server = Server::start(&[]);
    let (mut watcher, mut client) = (server.client(), server.client());
    client.say("PING");
    let mut seconds = || {
        let list = watcher.say("CLIENT LIST");
        let line = list.lines().find(|line| line.contains(" cmd=ping ")).unwrap();
        ["age", "idle"].map(|name| {
            let field = line.split(' ').find_map(|field| field.strip_prefix(&format!("{name}=")));
            field.unwrap().parse::<u64>().unwrap()
        })
    };
    std::thread::sleep(Duration::from_millis(1100));
    let [_, idle] = seconds();
    assert!(idle >= 1, "{idle}");
    client.say("PING");
    let [age, idle] = seconds();
    assert!(idle < age, "{idle} of {age}");
}
