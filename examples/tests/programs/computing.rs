//! The small programs that compute, on one process and on four nodes.

use crate::nodes::Nodes;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn the_auditor_finds_every_coin() {
    for nodes in [1, 4] {
        let ended = Nodes::start(env!("CARGO_BIN_EXE_audited_bank"), nodes, &[]).wait();
        assert_eq!(ended.status, Some(0), "{}", ended.errors);
        assert_eq!(ended.text(), "40000 coins in 40 accounts, 0 on the way\n");
    }
}

#[test]
fn shards_compute_each_square_once() {
    for nodes in [1, 2] {
        let ended = Nodes::start(env!("CARGO_BIN_EXE_sharded"), nodes, &[]).wait();
        assert_eq!(ended.text(), "a sum of 1235000, from 20 computed squares\n", "{}", ended.errors);
    }
}

#[test]
fn all_workers_and_nodes_come_to_the_same_result() {
    for nodes in [1, 3] {
        let ended = Nodes::start(env!("CARGO_BIN_EXE_collectives"), nodes, &[]).wait();
        let expected = "every worker knows the sum: true\nevery node knows the largest square: true\n";
        assert_eq!(ended.text(), expected, "{}", ended.errors);
    }
}

#[test]
fn the_pipeline_squares_and_adds_up_each_number_once() {
    const COUNT: u64 = 3_000_001;
    let sum = (0..COUNT).fold(0_u64, |sum, number| sum.wrapping_add(number * number));
    for nodes in [1, 2, 4] {
        let ended = Nodes::start(env!("CARGO_BIN_EXE_pipeline"), nodes, &[&COUNT.to_string()]).wait();
        assert_eq!((ended.text(), ended.errors.as_str()), (format!("{sum}\n").as_str(), ""));
    }
}

/// A site whose page N has links to pages 2 N and 2 N + 1, to itself, to page 1, and to another site; pages above 200
/// do not exist. Returns its address, and the pages that were asked for.
fn site() -> (String, Arc<Mutex<Vec<u64>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
    let asked_too = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut request) = (stream.unwrap(), String::new());
            let mut head = BufReader::new(stream.try_clone().unwrap());
            head.read_line(&mut request).unwrap();
            while head.read_line(&mut String::new()).unwrap() > 2 {}
            let number: u64 = request.split(['/', ' ']).nth(2).unwrap().parse().unwrap();
            asked_too.lock().unwrap().push(number);
            let link = |to: u64| format!("<a href=\"/{to}\">");
            let links: String = [2 * number, 2 * number + 1, number, 1].map(link).concat();
            let answer = match number {
                1..=200 => format!("HTTP/1.0 200 OK\r\n\r\n{links}<a href=\"http://elsewhere.invalid/\">"),
                _ => "HTTP/1.0 404 Not Found\r\n\r\n".to_owned(),
            };
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address.to_string(), asked)
}

#[test]
fn the_crawler_fetches_each_page_of_a_site_once() {
    for nodes in [1, 4] {
        let (address, asked) = site();
        let ended = Nodes::start(env!("CARGO_BIN_EXE_crawler"), nodes, &[&address, "/1"]).wait();
        assert_eq!(ended.text(), "200 pages\n", "{}", ended.errors);
        assert!(ended.errors.contains("/401: HTTP/1.0 404 Not Found"), "{}", ended.errors);
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 401);
        assert_eq!(asked.iter().collect::<HashSet<_>>().len(), 401);
    }
}

/// A file of data that an example makes, which is removed with it.
struct Made(std::path::PathBuf);

impl Made {
    fn by(program: &str, count: &str) -> Self {
        let name = std::path::Path::new(program).file_name().unwrap().to_str().unwrap();
        let path = std::env::temp_dir().join(format!("gossamer-{name}-{}", std::process::id()));
        let made = Self(path);
        assert_eq!(Nodes::start(program, 1, &["make", made.path(), count]).wait().status, Some(0));
        made
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_points_of_a_file_are_grouped_around_their_places() {
    let program = env!("CARGO_BIN_EXE_kmeans");
    let points = Made::by(program, "9000");
    for nodes in [1, 2] {
        let ended = Nodes::start(program, nodes, &[points.path(), "3"]).wait();
        assert_eq!(ended.errors, "");
        let text = ended.text();
        let found: Vec<Vec<f64>> =
            text.lines().map(|line| line.split(' ').filter_map(|word| word.parse().ok()).collect()).collect();
        assert_eq!(found.len(), 3, "{text}");
        for (place, found) in found.iter().enumerate() {
            let expected = [3000.0, 10.0 * place as f64, 5.0 * place as f64];
            assert!(
                found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01),
                "{text}"
            );
        }
    }
}

#[test]
fn the_pages_of_a_file_are_ranked_as_by_a_plain_loop() {
    let program = env!("CARGO_BIN_EXE_pagerank");
    let links = Made::by(program, "3000");
    let pages: Vec<Vec<usize>> =
        (0..3000_usize).map(|page| if page == 0 { vec![] } else { vec![page / 2, page / 3] }).collect();
    let mut ranks = vec![1.0_f64 / 3000.0; 3000];
    for _ in 0..50 {
        let mut next = vec![(0.15 + 0.85 * ranks[0]) / 3000.0; 3000];
        for (page, links) in pages.iter().enumerate() {
            links.iter().for_each(|to| next[*to] += 0.85 * ranks[page] / 2.0);
        }
        ranks = next;
    }
    let mut expected: Vec<_> = ranks.into_iter().enumerate().collect();
    expected.sort_by(|one, other| other.1.total_cmp(&one.1));
    let expected: String = expected[..5].iter().map(|(page, rank)| format!("{page} {rank:.6}\n")).collect();
    for nodes in [1, 2] {
        let ended = Nodes::start(program, nodes, &[links.path()]).wait();
        assert_eq!((ended.text(), ended.errors.as_str()), (expected.as_str(), ""));
    }
}

#[test]
fn searches_of_a_graph_find_the_shortest_paths() {
    for nodes in [1, 2] {
        let [bfs, sssp] = ["bfs", "sssp"].map(|search| {
            let ended = Nodes::start(env!("CARGO_BIN_EXE_graph"), nodes, &[search, "9"]).wait();
            assert_eq!(ended.status, Some(0), "{}", ended.errors);
            ended.text().to_owned()
        });
        let reached = |text: &str| text.split(" vertices reached in ").next().unwrap().to_owned();
        assert!(
            bfs.ends_with(": each by a shortest path\n") && sssp.ends_with(": each by a shortest path\n")
        );
        assert_eq!(reached(&bfs), reached(&sssp));
    }
}

#[test]
fn the_kernels_of_bale_are_right() {
    for nodes in [1, 2] {
        let ended = Nodes::start(env!("CARGO_BIN_EXE_bale"), nodes, &["all", "1000"]).wait();
        assert_eq!((ended.status, ended.text().lines().count()), (Some(0), 7), "{}", ended.errors);
    }
}
