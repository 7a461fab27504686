//! Sending what is gathered within a turn. Otherwise it is sent when the turn ends, and a fiber that computes for long
//! would keep others from what it has started.

use crate::lane::context::{self, Context};
use crate::worker::Worker;

/// Batches under way to a trustee, or answered and not taken, while `send_soon` sends each request.
const MOST_UNDER_WAY: u32 = 8;
/// Requests that it gathers then between two looks whether all have been answered.
const LOOK_EVERY: usize = 4;

impl Worker {
    /// Sends what is gathered for a trustee, if there is a free slot and the caller is a fiber: what follows may take
    /// long.
    pub(crate) fn send_now(&self, trustee: usize) {
        if trustee == self.index || context::current() != Context::Fiber {
            return;
        }
        let published = self.lane_to(trustee).client.publish();
        self.after_push(trustee, published);
        if published && !self.shared.is_here(trustee) {
            self.flush_connections(false);
        }
    }

    /// The same, but while several batches are under way, more is gathered: whoever sends so much is not to send each
    /// request by itself.
    pub(crate) fn send_soon(&self, trustee: usize) {
        let client = &self.lane_to(trustee).client;
        let looks = client.gathered() % LOOK_EVERY == 1;
        if client.under_way() < MOST_UNDER_WAY || (looks && client.is_idle()) {
            self.send_now(trustee);
        }
    }

    /// The same, unless the trustee has something to do already: then more is gathered (J. Nagle, RFC 896).
    pub(crate) fn send_first(&self, trustee: usize) {
        if self.lane_to(trustee).client.is_idle() {
            self.send_now(trustee);
        }
    }
}
