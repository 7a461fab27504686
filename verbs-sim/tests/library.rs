//! The built library, chosen as a program's libibverbs by `LD_LIBRARY_PATH`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::{CStr, c_int, c_void};
use std::path::PathBuf;
use std::process::Command;

const CHILD: &str = "VERBS_SIM_TEST_CHILD";

/// Besides the calls of a context.
const SYMBOLS: [&CStr; 30] = [
    c"ibv_get_device_list",
    c"ibv_free_device_list",
    c"ibv_get_device_name",
    c"ibv_get_device_guid",
    c"ibv_open_device",
    c"ibv_close_device",
    c"ibv_query_device",
    c"ibv_query_port",
    c"ibv_query_gid",
    c"_ibv_query_gid_table",
    c"ibv_get_async_event",
    c"ibv_ack_async_event",
    c"ibv_alloc_pd",
    c"ibv_dealloc_pd",
    c"ibv_reg_mr",
    c"ibv_dereg_mr",
    c"ibv_create_comp_channel",
    c"ibv_destroy_comp_channel",
    c"ibv_create_cq",
    c"ibv_destroy_cq",
    c"ibv_get_cq_event",
    c"ibv_ack_cq_events",
    c"ibv_create_qp",
    c"ibv_modify_qp",
    c"ibv_query_qp",
    c"ibv_destroy_qp",
    c"ibv_query_qp_data_in_order",
    c"verbs_sim_counter",
    c"verbs_sim_break",
    c"verbs_sim_port",
];

/// A folder with the library that was built beside this test, under the name of the real one.
fn folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().join("libverbs_sim.so");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("library-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(&built, folder.join("libibverbs.so.1"))
        .unwrap_or_else(|error| panic!("{built:?}: {error}"));
    folder
}

fn symbol(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: an open library, and a string.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

#[test]
fn a_program_finds_it_as_libibverbs_with_all_its_symbols_and_one_device() {
    if std::env::var(CHILD).is_err() {
        let folder = folder();
        let name = "a_program_finds_it_as_libibverbs_with_all_its_symbols_and_one_device";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name]).env(CHILD, "1").env("LD_LIBRARY_PATH", &folder);
        assert!(command.env_remove("VERBS_SIM").status().unwrap().success());
        std::fs::remove_dir_all(folder).unwrap();
        return;
    }
    // SAFETY: a string; what runs when it is opened may run on any thread.
    let library = unsafe { libc::dlopen(c"libibverbs.so.1".as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "the library cannot be opened");
    for name in SYMBOLS {
        symbol(library, name);
    }
    let list = symbol(library, SYMBOLS[0]);
    // SAFETY: the type that the headers of libibverbs give it.
    let list: unsafe extern "C" fn(*mut c_int) -> *mut c_void = unsafe { std::mem::transmute(list) };
    let free = symbol(library, SYMBOLS[1]);
    // SAFETY: likewise.
    let free: unsafe extern "C" fn(*mut c_void) = unsafe { std::mem::transmute(free) };
    let mut count = 0;
    // SAFETY: it writes a number.
    let devices = unsafe { list(&mut count) };
    assert!(!devices.is_null());
    assert_eq!(count, 1);
    // SAFETY: the list, which is not used again.
    unsafe { free(devices) };
}
