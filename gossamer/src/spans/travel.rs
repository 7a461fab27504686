//! The part of a span that goes to other nodes.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait")]

use crate::spans::context::{MOST_STATE, TraceContext};
use crate::spans::sender::Sender;
use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;

// SAFETY: numbers and a string, which are read as they were written.
unsafe impl NoRef for TraceContext {
    fn encode(self, to: &mut Encoder) {
        (self.trace_id(), self.span_id(), self.flags(), self.state().to_owned()).encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let (trace_id, span_id, flags, state) = <([u8; 16], [u8; 8], u8, String)>::decode(from)?;
        Self::new(trace_id, span_id, flags)
            .filter(|_| state.len() <= MOST_STATE)
            .map(|context| context.with_state(&state))
            .ok_or_else(Malformed::instead_of::<Self>)
    }
}

// SAFETY: a span moves only inside its process, where any thread may have it (`Send`); only its context goes to another
// process, which reads it as it was written.
unsafe impl NoRef for Sender {
    fn encode(self, to: &mut Encoder) {
        self.into_context().encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Option::<TraceContext>::decode(from).map(Self::Away)
    }
}
