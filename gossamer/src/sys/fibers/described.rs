//! What runs on a thread, for signal handlers.

use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::job::Description;
use crate::sys::fibers::stack::PAGE;

impl Fiber {
    /// What runs on this thread, and how large its stack is, if `address` lies in its guard page.
    pub(crate) fn overflowed_at(address: usize) -> Option<(Description, usize)> {
        let fiber = Self::seen_by_handler()?;
        let hit = (fiber.guard..fiber.guard + PAGE).contains(&address);
        hit.then(|| (fiber.description.get(), fiber.usable))
    }

    /// What runs on this thread, for signal handlers.
    pub(crate) fn described() -> Option<Description> {
        Self::seen_by_handler().map(|fiber| fiber.description.get())
    }
}
