//! The command line of `table`.

use std::path::PathBuf;
use std::time::Duration;

/// The name of the group that has no contenders.
pub const MEMORY: &str = "memory";
/// Makes this program a node whose memory is measured.
pub const MEMORY_NODE: &str = "--memory-node";

/// What is printed for `--help` and after a mistake.
pub const USAGE: &str = "\
usage: table [options] [group or table ...]

Measures every contender of the groups (all of them by default) and prints Markdown tables. The group `memory`, which is
measured by itself, is no contest: it says what lanes take of a node, measured and computed.

  --quick         5 short rounds: the order is right, the figures are rough
  --rounds N      rounds over all contenders (default 7)
  --millis N      time of one measurement in milliseconds (default 200)
  --calm SECONDS  wait up to so long before each measurement for other programs to be quiet, and repeat a
                  measurement during which they were not
  --only TEXT     only contenders whose name contains TEXT, and those they are set against
  --output FILE   also write the tables to FILE, between its generated marks if it has them
  --plot FILE     also draw the tables into FILE, as SVG
  --list          say what there is to measure
  --help          this text";

/// The command line, parsed.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Measure and print.
    Tables(Options),
    /// Say what there is to measure.
    List,
    /// Measure and compute what lanes take, and write that to a file, too.
    Memory(Option<PathBuf>),
    /// As a child process: be a node whose memory is measured.
    MemoryNode,
    /// Print the usage.
    Help,
    /// As a child process: measure one contender.
    Measure {
        /// The table.
        table: String,
        /// The contender in it.
        row: String,
        /// How long.
        budget: Duration,
    },
    /// As a child process: measure how far apart the first two processors are.
    RoundTrip,
}

/// How to measure what.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Rounds over all contenders.
    pub rounds: usize,
    /// Time of one measurement.
    pub budget: Duration,
    /// Names of groups or tables; none means all.
    pub wanted: Vec<String>,
    /// Part of a contender's name.
    pub only: Option<String>,
    /// Where else to write the tables.
    pub output: Option<PathBuf>,
    /// Where to draw the tables.
    pub plot: Option<PathBuf>,
    /// How long to wait for other programs to be quiet, before each measurement.
    pub calm: Duration,
    /// Whether the figures are rough.
    pub quick: bool,
}

/// Parses the arguments.
///
/// # Errors
/// A sentence for the user who typed them.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let mut options = Options {
        rounds: 7,
        budget: Duration::from_millis(200),
        wanted: Vec::new(),
        only: None,
        output: None,
        plot: None,
        calm: Duration::ZERO,
        quick: false,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--list" => return Ok(Command::List),
            MEMORY_NODE => return Ok(Command::MemoryNode),
            "--round-trip" => return Ok(Command::RoundTrip),
            "--measure" => {
                return Ok(Command::Measure {
                    table: value()?,
                    row: value()?,
                    budget: Duration::from_millis(number(&value()?)?),
                });
            }
            "--quick" => {
                options.quick = true;
                options.rounds = 5;
                options.budget = Duration::from_millis(60);
            }
            "--rounds" => options.rounds = number(&value()?)?.max(1) as usize,
            "--millis" => options.budget = Duration::from_millis(number(&value()?)?.max(10)),
            "--calm" => options.calm = Duration::from_secs(number(&value()?)?),
            "--only" => options.only = Some(value()?),
            "--plot" => options.plot = Some(value()?.into()),
            "--output" => options.output = Some(value()?.into()),
            unknown if unknown.starts_with('-') => return Err(format!("no option {unknown}")),
            _ => options.wanted.push(argument),
        }
    }
    match options.wanted.iter().any(|name| name == MEMORY) {
        true if options.wanted.len() > 1 => Err(format!("{MEMORY} is measured by itself")),
        true => Ok(Command::Memory(options.output)),
        false => Ok(Command::Tables(options)),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_options_refine_quick() {
        let arguments = ["--quick", "--rounds", "9", "map"].map(String::from);
        let Ok(Command::Tables(options)) = parse(arguments) else { panic!("not understood") };
        assert_eq!((options.rounds, options.budget.as_millis()), (9, 60));
        assert_eq!(options.wanted, ["map"]);
    }

    #[test]
    fn memory_is_measured_by_itself() {
        let parsed = |arguments: &[&str]| parse(arguments.iter().map(|text| (*text).to_owned()));
        assert_eq!(parsed(&["memory"]), Ok(Command::Memory(None)));
        assert!(parsed(&["memory", "map"]).is_err());
    }

    #[test]
    fn an_unknown_option_is_an_error() {
        assert!(parse(["--fast".to_owned()]).is_err());
        assert!(parse(["--rounds".to_owned()]).is_err());
    }
}
