//! Which ports two nodes use, as functions of descriptions: no device is needed to test them.

pub(crate) mod address;
pub(crate) mod offer;
pub(crate) mod pairs;
pub(crate) mod port;
pub(crate) mod settings;
