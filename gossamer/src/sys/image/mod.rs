//! The image of the program in memory: addresses relative to it, which mean the same in every process, and the sections of it in which
//! records are gathered.

pub(crate) mod address;
pub(crate) mod location;
pub(crate) mod records;
