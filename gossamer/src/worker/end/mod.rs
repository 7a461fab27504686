//! When something may end: a property, all work, a runtime, the process.

pub(crate) mod activity;
pub(crate) mod fate;
pub(crate) mod fences;
pub(crate) mod grace;
pub(crate) mod last_trace;
pub(crate) mod last_words;
pub(crate) mod quiet;
pub(crate) mod settle;

use fences::FenceSums;
use grace::Grace;
use settle::Settling;

/// The part of one worker.
#[derive(Default)]
pub(crate) struct Ending {
    pub(super) grace: Grace,
    fence_sums: FenceSums,
    pub(super) settling: Settling,
}
