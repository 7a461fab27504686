//! Why a value does not leave its node, and why bytes cannot be decoded.

use std::any::type_name;
use std::fmt;

/// Why a value cannot leave the node that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    of: &'static str,
    why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It has no encoding.
    NotEncoded,
    /// Its numbers have a meaning only in another runtime.
    OtherRuntime,
    /// The message of serde, or of code of the program that serde called.
    #[cfg_attr(not(feature = "serde"), expect(dead_code, reason = "only `Serde` can fail"))]
    Serde(String),
}

impl Refusal {
    #[cold]
    pub(crate) fn of<T>(why: Why) -> Self {
        Self { of: type_name::<T>(), why }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.of;
        match &self.why {
            Why::NotEncoded => write!(
                f,
                "a `{of}` cannot leave the node that made it: channels, sockets and types whose `NoRef` was written \
                 by hand without `encode` and `decode` travel inside one process only; between nodes send a `Trust` or what \
                 is to be sent itself"
            ),
            Why::OtherRuntime => write!(
                f,
                "a `{of}` of another runtime than the one that sends it cannot leave this node: what it names is unknown \
                 there; entrust the property in the runtime that uses it, or send the value itself"
            ),
            Why::Serde(text) => write!(f, "a `{of}` was not sent, since serde cannot write it: {text}"),
        }
    }
}

/// Bytes that are not those of the value they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    expected: &'static str,
    format: Format,
}

/// What they should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Ours,
    #[cfg_attr(not(feature = "serde"), expect(dead_code, reason = "only `Serde` uses it"))]
    Postcard,
}

impl Malformed {
    /// An error in place of a value of this type.
    ///
    /// ```
    /// use gossamer::{Decoder, Encoder, Malformed, NoRef};
    ///
    /// enum Heading {
    ///     North,
    ///     South,
    /// }
    ///
    /// // SAFETY: it has no references.
    /// unsafe impl NoRef for Heading {
    ///     fn encode(self, to: &mut Encoder) {
    ///         to.bytes(&[matches!(self, Self::South) as u8]);
    ///     }
    ///
    ///     fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
    ///         match from.bytes(1)? {
    ///             [0] => Ok(Self::North),
    ///             [1] => Ok(Self::South),
    ///             _ => Err(Malformed::instead_of::<Self>()), // names the type
    ///         }
    ///     }
    /// }
    /// assert!(Malformed::instead_of::<Heading>().to_string().contains("Heading"));
    /// ```
    #[cold]
    pub fn instead_of<T: ?Sized>() -> Self {
        Self { expected: type_name::<T>(), format: Format::Ours }
    }

    /// An error in place of a value of this type for serde.
    #[cfg(feature = "serde")]
    #[cold]
    pub(crate) fn for_serde<T>() -> Self {
        Self { format: Format::Postcard, ..Self::instead_of::<T>() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = self.expected;
        match self.format {
            Format::Ours => {
                write!(f, "the bytes that arrived are not a `{expected}`: do all nodes run the same program?")
            }
            Format::Postcard => write!(
                f,
                "serde could not read a `{expected}` back from what it wrote: `Serde` values travel in the format postcard, \
                 which does not describe itself, so types with `#[serde(untagged)]`, `#[serde(tag)]`, `#[serde(flatten)]` or \
                 `#[serde(skip_serializing_if)]`, and so `serde_json::Value`, cannot be read from it; derive `gossamer::NoRef` \
                 for such a type, or send its text"
            ),
        }
    }
}

impl std::error::Error for Malformed {}
