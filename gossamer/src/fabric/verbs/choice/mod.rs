//! Which ports two nodes use, as functions of descriptions: testing them needs no device.

pub(crate) mod address;
pub(crate) mod offer;
pub(crate) mod pairs;
pub(crate) mod port;
pub(crate) mod settings;
