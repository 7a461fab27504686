//! Measures contenders round robin, each measurement in a process of its own, so that neither pinned threads
//! nor memory nor a hang of one contender touches the next.

use crate::catalogue::{self, Group, Row, Table};
use crate::clock::Others;
use crate::measure::{Measured, Sample, Setting};
use crate::options::Options;
use crate::report::Report;
use std::io::{IsTerminal as _, Read as _};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A child that takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Others are quiet if they use less than this share of the machine (the kernel counts in hundredths of a second).
const CALM: f64 = 0.08;

/// Measures what the options ask for, and reports each table as soon as it is measured.
///
/// # Errors
/// A sentence, if they ask for what there is not.
pub fn run(options: &Options) -> Result<Report, String> {
    let groups = select(options)?;
    let others = Others::watch();
    let (mut report, mut round_trips) = (Report::begin(options), Vec::new());
    for group in groups {
        report.group(&group);
        for table in &group.tables {
            round_trips.extend(round_trip());
            report.table(table, table_in_rounds(options, table));
        }
    }
    report.end(&round_trips, others.share());
    Ok(report)
}

fn select(options: &Options) -> Result<Vec<Group>, String> {
    let mut groups = catalogue::groups();
    let known = |name: &String| {
        groups.iter().any(|group| group.name == name || group.tables.iter().any(|table| &table.name == name))
    };
    if let Some(unknown) = options.wanted.iter().find(|name| !known(name)) {
        return Err(format!("no group or table is called {unknown}"));
    }
    for group in &mut groups {
        let whole = options.wanted.is_empty() || options.wanted.iter().any(|name| name == group.name);
        group.tables.retain(|table| whole || options.wanted.contains(&table.name));
        if let Some(part) = &options.only {
            for table in &mut group.tables {
                let ends = [0, table.rows.len().saturating_sub(1)];
                let mut place = 0;
                table.rows.retain(|row| {
                    place += 1;
                    row.name.contains(part) || row.leads || ends.contains(&(place - 1))
                });
            }
        }
    }
    groups.retain(|group| !group.tables.is_empty());
    Ok(groups)
}

fn table_in_rounds(options: &Options, table: &Table) -> Vec<Measured> {
    let missing = |row: &Row| row.needs.filter(|program| !is_installed(program));
    let mut measured: Vec<_> =
        table.rows.iter().map(|row| Measured { missing: missing(row), ..Measured::default() }).collect();
    for round in 1..=options.rounds {
        for (row, measured) in table.rows.iter().zip(&mut measured) {
            progress(&format!("{}, round {round} of {}: {}", table.name, options.rounds, row.name));
            if measured.failure.is_some() || measured.missing.is_some() {
                measured.samples.push(None);
                continue;
            }
            match calmly(table, row, options) {
                Ok(sample) => measured.samples.push(Some(sample)),
                Err(failure) => {
                    measured.samples.push(None);
                    measured.failure = Some(failure);
                }
            }
        }
    }
    progress("");
    measured
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn progress(what: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
    }
}

/// Measures when others are quiet, as far as the options say to wait for that.
fn calmly(table: &Table, row: &Row, options: &Options) -> Result<Sample, String> {
    let deadline = Instant::now() + options.calm;
    let mut best: Option<(f64, Sample)> = None;
    loop {
        while Instant::now() < deadline && !is_calm() {}
        let others = Others::watch();
        let sample = in_child(table, row, options.budget)?;
        let share = others.share().unwrap_or(0.0);
        if best.is_none_or(|(least, _)| share < least) {
            best = Some((share, sample));
        }
        if let Some((least, best)) = best
            && (least < CALM || Instant::now() >= deadline)
        {
            return Ok(best);
        }
    }
}

fn is_calm() -> bool {
    let others = Others::watch();
    std::thread::sleep(Duration::from_millis(100));
    others.share().is_none_or(|share| share < CALM)
}

fn in_child(table: &Table, row: &Row, budget: Duration) -> Result<Sample, String> {
    let millis = budget.as_millis().to_string();
    let line = child(&["--measure", &table.name, &row.name, &millis])?;
    Sample::from_line(&line).ok_or_else(|| format!("said {line:?}"))
}

fn round_trip() -> Option<f64> {
    child(&["--round-trip"]).ok()?.trim().parse().ok()
}

/// Runs this program again and returns what it printed.
fn child(arguments: &[&str]) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer in {} s", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let (mut out, mut err) = (String::new(), String::new());
    let _ = child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut out));
    let _ = child.stderr.take().map(|mut pipe| pipe.read_to_string(&mut err));
    if status.success() { Ok(out) } else { Err(format!("{status}: {}", err.trim())) }
}

/// In the child: measures one contender and prints its sample.
#[must_use]
pub fn measure(table: &str, row: &str, budget: Duration) -> ExitCode {
    let found = catalogue::groups()
        .into_iter()
        .flat_map(|group| group.tables)
        .filter(|candidate| candidate.name == table)
        .flat_map(|candidate| candidate.rows)
        .find(|candidate| candidate.name == row);
    let Some(row) = found else {
        eprintln!("no contender {row} in {table}");
        return ExitCode::from(2);
    };
    let sample = (row.measure)(&Setting { budget, ..row.setting });
    println!("{}", sample.to_line());
    ExitCode::SUCCESS
}
