//! When something may end: a property, all work, a runtime, the process.

pub(crate) mod fate;
pub(crate) mod grace;
pub(crate) mod last_words;
pub(crate) mod quiet;
pub(crate) mod settle;

use grace::Grace;
use std::cell::Cell;

/// What one worker keeps of that.
#[derive(Default)]
pub(crate) struct Ending {
    pub(super) grace: Grace,
    /// Fibers that wait until all work is done.
    pub(crate) settlers: Cell<usize>,
}
