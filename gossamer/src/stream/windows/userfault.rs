//! A thread that is told of the faults of one window.

use crate::stream::Error;
use crate::stream::windows::window::Window;
use crate::sys::memory::userfault::Userfault;
use crate::sys::process::forked::Process;
use crate::sys::sync::eventfd::EventFd;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// The thread; it ends when this is dropped.
pub(crate) struct Service {
    stop: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
    process: Process,
}

impl Service {
    pub(crate) fn start(userfault: Userfault, window: &Arc<Window>) -> Result<Self, Error> {
        window
            .open()
            .and_then(|()| userfault.watch(window.range()))
            .map_err(Error::io("watching a window by userfaultfd"))?;
        let stop = Arc::new(EventFd::new().map_err(Error::io("a descriptor for a window"))?);
        let (userfault, window, stopped) = (Arc::new(userfault), Arc::clone(window), Arc::clone(&stop));
        let thread = thread::Builder::new()
            .name("gossamer-faults".into())
            .spawn(move || serve(&userfault, &window, &stopped))
            .map_err(Error::io("a thread for a window"))?;
        Ok(Self { stop, thread: Some(thread), process: Process::this() })
    }
}

/// Resolves one fault after the other; one that has to wait for the other end gets a thread of its own, since another may be what
/// the other end waits for.
fn serve(userfault: &Arc<Userfault>, window: &Arc<Window>, stop: &EventFd) {
    loop {
        match userfault.next(stop.as_fd()) {
            Ok(None) => return,
            Ok(Some(address)) if window.is_ready(address) => resolve(userfault, window, address),
            Ok(Some(address)) => {
                let (userfault, window) = (Arc::clone(userfault), Arc::clone(window));
                let started = thread::Builder::new()
                    .name("gossamer-fault".into())
                    .spawn(move || resolve(&userfault, &window, address));
                started.map_or_else(|error| cannot(&error), drop);
            }
            Err(error) => cannot(&error),
        }
    }
}

fn resolve(userfault: &Userfault, window: &Window, address: usize) {
    match window.touch_late(address) {
        Ok(dealt) => userfault.wake(dealt.start, dealt.bytes),
        Err(error) => cannot(&error),
    }
}

/// The waiter for a fault would wait for ever if this went on without it.
fn cannot(error: &std::io::Error) -> ! {
    eprintln!("gossamer: a fault in the window of a stream cannot be resolved: {error}");
    std::process::abort();
}

impl Drop for Service {
    fn drop(&mut self) {
        if !self.process.is_this() {
            // The eventfd is the parent's, too, and the thread is the parent's only.
            std::mem::forget(self.thread.take());
            return;
        }
        let signalled = self.stop.signal();
        if let (Ok(()), Some(thread)) = (signalled, self.thread.take()) {
            // It does not panic.
            let _ended = thread.join();
        }
    }
}
