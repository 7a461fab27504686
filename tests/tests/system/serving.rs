//! One call that makes every worker of every node accept connections.

use gossamer::net::{self, TcpStream};
use gossamer::{Trust, Trustee};
use integration_tests::{in_child, in_runtime, on_nodes, workers};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};

/// How many connections each worker has served.
type Served = BTreeMap<usize, u64>;

#[gossamer::delegate]
fn count(mut stream: TcpStream, served: Trust<Served>) {
    let worker = Trustee::here().index();
    served.apply(move |served| *served.entry(worker).or_insert(0) += 1);
    stream.write_all(b"!").unwrap();
    drop(stream.read(&mut [0]));
}

#[test]
fn every_worker_of_every_node_accepts() {
    on_nodes(2, 2, || {
        let served = gossamer::entrust(Served::new());
        let acceptors = net::serve("127.0.0.1:0", count, served.clone()).unwrap();
        let address = acceptors.local_addr();
        assert_eq!(acceptors.listeners().len(), 4);
        for _ in 0..400 {
            TcpStream::connect(address).unwrap().read_exact(&mut [0]).unwrap();
        }
        let by_worker = served.apply(|served| std::mem::take(served));
        assert_eq!(by_worker.values().sum::<u64>(), 400);
        assert_eq!(by_worker.len(), 4, "{by_worker:?}");
        let open = TcpStream::connect(address).unwrap();
        (&open).read_exact(&mut [0]).unwrap();
        acceptors.close().unwrap();
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        (&open).write_all(b"still here").unwrap();
    });
}

#[test]
fn if_one_worker_cannot_listen_none_does_and_the_error_says_which() {
    in_runtime(2, || {
        // A listener that does not share its port.
        let taken = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let served = gossamer::entrust(Served::new());
        assert_eq!(net::serve(address, count, served).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert!(net::serve("nonsense", count, gossamer::entrust(Served::new())).is_err());
    });
}

#[test]
fn a_listener_that_is_left_alone_goes_on_until_main_returns() {
    in_runtime(2, || {
        let served = gossamer::entrust(Served::new());
        let acceptors = net::serve("127.0.0.1:0", count, served.clone()).unwrap();
        let address = acceptors.local_addr();
        drop(acceptors);
        for _ in 0..20 {
            TcpStream::connect(address).unwrap().read_exact(&mut [0]).unwrap();
        }
        assert_eq!(served.apply(|served| served.values().sum::<u64>()), 20);
    });
}

fn refuse(_stream: TcpStream, (): ()) {
    assert!(Trustee::all().is_empty(), "no visitors");
}

#[test]
fn a_panic_while_a_connection_is_served_is_printed_with_the_line_that_called_serve() {
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(workers(2), || {
                let acceptors = net::serve("127.0.0.1:0", refuse, ()).unwrap();
                let mut visitor = TcpStream::connect(acceptors.local_addr()).unwrap();
                assert_eq!(visitor.read(&mut [0]).unwrap(), 0);
                acceptors.close().unwrap();
            });
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    let is_told = |line: &&str| {
        line.contains("serving::refuse` panicked")
            && line.contains("no visitors (sent from tests/tests/system/serving.rs:")
    };
    assert_eq!(ended.errors.lines().filter(is_told).count(), 1, "{}", ended.errors);
}
