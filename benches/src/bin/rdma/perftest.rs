//! Programs of perftest, between two processes of this machine.

use benches::partner::Partner;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The port at which they listen.
const PORT: u16 = 18515;
/// How long one of them may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which field of the line of figures to use.
#[derive(Clone, Copy)]
pub(crate) enum Figure {
    /// Microseconds of one way, as a median.
    Latency,
    /// Messages a second.
    Messages,
    /// Bytes per second, on average.
    Bytes,
}

/// Runs one of them, with arguments between blanks. Returns its figure, or nothing if it is not installed, or failed.
pub(crate) fn run(command: &str, more: &str, figure: Figure) -> Option<f64> {
    let mut words = command.split_whitespace().chain(more.split_whitespace());
    let (program, arguments) = (words.next()?, words.collect::<Vec<_>>());
    let mut server = Command::new(program);
    server.args(&arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let server = Partner::of(&mut server);
    let begin = Instant::now();
    while !listens() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    let found = Command::new(program).args(&arguments).arg("127.0.0.1").output().ok()?;
    drop(server);
    parse(&String::from_utf8_lossy(&found.stdout), figure)
}

/// Whether something listens at the port.
fn listens() -> bool {
    let place = format!(":{PORT:04X} ");
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|table| {
        let table = std::fs::read_to_string(table).unwrap_or_default();
        table.lines().any(|line| line.contains(&place) && line.contains(" 0A "))
    })
}

/// The figure in the line below the names of the columns.
fn parse(output: &str, figure: Figure) -> Option<f64> {
    let line = output.lines().skip_while(|line| !line.contains("#bytes")).nth(1)?;
    let columns: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let (column, unit) = match figure {
        Figure::Latency => (4, 1.0),
        Figure::Messages => (4, 1e6),
        Figure::Bytes => (3, 1024.0 * 1024.0),
    };
    // In a virtual machine it may not find out how fast the clock runs.
    columns.get(column).map(|figure| figure * unit).filter(|figure| figure.is_finite() && *figure > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_below_their_names() {
        let latency = " #bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec]\n 64 200 60.1 400.5 71.25 80.0\n---";
        assert_eq!(parse(latency, Figure::Latency), Some(71.25));
        let rate =
            " #bytes #iterations BW peak[MiB/sec] BW average[MiB/sec] MsgRate[Mpps]\n 32 200 2.0 1.5 0.05\n";
        assert_eq!(
            (parse(rate, Figure::Messages), parse(rate, Figure::Bytes)),
            (Some(5e4), Some(1_572_864.0))
        );
        assert_eq!(parse("Couldn't connect", Figure::Bytes), None);
    }
}
