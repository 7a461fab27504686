//! On which processors the workers of nodes in one process run.

use gossamer::{Trustee, rack, spawn_on};
use integration_tests::{isolated, workers};

/// Those of the calling thread.
fn processors() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
}

#[gossamer::delegate]
fn of_workers() -> Vec<String> {
    let of = |worker: &Trustee| spawn_on(*worker, || processors()).join();
    Trustee::all().iter().map(of).collect()
}

#[test]
fn workers_of_nodes_in_one_process_are_pinned_if_the_configuration_says_so() {
    isolated(|| {
        let all = processors();
        assert_eq!(rack::run_in_process(2, workers(2), of_workers), vec![all.clone(); 4]);
        assert_eq!(rack::run_in_process(2, workers(2).pin(false), of_workers), vec![all; 4]);
        for processors in rack::run_in_process(2, workers(2).pin(true), of_workers) {
            assert!(processors.parse::<usize>().is_ok(), "one processor: {processors}");
        }
    });
}
