//! Figures 12 and 13: raw writes by the number of queue pairs. Tests of the library measure them, since its interface
//! has no such writes.

use super::catalogue::{SIMULATED, VIRTUAL_MACHINE};
use super::child::Program;
use super::rounds::{Job, Reading, Rounds};
use crate::failure::{Context, Failure, Result};
use crate::rdma_vm::programs::Program as Target;

const BOTH: [u8; 2] = [12, 13];
const TESTS: Target = Target::LibraryTests("gossamer");
const TEST: &str = "fabric::verbs::queue_pair_rates::writes_over_a_queue_pair_for_each_pair_of_workers_and_over_one_for_each_worker";
const SECONDS: u64 = 180;
/// Two for workers, which spin, and two for the device, which is software.
const PROCESSORS: &str = "4";

/// Makes those of the measurements that are wanted.
///
/// # Errors
/// A recording cannot be written.
pub(super) fn measure(rounds: &mut Rounds<'_>) -> Result<()> {
    if !rounds.want(&BOTH) {
        return Ok(());
    }
    let tests = match TESTS.build(false) {
        Ok(tests) => tests,
        Err(failure) => {
            rounds.miss(&BOTH, "writes", &failure.to_string());
            return Ok(());
        }
    };
    let interruption = rounds.interruption;
    let arguments = ["--ignored", "--exact", "--nocapture", TEST];
    let here = Program::new(&tests, SECONDS).arguments(arguments);
    let mut jobs = vec![Job::new("writes over a simulated device", &BOTH, move || {
        readings(SIMULATED, &here.output(interruption)?)
    })];
    if rounds.effort.in_virtual_machine {
        let file = format!("{}:/job/{}", tests.display(), TESTS.name());
        let command = format!("GOSSAMER_TEST_DEVICE=installed ./{} {}", TESTS.name(), arguments.join(" "));
        let task = std::env::current_exe().context("this program")?;
        let machine = Program::new(task, SECONDS + 60)
            .arguments(["rdma-vm", "run", "--processors", PROCESSORS, "--timeout", &SECONDS.to_string()])
            .arguments(["--file", &file, "--", &command]);
        jobs.push(Job::new("writes over RDMA in a virtual machine", &BOTH, move || {
            readings(VIRTUAL_MACHINE, &machine.output(interruption)?)
        }));
    } else {
        rounds.miss(&BOTH, "RDMA in a virtual machine", "it takes minutes, and is measured without --quick");
    }
    rounds.run(jobs)
}

/// From lines `measured each-pair/BYTES/WORKERS RATE`, which the harness may have begun.
fn readings(panel: usize, text: &str) -> Result<Vec<Reading>> {
    let reading = |line: &str| {
        let (name, rate) = line.split_once("measured ")?.1.trim().split_once(' ')?;
        let (kind, rest) = name.split_once('/')?;
        let (bytes, workers) = rest.split_once('/')?;
        let series = match kind {
            "each-pair" => "a queue pair for each pair of workers",
            "each-worker" => "gossamer: one for each worker and node",
            _ => return None,
        };
        let figure = if bytes == "32" { 12 } else { 13 };
        let (series, label) = (series.to_owned(), workers.to_owned());
        Some(Reading { figure, panel, series, label, x: workers.parse().ok()?, y: rate.parse().ok()? })
    };
    let found: Vec<Reading> = text.lines().filter_map(reading).collect();
    if found.is_empty() { Err(Failure::new("the test has measured nothing")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_test_become_points_of_both_figures() {
        let text = "test fabric ... measured each-pair/32/1 1000.5\nmeasured each-worker/256/8 7\nother\n";
        let found = readings(SIMULATED, text).unwrap();
        let points: Vec<_> = found.iter().map(|point| (point.figure, point.x, point.y)).collect();
        assert_eq!(points, [(12, 1.0, 1000.5), (13, 8.0, 7.0)]);
        assert!(readings(SIMULATED, "nothing").is_err());
    }
}
