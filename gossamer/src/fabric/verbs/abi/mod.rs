//! libibverbs as C has it: types, constants, functions.

#[cfg(test)]
pub(crate) mod fake;
mod library;
pub(crate) mod types;

pub(crate) use library::Verbs;
