//! The simulated RDMA device, which is built beside the tests.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{CStr, c_char};
use std::path::PathBuf;
use std::sync::Once;

/// The library that takes the place of libibverbs.
///
/// # Panics
/// If the test's own file is not known.
pub fn simulated_rdma() -> PathBuf {
    std::env::current_exe().expect("a test has a file").with_file_name("libverbs_sim.so")
}

/// From here on this process has the simulated device: who opens libibverbs gets it, since a library of that name is open already.
/// Other processes get it by `LD_PRELOAD`.
///
/// # Panics
/// If it was not built.
pub fn simulate_rdma() {
    static OPENED: Once = Once::new();
    OPENED.call_once(|| {
        // SAFETY: its initialisers may run on any thread at any time.
        let library = unsafe { Library::open(Some(simulated_rdma()), RTLD_NOW | RTLD_GLOBAL) };
        std::mem::forget(library.expect("the simulated device is built"));
    });
}

/// A counter of the simulated device, of this process.
///
/// # Panics
/// If it was not built.
pub fn simulated_counter(name: &CStr) -> u64 {
    type Counter = unsafe extern "C" fn(*const c_char) -> u64;
    simulate_rdma();
    // SAFETY: it is open already.
    let device = unsafe { Library::open(Some(simulated_rdma()), RTLD_NOW) }.expect("the simulated device");
    // SAFETY: of this type.
    let counter = unsafe { device.get::<Counter>("verbs_sim_counter") }.expect("its counters");
    // SAFETY: it reads a string.
    unsafe { counter(name.as_ptr()) }
}
