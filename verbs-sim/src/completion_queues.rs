//! Completion queues: completions that come late, notifications, overflow.

use crate::events::Subject;
use crate::state::State;
use crate::types::*;
use libc::{EBUSY, EINVAL, ENOMEM, c_int};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct CompletionQueue {
    pub context: u32,
    pub channel: Option<u32>,
    /// In C.
    pub address: usize,
    capacity: usize,
    /// Completions that cannot be polled yet.
    pending: VecDeque<Completion>,
    ready: VecDeque<Completion>,
    /// How many can be polled, for callers that poll in vain without the lock.
    available: Arc<AtomicU32>,
    armed: Armed,
    /// It has overflowed.
    is_broken: bool,
}

impl CompletionQueue {
    /// Completions that were not polled.
    pub(crate) fn unpolled(&self) -> u64 {
        (self.pending.len() + self.ready.len()) as u64
    }
}

/// Which completions raise an event.
#[derive(Clone, Copy, PartialEq)]
enum Armed {
    No,
    Solicited,
    Any,
}

pub(crate) struct Completion {
    pub wc: ibv_wc,
    pub pair: u32,
    pub retires: Retires,
    pub is_solicited: bool,
}

/// What gets room for another work request when the completion is polled: everything up to this work request.
#[derive(Clone, Copy)]
pub(crate) enum Retires {
    Send(u64),
    Receive(u64),
}

impl State {
    pub(crate) fn create_queue(
        &mut self,
        context: u32,
        cqe: c_int,
        channel: Option<u32>,
    ) -> Result<u32, c_int> {
        let device = self.device_of(context)?;
        let limits = &self.devices[device].config.limits;
        let asked = u32::try_from(cqe).ok().filter(|asked| *asked > 0).ok_or(EINVAL)?;
        if asked > limits.max_cqe {
            return Err(EINVAL);
        }
        let of_device = self.queues.values().filter(|queue| self.contexts[&queue.context].device == device);
        if of_device.count() >= limits.max_cq as usize {
            return Err(ENOMEM);
        }
        let capacity = ((asked + 1).next_power_of_two() - 1).min(limits.max_cqe) as usize;
        let handle = self.new_handle();
        let queue = CompletionQueue {
            context,
            channel,
            address: 0,
            capacity,
            pending: VecDeque::new(),
            ready: VecDeque::new(),
            available: Arc::default(),
            armed: Armed::No,
            is_broken: false,
        };
        self.queues.insert(handle, queue);
        Ok(handle)
    }

    pub(crate) fn remove_queue(&mut self, handle: u32) -> Result<(), c_int> {
        if self.pairs.values().any(|pair| pair.send_queue == handle || pair.receive_queue == handle) {
            return Err(EBUSY);
        }
        let queue = self.queues.remove(&handle).ok_or(EINVAL)?;
        self.late.remove(&handle);
        if let Some(channel) = queue.channel.and_then(|channel| self.channels.get_mut(&channel)) {
            channel.events.withdraw(|queue| *queue == handle);
        }
        self.withdraw_events(queue.context, handle);
        Ok(())
    }

    /// Returns whether there was room: a completion without room breaks the queue.
    pub(crate) fn complete(&mut self, handle: u32, completion: Completion) -> bool {
        let Some(queue) = self.queues.get_mut(&handle).filter(|queue| !queue.is_broken) else { return false };
        if queue.pending.len() + queue.ready.len() >= queue.capacity {
            self.break_queue(handle);
            return false;
        }
        queue.pending.push_back(completion);
        self.late.insert(handle);
        true
    }

    fn break_queue(&mut self, handle: u32) {
        let Some(queue) = self.queues.get_mut(&handle) else { return };
        queue.is_broken = true;
        let (context, subject) = (queue.context, Subject::Queue { handle, address: queue.address });
        self.tell(context, IBV_EVENT_CQ_ERR, subject);
        let users = self.pairs.iter().filter(|(_, pair)| {
            pair.state != IBV_QPS_ERR && (pair.send_queue == handle || pair.receive_queue == handle)
        });
        let users: Vec<u32> = users.map(|(pair, _)| *pair).collect();
        for pair in users {
            self.fail_pair(pair, Some(IBV_EVENT_QP_FATAL));
        }
    }

    /// Makes some completions visible, or none yet.
    pub(crate) fn release(&mut self, handle: u32) {
        let Some(queue) = self.queues.get_mut(&handle) else { return };
        while self.random.u8(..4) != 0 {
            let Some(completion) = queue.pending.pop_front() else {
                self.late.remove(&handle);
                return;
            };
            self.counters.completions += 1;
            let is_event = match queue.armed {
                Armed::No => false,
                Armed::Solicited => completion.is_solicited || completion.wc.status != IBV_WC_SUCCESS,
                Armed::Any => true,
            };
            queue.ready.push_back(completion);
            queue.available.store(queue.ready.len() as u32, Ordering::Release);
            if is_event {
                queue.armed = Armed::No;
                self.counters.events += 1;
                if let Some(channel) = queue.channel.and_then(|channel| self.channels.get_mut(&channel)) {
                    channel.events.push(handle);
                }
            }
        }
    }

    pub(crate) fn poll(&mut self, handle: u32) -> Option<ibv_wc> {
        let queue = self.queues.get_mut(&handle)?;
        let completion = queue.ready.pop_front()?;
        queue.available.store(queue.ready.len() as u32, Ordering::Release);
        if let Some(pair) = self.pairs.get_mut(&completion.pair) {
            match completion.retires {
                Retires::Send(index) => pair.requester.retired = index,
                Retires::Receive(index) => pair.responder.retired = index,
            }
        }
        Some(completion.wc)
    }

    pub(crate) fn arm(&mut self, handle: u32, solicited_only: bool) -> Result<(), c_int> {
        let queue = self.queues.get_mut(&handle).ok_or(EINVAL)?;
        // A caller that has asked for any completion does not get fewer events because another asks for solicited ones
        // later.
        if !solicited_only || queue.armed == Armed::Any {
            queue.armed = Armed::Any;
        } else {
            queue.armed = Armed::Solicited;
        }
        Ok(())
    }

    /// Forgets the completions of a queue pair.
    pub(crate) fn forget(&mut self, handle: u32, pair: u32) {
        if let Some(queue) = self.queues.get_mut(&handle) {
            queue.pending.retain(|completion| completion.pair != pair);
            queue.ready.retain(|completion| completion.pair != pair);
            queue.available.store(queue.ready.len() as u32, Ordering::Release);
        }
    }
}

impl CompletionQueue {
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn available(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.available)
    }
}
