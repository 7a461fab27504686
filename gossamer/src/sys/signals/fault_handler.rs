//! The handler of SIGSEGV and SIGBUS: turns a fiber's stack overflow into a message and an abort, resolves the faults
//! of watched addresses (`faults`), and passes on all others.
//!
//! Invariant O1: the handler calls only async-signal-safe functions, allocates nothing, and runs on the alternate stack
//! of the thread, which `prepare_thread` ensures.

use crate::sys::fibers::fiber::Fiber;
use crate::sys::memory::range::Range;
use crate::sys::signals::fatal;
use crate::sys::signals::faults::{self, Fault, Resolve, Watch};
use crate::sys::signals::line::Line;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::{Arc, Once, OnceLock};

/// Bytes of the alternate stack of a worker.
const ALTERNATE_STACK: usize = 64 * 1024;

thread_local! {
    /// Whether this thread has an alternate stack of ours. Read by the handler, so it must need no initialisation.
    static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// What handled each signal before us, to be asked when the fault is not ours.
static PREVIOUS: [OnceLock<libc::sigaction>; 2] = [OnceLock::new(), OnceLock::new()];
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Installs the handler once per process, in front of the one that is there.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (signal, previous) in SIGNALS.into_iter().zip(&PREVIOUS) {
            if let Some(old) = install_for(signal) {
                let _ = previous.set(old);
            }
        }
    });
}

/// Arranges that faults in a range are resolved, in whichever thread they happen, until the watch is dropped.
pub(crate) fn watch(range: &Range, resolver: Arc<dyn Resolve>) -> Watch {
    install();
    faults::register(range, resolver)
}

/// Replaces a handler that was installed since: that of may's coroutines, which panics at a fault that is not theirs,
/// and at one that is theirs leaves frames without running destructors.
#[cfg(feature = "may")]
pub(crate) fn install_again() {
    install();
    for signal in SIGNALS {
        let _other = install_for(signal);
    }
}

/// Installs the handler and returns the one that was there, unless the system refuses.
fn install_for(signal: libc::c_int) -> Option<libc::sigaction> {
    // SAFETY: `sigaction` is plain data for which all zero is valid.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    let mut old = MaybeUninit::zeroed();
    // SAFETY: `action` is complete, `on_fault` has the signature SA_SIGINFO asks for and obeys O1.
    let status = unsafe { libc::sigaction(signal, &action, old.as_mut_ptr()) };
    // SAFETY: if the call succeeded it wrote the old action (and zeroes are valid in any case).
    (status == 0).then(|| unsafe { old.assume_init() })
}

/// The alternate stack of a thread, until it is dropped (O1). A thread's usual one holds little more than the
/// registers.
pub(crate) struct AlternateStack {
    before: libc::stack_t,
    _memory: Box<[u8]>,
}

/// Gives the calling thread an alternate stack. `None` if the system refuses, which only costs reports.
pub(crate) fn prepare_thread() -> Option<AlternateStack> {
    let mut memory = vec![0_u8; ALTERNATE_STACK].into_boxed_slice();
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: ALTERNATE_STACK };
    let mut before = MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: the memory is of the size given, and stays until this stack is given up; `before` is writable.
    let status = unsafe { libc::sigaltstack(&stack, before.as_mut_ptr()) };
    IS_PREPARED.set(status == 0);
    // SAFETY: zeroes are a valid `stack_t`, so it is initialised whatever the call did.
    (status == 0).then(|| AlternateStack { before: unsafe { before.assume_init() }, _memory: memory })
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        IS_PREPARED.set(false);
        // SAFETY: it was the thread's before, and no handler runs here, so none is on the stack that is given up.
        let status = unsafe { libc::sigaltstack(&self.before, null_mut()) };
        assert!(status == 0, "a thread's alternate stack could not be given back");
    }
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t` to a handler installed with SA_SIGINFO.
    let info_of_fault = unsafe { &*info };
    // SAFETY: the signals it is installed for carry an address.
    let address = unsafe { info_of_fault.si_addr() } as usize;
    if let Some((fiber, usable)) = Fiber::overflowed_at(address) {
        fatal::abort_with(format_args!(
            "fiber {} spawned at {} on worker {} overflowed its stack of {} KiB; \
             give fibers more with Config::stack_size or GOSSAMER_STACK_KIB, or move large arrays to the heap",
            fiber.serial,
            fiber.spawned_at,
            fiber.worker,
            usable / 1024
        ));
    }
    if resolved(Fault { address, write: is_write(context), bus: signal == libc::SIGBUS }) {
        return;
    }
    fatal::wait_for_others();
    if IS_PREPARED.get() {
        pass_on(signal, info, context);
    } else {
        fatal::with_plain_abort(|| pass_on(signal, info, context));
    }
    if fatal::is_default(signal) {
        // Another thread's fault must not end the process before this one is reported.
        install_for(signal);
        // SAFETY: both are what the kernel gave.
        unsafe { fatal::fault(signal, address, info, context) };
    }
}

/// Whether to repeat the access that faulted. The interrupted code's `errno` stays.
fn resolved(fault: Fault) -> bool {
    // SAFETY: the thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    let mut line = Line::new();
    let again = faults::resolve(fault, &mut line);
    if again == Some(false) {
        line.print();
    }
    // SAFETY: as above.
    unsafe { errno.write(before) };
    again == Some(true)
}

/// Whether it was a write: the second bit of the processor's error code.
fn is_write(context: *mut libc::c_void) -> bool {
    // SAFETY: the kernel passes the interrupted context to a handler installed with SA_SIGINFO.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    context.uc_mcontext.gregs[libc::REG_ERR as usize] & 2 != 0
}

/// Hands a fault that is not a fiber's overflow to the handler that was there before.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let index = SIGNALS.iter().position(|&s| s == signal).unwrap_or(0);
    let previous = PREVIOUS[index].get();
    let handler = previous.map_or(libc::SIG_DFL, |action| action.sa_sigaction);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: restores the default action: the faulting instruction runs again and ends the process as it should.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    if previous.is_some_and(|action| action.sa_flags & libc::SA_SIGINFO != 0) {
        type Detailed = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: the flag says that the action is a handler of this signature.
        let handler: Detailed = unsafe { core::mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: without the flag the action is a handler of this signature.
        let handler: extern "C" fn(libc::c_int) = unsafe { core::mem::transmute(handler) };
        handler(signal);
    }
}
