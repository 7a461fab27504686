//! What other threads may touch of one worker: they leave messages, and wake it.

mod held;
pub(crate) mod inbox;

use crate::counters::worker::WorkerCounters;
use crate::lane::large::Arrivals;
use crate::sys::sync::doorbell::Doorbell;
use crate::worker;
use crate::worker::backlog::LongBacklog;
use crate::worker::end::activity::Activity;
use crate::worker::fibers::sources::Sources;
use crate::worker::watch::turn_log::TurnLog;
use crate::worker::watch::view::View;
use inbox::{Inbox, Message};
use std::sync::Arc;

pub(super) use held::HeldMessages;

/// What other threads may touch of one worker. A line of its own: `doorbell` is read after every publish.
#[repr(align(128))]
pub(crate) struct Mailbox {
    pub(crate) doorbell: Doorbell,
    pub(crate) inbox: Inbox,
    pub(crate) incoming: Arc<Arrivals>,
    pub(crate) waker: mio::Waker,
    pub(crate) sources: Sources,
    pub(crate) view: Arc<View>,
    pub(crate) counters: Arc<WorkerCounters>,
    pub(crate) activity: Activity,
    pub(crate) turn_log: TurnLog,
    pub(crate) long_backlog: LongBacklog,
}

impl Mailbox {
    /// Wakes the worker if it sleeps. Call this after publishing what it should see.
    #[inline]
    pub(crate) fn ring(&self) {
        if self.doorbell.needs_ring() {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wake(&self) {
        worker::with_worker(|here| here.fibers.woken.note(&self.view));
        if let Err(error) = self.waker.wake() {
            // An eventfd that cannot be written would leave a worker asleep over its work: end the process instead of
            // hanging.
            eprintln!("gossamer: cannot wake a worker: {error}");
            std::process::abort();
        }
    }

    /// Sends a message and wakes the worker; gives it back if the worker takes no more.
    pub(crate) fn send(&self, message: Message) -> Result<(), Message> {
        self.inbox.push(message)?;
        self.ring();
        Ok(())
    }
}
