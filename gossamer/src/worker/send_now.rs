//! Sending what is gathered within a turn. Otherwise it is sent when the turn ends, and a fiber that computes for long
//! would keep others from what it has started.

use crate::lane::context::{self, Context};
use crate::worker::Worker;

impl Worker {
    /// Sends what is gathered for a trustee, if there is a free slot, and the caller is a fiber: what follows may take
    /// long. One more batch for each call.
    pub(crate) fn send_now(&self, trustee: usize) {
        if trustee == self.index || context::current() != Context::Fiber {
            return;
        }
        let lane = self.lane_to(trustee);
        let published = lane.client.publish();
        self.after_push(trustee, published);
        if published && !self.shared.is_here(trustee) {
            self.flush_connections(false);
        }
    }

    /// The same, unless the trustee has something to do already: then more is gathered (J. Nagle, RFC 896).
    pub(crate) fn send_first(&self, trustee: usize) {
        if self.lane_to(trustee).client.is_idle() {
            self.send_now(trustee);
        }
    }
}
