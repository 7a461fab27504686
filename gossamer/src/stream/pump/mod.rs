//! What moves blocks between two rings, and watches the other end.

/// Keeps the connection of an end to the other one.
pub(crate) struct Keeper {
    settles: bool,
}

impl Keeper {
    /// Whether it tells the sender of the receiver's confirmation, and says when it has (`Flow::settle`).
    pub(crate) fn settles(&self) -> bool {
        self.settles
    }
}
