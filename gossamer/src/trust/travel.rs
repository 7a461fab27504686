//! How trusts and handles of replicated values travel.

use crate::trust::handle::Handle;
use crate::trust::{NoRef, Replicated, Trust};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::{Malformed, Why};
use crate::worker::nodes::replicas::ReplicaId;

// SAFETY: a trust holds no reference that its receiver could not use: inside a process its counted handle is valid
// on every thread, and another node is lent one of its own.
unsafe impl<T> NoRef for Trust<T> {
    fn encode(self, to: &mut Encoder) {
        if !Handle::lend(self.handle(), to) {
            to.refuse_because(self, Why::OtherRuntime);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        from.given_back().map_or_else(|| Handle::decode(from).map(Self::of_handle), Ok)
    }
}

// SAFETY: a trust, and a copy that is shared inside its node and never changed; at another node it becomes that
// node's copy.
unsafe impl<T: NoRef + Sync> NoRef for Replicated<T> {
    fn encode(self, to: &mut Encoder) {
        let (home, id) = self.parts();
        if Handle::lend(home.handle(), to) {
            id.encode(to);
        } else {
            to.refuse_because(self, Why::OtherRuntime);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        if let Some(itself) = from.given_back() {
            return Ok(itself);
        }
        let home = Trust::of_handle(Handle::decode(from)?);
        Self::found(home, ReplicaId::decode(from)?).ok_or_else(Malformed::instead_of::<Self>)
    }
}
