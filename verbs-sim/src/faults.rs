//! Counters that tests read, and faults that tests ask for.

use crate::config::FaultKind;
use crate::events::Subject;
use crate::state::State;
use crate::types::*;
use libc::{EINVAL, c_int};

/// Over all devices of the process, since its start.
#[derive(Default)]
pub(crate) struct Counters {
    /// Calls of `post_send` and `post_recv`.
    pub post_send: u64,
    pub post_recv: u64,
    /// Work requests that were accepted.
    pub writes: u64,
    pub writes_with_immediate: u64,
    pub reads: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Messages for which no receive was posted.
    pub rnr: u64,
    /// Completions that could be polled, and events that they raised.
    pub completions: u64,
    pub events: u64,
    /// Requests that got no answer.
    pub dropped: u64,
    /// Requests that were sent again.
    pub retransmitted: u64,
}

impl State {
    /// A counter by its name.
    pub(crate) fn counter(&self, name: &str) -> Option<u64> {
        let counters = &self.counters;
        Some(match name {
            "post_send" => counters.post_send,
            "post_recv" => counters.post_recv,
            "writes" => counters.writes,
            "writes_with_immediate" => counters.writes_with_immediate,
            "reads" => counters.reads,
            "bytes" => counters.bytes,
            "rnr" => counters.rnr,
            "completions" => counters.completions,
            "events" => counters.events,
            "dropped" => counters.dropped,
            "retransmitted" => counters.retransmitted,
            "pinned" => self.regions.iter().map(|(_, region)| region.pinned()).sum(),
            "objects" => self.objects() as u64,
            _ => return None,
        })
    }

    /// Work requests of a queue pair that have not ended, and completions in its queues that were not polled.
    pub(crate) fn under_way(&self, number: u32) -> u64 {
        let Some(pair) = self.numbers.get(&number).and_then(|handle| self.pairs.get(handle)) else {
            return 0;
        };
        let mut queues = vec![pair.send_queue, pair.receive_queue];
        queues.dedup();
        let completions =
            queues.iter().filter_map(|queue| self.queues.get(queue)).map(|queue| queue.unpolled());
        pair.requester.under_way() as u64 + completions.sum::<u64>()
    }

    /// Ends the oldest work request of a queue pair with this status, or the next one, if it has none. With the status
    /// 0 the queue pair itself fails, and its context is informed.
    pub(crate) fn break_pair(&mut self, number: u32, status: u32) -> Result<(), c_int> {
        let handle = *self.numbers.get(&number).ok_or(EINVAL)?;
        let pair = self.pairs.get_mut(&handle).ok_or(EINVAL)?;
        if status == IBV_WC_SUCCESS {
            self.fail_pair(handle, Some(IBV_EVENT_QP_FATAL));
        } else if pair.requester.is_idle() {
            pair.requester.fault = Some(status);
        } else {
            self.fail_request(handle, status);
        }
        Ok(())
    }

    /// The device can no longer be used.
    pub(crate) fn fail_device(&mut self, device: usize) {
        self.devices[device].is_fatal = true;
        let pairs: Vec<u32> =
            self.pairs.iter().filter(|(_, pair)| pair.device == device).map(|(handle, _)| *handle).collect();
        for pair in pairs {
            self.fail_pair(pair, None);
        }
        self.tell_device(device, IBV_EVENT_DEVICE_FATAL, Subject::Device);
    }

    /// A port goes down, or comes up.
    pub(crate) fn set_port(&mut self, device: usize, port: u8, is_active: bool) -> Result<(), c_int> {
        let index = usize::from(port).checked_sub(1).ok_or(EINVAL)?;
        let found = self.devices[device].config.ports.get_mut(index).ok_or(EINVAL)?;
        if found.active != is_active {
            found.active = is_active;
            let kind = if is_active { IBV_EVENT_PORT_ACTIVE } else { IBV_EVENT_PORT_ERR };
            self.tell_device(device, kind, Subject::Port(port));
        }
        Ok(())
    }

    /// Counts a work request that the device begins to carry out. Returns the status that it is to end with, if the
    /// configuration has one for it.
    pub(crate) fn take_fault(&mut self, device: usize) -> Option<u32> {
        let found = &mut self.devices[device];
        found.carried_out += 1;
        let fault = found.config.faults.iter().find(|fault| fault.at == found.carried_out)?;
        match fault.kind {
            FaultKind::Status(status) => return Some(status),
            FaultKind::Fatal => self.fail_device(device),
            FaultKind::Down => drop(self.set_port(device, 1, false)),
        }
        None
    }
}
