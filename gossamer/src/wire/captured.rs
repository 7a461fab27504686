//! Bounds that are [`NoRef`] under other names, for better messages of rustc about captures.
//!
//! For a tuple with a part that does not travel, rustc names the part, and lists what else implements the trait:
//! tuples of every length. It lists nothing for a trait with one blanket implementation, which is why captures and
//! parts of tuples have their own bounds.

use crate::wire::NoRef;

/// A trait whose error message is that of `NoRef`.
macro_rules! another_name {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[diagnostic::on_unimplemented(
            message = "`{Self}` cannot travel to a trustee: it is not known to be free of references (`NoRef`)",
            label = "this value would have to travel",
            note = "references (`&'static` too), pointers, `Rc`, `Arc`, guards and `dyn` types never travel: send owned data, such as a clone, or a `Trust`; of an `Instant` a `Duration` or a `SystemTime`, of an error a `Box<dyn Error + Send + Sync>`",
            note = "what stays on one worker need not travel: `gossamer::spawn_local` starts a fiber beside the caller, `Trustee::entrust_with` makes a property where it will live",
            note = "a type of your own travels with `#[derive(gossamer::NoRef)]`, a type parameter with the bound `gossamer::NoRef`, a type of another crate inside `gossamer::Serde` (feature `serde`)"
        )]
        pub trait $name: NoRef {}
    };
}

another_name! {
    /// Captures and other arguments, as the macros pass them.
    Captured
}

impl<T: NoRef> Captured for T {}

another_name! {
    /// A part of a tuple.
    Travels
}

#[diagnostic::do_not_recommend]
impl<T: NoRef> Travels for T {}
