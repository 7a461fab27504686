//! What users hold and call: trusts, trustees, fibers, and their results.

mod answer;
mod apply;
#[cfg(feature = "rkyv")]
mod archive;
pub(crate) mod arguments_first;
mod around;
mod call;
mod cancel;
pub(crate) mod delegate;
pub(crate) mod fiber_local;
mod fibers_of_call;
mod handle;
mod here;
mod hold;
mod job;
mod join;
mod latch;
mod launch;
mod launched;
mod local;
mod make;
#[cfg(feature = "may")]
mod may;
mod named;
mod node_fibers;
mod outside;
mod pending;
mod push;
mod remote;
mod replicated;
mod replies;
mod returned;
mod scope;
mod scope_failures;
mod shard_batch;
mod sharded;
mod snapshot;
mod spanned;
mod spawn;
mod spawn_many;
mod suspend;
mod travel;
mod trustee;
mod unawaited;
mod weak;

pub use crate::wire::NoRef;
pub use apply::Trust;
pub(crate) use apply::rethrow;
#[cfg(feature = "rkyv")]
pub use archive::Archive;
pub(crate) use cancel::Cancellers;
pub use fiber_local::FiberLocal;
pub(crate) use fibers_of_call::{FibersOfCall, on_all_workers};
pub use join::JoinHandle;
pub(crate) use join::refuse_while_unwinding;
pub use latch::Latch;
pub use local::spawn_local;
pub(crate) use local::spawn_local_around;
#[cfg(feature = "may")]
pub use may::spawn_may;
pub use named::{NameError, entrust_as, forget_name};
pub use pending::{Pending, PendingOutcome};
pub use replicated::Replicated;
pub use replies::Replies;
pub use returned::Returned;
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use sharded::Sharded;
pub(crate) use sharded::part_of_hash;
pub use snapshot::Snapshot;
pub(crate) use spawn::{require_constant, spawn_around, spawned_at, start_in_process};
pub use spawn::{spawn, spawn_on, spawn_on_with, spawn_with};
pub use spawn_many::{JoinMany, spawn_many_with};
pub use suspend::{sleep, without_suspending, yield_now};
pub use trustee::{Trustee, entrust};
pub use weak::WeakTrust;
