//! `rdma`: Gossamer over RDMA and over TCP beside the tools of perftest, in one interleaved run. See `--help`.

mod measures;
mod perftest;
mod rows;
mod stream;
mod tools;

use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: rdma [options]
       rdma measure NAME FABRIC

Measures Gossamer over verbs and over TCP, and the programs of perftest, in alternation, and prints Markdown. Each is two
processes of this machine, joined by its first RDMA device.

  --rounds N            rounds over all contenders (default 7)
  --millis N            time of one measurement in milliseconds (default 1000)
  --perftest ARGUMENTS  for each program of perftest, as `-d mlx5_0 -x 3`
  --tests FILE          the unit tests of the library, which measure what its interface does not show

`measure` prints one figure: NAME is round-trip, single, batched, large/65536, large/1048576 or stream, FABRIC verbs or tcp. Started
by `gossamer run` on two machines, it measures between these (but not streams).";

/// What to measure.
struct Options {
    rounds: usize,
    millis: u64,
    perftest: String,
    tests: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["measure", name, fabric] => measures::run(name, fabric, time()),
        ["--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        ref options => parse(options).map(|options| rows::print(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rdma: {error}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// How long to measure: told by the process that has started this one.
fn time() -> Duration {
    let given = std::env::var(tools::MILLIS).ok().and_then(|millis| millis.parse().ok());
    Duration::from_millis(given.unwrap_or(1000))
}

fn parse(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options { rounds: 7, millis: 1000, perftest: String::new(), tests: None };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let value = *rest.next().ok_or_else(|| format!("{name} has no value"))?;
        let number = || value.parse().map_err(|_| format!("{name} {value} is not a number"));
        match *name {
            "--rounds" => options.rounds = number()? as usize,
            "--millis" => options.millis = number()?,
            "--perftest" => options.perftest = value.to_owned(),
            "--tests" => options.tests = Some(value.to_owned()),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(options)
}
