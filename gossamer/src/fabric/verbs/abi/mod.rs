//! libibverbs as C declares it: types, constants, functions.

#[cfg(test)]
pub(crate) mod fake;
#[cfg(feature = "ibverbs")]
mod header;
mod library;
#[cfg(feature = "ibverbs")]
pub(crate) mod symbols;
pub(crate) mod types;

pub(crate) use library::Verbs;
