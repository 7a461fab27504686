//! What a requester does when its peer is silent, or has posted no receive: it waits, tries again, and gives up.

use crate::state::State;
use crate::types::*;
use std::time::{Duration, Instant};

/// All retries of a request together take no longer than this, whatever the timeout is, so that tests end.
const LONGEST: Duration = Duration::from_secs(2);

/// How long a requester waits after the answer that no receive was posted, in units of 10 microseconds, by code.
const NOT_READY: [u64; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
    3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
];

/// The count of retries that means no limit: for receives that were not posted, and on some devices for silence, too.
const FOREVER: u8 = 7;

#[derive(Default)]
pub(crate) struct Retry {
    /// How often it has begun again: answers to anything that was sent before mean nothing.
    pub attempt: u32,
    wait: Option<Wait>,
    /// Since the last answer.
    losses: u8,
    refusals: u8,
}

struct Wait {
    /// Never, if the timeout is 0.
    until: Option<Instant>,
    is_loss: bool,
}

impl Retry {
    pub(crate) fn is_waiting(&self) -> bool {
        self.wait.is_some()
    }

    pub(crate) fn succeed(&mut self) {
        (self.losses, self.refusals) = (0, 0);
    }
}

/// After how long a lost request is sent again.
fn timeout(attributes: &ibv_qp_attr) -> Option<Duration> {
    let asked = Duration::from_nanos(4096 << attributes.timeout.min(31));
    let most = LONGEST / (u32::from(attributes.retry_cnt) + 1);
    (attributes.timeout != 0).then_some(asked.min(most))
}

impl State {
    /// A request of a queue pair, or the answer to it, did not arrive.
    pub(crate) fn lose(&mut self, handle: u32) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        if !pair.requester.retry.is_waiting() {
            let until = timeout(&pair.attributes).map(|timeout| Instant::now() + timeout);
            pair.requester.retry.wait = Some(Wait { until, is_loss: true });
            self.waiting.insert(handle);
        }
    }

    /// Everything that was sent to some queue pairs, and has no answer, is lost.
    pub(crate) fn lose_all(&mut self, is_there: impl Fn(u32) -> bool) {
        let lost = self.pairs.iter().filter(|(_, pair)| {
            pair.requester.is_waiting_for_answer() && is_there(pair.attributes.dest_qp_num)
        });
        let lost: Vec<u32> = lost.map(|(handle, _)| *handle).collect();
        for handle in lost {
            self.lose(handle);
        }
    }

    /// The peer has posted no receive for the oldest request.
    pub(crate) fn wait_for_receive(&mut self, handle: u32, timer: u8) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        let (retry, most) = (&mut pair.requester.retry, pair.attributes.rnr_retry);
        if retry.is_waiting() {
            return;
        }
        if most != FOREVER && retry.refusals >= most {
            self.fail_request(handle, IBV_WC_RNR_RETRY_EXC_ERR);
            return;
        }
        retry.refusals = retry.refusals.saturating_add(1);
        let time = Duration::from_micros(NOT_READY[usize::from(timer) % NOT_READY.len()] * 10);
        retry.wait = Some(Wait { until: Some(Instant::now() + time), is_loss: false });
        self.waiting.insert(handle);
    }

    /// Tries again, or gives up, if it is time to.
    pub(crate) fn retry(&mut self, handle: u32, now: Instant) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        let retry = &mut pair.requester.retry;
        let Some(wait) = retry.wait.take_if(|wait| wait.until.is_some_and(|until| until <= now)) else {
            return;
        };
        self.waiting.remove(&handle);
        let is_endless = self.devices[pair.device].config.endless && pair.attributes.retry_cnt == FOREVER;
        if wait.is_loss && !is_endless {
            if retry.losses >= pair.attributes.retry_cnt {
                self.fail_request(handle, IBV_WC_RETRY_EXC_ERR);
                return;
            }
            retry.losses += 1;
        }
        retry.attempt = retry.attempt.wrapping_add(1);
        self.counters.retransmitted += pair.requester.rewind() as u64;
        self.active.insert(handle);
    }

    /// When the next queue pair has to try again.
    pub(crate) fn next_retry(&self) -> Option<Instant> {
        let waits =
            self.waiting.iter().filter_map(|handle| self.pairs.get(handle)?.requester.retry.wait.as_ref());
        waits.filter_map(|wait| wait.until).min()
    }
}
