//! Calls that block where nobody can wait: the message has the user's line.

use gossamer::collections::{DistCounter, DistMap, DistVec, IndexRange, par_for_each};
use gossamer::stream::{self, Options};
use gossamer::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use gossamer::{Latch, Trustee, Workers, entrust, fs, net, process, rack};
use integration_tests::in_runtime;
use std::time::Duration;

const TIME: Duration = Duration::from_millis(1);

static CALLS: [(&str, fn()); 41] = [
    ("mpsc send", || _ = mpsc::channel::<u32>(1).0.send(3)),
    ("mpsc recv", || _ = mpsc::channel::<u32>(1).1.recv()),
    ("oneshot", || _ = oneshot::channel::<u32>().1.recv()),
    ("broadcast", || _ = broadcast::channel::<u32>(1).1.recv()),
    ("watch", || _ = watch::channel(1).1.changed()),
    ("mutex", || drop(Mutex::new(3).lock())),
    ("read", || drop(RwLock::new(3).read())),
    ("write", || drop(RwLock::new(3).write())),
    ("acquire", || drop(Semaphore::new(0).acquire())),
    ("acquire_many", || drop(Semaphore::new(0).acquire_many(2))),
    ("notified", || Notify::new().notified()),
    ("barrier", || _ = Barrier::new(2).wait()),
    ("block_on", || gossamer::block_on(gossamer::sleep_async(TIME))),
    ("timeout", || _ = gossamer::timeout(TIME, gossamer::sleep_async(TIME))),
    ("select", || gossamer::select! { _ = gossamer::sleep_async(TIME) => () }),
    ("sleep", || gossamer::sleep(TIME)),
    ("yield_now", || gossamer::yield_now()),
    ("join", || gossamer::spawn_local(|| ()).join()),
    ("wait", || entrust(1_u8).apply_async(|_| ()).wait()),
    ("launch", || entrust(Latch::new(1_u8)).launch(|_| ())),
    ("unblock", || gossamer::unblock(|| ())),
    ("scope", || gossamer::scope(|_| ())),
    ("entrust", || drop(Trustee::all()[1].entrust(3_u8))),
    ("fs read", || _ = fs::read("/dev/null")),
    ("fs rename", || _ = fs::rename("/no/such/file", "/no/such/other")),
    ("fs open", || _ = fs::File::open("/dev/null")),
    ("tcp connect", || _ = net::TcpStream::connect("127.0.0.1:1")),
    ("tcp bind", || _ = net::TcpListener::bind("127.0.0.1:0")),
    ("udp bind", || _ = net::UdpSocket::bind("127.0.0.1:0")),
    ("unix bind", || _ = net::UnixListener::bind("/no/such/file")),
    ("status", || _ = process::Command::new("true").status()),
    ("output", || _ = process::Command::new("true").output()),
    ("rack barrier", || rack::barrier()),
    ("rack wait_all", || rack::wait_all()),
    ("each", || _ = Workers::all().each(|_| ())),
    ("channel", || drop(stream::channel(Trustee::here(), Trustee::here(), 8, Options::new()))),
    ("par_for_each", || par_for_each(0..1, |_| ())),
    ("range", || IndexRange::from(0..1).par_for_each(|_| ())),
    ("vector", || drop(DistVec::filled(3, 1_u8))),
    ("map", || _ = DistMap::<u8, u8>::new().get(1)),
    ("counter", || _ = DistCounter::new().sum()),
];

#[test]
fn a_call_that_blocks_in_a_delegated_closure_is_named_with_its_line() {
    in_runtime(2, || {
        let property = entrust(());
        let mut wrong = Vec::new();
        for (index, (name, _)) in CALLS.iter().enumerate() {
            let error = property.try_apply_with(|(), index: usize| CALLS[index].1(), index);
            let text = error.map_or_else(|error| error.to_string(), |()| "it was not refused".to_owned());
            if !text.contains("tests/calls/refused.rs") || text.contains("gossamer/src") {
                wrong.push(format!("{name}: {text}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
