//! Which threads of this process may end what fibers wait for, though no fiber does.

use crate::blocking::pool::busy_threads;
use crate::sys::threads::bystander::bystanders;
use std::fs;

/// How many threads may do so: those that this library has not started, besides those that wait for a runtime, and
/// those of the pool that work, for which the fiber that asked may wait no more. `None` if the kernel does not tell.
pub(super) fn others() -> Option<u64> {
    let threads = fs::read_dir("/proc/self/task").ok()?;
    let threads: Vec<_> =
        threads.filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok()).collect();
    let known = bystanders();
    let unknown = threads.iter().filter(|thread: &&i32| !known.contains(thread)).count();
    drop(known);
    Some((unknown + busy_threads()) as u64)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::sys::threads::bystander::{Bystander, bystanders};
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_thread_is_known_for_as_long_as_it_says_so_whatever_its_name() {
        let is_known = || bystanders().contains(&rustix::thread::gettid().as_raw_nonzero().get());
        let thread = thread::Builder::new().name("gossamer-0".to_owned());
        let (sender, receiver) = mpsc::channel();
        let look = move || {
            let mut seen = vec![is_known()];
            let outer = Bystander::here();
            drop(Bystander::here());
            seen.push(is_known());
            drop(outer);
            seen.push(is_known());
            sender.send(seen).unwrap();
        };
        thread.spawn(look).unwrap().join().unwrap();
        assert_eq!(receiver.recv().unwrap(), [false, true, false]);
    }
}
