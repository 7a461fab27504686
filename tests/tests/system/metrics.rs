//! What a node counts, as the program sees it, and over HTTP.

use gossamer::metrics::{
    Counter, Gauge, Metric, NodeMetrics, RequestMetrics, RequestRoute, Unit, WorkerMetrics,
};
use gossamer::{Config, Runtime, Trustee};
use integration_tests::{in_runtime, isolated, panic_text, wait_until, watched, workers};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier, LazyLock, mpsc};
use std::time::Duration;

/// What the node counts while `body` runs.
fn counted(body: impl FnOnce()) -> NodeMetrics {
    let before = gossamer::metrics();
    body();
    &gossamer::metrics() - &before
}

/// Runs `body` in the only runtime of a process: that one reports everything that belongs to no worker.
fn alone(body: impl FnOnce() + Send + 'static) {
    isolated(|| gossamer::run(workers(2), body));
}

/// How many requests went by one route.
fn by(worker: &WorkerMetrics, route: RequestRoute) -> &RequestMetrics {
    worker.requests.iter().find(|requests| requests.route == route).expect("requests by this way")
}

/// Waits until its worker has counted what it has answered: that comes a moment after the answer, and before what other
/// threads ask.
fn settle(there: &gossamer::Trust<u64>) {
    let there = there.clone();
    gossamer::unblock(move || there.apply(|_| ()));
}

#[test]
fn requests_are_counted_by_their_way_at_both_ends() {
    in_runtime(2, || {
        let [here, there] = [0, 1].map(|worker| Trustee::all()[worker].entrust(0_u64));
        there.apply(|_| ());
        settle(&there);
        let passed = counted(|| {
            (0..5).for_each(|_| here.apply(|count| *count += 1));
            (0..7).for_each(|_| there.apply(|count| *count += 1));
            settle(&there);
        });
        let [own, other] = &passed.workers[..] else { panic!("two workers") };
        assert_eq!((by(own, RequestRoute::Here).sent, by(own, RequestRoute::Here).direct), (5, 5));
        let sent = by(own, RequestRoute::Process);
        assert_eq!((sent.sent, sent.answered, sent.failed), (7, 7, 0));
        assert!(sent.batches.iter().sum::<u64>() >= 1 && sent.sent_bytes > 7 * 8, "{sent}");
        assert_eq!(by(other, RequestRoute::Process).served, 7);
        let outside = counted(|| {
            let there = there.clone();
            gossamer::unblock(move || (0..3).for_each(|_| there.apply(|count| *count += 1)));
        });
        assert_eq!(by(&outside.workers[1], RequestRoute::Outside).served, 3);
        assert_eq!(outside.total().requests_served(), 3);
    });
}

#[test]
fn calls_that_are_no_requests_are_not_counted_as_some() {
    in_runtime(1, || {
        let here = gossamer::entrust(0_u64);
        // More than a fiber may make in one turn.
        let passed = counted(|| {
            for _ in 0..1000 {
                gossamer::spawn_local(|| ()).join();
                here.apply(|count| *count += 1);
            }
        });
        assert_eq!(passed.total().requests_sent(), 1000);
    });
}

#[test]
fn requests_that_fail_are_counted_where_they_were_sent_and_where_they_were_served() {
    in_runtime(2, || {
        let [here, there] = [0, 1].map(|worker| Trustee::all()[worker].entrust(0_u64));
        there.apply(|_| ());
        settle(&there);
        let passed = counted(|| {
            assert!(here.try_apply(|_| -> () { panic!("here") }).is_err());
            assert!(there.try_apply(|_| -> () { panic!("there") }).is_err());
            settle(&there);
        });
        assert_eq!(by(&passed.workers[0], RequestRoute::Here).failed, 1);
        assert_eq!(by(&passed.workers[0], RequestRoute::Process).failed, 1);
        assert_eq!(by(&passed.workers[1], RequestRoute::Process).served_failed, 1);
        assert_eq!(passed.total().requests_failed(), 2);
    });
}

#[test]
fn fibers_are_counted_and_so_is_who_waits() {
    in_runtime(1, || {
        let (sender, mut receiver) = gossamer::sync::mpsc::channel::<()>(1);
        let before = gossamer::metrics().total();
        let fiber = gossamer::spawn_local(move || receiver.recv());
        wait_until(|| {
            gossamer::yield_now();
            gossamer::metrics().total().fibers_waiting >= 1
        });
        let with_it = gossamer::metrics().total();
        assert_eq!(with_it.fibers_alive, before.fibers_alive + 1);
        assert_eq!(with_it.fibers_started, before.fibers_started + 1);
        assert!(with_it.stack_bytes > 0 && with_it.turns > before.turns);
        drop(sender);
        assert_eq!(fiber.join(), None);
    });
}

#[test]
fn a_long_turn_and_time_asleep_are_seen() {
    in_runtime(1, || {
        let passed = counted(|| {
            std::thread::sleep(Duration::from_millis(30));
            let before = gossamer::metrics().total().asleep;
            // A fiber that is kept from its processor again and again may not have had enough turns without work yet.
            wait_until(|| {
                gossamer::sleep(Duration::from_millis(30));
                gossamer::metrics().total().asleep >= before + Duration::from_millis(10)
            });
        });
        let worker = passed.total();
        assert!(worker.longest_turn >= Duration::from_millis(30), "{worker}");
        assert!(worker.busy >= Duration::from_millis(30), "{worker}");
        assert!(worker.asleep >= Duration::from_millis(10), "{worker}");
        assert!(worker.sleeps >= 1 && worker.uptime >= worker.asleep, "{worker}");
    });
}

#[test]
fn latencies_are_sampled() {
    in_runtime(2, || {
        let there = Trustee::all()[1].entrust(0_u64);
        let passed = counted(|| (0..200).for_each(|_| there.apply(|count| *count += 1)));
        let latency = passed.total().latency(RequestRoute::Process);
        assert!(latency.count() >= 1 && latency.quantile_time(0.5) > Some(Duration::ZERO), "{latency:?}");
    });
}

#[test]
fn bytes_and_waits_of_streams_are_counted() {
    alone(|| {
        let passed = counted(|| {
            let (mut sender, mut receiver) =
                gossamer::stream::pair(3 << 20, gossamer::stream::Options::default()).unwrap();
            let reader = gossamer::spawn_local(move || {
                let mut sum = 0;
                while let Some(block) = receiver.next_block().unwrap() {
                    sum += block.len();
                }
                sum
            });
            sender.write_everything(&vec![1; 3 << 20]).unwrap();
            sender.finish().unwrap();
            assert_eq!(reader.join(), 3 << 20);
        });
        assert!(passed.senders.bytes >= 3 << 20, "{passed}");
        assert!(passed.receivers.bytes >= 3 << 20, "{passed}");
    });
}

static ORDERS: LazyLock<Counter> =
    LazyLock::new(|| Metric::new("shop_orders", "Orders that were taken.").label("kind", "book").counter());
static QUEUE: LazyLock<Gauge> = LazyLock::new(|| Metric::new("shop_queue", "Customers that wait.").gauge());

#[test]
fn metrics_of_the_program_are_added_up_over_threads_also_ended_ones() {
    alone(|| {
        let passed = counted(|| {
            ORDERS.add(1);
            QUEUE.add(3);
            let fiber = gossamer::spawn_on(Trustee::all()[1], || ORDERS.add(10));
            fiber.join();
            gossamer::unblock(|| std::thread::spawn(|| ORDERS.add(100)).join().unwrap());
        });
        assert_eq!(passed.counter("shop_orders"), 111, "{passed}");
        let shown = passed.to_string();
        assert!(shown.contains("shop_orders kind=book: 111") && shown.contains("shop_queue: 3"), "{shown}");
    });
}

#[test]
fn metrics_that_cannot_be_are_refused_with_a_reason() {
    for metric in [
        Metric::new("gossamer_mine", "Help."),
        Metric::new("7up", "Help."),
        Metric::new("lines", "Two\nlines."),
        Metric::new("labelled", "Help.").label("le", "1"),
    ] {
        let text = panic_text(|| metric.counter());
        assert!(text.contains("cannot be made"), "{text}");
    }
    Metric::new("shop_wait", "Help.").unit(Unit::Seconds).histogram();
    let text = panic_text(|| Metric::new("shop_wait", "Help.").unit(Unit::Seconds).counter());
    assert!(text.contains("shop_wait") && text.contains("another kind"), "{text}");
}

/// A runtime whose metrics are served, and their address.
fn served(workers: usize) -> (Runtime, SocketAddr) {
    loop {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        drop(taken);
        // Another process may have taken the port meanwhile.
        if let Ok(runtime) = Runtime::start(Config::default().threads(workers).metrics(address)) {
            return (runtime, address);
        }
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// The header and the body of the answer.
fn ask(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (header, body) = answer.split_once("\r\n\r\n").expect("a header");
    (header.to_owned(), body.to_owned())
}

const PLAIN: &str = "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";
const OPEN: &str = "GET /metrics HTTP/1.1\r\nHost: here\r\nAccept: application/openmetrics-text\r\n\r\n";

#[test]
fn metrics_are_served_while_all_workers_hang() {
    watched(|| {
        let (runtime, address) = served(2);
        let hanging = Arc::new(Barrier::new(3));
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(std::sync::Mutex::new(released));
        for _worker in runtime.trustees() {
            let (hanging, released) = (Arc::clone(&hanging), Arc::clone(&released));
            let _detached = runtime.spawn(move || {
                hanging.wait();
                // Blocks the worker.
                let _ended = released.lock().unwrap().recv();
            });
        }
        hanging.wait();
        let (header, text) = ask(address, PLAIN);
        assert!(header.starts_with("HTTP/1.1 200") && header.contains("version=0.0.4"), "{header}");
        assert!(text.contains("gossamer_worker_turns_total{node=\"0\",worker=\"1\"}"), "{text}");
        drop(release);
        runtime.shutdown();
    });
}

#[test]
fn scrapers_that_do_not_read_hold_nobody_up() {
    watched(|| {
        let (runtime, address) = served(1);
        let mut held = Vec::new();
        for number in 0..300 {
            let mut stream = connect(address);
            let text: &[u8] = match number % 4 {
                0 => b"",
                1 => PLAIN.as_bytes(),
                2 => b"\xff\x00garbage\r\n\r\n",
                _ => b"GET /metrics HTTP/1.1\r\nEndless: ",
            };
            // If the connection was closed already, it cannot be written to.
            let _gone = stream.write_all(text);
            held.push(stream);
        }
        let (header, text) = ask(address, OPEN);
        assert!(header.contains("openmetrics-text") && text.ends_with("# EOF\n"), "{header}");
        assert_eq!(runtime.run(|| gossamer::spawn_local(|| 7).join()), 7);
        drop(held);
        for (request, status) in [("GET / HTTP/1.1\r\n\r\n", "404"), ("PUT /metrics HTTP/1.1\r\n\r\n", "405")]
        {
            let (header, _) = ask(address, request);
            assert!(header.starts_with(&format!("HTTP/1.1 {status}")), "{header}");
        }
        runtime.shutdown();
    });
}

#[test]
fn a_server_ends_with_its_runtime_though_a_process_that_is_being_started_has_its_socket() {
    isolated(|| {
        let (runtime, address) = served(1);
        // SAFETY: the child makes system calls only.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above; it is asleep, and ends after a while in any case.
            unsafe { libc::alarm(20) };
            // SAFETY: as above.
            unsafe { libc::pause() };
        }
        runtime.shutdown();
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let again = Runtime::start(Config::default().threads(1).metrics(address)).unwrap();
        assert!(ask(address, PLAIN).0.starts_with("HTTP/1.1 200"));
        again.shutdown();
        // SAFETY: the child is ours.
        unsafe { libc::kill(child, libc::SIGKILL) };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
    });
}

/// The text for a runtime that has done some of everything.
fn text() -> String {
    let (runtime, address) = served(2);
    runtime.run(|| {
        let there = Trustee::all()[1].entrust(0_u64);
        (0..70).for_each(|_| there.apply(|count| *count += 1));
        ORDERS.add(1);
    });
    let (_, text) = ask(address, PLAIN);
    runtime.shutdown();
    text
}

#[test]
fn promtool_finds_nothing_wrong_with_the_text() {
    watched(|| {
        let promtool = Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn();
        let Ok(mut promtool) = promtool else {
            return eprintln!("SKIPPED: promtool is not installed (apt-get install prometheus)");
        };
        let text = text();
        promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(promtool.wait().unwrap().success(), "{text}");
    });
}

#[test]
fn the_page_about_metrics_lists_each_one_and_no_other() {
    watched(|| {
        let text = text();
        let told: BTreeSet<_> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE gossamer_")?.split_once(' '))
            .map(|(name, kind)| format!("| `gossamer_{name}` | {kind} |"))
            .collect();
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/metrics.md")).unwrap();
        let listed: BTreeSet<_> = page
            .lines()
            .filter(|line| line.starts_with("| `gossamer_"))
            .map(|line| {
                format!("{}|", line.split_inclusive('|').take(3).collect::<String>().trim_end_matches('|'))
            })
            .collect();
        assert_eq!(told, listed);
        let dashboard = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/metrics-dashboard.json");
        let dashboard = std::fs::read_to_string(dashboard).unwrap();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for used in dashboard.split("gossamer_").skip(1) {
            let name = used.split(|c| !is_name(c)).next().unwrap_or_default();
            let name = name.trim_end_matches("_bucket").trim_end_matches("_sum").trim_end_matches("_count");
            assert!(
                text.contains(&format!("# TYPE gossamer_{name} ")),
                "the dashboard asks for gossamer_{name}"
            );
        }
    });
}
