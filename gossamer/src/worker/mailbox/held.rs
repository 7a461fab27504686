//! Messages that a worker has taken out of its inbox, and that wait for room on the lane to another node.

use crate::worker::mailbox::inbox::Message;
use std::cell::RefCell;
use std::collections::VecDeque;

/// The messages that wait, and those behind them, in order.
#[derive(Default)]
pub(crate) struct HeldMessages(RefCell<VecDeque<Message>>);

impl HeldMessages {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(crate) fn push(&self, message: Message) {
        self.0.borrow_mut().push_back(message);
    }

    pub(crate) fn pop(&self) -> Option<Message> {
        self.0.borrow_mut().pop_front()
    }

    /// Takes the first message, unless that has to wait.
    pub(crate) fn pop_unless(&self, waits: impl FnOnce(&Message) -> bool) -> Option<Message> {
        let mut messages = self.0.borrow_mut();
        if messages.front().is_none_or(waits) { None } else { messages.pop_front() }
    }
}
