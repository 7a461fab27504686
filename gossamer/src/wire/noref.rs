//! [`NoRef`]: the types that hold no reference or pointer, and so may travel to a trustee.
//!
//! # Invariants
//! 1. A value of a `NoRef` type is self-contained: everything it reaches, it owns, and nothing in it names a place
//!    that only its maker knows (an address, a file descriptor, a thread). Where a type cannot promise this, as an error
//!    of any type (`errors.rs`), its values may go to another thread, as `Send` says, and `encode` makes them so.
//! 2. `decode` reads exactly the values that `encode` wrote, each by the type it was written by.
//!
//! # What is left out, and why
//! An implementation is a promise, so a type that is not listed here is a type that does not travel:
//!
//! - `&T`, `&mut T`, raw pointers, `fn` pointers, `dyn Trait`: the address, or the table of methods, belongs to one process.
//!   Of errors (`io::Error`, `Box<dyn Error + Send + Sync>`) the texts travel to another node.
//!   `&'static T` as well: a static of another process is another static.
//! - `Cow<'_, B>`, `Cow<'static, B>` too: it may hold the reference. Send the owned form (`into_owned`).
//! - `Rc`, `Arc` and their `Weak`: the counts are shared memory. A `Trust` is the counted handle that travels.
//! - Atomics, `Mutex`, `RwLock`, `Condvar`, `OnceLock`, channels and guards: tools for sharing memory. A copy of one would
//!   share nothing, which is never what its user meant.
//! - `Instant` (the clock of one machine: send a `Duration` or a `SystemTime`), `ThreadId`, files, sockets, processes.
//! - `MaybeUninit`, `UnsafeCell`, iterators such as `vec::IntoIter`: what they hold cannot be seen from their type.
//! - `Box<dyn Error>`, which may hold what is not `Send`: make it a `Box<dyn Error + Send + Sync>`.

#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait")]

use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::field::Field;
use crate::wire::refusal::Malformed;
use crate::wire::shape::Shape;

/// A type that holds no reference or pointer: its values may travel to a trustee, wherever that is.
///
/// Captures of delegated closures, their results, and values entrusted elsewhere must be `NoRef`. Plain data, the
/// standard library's owned containers of `NoRef` types, and `Trust` are `NoRef`. Derive it for your own types:
///
/// ```
/// #[derive(gossamer::NoRef)]
/// struct Order { item: String, amount: u64 }
/// ```
///
/// # Between processes
/// Within a process a value is simply moved. To another node of a [`rack`](crate::rack) it goes as bytes, which the
/// derive takes care of. A type with a handwritten implementation without [`encode`](Self::encode) and
/// [`decode`](Self::decode) stays on its node, and so do sockets: sending one to another node is an error that names
/// the type.
///
/// An error of any type, a `Box<dyn Error + Send + Sync>`, travels, too, and so does an `io::Error`, which may hold one.
/// On another node it displays and debugs as before, with up to 64 causes ([`source`](std::error::Error::source)),
/// but it cannot be downcast. The code of the operating system and the [`kind`](std::io::Error::kind) stay.
///
/// # Safety
/// - A value must be self-contained: it owns whatever it reaches, and holds no reference, no raw or `fn` pointer, no
///   `dyn` type, and no handle that has a meaning only in the process that made it.
/// - [`decode`](Self::decode) must read exactly what [`encode`](Self::encode) wrote: as many values, in the same
///   order, each by the same type that wrote it, and bytes in pieces of the same length. Between nodes nothing
///   distinguishes the bytes of one type from those of another: a `Trust<u64>` that is read as a `Trust<String>`
///   becomes one.
///
/// The derive proves both from the fields; write the implementation by hand only for types that the derive cannot
/// handle.
///
/// `encode` should not panic. If it does, the values before this one in the same message are leaked, not dropped
/// (trusts are given back).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel to a trustee: it is not known to be free of references (`NoRef`)",
    label = "this value would have to travel",
    note = "references (`&'static` too), pointers, `Rc`, `Arc`, guards and `dyn` types never travel: send owned data, such as a clone, or a `Trust`; of an `Instant` a `Duration` or a `SystemTime`, of an error a `Box<dyn Error + Send + Sync>`",
    note = "what stays on one worker need not travel: `gossamer::spawn_local` starts a fiber beside the caller, `Trustee::entrust_with` makes a property where it will live",
    note = "a type of your own travels with `#[derive(gossamer::NoRef)]`, a type parameter with the bound `gossamer::NoRef`, a type of another crate inside `gossamer::Serde` (feature `serde`)"
)]
pub unsafe trait NoRef: Sized + Send + 'static {
    /// How a value may be copied to another process of this program. [`Shape::Unbounded`] and [`Shape::Stays`] promise nothing.
    #[doc(hidden)]
    const SHAPE: Shape = Shape::Unbounded;

    /// The fields, if the trait was derived.
    #[doc(hidden)]
    const FIELDS: &'static [Field] = &[];

    /// Encodes the value for another process. What it owns goes with it.
    ///
    /// Pass a value that has to stay to [`Encoder::refuse`].
    fn encode(self, to: &mut Encoder) {
        to.refuse(self);
    }

    /// Decodes the value that `encode` wrote.
    ///
    /// A type whose `encode` may refuse a value must first ask [`Decoder::given_back`] for it.
    ///
    /// # Errors
    /// If the bytes are not those of such a value.
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        from.given_back().ok_or_else(Malformed::instead_of::<Self>)
    }
}
