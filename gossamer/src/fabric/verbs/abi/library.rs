//! libibverbs, opened at run time: nothing has to be installed to build a program, or to start it where there is no RDMA.

use crate::fabric::verbs::abi::types::*;
use libloading::Library;
use std::error::Error;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// The name of the ABI in `types.rs`.
const NAME: &str = "libibverbs.so.1";

/// Looks up a symbol.
///
/// # Safety
/// `F` is the type of the function with this name.
unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: guaranteed by the caller.
    match unsafe { library.get::<F>(name) } {
        Ok(found) => Ok(*found),
        Err(_) => Err(format!("{NAME} is too old: it has no `{name}`. Install rdma-core 32 or later")),
    }
}

/// The functions of the library, each looked up once.
macro_rules! functions {
    ($($(#[$when:meta])? $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        pub(crate) struct Verbs {
            $($(#[$when])? pub(crate) $name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Verbs {
            /// # Safety
            /// It is libibverbs, and stays open.
            unsafe fn of(library: &Library) -> Result<Self, String> {
                Ok(Self {
                    // SAFETY: as the header of libibverbs declares it.
                    $($(#[$when])? $name: unsafe { symbol(library, stringify!($name)) }?,)*
                })
            }
        }
    };
}

/// Gives all of them to a macro, as the header declares them. Two are only for the crate `ibverbs`.
macro_rules! signatures {
    ($use:ident) => {
        $use! {
            ibv_get_device_list(count: *mut c_int) -> *mut *mut ibv_device;
            ibv_free_device_list(list: *mut *mut ibv_device);
            ibv_get_device_name(device: *mut ibv_device) -> *const c_char;
            #[cfg(feature = "ibverbs")]
            ibv_get_device_guid(device: *mut ibv_device) -> u64;
            #[cfg(feature = "ibverbs")]
            ibv_get_device_index(device: *mut ibv_device) -> c_int;
            ibv_open_device(device: *mut ibv_device) -> *mut ibv_context;
            ibv_close_device(context: *mut ibv_context) -> c_int;
            ibv_query_device(context: *mut ibv_context, to: *mut ibv_device_attr) -> c_int;
            ibv_query_port(context: *mut ibv_context, port: u8, to: *mut ibv_port_attr) -> c_int;
            _ibv_query_gid_table(
                context: *mut ibv_context, to: *mut ibv_gid_entry, most: usize, flags: u32, each: usize
            ) -> isize;
            ibv_get_async_event(context: *mut ibv_context, to: *mut ibv_async_event) -> c_int;
            ibv_ack_async_event(event: *mut ibv_async_event);
            ibv_alloc_pd(context: *mut ibv_context) -> *mut ibv_pd;
            ibv_dealloc_pd(domain: *mut ibv_pd) -> c_int;
            ibv_reg_mr(domain: *mut ibv_pd, start: *mut c_void, length: usize, access: c_int) -> *mut ibv_mr;
            ibv_dereg_mr(region: *mut ibv_mr) -> c_int;
            ibv_create_comp_channel(context: *mut ibv_context) -> *mut ibv_comp_channel;
            ibv_destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int;
            ibv_create_cq(
                context: *mut ibv_context, entries: c_int, of_queue: *mut c_void, channel: *mut ibv_comp_channel,
                vector: c_int
            ) -> *mut ibv_cq;
            ibv_destroy_cq(queue: *mut ibv_cq) -> c_int;
            ibv_get_cq_event(
                channel: *mut ibv_comp_channel, queue: *mut *mut ibv_cq, of_queue: *mut *mut c_void
            ) -> c_int;
            ibv_ack_cq_events(queue: *mut ibv_cq, count: c_uint);
            ibv_create_qp(domain: *mut ibv_pd, attributes: *mut ibv_qp_init_attr) -> *mut ibv_qp;
            ibv_modify_qp(pair: *mut ibv_qp, attributes: *mut ibv_qp_attr, which: c_int) -> c_int;
            ibv_destroy_qp(pair: *mut ibv_qp) -> c_int;
        }
    };
}

signatures!(functions);

#[cfg(feature = "ibverbs")]
pub(super) use signatures;

impl Verbs {
    /// The functions of this process.
    ///
    /// # Errors
    /// The library is missing or too old. The error says why, and what to do.
    pub(crate) fn get() -> Result<&'static Self, &'static str> {
        static VERBS: OnceLock<Result<Verbs, String>> = OnceLock::new();
        VERBS.get_or_init(|| Self::open(NAME)).as_ref().map_err(String::as_str)
    }

    /// The functions for tests: those of the simulated device, which is built with them, unless the tests are to use
    /// the installed library.
    #[cfg(test)]
    pub(crate) fn of_tests() -> &'static Self {
        static VERBS: OnceLock<Verbs> = OnceLock::new();
        if !Self::tests_are_simulated() {
            return Self::get().unwrap();
        }
        VERBS.get_or_init(|| {
            let library = std::env::current_exe().unwrap().with_file_name("libverbs_sim.so");
            Self::open(library.to_str().unwrap()).unwrap()
        })
    }

    /// Whether tests use the simulated device.
    #[cfg(test)]
    pub(crate) fn tests_are_simulated() -> bool {
        match std::env::var("GOSSAMER_TEST_DEVICE").as_deref() {
            Ok("installed") => false,
            Ok(other) => panic!("GOSSAMER_TEST_DEVICE={other}: it may be `installed`, or not be set"),
            Err(_) => true,
        }
    }

    fn open(name: &str) -> Result<Self, String> {
        // SAFETY: its initialisers may run on any thread at any time.
        let library = unsafe { Library::new(name) }.map_err(|error| {
            // The linker's message names the file.
            let said = error.source().map_or_else(|| format!("{name}: {error}"), ToString::to_string);
            format!("no library: {said}. Install libibverbs1 (rdma-core), with the provider of the device")
        })?;
        // SAFETY: the file of this name is libibverbs, with this ABI; V2.
        let verbs = unsafe { Self::of(&library) };
        // V2. Anything that its providers have started must not end before the process does.
        std::mem::forget(library);
        verbs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_is_told_with_what_to_install() {
        let error = Verbs::open("libibverbs-that-is-not-there.so.1").err().unwrap();
        assert!(error.starts_with("no library: libibverbs-that-is-not-there.so.1"), "{error}");
        assert!(error.contains("Install libibverbs1"), "{error}");
    }

    #[test]
    fn a_library_without_a_symbol_is_told_with_the_symbol() {
        let error = Verbs::open("libc.so.6").err().unwrap();
        assert!(error.contains("has no `ibv_get_device_list`"), "{error}");
    }
}
