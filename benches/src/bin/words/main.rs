//! `words`: counts the words of a text in a `DistMap`, in a dashmap, and in a map of each thread's own. See `--help`.

mod contenders;
mod text;

use benches::rounds::{self, Figures};
use gossamer::Config;
use std::process::ExitCode;

const USAGE: &str = "\
usage: words [--threads N] [--mib N] [--rounds N]

N workers, or plain pinned threads (default 2), count the words of a made-up text of N MiB (default 1024):
a vocabulary of 500,000 with the frequencies of large collections of texts. `DistMap::merges`; `dashmap`, which is asked for each word; and for comparison a `HashMap` of each
thread's own, which are put together in the end. All hash with foldhash, and split the text in the same way. They take turns; a line gives the
median, least and most of the rounds (default 5), in millions of words a second, and of the ratios within each round.";

fn rows(threads: usize, mib: usize, rounds: usize) {
    let mut figures = Figures::default();
    let (mut words, mut different) = (0, 0);
    // The first round warms up.
    for round in 0..=rounds {
        let counted =
            [contenders::dist_map(threads), contenders::dashmap(threads), contenders::own_maps(threads)];
        let [ours, dashmap, own] = &counted;
        assert!(ours.is_same(dashmap) && ours.is_same(own), "all count alike");
        (words, different) = (ours.words, ours.different);
        let [ours, dashmap, own] = counted.map(|counted| counted.words as f64 / counted.seconds / 1e6);
        if round > 0 {
            figures.add([ours, dashmap, own, ours / dashmap, ours / own]);
        }
    }
    let title =
        format!("{threads} threads, {mib} MiB, {words} words, {different} different, millions a second");
    let names = [
        "`DistMap::merges`",
        "dashmap",
        "a map for each thread",
        "`DistMap` to dashmap",
        "`DistMap` to a map for each thread",
    ];
    figures.print(&title, names);
}

fn main() -> ExitCode {
    let defaults = [("--threads", 2), ("--mib", 1024), ("--rounds", 5)];
    let [threads, mib, rounds] = match rounds::options("words", USAGE, defaults) {
        Ok(options) => options,
        Err(status) => return status,
    };
    text::make(threads, mib);
    gossamer::run(Config::default().threads(threads).pin(true), move || rows(threads, mib, rounds));
    ExitCode::SUCCESS
}
