//! Waiting until all work is done, while the runtime goes on: the same look at all workers that its end takes (`Shared::look`),
//! but for the fibers that wait for it.

use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::wire::rows::Rows;
use crate::worker::mailbox::inbox::Message;
use crate::worker::nodes::answers::Outcome;
use crate::worker::shared::{BUSY, Phase, QUIET_LOOK, Shared, is_quiescent};
use crate::worker::{Worker, with_worker};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

/// Where all nodes are looked at.
const COORDINATOR: usize = 0;

/// What it takes to look at all nodes. Node 0 has one.
pub(crate) trait AllNodes: Send + Sync {
    /// Has all workers say when they are quiet, or not any more.
    fn settle(&self, settling: bool);

    /// How much all have done so far, if all are quiet.
    fn look(&self) -> Option<u64>;
}

impl Shared {
    /// Has the workers of this node say when they are quiet, or not any more.
    pub(crate) fn settle(&self, settling: bool) {
        if settling {
            // What was quiet once may not be so now.
            self.mailboxes.iter().for_each(|mailbox| mailbox.quiet.store(BUSY, Ordering::SeqCst));
            self.settling.fetch_add(1, Ordering::SeqCst);
            self.wake_all();
        } else {
            self.settling.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Whether somebody waits until all is quiet.
    #[inline]
    pub(crate) fn is_settling(&self) -> bool {
        // Relaxed: `settle` wakes all workers behind it.
        self.settling.load(Ordering::Relaxed) > 0
    }
}

impl Worker {
    /// Calls `then` when no worker of any node has anything to do but to wait for this.
    pub(crate) fn when_settled(&self, then: impl FnOnce(Outcome) + 'static) {
        type Asked = (u32, (u32, u64));
        let settle =
            |_: &mut Root, (client, ticket): Asked| with_worker(|here| here.start_settling(client, ticket));
        let ticket = self.expect_new(Box::new(then));
        self.tell_worker(COORDINATOR, Delegated::travelling::<Root, _>(settle), (self.index as u32, ticket));
    }

    /// Looks until all is quiet, on a thread of its own, since a worker that looks is not quiet; then answers.
    fn start_settling(&self, client: u32, ticket: (u32, u64)) {
        let shared = Arc::clone(&self.shared);
        let looking = thread::Builder::new().name("gossamer-settle".to_owned()).spawn(move || {
            let all = shared.all_nodes.get();
            let settle = |settling| all.map_or_else(|| shared.settle(settling), |all| all.settle(settling));
            settle(true);
            let look = || all.map_or_else(|| shared.look(), |all| all.look());
            // A runtime that is abandoned is never quiet.
            while shared.phase() != Phase::Ended && !is_quiescent(look) {
                thread::sleep(QUIET_LOOK);
            }
            settle(false);
            let answer = move |here: &Worker| here.answer(client as usize, ticket, Ok(Rows::default()));
            // Refused only once the runtime has ended, and who waits with it.
            let _ended = shared.mailbox(COORDINATOR).send(Message::Act(Box::new(answer)));
        });
        if let Err(error) = looking {
            panic!("no thread can be started that waits until all work is done: {error}");
        }
    }

    /// Says whether this worker is quiet, while somebody waits for it: it has no fiber but those that wait, and nothing that it
    /// sent is unanswered.
    pub(in crate::worker) fn note_settled(&self) {
        if self.fibers.scheduler.live() > self.end.settlers.get()
            || self.has_outstanding()
            || self.end.grace.is_pending()
        {
            self.note_activity();
        } else {
            // SeqCst: see `Shared::look`.
            self.shared.mailbox(self.index).quiet.store(Phase::Running as u8, Ordering::SeqCst);
        }
    }
}
