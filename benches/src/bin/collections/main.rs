//! `collections`: histogram and index gather of the bale kernels on `gossamer::collections`, beside the same on plain pinned threads with atomics.
//! See `--help`.

mod distributed;
mod plain;
#[cfg(feature = "rayon")]
mod sorts;

use benches::statistics::{median, range};
use gossamer::{Config, Trustee};
use std::process::ExitCode;

const USAGE: &str = "\
usage: collections [--threads N] [--len N] [--rounds N] [--nodes N] [--sort N]

Each of N workers (default 2) does 1,000,000 updates of, or looks up as many, random elements of a vector of u64 (default 10,000,000 of them):
on a `DistVec`, and on a vector of atomics that plain pinned threads share; of one worker also in a plain loop. The two take turns; a
line gives the median, least and most of the rounds (default 5), in millions a second, and of the ratios within each round. With --sort
N random u64 are sorted instead, by `DistVec::par_sort_unstable` and by rayon's (feature `rayon`) on as many pinned threads. --nodes spreads
the workers over as many nodes, in this process.";

/// Updates, or elements that are looked up, of each worker.
pub const EACH: usize = 1_000_000;

struct Options {
    threads: usize,
    len: usize,
    rounds: usize,
    nodes: usize,
    /// What is sorted, if anything.
    sort: Option<usize>,
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { threads: 2, len: 10_000_000, rounds: 5, nodes: 1, sort: None };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { return Err(format!("{}: a value is missing", pair[0])) };
        let number = value.parse().map_err(|_| format!("{name} {value}: not a number"))?;
        match name.as_str() {
            "--threads" => options.threads = number,
            "--len" => options.len = number,
            "--rounds" => options.rounds = number,
            "--nodes" => options.nodes = number,
            "--sort" => options.sort = Some(number),
            _ => return Err(format!("{name}: there is no such option; see --help")),
        }
    }
    Ok(options)
}

/// A random number for each.
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The elements that a worker uses: the same for all contenders.
pub fn indices(worker: usize, len: usize) -> Vec<usize> {
    (0..EACH as u64).map(|number| (mix(number + ((worker as u64) << 40)) % len as u64) as usize).collect()
}

/// Millions a second, given the seconds of the slowest.
fn rate(threads: usize, seconds: f64) -> f64 {
    (threads * EACH) as f64 / seconds / 1e6
}

fn line(name: &str, figures: &[f64]) {
    let (least, most) = range(figures);
    println!("| {name} | {:.2} | {least:.2} | {most:.2} |", median(figures));
}

fn rows(options: &Options) {
    let threads = Trustee::all().len();
    let table = plain::table(options.len);
    let mut figures: [Vec<f64>; 6] = Default::default();
    // The first round warms up.
    for round in 0..=options.rounds {
        let ours = distributed::run(options.len);
        let theirs = plain::run(&table, threads);
        let [histogram, gather] = [(ours.0, theirs.0), (ours.1, theirs.1)]
            .map(|(ours, theirs)| (rate(threads, ours), rate(threads, theirs)));
        if round > 0 {
            let new = [
                histogram.0,
                histogram.1,
                histogram.0 / histogram.1,
                gather.0,
                gather.1,
                gather.0 / gather.1,
            ];
            figures.iter_mut().zip(new).for_each(|(all, new)| all.push(new));
        }
    }
    println!(
        "| {threads} workers, {} elements, millions a second | median | least | most |\n|---|---|---|---|",
        options.len
    );
    let other = if threads == 1 { "a plain loop" } else { "plain atomics" };
    let names = [
        "histogram, `DistVec::updates`".to_owned(),
        format!("histogram, {other}"),
        "ratio".to_owned(),
        "gather, `DistVec::gather`".to_owned(),
        format!("gather, {other}"),
        "ratio".to_owned(),
    ];
    names.iter().zip(&figures).for_each(|(name, figures)| line(name, figures));
    let empty: Vec<_> = (0..options.rounds).map(|_| distributed::empty_loop(options.len)).collect();
    line("`par_for_each` of nothing, ns for a number on one worker", &empty);
}

#[cfg(feature = "rayon")]
fn sort_rows(len: usize, rounds: usize) {
    let threads = Trustee::all().len();
    let pool = sorts::pool(threads);
    let mut figures: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        let (ours, theirs) = (sorts::ours(len), sorts::rayons(&pool, len));
        figures.iter_mut().zip([ours, theirs, ours / theirs]).for_each(|(all, new)| all.push(new));
    }
    println!("| {threads} workers, {len} elements, seconds | median | least | most |\n|---|---|---|---|");
    let names = ["`DistVec::par_sort_unstable`", "rayon's `par_sort_unstable`", "ratio"];
    names.iter().zip(&figures).for_each(|(name, figures)| line(name, figures));
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match parse(&arguments) {
        Ok(options) => {
            let config = Config::default().threads(options.threads / options.nodes).pin(true);
            gossamer::rack::run_in_process(options.nodes, config, move || match options.sort {
                None => rows(&options),
                #[cfg(feature = "rayon")]
                Some(len) => sort_rows(len, options.rounds),
                #[cfg(not(feature = "rayon"))]
                Some(_) => eprintln!("collections: --sort needs the feature `rayon`"),
            });
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("collections: {error}");
            ExitCode::from(2)
        }
    }
}
