//! What programs that compare contenders in rounds have in common: options that are numbers, a stopwatch, and a table
//! of medians.

use crate::statistics::{median, range};
use std::process::ExitCode;
use std::time::Instant;

/// What some work results in, and the seconds that it takes.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, f64) {
    let begun = Instant::now();
    let result = work();
    (result, begun.elapsed().as_secs_f64())
}

/// The values of a program's options, each of them a number and at least 1, or else their defaults. Asked for help, or
/// given anything else, it prints the options; then the program ends with this status.
///
/// # Errors
/// That status.
pub fn options<const N: usize>(
    program: &str,
    usage: &str,
    defaults: [(&str, usize); N],
) -> Result<[usize; N], ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{usage}");
        return Err(ExitCode::SUCCESS);
    }
    parse(&arguments, defaults).map_err(|error| {
        eprintln!("{program}: {error}");
        ExitCode::from(2)
    })
}

fn parse<const N: usize>(arguments: &[String], defaults: [(&str, usize); N]) -> Result<[usize; N], String> {
    let (names, mut values) = (defaults.map(|(name, _)| name), defaults.map(|(_, value)| value));
    for pair in arguments.chunks(2) {
        let option = names.iter().position(|name| *name == pair[0]);
        let option = option.ok_or_else(|| format!("{}: there is no such option; see --help", pair[0]))?;
        let [name, value] = pair else { return Err(format!("{}: a value is missing", pair[0])) };
        values[option] = match value.parse() {
            Ok(0) => return Err(format!("{name} {value}: at least 1")),
            Ok(number) => number,
            Err(_) => return Err(format!("{name} {value}: not a number")),
        };
    }
    Ok(values)
}

/// Figures of several rounds, by rows of a table.
#[derive(Debug)]
pub struct Figures<const ROWS: usize>([Vec<f64>; ROWS]);

impl<const ROWS: usize> Default for Figures<ROWS> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Vec::new()))
    }
}

impl<const ROWS: usize> Figures<ROWS> {
    /// Adds those of a round.
    pub fn add(&mut self, round: [f64; ROWS]) {
        self.0.iter_mut().zip(round).for_each(|(row, figure)| row.push(figure));
    }

    /// Prints each row's name, median, least and most.
    pub fn print(&self, title: &str, names: [&str; ROWS]) {
        println!("| {title} | median | least | most |\n|---|---|---|---|");
        for (name, figures) in names.iter().zip(&self.0) {
            let (least, most) = range(figures);
            println!("| {name} | {:.2} | {least:.2} | {most:.2} |", median(figures));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_numbers_and_at_least_one() {
        let parsed = |line: &str| {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            parse(&arguments, [("--threads", 2), ("--sort", 0)])
        };
        assert_eq!((parsed(""), parsed("--sort 7 --threads 1")), (Ok([2, 0]), Ok([1, 7])));
        for (line, error) in [
            ("--threads 0", "at least 1"),
            ("--threads two", "not a number"),
            ("--threads", "a value is missing"),
            ("--trees 3", "no such option"),
        ] {
            assert!(parsed(line).is_err_and(|text| text.contains(error)), "{line}");
        }
    }
}
