//! Gossamer: programs with shared objects and light threads, and without locks.
//!
//! A shared object, a *property*, lives with one worker thread, its *trustee*. Code that uses it holds a
//! counted handle, a [`Trust`], and sends closures to it; the trustee applies them one by one. Light threads,
//! *fibers*, wait for results without blocking their worker. The same program runs on one thread, on all
//! cores, as several processes on one machine, and on a [`rack`] of machines.
//!
//! ```
//! use std::collections::HashMap;
//!
//! #[gossamer::main] // starts the runtime; delegated closures in this body may capture variables
//! fn main() {
//!     let greetings = gossamer::entrust(HashMap::<String, String>::new());
//!     let (worker, who) = (greetings.clone(), String::from("World"));
//!     gossamer::spawn(move || {
//!         worker.apply(move |g| g.insert("Hello".into(), who)); // blocks this fiber only
//!         worker.apply_then(|g| g.len(), |n| println!("{n} greeting")); // never blocks
//!     })
//!     .join();
//!     assert_eq!(greetings.apply(|g| g.len()), 1);
//! }
//! ```
//!
//! # Where to begin
//! - [`#[gossamer::main]`](macro@main) or [`run`] starts a runtime; a [`Runtime`] is one that you keep.
//! - [`entrust`] makes a property here, [`Trustee::entrust`] on another worker, [`Sharded`] on all of them.
//! - [`collections`] has vectors, maps and sets that are spread over workers.
//! - [`Replicated`] is for data that is read everywhere and seldom replaced: each node has a copy, and reads
//!   need no request.
//! - [`Trust`] offers several ways to delegate: [`apply`](Trust::apply) waits,
//!   [`apply_then`](Trust::apply_then) calls back, [`apply_async`](Trust::apply_async) gives a [`Pending`],
//!   [`Replies`] gather the results of many.
//! - [`#[gossamer::delegate]`](macro@delegate) lets delegated closures of a function capture variables, and makes the
//!   methods of a property methods of its trusts.
//! - [`NoRef`] marks what may travel: owned data, without references.
//! - [`Latch`] is for closures that have to wait.
//! - [`rack`] is about nodes: several processes that are one program.
//! - [`spawn`] starts a fiber, [`spawn_local`] one on the same worker, which may hold values that are not
//!   `Send`; in a [`scope`] fibers can borrow.
//! - [`block_on`] waits for a future, [`select!`] for the first of several, [`timeout`] for a limited time;
//!   [`sync`] has channels, semaphores, locks and notifications.
//! - [`unblock`] is for calls that block.
//! - [`net`] has sockets for fibers, [`io`] copies bytes between them and files.
//! - [`stream`] has streams that are written and read as memory.
//! - [`metrics`](mod@metrics) has the counters of the workers, and counters that the program defines.
//! - Features: `tls` has `net::tls`; `serde` and `rkyv` have `Serde` and `Archive`, for values of their types; `tracing`
//!   has `spans`, which are those of that crate across workers and nodes; `may` has `spawn_may`.
//!
//! # What may block
//! Fibers may block, in calls of this crate: `apply`, `join`, `wait`, [`sleep`], sockets of [`net`].
//! Delegated closures and callbacks may not; a blocking call panics there at once. Blocking calls of `std`
//! stop the whole worker, since fibers do not preempt each other.
//!
//! Fibers of a worker share its thread, and `std` does not know about fibers. An initialiser of a
//! `thread_local!` that suspends its fiber, and overlapping sets of a `scoped_tls` key, are undefined
//! behaviour, even in safe code; initialisers of a `OnceLock`, `LazyLock` or `Once` that
//! suspend, and locks of `std` that are held meanwhile, block the worker. Use [`fiber_local!`] instead;
//! [`without_suspending`] makes such code panic. [`spawn`] says more.
//!
//! # Order
//! Requests of one fiber to one trustee are served in the order in which they were sent. Nothing is promised between
//! fibers.
//!
//! # The end
//! When the first fiber returns, fibers that nobody joined are cancelled at their next blocking call, requests in
//! flight are served, and all properties are dropped on their trustees. A trust that is used after that panics, or
//! returns [`Reason::Ended`].
//!
//! # Cost
//! A request takes one word (8 bytes) and its arguments in whole words, and its answer takes the result in whole words;
//! large arguments and results are boxed, or sent apart between nodes.
//! Requests that are under way together share batches; a request that waits for nothing else travels alone. Within a
//! process a request is some tens of nanoseconds of work, and about a microsecond there and back; between machines the
//! network adds its own time. Sections called "Cost" count requests and bytes in this sense.
//!
//! The [`glossary`] explains each term, and says what others call it.
//!
//! # Sources
//! Delegation to trustees, lanes of batched slots, launched closures and the rack come from N. Ahmad,
//! *Gossamer: A novel programming paradigm for rack-wide applications* (PhD thesis, University of Illinois at
//! Chicago, 2025), called the Gossamer thesis here; memory streams come from E. Gluck, *Network Vortex:
//! Distributed Virtual Memory for Streaming Applications* (thesis, Texas A&M University, 2022), called
//! Network Vortex here.

// Marks what needs a feature, where the documentation is built by a nightly compiler.
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The macros name this crate, also when they are used inside it.
extern crate self as gossamer;

/// # Example
/// ```
/// use gossamer::{NoRef, entrust};
///
/// #[derive(NoRef)] // an order may travel to a trustee
/// struct Order {
///     item: String,
///     count: u64,
/// }
///
/// #[gossamer::main(threads = 2)]
/// fn main() {
///     let orders = entrust(Vec::new());
///     let order = Order { item: "tea".into(), count: 2 };
///     orders.apply(|orders| orders.push(order));
///     assert_eq!(orders.apply(|orders| orders[0].item.len() as u64 + orders[0].count), 5);
/// }
/// ```
pub use gossamer_macros::NoRef;
/// # Example
/// ```
/// struct Account {
///     balance: u64,
/// }
///
/// #[gossamer::delegate] // methods of the property become methods of its trust
/// impl Account {
///     fn deposit(&mut self, amount: u64) -> u64 {
///         self.balance += amount;
///         self.balance
///     }
/// }
///
/// #[gossamer::delegate] // delegated closures may capture variables
/// fn deposit_all(amounts: Vec<u64>) -> u64 {
///     let account = gossamer::entrust(Account { balance: 10 });
///     for amount in amounts {
///         account.apply(|account| account.balance += amount);
///     }
///     account.deposit(0)
/// }
///
/// let balance = gossamer::run(gossamer::Config::default().threads(2), || deposit_all(vec![1, 2, 3]));
/// assert_eq!(balance, 16);
/// ```
pub use gossamer_macros::delegate;
/// # Example
/// ```
/// #[gossamer::main(threads = 2)]
/// fn main() {
///     let (total, by) = (gossamer::entrust(0_u64), 5);
///     total.apply(|total| *total += by); // captures `by`, as under `#[gossamer::delegate]`
///     assert_eq!(total.apply(|total| *total), 5);
/// }
/// ```
pub use gossamer_macros::main;

#[cfg(doc)]
#[doc = include_str!("../GLOSSARY.md")]
pub mod glossary {}

mod atomic;
mod blocking;
pub mod collections;
mod counters;
mod fabric;
#[doc(hidden)]
pub mod inspect;
mod kernel;
mod lane;
pub mod metrics;
pub mod net;
pub mod rack;
mod runtime;
#[cfg(feature = "tracing")]
#[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
pub mod spans;
pub mod stream;
mod structures;
pub mod sync;
mod sys;
mod trace;
mod transport;
mod trust;
mod waiting;
mod wire;
mod worker;

pub use blocking::{Unblocked, unblock, unblock_async};
pub use fabric::choice::FabricChoice;
pub use kernel::{fs, io, process, signal};
pub use lane::error::{DelegationError, Reason};
pub use lane::without_captures::WithoutCaptures;
pub use metrics::metrics;
#[cfg(fuzzing)]
#[doc(hidden)]
pub use rack::fuzzing;
pub use rack::run::{run, try_run};
pub use rack::team::Workers;
pub use rack::team_member::TeamMember;
pub use runtime::StartError;
pub use runtime::embedded::Runtime;
pub use transport::seal::protection::Protection;
#[cfg(feature = "rkyv")]
pub use trust::Archive;
#[cfg(feature = "may")]
pub use trust::spawn_may;
pub use trust::{
    FiberLocal, JoinHandle, JoinMany, Latch, NameError, NoRef, Pending, PendingOutcome, Replicated, Replies,
    Returned, Scope, ScopedJoinHandle, Sharded, Snapshot, Trust, Trustee, WeakTrust, entrust, entrust_as,
    forget_name, scope, sleep, spawn, spawn_local, spawn_many_with, spawn_on, spawn_on_with, spawn_with,
    without_suspending, yield_now,
};
pub use waiting::{Elapsed, JoinSet, Sleep, block_on, join_all, sleep_async, timeout, timeout_async};
#[cfg(feature = "serde")]
pub use wire::Serde;
pub use wire::decoder::Decoder;
pub use wire::encoder::Encoder;
pub use wire::refusal::Malformed;
pub use worker::config::Config;

/// Used by the expansions of the macros. Not public.
#[doc(hidden)]
pub mod __private {
    pub use crate::__dbg as dbg;
    pub use crate::__place as place;
    pub use crate::collections::emission::numbers::par_emit_with_arguments_first as par_emit_with;
    pub use crate::collections::par_fold::{
        par_fold_with_arguments_first as par_fold_with,
        par_map_reduce_with_arguments_first as par_map_reduce_with,
    };
    pub use crate::collections::par_for_each::par_for_each_with_arguments_first as par_for_each_with;
    pub use crate::lane::place::{GOSSAMER_PLACES, Place};
    pub use crate::rack::collective::on_each_node_with_arguments_first as on_each_node;
    pub use crate::rack::program::{AsItIs, AsText, OrExit, Program};
    pub use crate::rack::run::main;
    pub use crate::trust::arguments_first::{spawn_many_with, spawn_on_with, spawn_with};
    pub use crate::trust::delegate::Delegate;
    pub use crate::waiting::select;
    pub use crate::wire::field::Field;
    pub use crate::wire::shape::Shape;
    pub use linkme;
}

/// Declares values that each fiber has its own copy of, as `thread_local!` does for threads: each is a
/// [`FiberLocal`].
///
/// ```
/// use std::cell::RefCell;
///
/// gossamer::fiber_local! {
///     static LOG: RefCell<Vec<String>> = RefCell::default();
///     pub static NAME: String = String::from("a fiber");
/// }
///
/// LOG.with(|log| log.borrow_mut().push(NAME.with(String::clone)));
/// ```
#[macro_export]
macro_rules! fiber_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $value:expr $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $visibility static $name: $crate::FiberLocal<$type> = {
            fn initialise() -> $type {
                $value
            }
            $crate::FiberLocal::new(::core::stringify!($name), initialise)
        };
        $($crate::fiber_local! { $($rest)* })?
    };
}

/// `std::dbg!` of values that come with the text to print, since the macros have rewritten the expressions.
#[doc(hidden)]
#[macro_export]
macro_rules! __dbg {
    ($text:literal $value:expr) => {
        // As there, a match keeps temporaries alive as long as the value is used.
        match $value {
            value => {
                ::std::eprintln!(
                    "[{}:{}:{}] {} = {:#?}",
                    ::core::file!(),
                    ::core::line!(),
                    ::core::column!(),
                    $text,
                    &value
                );
                value
            }
        }
    };
    ($($text:literal $value:expr),+) => {
        ($($crate::__dbg!($text $value),)+)
    };
}

/// The programs of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The programs of the page about servers compile.
#[cfg(doctest)]
#[doc = include_str!("../../docs/servers.md")]
pub struct Servers;

/// So do the programs of the page about programs that hang.
#[cfg(doctest)]
#[doc = include_str!("../../docs/troubleshooting.md")]
pub struct Troubleshooting;

/// Checks that the documents state the constants as they are.
#[cfg(all(test, not(loom)))]
mod documents {
    use crate::fabric::shm::QUEUE_ENTRIES;
    use crate::fabric::{FAR_SLOTS, FRAGMENT_BYTES, FRAME_SLOTS, SLOTS, SlotMemory};
    use crate::lane::payload::INLINE_BYTES;
    use crate::transport::handshake;
    use crate::wire::batch::{BODY_WORDS, FAR_BODY_WORDS, failure_words};
    use crate::wire::row;
    use crate::worker::config::Config;

    const LIMITS: &str = include_str!("../../docs/book/src/guide/limits.md");
    const SETTINGS: &str = include_str!("../../docs/book/src/guide/settings.md");
    const LANE: &str = include_str!("lane/README.md");
    const WIRE: &str = include_str!("wire/README.md");
    const WORKER: &str = include_str!("worker/README.md");

    /// Fails unless a document contains this text, however its lines are broken.
    #[track_caller]
    fn says(document: &str, text: &str) {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(document).contains(&words(text)), "a document has to say: {text}");
    }

    /// A number as the documents write it: 1,048,576.
    fn with_commas(number: usize) -> String {
        let digits = number.to_string();
        let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
        groups.join(",")
    }

    #[test]
    fn documents_state_the_constants_of_the_code() {
        let (near, far) =
            (BODY_WORDS - failure_words(BODY_WORDS), FAR_BODY_WORDS - failure_words(FAR_BODY_WORDS));
        let kibibytes = |bytes: usize| bytes / 1024;
        let slot = |words: usize| kibibytes((1 + words) * size_of::<u64>());
        let lane = (kibibytes(2 * SlotMemory::BYTES), 2 * FAR_SLOTS * slot(FAR_BODY_WORDS));
        says(
            LIMITS,
            &format!(
                "{SLOTS} batches of up to {near} requests are in flight from a worker to a trustee (to another machine {FRAME_SLOTS} of up to {far}, over RDMA {FAR_SLOTS})"
            ),
        );
        says(LIMITS, &format!("{} KiB for each pair of workers that talk, {} KiB over RDMA", lane.0, lane.1));
        says(LIMITS, &format!("those above {INLINE_BYTES} bytes are boxed"));
        says(SETTINGS, &format!("{} KiB per fiber", kibibytes(Config::default().stack_bytes())));
        says(SETTINGS, &format!("the first fiber has {} MiB", crate::runtime::THREAD_STACK >> 20));
        let defaults = Config::default();
        says(SETTINGS, &format!("{} at most, for the process", crate::blocking::pool::MOST_THREADS));
        says(
            SETTINGS,
            &format!(
                "| {}: after what time a worker that something holds up is reported",
                defaults.block_limit().map_or(0, |limit| limit.as_millis())
            ),
        );
        says(
            SETTINGS,
            &format!(
                "| {}: after what time without",
                defaults.stall_limit().map_or(0, |limit| limit.as_secs())
            ),
        );
        says(SETTINGS, &format!("| {} requests of one worker", with_commas(defaults.backlog)));
        says(SETTINGS, &format!("| {}: how long nodes wait for each other", crate::rack::run::START));
        says(
            WORKER,
            &format!(
                "{SLOTS} batches of at most {near} requests (between machines {FRAME_SLOTS} of at most {far}, over RDMA {FAR_SLOTS})"
            ),
        );
        says(WORKER, &format!("{} KiB ({} over RDMA; over TCP", lane.0, lane.1));
        says(WORKER, &format!("{} KiB of a lane on one machine", kibibytes(QUEUE_ENTRIES * FRAGMENT_BYTES)));
        says(WORKER, &format!("{} s each", handshake::PATIENCE.as_secs()));
        says(
            LANE,
            &format!(
                "({SLOTS} of {} KiB on one machine; between two, where each batch costs a frame, {FRAME_SLOTS} of {} KiB, \
                 or over RDMA {FAR_SLOTS})",
                slot(BODY_WORDS),
                slot(FAR_BODY_WORDS)
            ),
        );
        says(LANE, &format!("fragments of {} KiB", kibibytes(FRAGMENT_BYTES)));
        says(
            WIRE,
            &format!(
                "up to {BODY_WORDS} words of body ({} KiB); between machines up to {FAR_BODY_WORDS} ({} KiB)",
                slot(BODY_WORDS),
                slot(FAR_BODY_WORDS)
            ),
        );
        says(WIRE, &format!("larger than {INLINE_BYTES} bytes"));
        says(WIRE, &format!("A row of {} KiB or more", kibibytes(row::LONG)));
    }
}
