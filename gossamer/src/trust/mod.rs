//! What users hold and call: trusts, trustees, fibers, and what comes back from them.

mod apply;
#[cfg(feature = "rkyv")]
mod archive;
pub(crate) mod arguments_first;
mod call;
pub(crate) mod delegate;
pub(crate) mod fiber_local;
mod handle;
mod job;
mod join;
mod latch;
#[cfg(feature = "may")]
mod may;
mod outside;
mod pending;
mod remote;
mod sharded;
mod spawn;
mod spawn_many;
mod trustee;

pub use crate::wire::NoRef;
pub use apply::Trust;
#[cfg(feature = "rkyv")]
pub use archive::Archive;
pub use fiber_local::FiberLocal;
pub use join::JoinHandle;
pub(crate) use join::refuse_while_unwinding;
pub use latch::Latch;
#[cfg(feature = "may")]
pub use may::spawn_may;
pub use pending::Pending;
pub use sharded::Sharded;
pub use spawn::{sleep, spawn, spawn_on, spawn_on_with, spawn_with, without_suspending, yield_now};
pub use spawn_many::{JoinMany, spawn_many_with};
pub use trustee::{Trustee, entrust};
