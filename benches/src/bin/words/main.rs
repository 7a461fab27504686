//! `words`: counts the words of a text in a `DistMap`, in a dashmap, and in a map of each thread's own. See `--help`.

mod contenders;
mod text;

use benches::statistics::{median, range};
use gossamer::Config;
use std::process::ExitCode;

const USAGE: &str = "\
usage: words [--threads N] [--mib N] [--rounds N]

N workers, or plain pinned threads (default 2), count the words of a text of so many MiB (default 1024) that was made up beforehand:
a vocabulary of 500,000 with the frequencies of large collections of texts. `DistMap::merges`; `dashmap`, which is asked for each word; and for comparison a `HashMap` of each
thread's own, which are put together in the end. All hash with foldhash, and split the text in the same way. They take turns; a line gives the
median, least and most of the rounds (default 5), in millions of words a second, and of the ratios within each round.";

struct Options {
    threads: usize,
    mib: usize,
    rounds: usize,
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { threads: 2, mib: 1024, rounds: 5 };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { return Err(format!("{}: a value is missing", pair[0])) };
        let number: usize = value.parse().map_err(|_| format!("{name} {value}: not a number"))?;
        match name.as_str() {
            "--threads" if number > 0 => options.threads = number,
            "--mib" if number > 0 => options.mib = number,
            "--rounds" if number > 0 => options.rounds = number,
            "--threads" | "--mib" | "--rounds" => return Err(format!("{name} {value}: at least 1")),
            _ => return Err(format!("{name}: there is no such option; see --help")),
        }
    }
    Ok(options)
}

fn line(name: &str, figures: &[f64]) {
    let (least, most) = range(figures);
    println!("| {name} | {:.2} | {least:.2} | {most:.2} |", median(figures));
}

fn rows(options: &Options) {
    let threads = options.threads;
    let mut figures: [Vec<f64>; 5] = Default::default();
    let (mut words, mut different) = (0, 0);
    // The first round warms up.
    for round in 0..=options.rounds {
        let counted =
            [contenders::dist_map(threads), contenders::dashmap(threads), contenders::own_maps(threads)];
        let [ours, dashmap, own] = &counted;
        assert!(ours.is_same(dashmap) && ours.is_same(own), "all count alike");
        (words, different) = (ours.words, ours.different);
        let [ours, dashmap, own] = counted.map(|counted| counted.words as f64 / counted.seconds / 1e6);
        if round > 0 {
            let new = [ours, dashmap, own, ours / dashmap, ours / own];
            figures.iter_mut().zip(new).for_each(|(all, new)| all.push(new));
        }
    }
    println!(
        "| {threads} threads, {} MiB, {words} words, {different} different, millions a second | median | least | most |\n|---|---|---|---|",
        options.mib
    );
    let names = [
        "`DistMap::merges`",
        "dashmap",
        "a map for each thread",
        "`DistMap` to dashmap",
        "`DistMap` to a map for each thread",
    ];
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
            text::make(options.threads, options.mib);
            let config = Config::default().threads(options.threads).pin(true);
            gossamer::run(config, move || rows(&options));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("words: {error}");
            ExitCode::from(2)
        }
    }
}
