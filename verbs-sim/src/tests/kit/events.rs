//! Events that were taken, to be acknowledged by any thread.

use super::contexts::Object;
use super::objects::{Pair, Queue};
use crate::symbols::*;
use crate::types::*;

/// Events of a completion queue.
#[must_use]
pub struct QueueEvent {
    queue: Object<ibv_cq>,
    count: u32,
}

impl QueueEvent {
    /// One that the library has just told of.
    pub(super) fn new(queue: *mut ibv_cq) -> Self {
        Self { queue: Object::new(queue).unwrap(), count: 1 }
    }

    pub fn is_about(&self, queue: &Queue) -> bool {
        self.queue.raw() == queue.raw()
    }

    /// Both, to be acknowledged at once.
    pub fn and(self, other: Self) -> Self {
        assert_eq!(self.queue.raw(), other.queue.raw());
        Self { count: self.count + other.count, ..self }
    }

    pub fn acknowledge(self) {
        // SAFETY: T3.
        unsafe { ibv_ack_cq_events(self.queue.raw(), self.count) };
    }
}

/// An event that is not about a completion.
#[must_use]
pub struct AsyncEvent(ibv_async_event);

// SAFETY: T2, T3: it exists where it is acknowledged, too.
unsafe impl Send for AsyncEvent {}

impl AsyncEvent {
    /// One that the library has just told of.
    pub(super) fn new(event: ibv_async_event) -> Self {
        Self(event)
    }

    pub fn kind(&self) -> u32 {
        self.0.event_type
    }

    /// Whether it tells that this queue pair has failed by itself.
    pub fn is_failure_of(&self, pair: &Pair) -> bool {
        if self.kind() != IBV_EVENT_QP_FATAL {
            return false;
        }
        // SAFETY: an event of this kind is about a queue pair.
        let failed = unsafe { self.0.element.qp };
        failed == pair.raw()
    }

    pub fn acknowledge(mut self) {
        // SAFETY: T3: the event that came, once.
        unsafe { ibv_ack_async_event(&mut self.0) };
    }
}
