//! Sending what is gathered within a turn. Otherwise it is sent when the turn ends, and a fiber that computes for long
//! would keep others from what it has started.

use crate::lane::context::{self, Context};
use crate::worker::Worker;
use crate::worker::lanes::Outbound;

/// Batches under way to a trustee, or answered and not taken, while those of a few requests are still sent.
const MOST_UNDER_WAY: u32 = 4;

impl Worker {
    /// Sends what is gathered for a trustee, if the caller is a fiber: what follows may take long. While several batches
    /// are under way, more is gathered: whoever sends so much is not to send each request by itself.
    pub(crate) fn send_now(&self, trustee: usize) {
        let lane = self.lane_to(trustee);
        if lane.client.under_way() < MOST_UNDER_WAY || lane.client.is_idle() {
            self.send_gathered(trustee, lane);
        }
    }

    /// The same, unless the trustee has something to do already: then more is gathered (J. Nagle, RFC 896).
    pub(crate) fn send_first(&self, trustee: usize) {
        let lane = self.lane_to(trustee);
        if lane.client.is_idle() {
            self.send_gathered(trustee, lane);
        }
    }

    fn send_gathered(&self, trustee: usize, lane: &Outbound) {
        if trustee == self.index || context::current() != Context::Fiber {
            return;
        }
        let published = lane.client.publish();
        self.after_push(trustee, published);
        if published && !self.shared.is_here(trustee) {
            self.flush_connections(false);
        }
    }
}
