//! [`Serde`]: values of types that know serde and not this crate.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::wire::NoRef;
use crate::wire::value::{Decoder, Encoder, Malformed};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value of a type that implements serde's traits, of another crate perhaps: it travels with them. Inside a process it is moved
/// as it is.
///
/// ```
/// # gossamer::rack::run_in_process(2, gossamer::Config::default(), || {
/// use gossamer::Serde;
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Point { x: f64, y: f64 }
/// let there = gossamer::rack::workers()[1].entrust(2.0_f64);
/// let scaled = there.apply_with(
///     const { |factor, Serde(point): Serde<Point>| Serde(Point { x: point.x * *factor, y: point.y * *factor }) },
///     Serde(Point { x: 1.0, y: 2.5 }),
/// );
/// assert_eq!((scaled.0.x, scaled.0.y), (2.0, 5.0));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Serde<T>(pub T);

// SAFETY: what can be deserialised from any bytes borrows from nothing.
unsafe impl<T: Serialize + DeserializeOwned + Send + 'static> NoRef for Serde<T> {
    fn encode(self, to: &mut Encoder) {
        match postcard::to_allocvec(&self.0) {
            Ok(bytes) => bytes.encode(to),
            // A type that refuses this very value.
            Err(_) => to.refuse::<T>(),
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let bytes = Vec::<u8>::decode(from)?;
        postcard::from_bytes(&bytes).map(Self).map_err(|_| Malformed::instead_of::<T>())
    }
}
