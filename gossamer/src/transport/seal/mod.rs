//! Records that only the other end of a connection can have made: keys that both ends agree on, and the records sealed
//! with them. Its invariants are in `README.md`.

pub(crate) mod agreement;
pub(crate) mod protection;
pub(crate) mod record;
#[cfg(test)]
mod tests;
