//! The symbols that the crates `ibverbs` and `ibverbs-sys` refer to, defined here: so the linker takes none from
//! libibverbs, and a program starts where that library is missing.
//!
//! A library that is opened at run time may find these before its own. They lead to the same functions.

use crate::fabric::verbs::abi::library::signatures;
use crate::fabric::verbs::abi::{Verbs, types::*};
use crate::structures::scoped::scoped_thread_local;
use std::ffi::{c_char, c_int, c_uint, c_void};

scoped_thread_local! {
    /// The functions that the symbols lead to meanwhile.
    #[expect(dead_code, reason = "one way of two to the reference")]
    mod chosen: Verbs
}

/// Calls the crate `ibverbs`, for devices of these functions.
pub(crate) fn with<R>(verbs: &Verbs, call: impl FnOnce() -> R) -> R {
    chosen::set(verbs, call)
}

/// The functions that the symbols lead to: those of this process, if none are chosen.
fn functions<R>(call: impl FnOnce(&Verbs) -> R) -> Option<R> {
    chosen::with(|chosen| chosen.or_else(|| Verbs::get().ok()).map(call))
}

/// ENOSYS.
const NO_SYSTEM: c_int = 38;

/// What a function that cannot be called returns.
trait Absent {
    const ABSENT: Self;
}

impl Absent for () {
    const ABSENT: Self = ();
}

impl Absent for c_int {
    const ABSENT: Self = NO_SYSTEM;
}

impl Absent for u64 {
    const ABSENT: Self = 0;
}

impl Absent for isize {
    const ABSENT: Self = -(NO_SYSTEM as isize);
}

impl<T> Absent for *mut T {
    const ABSENT: Self = std::ptr::null_mut();
}

impl<T> Absent for *const T {
    const ABSENT: Self = std::ptr::null();
}

macro_rules! symbols {
    ($($(#[$when:meta])? $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        $(#[$when])?
        // SAFETY: a symbol with this name has this type (V2), whoever defines it.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            functions(|verbs| {
                // SAFETY: V2, and guaranteed by the caller.
                unsafe { (verbs.$name)($($argument),*) }
            })
            .unwrap_or(Absent::ABSENT)
        }
    )*};
}

signatures!(symbols);
