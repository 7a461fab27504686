//! A crawler: finds all pages of a site that can be reached from one of them, each fetched by a fiber of its own.
//!
//! `cargo run --release -p examples --bin crawler -- localhost:8000 /index.html`; on four nodes, whose fibers share what was seen,
//! `gossamer run --local 4 -- target/release/crawler localhost:8000`.

use gossamer::collections::DistSet;
use gossamer::net::TcpStream;
use gossamer::spawn;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

/// A server that is silent for so long is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// The rest of a longer page is not read.
const LONGEST_PAGE: u64 = 1 << 20;

/// The paths that some fiber is taking care of.
type Seen = DistSet<String>;

#[gossamer::main]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(host) = arguments.next() else {
        eprintln!("usage: crawler HOST:PORT [PATH]");
        return ExitCode::from(2);
    };
    let start = arguments.next().unwrap_or_else(|| "/".to_owned());
    println!("{} pages", crawl(host, start, Seen::new()));
    ExitCode::SUCCESS
}

/// How many pages that nobody has seen before can be reached from this one.
#[gossamer::delegate]
fn crawl(host: String, path: String, seen: Seen) -> u64 {
    if !seen.insert(path.clone()) {
        return 0;
    }
    let page = match fetch(&host, &path) {
        Ok(page) => page,
        Err(error) => {
            eprintln!("{path}: {error}");
            return 0;
        }
    };
    let mut fibers = Vec::new();
    for link in links(&page) {
        let (host, seen) = (host.clone(), seen.clone());
        fibers.push(spawn(move || crawl(host, link, seen)));
    }
    1 + fibers.into_iter().map(|fiber| fiber.join()).sum::<u64>()
}

fn fetch(host: &str, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(LONGEST_PAGE).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    match answer.split_once("\r\n\r\n") {
        Some((head, page)) if head.split(' ').nth(1) == Some("200") => Ok(page.to_owned()),
        _ => Err(io::Error::other(answer.lines().next().unwrap_or("no answer").to_owned())),
    }
}

/// The links of a page to others of its site.
fn links(page: &str) -> Vec<String> {
    let targets = page.split("href=\"").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
    targets.filter(|target| target.starts_with('/')).map(str::to_owned).collect()
}
