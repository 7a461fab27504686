//! The metrics of all nodes, as one of them gets them, and as Prometheus does.

use crate::launchers::built;
use gossamer::metrics::{RackMetrics, RequestRoute};
use gossamer::{Config, FabricChoice, Trustee, rack};
use integration_tests::{fabrics, free_ports, on_nodes, wait_until, watched, workers};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The metrics of all nodes while each worker is asked ten times.
#[gossamer::delegate]
fn asked() -> RackMetrics {
    let there: Vec<_> = Trustee::all().iter().map(|there| there.entrust(vec![1_u8; 100])).collect();
    let before = rack::metrics();
    for trust in &there {
        (0..10).for_each(|_| assert_eq!(trust.apply(|bytes| bytes.len()), 100));
    }
    assert_eq!(there[2].apply(|bytes| std::mem::replace(bytes, vec![7; 1 << 20]).len()), 100);
    assert_eq!(there[2].apply(|bytes| std::mem::take(bytes)).len(), 1 << 20);
    assert!(there[3].try_apply(|_| -> () { panic!("meant") }).is_err());
    &rack::metrics() - &before
}

#[test]
fn a_node_learns_what_all_of_them_count() {
    on_nodes(2, 2, || {
        let passed = asked();
        assert_eq!(passed.nodes.len(), 2);
        let workers: Vec<_> = passed.nodes.iter().flat_map(|node| &node.workers).map(|w| w.worker).collect();
        assert_eq!(workers, [0, 1, 2, 3]);
        let far = |requests: &&gossamer::metrics::RequestMetrics| {
            ![RequestRoute::Here, RequestRoute::Process, RequestRoute::Outside].contains(&requests.route)
        };
        let sent: Vec<_> = passed.nodes[0].workers[0].requests.iter().filter(far).collect();
        let [sent] = &sent[..] else { panic!("one way to the other node: {passed}") };
        assert!(
            sent.peer == 1 && sent.sent >= 23 && sent.failed == 1 && sent.sent_bytes > 23 * 8,
            "{passed}"
        );
        let failed: u64 =
            passed.nodes[1].workers[1].requests.iter().map(|requests| requests.served_failed).sum();
        assert_eq!(failed, 1, "{passed}");
        assert!(passed.total().total().requests_served() >= 40, "{passed}");
        assert!(passed.to_string().contains("\nnode 1"), "{passed}");
    });
}

/// What is answered to a request for a path.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// A Prometheus that scrapes this many ports, and its own port; none if it is not installed.
fn prometheus(folder: &Path, scraped: std::ops::Range<u16>, own: u16) -> Option<Ended> {
    let targets: Vec<_> = scraped.map(|port| format!("\"127.0.0.1:{port}\"")).collect();
    let settings = format!(
        "global:\n  scrape_interval: 200ms\nscrape_configs:\n- job_name: gossamer\n  static_configs:\n  - targets: [{}]\n",
        targets.join(", ")
    );
    std::fs::write(folder.join("settings.yml"), settings).unwrap();
    let mut command = Command::new("prometheus");
    command.arg("--config.file").arg(folder.join("settings.yml"));
    command.arg("--storage.tsdb.path").arg(folder.join("data"));
    command.arg(format!("--web.listen-address=127.0.0.1:{own}"));
    let log = std::fs::File::create(folder.join("log")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().ok().map(Ended)
}

#[test]
fn a_real_prometheus_scrapes_a_rack_of_four_nodes() {
    watched(|| {
        let folder = tempfile();
        let (scraped, own) = (free_ports(Ipv4Addr::LOCALHOST, 4), free_ports(Ipv4Addr::LOCALHOST, 1));
        let Some(mut prometheus) = prometheus(&folder, scraped..scraped + 4, own) else {
            return eprintln!("SKIPPED: prometheus is not installed (apt-get install prometheus)");
        };
        let config = workers(1).metrics(([127, 0, 0, 1], scraped).into());
        let fabric = fabrics().into_iter().find(|fabric| *fabric != FabricChoice::Verbs);
        let config: Config = fabric.into_iter().fold(config, Config::fabric);
        let log = folder.join("log");
        rack::run_in_process(4, config, move || {
            let _counted = asked();
            let mut is_told = |query: &str, value: &str| {
                if let Some(status) = prometheus.0.try_wait().unwrap() {
                    let log = std::fs::read_to_string(&log).unwrap();
                    panic!("prometheus has ended ({status}):\n{log}");
                }
                let path = format!("/api/v1/query?query={query}");
                let answer = gossamer::unblock(move || get(own, &path)).unwrap_or_default();
                answer.contains(&format!("\"{value}\"]"))
            };
            wait_until(|| is_told("count(count%20by%20(node)(gossamer_worker_turns_total))", "4"));
            wait_until(|| is_told("sum(up%7Bjob=%22gossamer%22%7D)", "4"));
            // Node 0 sends to each of the others.
            wait_until(|| {
                is_told("count(gossamer_requests_sent_total%7Bnode=%220%22,peer!=%220%22%7D%3E=10)", "3")
            });
            wait_until(|| is_told("sum(gossamer_requests_failed_total)", "1"));
        });
        std::fs::remove_dir_all(folder).unwrap();
    });
}

#[test]
fn the_launcher_serves_the_metrics_of_all_its_nodes_at_one_port() {
    watched(|| {
        let port = free_ports(Ipv4Addr::LOCALHOST, 1);
        let mut command = Command::new(built("gossamer"));
        command.args([
            "run",
            "--local",
            "4",
            "--threads",
            "1",
            "--metrics",
            &port.to_string(),
            "--",
            crate::PROGRAM,
            "sleep",
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut launcher = Ended(command.spawn().unwrap());
        // Other clients ask for nonsense meanwhile.
        let mut held = Vec::new();
        let is_of_all = |text: &str| {
            let of_node = |node: usize| {
                text.contains(&format!("gossamer_worker_turns_total{{node=\"{node}\",worker=\"{node}\"}}"))
            };
            (0..4).all(of_node)
        };
        let mut told = String::new();
        wait_until(|| {
            if held.len() < 100 {
                held.extend(TcpStream::connect(("127.0.0.1", port)));
            }
            told = get(port, "/metrics").unwrap_or_default();
            is_of_all(&told)
        });
        assert_eq!(told.matches("# TYPE gossamer_worker_turns_total counter").count(), 1, "{told}");
        assert!(get(port, "/other").is_some_and(|answer| answer.starts_with("HTTP/1.1 404")));
        // It ends as a user ends it, and removes the folder of the sockets.
        let pid = launcher.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert_eq!(launcher.0.wait().unwrap().code(), Some(143));
    });
}

/// A folder of this test's own.
fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("gossamer-prometheus-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
