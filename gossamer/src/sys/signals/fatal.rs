//! The last words of a process that a signal ends: what the thread was doing, written by the signal's handler.
//!
//! Invariants
//! - O2: the handler calls only async-signal-safe functions and allocates nothing, and so do the `words` given to
//!   `install`. A fault in it ends the process, since its signal is blocked.
//! - O3: only the thread that was first to set `reporting` uses `memory`.

use crate::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sys::image::address;
use crate::sys::signals::line::{PATIENCE, write_soon};
use std::cell::UnsafeCell;
use std::fmt::{self, Write};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// Signals that end a process by its own fault, besides those that `fault_handler` looks at first.
const SIGNALS: [(libc::c_int, &str); 3] =
    [(libc::SIGABRT, "SIGABRT"), (libc::SIGILL, "SIGILL"), (libc::SIGFPE, "SIGFPE")];
/// Bytes of a report.
const LONGEST: usize = 2048;

static REPORTER: OnceLock<Reporter> = OnceLock::new();

struct Reporter {
    /// Says what the calling thread is doing, and whether there is anything to say.
    words: fn(&mut Text) -> bool,
    /// Begins a line on stderr.
    name: String,
    /// The pipe that gets the report instead of stderr.
    launcher: Option<libc::c_int>,
    process: libc::pid_t,
    /// The thread that reports; zero if none does. Relaxed, both: the first to come reports, and nothing is read that
    /// another thread wrote.
    reporting: AtomicU32,
    /// That thread has finished its report.
    said: AtomicBool,
    memory: Memory,
}

/// Installs the handlers, once per process, where nothing else has. Without a launcher, whose pipe has the number
/// given, the report goes to stderr, after the `name`.
pub(crate) fn install(name: &str, launcher: Option<i32>, words: fn(&mut Text) -> bool) {
    // SAFETY: a system call without arguments.
    let process = unsafe { libc::getpid() };
    let reporter = Reporter {
        words,
        name: name.to_owned(),
        launcher,
        process,
        reporting: AtomicU32::new(0),
        said: AtomicBool::new(false),
        memory: Memory(UnsafeCell::new([0; LONGEST])),
    };
    if REPORTER.set(reporter).is_err() {
        return;
    }
    SIGNALS.into_iter().filter(|(signal, _)| is_default(*signal)).for_each(|(signal, _)| install_for(signal));
}

fn install_for(signal: libc::c_int) {
    // SAFETY: `sigaction` is plain data for which all zero is valid.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = on_signal as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `action` is complete, `on_signal` has the signature SA_SIGINFO asks for and obeys O2. A refusal only costs
    // the words.
    unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
}

/// Runs `f`, in which an abort ends the process at once. For a handler whose stack has no room for another handler's
/// frame, with the registers of a large processor: there the abort would become a fault.
pub(crate) fn with_plain_abort(f: impl FnOnce()) {
    let ours = disposition(libc::SIGABRT) == Some(on_signal as *const () as usize);
    if ours {
        // SAFETY: the default action.
        unsafe { libc::signal(libc::SIGABRT, libc::SIG_DFL) };
    }
    f();
    if ours {
        install_for(libc::SIGABRT);
    }
}

/// What handles a signal now.
fn disposition(signal: libc::c_int) -> Option<libc::sighandler_t> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks only; `action` is writable.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeroes are a valid `sigaction`, so it is initialised whatever the call did.
    (status == 0).then(|| unsafe { action.assume_init() }.sa_sigaction)
}

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or("a signal", |(_, name)| name);
    // SAFETY: both are what the kernel gave a handler that was installed with SA_SIGINFO.
    unsafe { report(name, None, info, context) };
    // SAFETY: restores the default action, which ends the process at the signal sent next; until this handler returns it waits.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: async-signal-safe.
    unsafe { libc::raise(signal) };
}

/// Whether the next signal like it ends the process.
pub(crate) fn is_default(signal: libc::c_int) -> bool {
    disposition(signal) == Some(libc::SIG_DFL)
}

/// No other handler took a fault: reports it, and makes the next one like it end the process. A signal that was sent
/// does not come again by itself, so it is raised again.
///
/// # Safety
/// Both pointers are what the kernel gave a handler that was installed with SA_SIGINFO.
pub(crate) unsafe fn fault(
    signal: libc::c_int,
    address: usize,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let name = if signal == libc::SIGBUS { "SIGBUS" } else { "SIGSEGV" };
    // SAFETY: guaranteed by the caller.
    unsafe { report(name, Some(address), info, context) };
    // SAFETY: restores the default action.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: guaranteed by the caller.
    let was_sent = unsafe { &*info }.si_code <= 0;
    if was_sent {
        // SAFETY: async-signal-safe; until this handler returns it waits.
        unsafe { libc::raise(signal) };
    }
}

/// # Safety
/// Like `fault`.
unsafe fn report(
    signal: &str,
    address: Option<usize>,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let Some((reporter, mut text)) = first() else { return };
    let _ = write!(text, "{signal}");
    // SAFETY: guaranteed by the caller.
    let info = unsafe { &*info };
    if info.si_code <= 0 && info.si_code != libc::SI_TKILL {
        // SAFETY: a signal of this code has a sender.
        let _ = write!(text, " sent by process {}", unsafe { info.si_pid() });
        return say(reporter, &mut text);
    }
    if let Some(address) = address {
        let _ = write!(text, " at address {address:#x}");
    }
    if (reporter.words)(&mut text) {
        // SAFETY: guaranteed by the caller.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        let instruction = context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        if let Some(offset) = address::code_offset(instruction) {
            let _ = write!(
                text,
                "; the instruction is {offset:#x} of the program (addr2line -ife PROGRAM {offset:#x})"
            );
        }
        return say(reporter, &mut text);
    }
    reporter.said.store(true, Ordering::Relaxed);
}

/// Ends the process, with these as its last words.
pub(crate) fn abort_with(words: fmt::Arguments<'_>) -> ! {
    if let Some((reporter, mut text)) = first() {
        let _ = text.write_fmt(words);
        say(reporter, &mut text);
    }
    // SAFETY: the default action; the report is made.
    unsafe { libc::signal(libc::SIGABRT, libc::SIG_DFL) };
    std::process::abort()
}

/// The reporter, and its memory, for the first thread that asks. A forked child that has not become another program yet
/// reports nothing.
fn first() -> Option<(&'static Reporter, Text)> {
    let reporter = REPORTER.get()?;
    // SAFETY: a system call without arguments.
    let process = unsafe { libc::getpid() };
    if process != reporter.process {
        return None;
    }
    let claim = reporter.reporting.compare_exchange(0, this_thread(), Ordering::Relaxed, Ordering::Relaxed);
    if claim.is_err() {
        wait_for_others();
        return None;
    }
    let mut text = Text { bytes: reporter.memory.0.get(), length: 0 };
    if reporter.launcher().is_none() {
        let _ = write!(text, "{}: ", reporter.name);
    }
    Some((reporter, text))
}

fn this_thread() -> u32 {
    // SAFETY: a system call without arguments.
    unsafe { libc::gettid() as u32 }
}

/// If another thread is reporting: lets it, for a while. This thread is about to end the process.
pub(crate) fn wait_for_others() {
    let Some(reporter) = REPORTER.get() else { return };
    let reporting = reporter.reporting.load(Ordering::Relaxed);
    if reporting == 0 || reporting == this_thread() {
        return;
    }
    for _ in 0..2 * PATIENCE {
        if reporter.said.load(Ordering::Relaxed) {
            return;
        }
        let moment = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        // SAFETY: async-signal-safe; the time is ours.
        unsafe { libc::nanosleep(&raw const moment, std::ptr::null_mut()) };
    }
}

fn say(reporter: &Reporter, text: &mut Text) {
    text.end();
    let to = reporter.launcher().unwrap_or(2);
    // SAFETY: O3.
    write_soon(to, &unsafe { &*text.bytes }[..text.length]);
    reporter.said.store(true, Ordering::Relaxed);
}

impl Reporter {
    fn launcher(&self) -> Option<libc::c_int> {
        self.launcher.filter(|number| is_pipe(*number))
    }
}

/// Whether the number is still the launcher's pipe, and not a file that the program has opened since.
fn is_pipe(number: libc::c_int) -> bool {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `status` is writable.
    let known = unsafe { libc::fstat(number, status.as_mut_ptr()) } == 0;
    // SAFETY: zeroes are a valid `stat`, so it is initialised whatever the call did.
    known && unsafe { status.assume_init() }.st_mode & libc::S_IFMT == libc::S_IFIFO
}

/// A report being written, into memory set aside for the single report: formatting into it allocates nothing, and a
/// handler's stack may be small. What does not fit is left out.
pub(crate) struct Text {
    bytes: *mut [u8; LONGEST],
    length: usize,
}

/// O3: only the `Text` of the thread that has set `reporting` uses it.
struct Memory(UnsafeCell<[u8; LONGEST]>);

// SAFETY: O3: one thread uses it.
unsafe impl Sync for Memory {}

impl Text {
    fn end(&mut self) {
        self.length = self.length.min(LONGEST - 1);
        self.append(b"\n");
    }

    fn append(&mut self, bytes: &[u8]) {
        // SAFETY: O3.
        let memory = unsafe { &mut *self.bytes };
        memory[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = (LONGEST - 1).saturating_sub(self.length);
        self.append(&text.as_bytes()[..text.floor_char_boundary(room)]);
        Ok(())
    }
}
