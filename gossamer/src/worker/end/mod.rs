//! When something may end: a property, all work, a runtime, the process.

pub(crate) mod activity;
pub(crate) mod fate;
pub(crate) mod grace;
pub(crate) mod last_words;
pub(crate) mod quiet;
pub(crate) mod settle;

use grace::Grace;
use settle::Settling;

/// What one worker keeps of that.
#[derive(Default)]
pub(crate) struct Ending {
    pub(super) grace: Grace,
    pub(super) settling: Settling,
}
