//! [`Returned`]: what a fiber may return.

use crate::trust::NoRef;
use std::convert::Infallible;

/// What a fiber may return: anything that is [`NoRef`], and `!`, the result of a fiber that loops for ever or always
/// panics.
///
/// It is implemented for these types only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel to who joins the fiber: it is not known to be free of references (`NoRef`)",
    label = "the fiber would return this",
    note = "references (`&'static` too), pointers, `Rc`, `Arc`, guards and `dyn` types never travel: return owned data, or a `Trust`, of an error a `Box<dyn Error + Send + Sync>`",
    note = "a type of your own travels with `#[derive(gossamer::NoRef)]`, a type parameter with the bound `gossamer::NoRef`, a type of another crate inside `gossamer::Serde` (feature `serde`)"
)]
pub trait Returned: Sized + Send + 'static {
    /// The type that it travels as.
    #[doc(hidden)]
    type Sent: NoRef;

    #[doc(hidden)]
    fn into_sent(self) -> Self::Sent;

    #[doc(hidden)]
    fn from_sent(sent: Self::Sent) -> Self;
}

impl<T: NoRef> Returned for T {
    type Sent = T;

    #[inline(always)]
    fn into_sent(self) -> T {
        self
    }

    #[inline(always)]
    fn from_sent(sent: T) -> T {
        sent
    }
}

/// This is `!`: stable Rust can name it only as the return type of a function that never returns. (It is not `NoRef`:
/// with two candidate implementations, the compiler would no longer say which part of a tuple does not travel.)
#[diagnostic::do_not_recommend]
impl<T: Send + 'static> Returned for T
where
    fn() -> !: FnOnce() -> T,
{
    type Sent = Infallible;

    fn into_sent(self) -> Infallible {
        unreachable!("`!` has no values")
    }

    fn from_sent(sent: Infallible) -> T {
        match sent {}
    }
}
