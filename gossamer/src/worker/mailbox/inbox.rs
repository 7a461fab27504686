//! Messages to a worker that do not use a lane: from threads that are not workers, and about the lanes themselves.
//!
//! A lock and a queue: this is not the hot path. A flag lets the worker look without the lock.

use crate::worker::{Local, Worker};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a worker can be told.
pub(crate) enum Message {
    /// Worker `from` made a lane to this one: its request slots, and its response slots.
    Connect { from: usize, requests: Local, responses: Local },
    /// A worker of another machine made a lane to this one: its request slots.
    ConnectNode { from: usize, requests: Local },
    /// A request of a thread that is not a worker of this runtime.
    Request(Box<dyn FnOnce(&Worker) + Send>),
    /// The same, to a trustee of another node: it waits here until there is room on the lane.
    ForNode { trustee: usize, act: Box<dyn FnOnce(&Worker) + Send> },
    /// Something that a worker does for a thread on behalf of the runtime.
    Act(Box<dyn FnOnce(&Worker) + Send>),
    /// A fiber of this worker can go on.
    Wake { fiber: u32 },
    /// The last trust of a property was dropped. `travelled`: other nodes have known it.
    Retire { property: u32, travelled: bool },
    /// Worker `from` asks for an answer that arrives behind all requests sent to it so far.
    Fence { from: usize },
    /// One answer to `Fence`.
    FenceAnswer,
    /// The same to a trustee of another node, at the first worker of this one: whether the worker answers it by itself.
    FenceFromFar { trustee: usize, answers: bool },
    /// All requests that were under way when these properties lost their last trust have been served.
    Release { properties: Vec<u32> },
}

/// The queue of messages to one worker.
pub(crate) struct Inbox {
    queue: Mutex<InboxQueue>,
    /// Messages in the queue, to look at without the lock.
    length: AtomicUsize,
}

struct InboxQueue {
    messages: VecDeque<Message>,
    state: InboxState,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum InboxState {
    Open,
    /// Only the runtime's own messages are taken.
    Internal,
    Closed,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        let queue = InboxQueue { messages: VecDeque::new(), state: InboxState::Open };
        Self { queue: Mutex::new(queue), length: AtomicUsize::new(0) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, InboxQueue> {
        // No user code runs under the lock, so none can poison it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message; gives it back if the worker takes no more of its kind.
    pub(crate) fn push(&self, message: Message) -> Result<(), Message> {
        let mut queue = self.lock();
        let refused = match message {
            Message::Request(_) | Message::ForNode { .. } => queue.state > InboxState::Open,
            _ => queue.state > InboxState::Internal,
        };
        if refused {
            return Err(message);
        }
        queue.messages.push_back(message);
        // Release: pairs with the Acquire in `len`; the lock orders the rest.
        self.length.store(queue.messages.len(), Ordering::Release);
        Ok(())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Messages in the queue.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Takes all messages, in order.
    #[inline]
    pub(crate) fn drain(&self) -> VecDeque<Message> {
        if self.is_empty() {
            return VecDeque::new();
        }
        let mut queue = self.lock();
        // Release: pairs with the Acquire in `len`; a reader that sees it empty also sees that the worker is active.
        self.length.store(0, Ordering::Release);
        std::mem::take(&mut queue.messages)
    }

    /// Refuses requests from outside from now on.
    pub(crate) fn close_to_requests(&self) {
        self.lock().state = InboxState::Internal;
    }

    /// Refuses everything from now on. Returns what is left, to be dropped, which tells its waiters.
    pub(crate) fn close(&self) -> VecDeque<Message> {
        let mut queue = self.lock();
        queue.state = InboxState::Closed;
        self.length.store(0, Ordering::Release);
        std::mem::take(&mut queue.messages)
    }
}
