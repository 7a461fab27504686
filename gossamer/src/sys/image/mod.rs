//! The image of the program in memory: addresses relative to it, which mean the same in every process, and the sections
//! of it that gather records.

pub(crate) mod address;
pub(crate) mod location;
pub(crate) mod records;
