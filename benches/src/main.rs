//! `table`: Gossamer beside what it is compared with, as Markdown tables. See `--help`.

use benches::options::{Command, MEMORY, MEMORY_NODE, USAGE, parse};
use benches::{catalogue, machine, memory, report, runner};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    machine::processors(); // before anything is pinned
    match parse(std::env::args().skip(1)) {
        Ok(Command::Help) => println!("{USAGE}"),
        Ok(Command::List) => list(),
        Ok(Command::RoundTrip) => println!("{}", machine::cache_line_round_trip()),
        Ok(Command::Measure { table, row, budget }) => return runner::measure(&table, &row, budget),
        Ok(Command::Memory(output)) => return memory_tables(output.as_deref()),
        Ok(Command::MemoryNode) => memory::node::run(),
        Ok(Command::Tables(options)) => match runner::run(&options) {
            Ok(report) => return report.finish(&options),
            Err(error) => return mistake(&error),
        },
        Err(error) => return mistake(&error),
    }
    ExitCode::SUCCESS
}

fn mistake(error: &str) -> ExitCode {
    eprintln!("table: {error}\n\n{USAGE}");
    ExitCode::from(2)
}

fn memory_tables(output: Option<&Path>) -> ExitCode {
    let written = memory::tables::text(&[MEMORY_NODE]).and_then(|text| {
        print!("{text}");
        output.map_or(Ok(()), |file| {
            report::write_generated(file, &text).map_err(|error| format!("{}: {error}", file.display()))
        })
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("table: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() {
    let mut out = std::io::stdout().lock(); // may be a pipe that closes early
    for group in catalogue::groups() {
        let _ = writeln!(out, "{}", group.name);
        for table in group.tables {
            let _ = writeln!(out, "  {}: {}", table.name, table.title);
            for row in table.rows {
                let _ = writeln!(out, "    {}", row.name);
            }
        }
    }
    let _ = writeln!(out, "{MEMORY}");
}
