//! The machine under the benches: its processors, pinning, and how far apart two of them are.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Two cache lines, so that the adjacent-line prefetcher does not join two values.
#[derive(Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

/// Processors this process may run on, as it was started. Call it first from an unpinned thread.
pub fn processors() -> &'static [usize] {
    static PROCESSORS: OnceLock<Vec<usize>> = OnceLock::new();
    PROCESSORS.get_or_init(|| {
        let mut set = std::mem::MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: `set` is a valid place for one cpu_set_t of the size given.
        unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) };
        // SAFETY: all zero is a valid, empty set, and the call above can only have filled it in.
        let set = unsafe { set.assume_init() };
        // SAFETY: every index is below the size of the set.
        let found = (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) });
        found.collect()
    })
}

/// Pins the calling thread to the processor of worker `index`, round robin when there are more workers than
/// processors. Does nothing where the kernel refuses.
pub fn pin(index: usize) {
    let all = processors();
    let Some(&cpu) = all.get(index % all.len().max(1)) else { return };
    let mut set = std::mem::MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: all zero is a valid, empty set.
    let set = unsafe { set.assume_init_mut() };
    // SAFETY: `cpu` came out of a set of this size.
    unsafe { libc::CPU_SET(cpu, set) };
    // SAFETY: `set` is a valid set of the size given.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
}

/// Starts a thread pinned as worker `index`. Panics if the kernel gives no thread.
pub fn pinned<R: Send + 'static>(
    index: usize,
    body: impl FnOnce() -> R + Send + 'static,
) -> std::thread::JoinHandle<R> {
    let _ = processors();
    std::thread::spawn(move || {
        pin(index);
        body()
    })
}

/// One processor word for what a line says of the machine: model, kernel, processors, virtual or not.
#[must_use]
pub fn description() -> String {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        information.lines().find(|line| line.starts_with(name)).and_then(|line| line.split(": ").nth(1))
    };
    let model = field("model name").unwrap_or("unknown processor").trim().to_owned();
    let guest = field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut text = format!("{model}, Linux {}", kernel.trim());
    let _ = write!(text, ", {} processors", processors().len());
    if guest {
        text.push_str(", a virtual machine (where its processors are on the host is luck)");
    }
    text
}

/// Nanoseconds a cache line takes from the first processor to the second and back.
#[must_use]
pub fn cache_line_round_trip() -> f64 {
    const ROUNDS: u64 = 20_000;
    static THERE: Padded<AtomicU64> = Padded(AtomicU64::new(0));
    static BACK: Padded<AtomicU64> = Padded(AtomicU64::new(0));
    let wait = |word: &AtomicU64, value| {
        while word.load(Ordering::Acquire) < value {
            std::hint::spin_loop();
        }
    };
    let echo = pinned(1, move || {
        for round in 1..=ROUNDS {
            wait(&THERE.0, round);
            BACK.0.store(round, Ordering::Release);
        }
    });
    pin(0);
    THERE.0.store(1, Ordering::Release);
    wait(&BACK.0, 1);
    let start = Instant::now();
    for round in 2..=ROUNDS {
        THERE.0.store(round, Ordering::Release);
        wait(&BACK.0, round);
    }
    let elapsed = start.elapsed();
    let _ = echo.join();
    elapsed.as_nanos() as f64 / (ROUNDS - 1) as f64
}
