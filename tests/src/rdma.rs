//! The RDMA device of the tests: the simulated one, which is built beside them, or one of this machine.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{CStr, c_char};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Once;

/// Whether the device is simulated: unless `GOSSAMER_TEST_DEVICE=installed`, as in the unit tests of the library.
///
/// # Panics
/// If the variable is set to something else.
pub fn rdma_is_simulated() -> bool {
    match std::env::var("GOSSAMER_TEST_DEVICE").as_deref() {
        Ok("installed") => false,
        Ok(other) => panic!("GOSSAMER_TEST_DEVICE={other}: it may be `installed`, or not be set"),
        Err(_) => true,
    }
}

/// The library that takes the place of libibverbs.
fn simulated_rdma() -> PathBuf {
    std::env::current_exe().expect("a test has a file").with_file_name("libverbs_sim.so")
}

/// Gives the device of the tests to another process.
///
/// # Panics
/// If the path of the test's own program is not known.
pub fn with_rdma(command: &mut Command) -> &mut Command {
    if rdma_is_simulated() { command.env("LD_PRELOAD", simulated_rdma()) } else { command }
}

/// Gives the device of the tests to this process, from here on: whatever opens libibverbs gets the simulated library,
/// since a library of that name is open already.
///
/// # Panics
/// If the simulated device was not built.
pub fn simulate_rdma() {
    static OPENED: Once = Once::new();
    if !rdma_is_simulated() {
        return;
    }
    OPENED.call_once(|| {
        // SAFETY: its initialisers may run on any thread at any time.
        let library = unsafe { Library::open(Some(simulated_rdma()), RTLD_NOW | RTLD_GLOBAL) };
        std::mem::forget(library.expect("the simulated device is built"));
    });
}

/// A counter of this process's simulated device.
///
/// # Panics
/// If the simulated device was not built.
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
