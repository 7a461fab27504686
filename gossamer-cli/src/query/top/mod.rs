//! `gossamer top`: what nodes and workers of programs do, on this machine or on all of a rack, and what takes most of their time.
//!
//! On a terminal it is a program that is controlled by keys: [`screen`] is what it shows, [`session`] runs it.
//! Elsewhere it prints lines of [`mod@text`]. Both use [`figures`].

pub mod figures;
pub mod screen;
pub mod session;
#[cfg(test)]
mod tests;
pub mod text;

use crate::exit::{Failure, UNREACHABLE};
use crate::query::look::{self, LookArguments, Seen, by_runtime};
use crate::query::output::{complain, print, print_json};
use crate::rack::protocol::Inspection;
use crate::terminal::printable::printable;
use crate::values;
use gossamer::inspect::NodeActivity;
use serde_json::Value;
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Moves to the upper left of an empty terminal.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Show what nodes and workers of programs do, on this machine or on the whole rack, and what takes most of their
/// time
///
/// For each worker: how much of the time it is busy, requests served and sent per second, requests that wait for
/// room, fibers, and the latency of requests on its most used route. For each two nodes: bytes per second and waiting
/// requests. And what workers run, sampled a thousand times per second: delegated closures with their lines, and
/// fibers by the line that started them. Programs need not be built or started in a special way, and workers do
/// nothing for it.
///
/// On a terminal it runs until q; keys sort (s), filter (/), pause (space), choose a part (Tab) and move in it
/// (arrows). In a pipe it prints lines, with an empty line before each round.
///
/// With --rack the daemons of all machines ask the nodes that they have started; this needs the rack's key.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct TopArguments {
    #[command(flatten)]
    pub(crate) look: LookArguments,
    /// Show it once
    #[arg(long)]
    pub(crate) once: bool,
    /// How long to sample each time, up to a minute
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    pub(crate) interval: Duration,
    /// The initial order of workers
    #[arg(long, value_name = "COLUMN", value_enum, default_value_t = Order::Worker)]
    pub(crate) sort: Order,
    /// Print JSON, one line each time
    #[arg(long)]
    pub(crate) json: bool,
}

/// By which column workers are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// By number
    Worker,
    /// The busiest first
    Busy,
    /// The one that serves the most first
    Served,
    /// The one that sends the most first
    Sent,
    /// The one with the most fibers first
    Fibers,
}

impl Order {
    /// The column that the key for sorting takes next.
    fn next(self) -> Self {
        match self {
            Self::Worker => Self::Busy,
            Self::Busy => Self::Served,
            Self::Served => Self::Sent,
            Self::Sent => Self::Fibers,
            Self::Fibers => Self::Worker,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Busy => "busy",
            Self::Served => "served",
            Self::Sent => "sent",
            Self::Fibers => "fibers",
        }
    }
}

const HELP: &str = "\
Examples:
  gossamer top                      all programs of this user
  gossamer top 4242 --sort busy     this process, the busiest worker first
  gossamer top --rack               all nodes that run on the rack
  gossamer top --application 0123abcd
                                    all nodes of this application
  gossamer top --once --interval 10s
                                    what they do in ten seconds
  gossamer top --json | jq          for programs

Exit status:
  0    at least one of them has answered
  1    there is no such program
  2    mistake on the command line or in a configuration file
  3    none of them has answered";

/// `gossamer top`
///
/// # Errors
/// If there is no such program, or none answers.
pub(crate) fn top(arguments: &TopArguments) -> Result<u8, Failure> {
    let is_terminal = io::stdout().is_terminal();
    let redraws = !arguments.once && !arguments.json && is_terminal;
    if redraws && io::stdin().is_terminal() && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb") {
        return session::run(arguments);
    }
    let mut is_first = true;
    loop {
        let seen = look(arguments)?;
        seen.silent.iter().for_each(|silent| complain(silent));
        let runtimes = by_runtime(&seen.nodes);
        if arguments.json {
            let values: Vec<Value> = runtimes.iter().map(|nodes| text::json(nodes)).collect();
            match arguments.once {
                true => print_json(&Value::Array(values))?,
                false => print(format!("{}\n", Value::Array(values)).as_bytes())?,
            }
        } else {
            let texts: Vec<String> = runtimes.iter().map(|nodes| text::text(nodes, arguments.sort)).collect();
            let lines: Vec<String> =
                texts.join("\n").lines().map(|line| printable(line).to_string()).collect();
            let before = if redraws {
                CLEAR
            } else if is_first {
                ""
            } else {
                "\n"
            };
            print(format!("{before}{}\n", lines.join("\n")).as_bytes())?;
        }
        if arguments.once {
            return Ok(0);
        }
        is_first = false;
    }
}

/// Looks at all of them at once, for as long as the options say.
fn look(arguments: &TopArguments) -> Result<Seen<NodeActivity>, Failure> {
    let milliseconds = u64::try_from(arguments.interval.as_millis()).unwrap_or(u64::MAX);
    let seen: Seen<NodeActivity> = look::look(&arguments.look, Inspection::Activity { milliseconds })?;
    if seen.nodes.is_empty() && !seen.silent.is_empty() {
        return Err(Failure::new(UNREACHABLE, seen.silent.join("; ")));
    }
    Ok(seen)
}
