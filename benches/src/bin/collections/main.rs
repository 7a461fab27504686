//! `collections`: histogram and index gather of the bale kernels on `gossamer::collections`, beside the same on plain pinned threads with atomics.
//! See `--help`.

mod distributed;
mod plain;
mod skewed;
#[cfg(feature = "rayon")]
mod sorts;

use benches::rounds::{self, Figures};
use gossamer::{Config, Trustee};
use std::process::ExitCode;

const USAGE: &str = "\
usage: collections [--threads N] [--len N] [--rounds N] [--nodes N] [--sort N] [--skewed N]

Each of N workers (default 2) does 1,000,000 updates of, or looks up as many, random elements of a vector of u64 (default 10,000,000 of them):
on a `DistVec`, and on a vector of atomics that plain pinned threads share; of one worker also in a plain loop. The two take turns; a
line gives the median, least and most of the rounds (default 5), in millions a second, and of the ratios within each round. With --sort
N random u64 are sorted instead, by `DistVec::par_sort_unstable` and by rayon's (feature `rayon`) on as many pinned threads. With --skewed
N it is loops of N iterations that take between some nanoseconds and a twelfth of the whole, by `par_for_each`, and in chunks of a fixed size
that pinned threads take from a counter. --nodes spreads the workers over as many nodes, in this process.";

/// Without `--sort` or `--skewed`.
const NOTHING: usize = 0;

/// How many elements each worker updates, or looks up.
pub const EACH: usize = 1_000_000;

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

/// Millions per second, from the seconds of the slowest.
fn rate(threads: usize, seconds: f64) -> f64 {
    (threads * EACH) as f64 / seconds / 1e6
}

fn rows(len: usize, rounds: usize) {
    let threads = Trustee::all().len();
    let table = plain::table(len);
    let mut figures = Figures::default();
    // The first round warms up.
    for round in 0..=rounds {
        let ours = distributed::run(len);
        let theirs = plain::run(&table, threads);
        let [histogram, gather] = [(ours.0, theirs.0), (ours.1, theirs.1)]
            .map(|(ours, theirs)| (rate(threads, ours), rate(threads, theirs)));
        let empty = distributed::empty_loop(len);
        if round > 0 {
            figures.add([
                histogram.0,
                histogram.1,
                histogram.0 / histogram.1,
                gather.0,
                gather.1,
                gather.0 / gather.1,
                empty,
            ]);
        }
    }
    let other = if threads == 1 { "a plain loop" } else { "plain atomics" };
    let names = [
        "histogram, `DistVec::updates`",
        &format!("histogram, {other}"),
        "ratio",
        "gather, `DistVec::gather`",
        &format!("gather, {other}"),
        "ratio",
        "`par_for_each` of nothing, ns for a number on one worker",
    ];
    figures.print(&format!("{threads} workers, {len} elements, millions a second"), names);
}

#[cfg(feature = "rayon")]
fn sort_rows(len: usize, rounds: usize) {
    let threads = Trustee::all().len();
    let pool = sorts::pool(threads);
    let mut figures = Figures::default();
    for _ in 0..rounds {
        let (ours, theirs) = (sorts::ours(len), sorts::rayons(&pool, len));
        figures.add([ours, theirs, ours / theirs]);
    }
    let names = ["`DistVec::par_sort_unstable`", "rayon's `par_sort_unstable`", "ratio"];
    figures.print(&format!("{threads} workers, {len} elements, seconds"), names);
}

fn main() -> ExitCode {
    let defaults = [
        ("--threads", 2),
        ("--len", 10_000_000),
        ("--rounds", 5),
        ("--nodes", 1),
        ("--sort", NOTHING),
        ("--skewed", NOTHING),
    ];
    let [threads, len, rounds, nodes, sorted, skewed] = match rounds::options("collections", USAGE, defaults)
    {
        Ok(options) => options,
        Err(status) => return status,
    };
    if threads % nodes > 0 {
        eprintln!("collections: {threads} workers are not as many on each of {nodes} nodes");
        return ExitCode::from(2);
    }
    let config = Config::default().threads(threads / nodes).pin(true);
    gossamer::rack::run_in_process(nodes, config, move || match (sorted, skewed) {
        (NOTHING, NOTHING) => rows(len, rounds),
        (NOTHING, _) => skewed::rows(skewed, rounds),
        #[cfg(feature = "rayon")]
        _ => sort_rows(sorted, rounds),
        #[cfg(not(feature = "rayon"))]
        _ => eprintln!("collections: --sort needs the feature `rayon`"),
    });
    ExitCode::SUCCESS
}
