//! Memory as the kernel and the processor see it: ranges of addresses, memory that several processes map, faults of
//! pages, prefetches.

pub(crate) mod device_memory;
pub(crate) mod large_pages;
pub(crate) mod prefetch;
pub(crate) mod range;
pub(crate) mod segment;
pub(crate) mod userfault;
