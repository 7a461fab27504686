//! How a thread goes to sleep and is woken: by a flag that says that it sleeps, a word of memory, or a descriptor.

pub(crate) mod doorbell;
pub(crate) mod eventfd;
pub(crate) mod futex;
pub(crate) mod poll;
pub(crate) mod timerfd;
