//! [`Trustee`]: a worker as the holder of properties.

use crate::lane::context::{self, Context};
use crate::lane::error::DelegationError;
use crate::lane::operation::refuse_captures;
use crate::lane::property::{ROOT, Root};
use crate::trust::apply::rethrow;
use crate::trust::call::Target;
use crate::trust::handle::Handle;
use crate::trust::{JoinHandle, NoRef, Returned, Trust, spawn};
use crate::wire::captured::Captured;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::{Malformed, Why};
use crate::worker::shared::Shared;
use crate::worker::{self, no_runtime};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// A worker in its role as holder and server of properties. It is a small copyable name, valid on every thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trustee {
    /// Unique in the process, so that trustees of two runtimes are never confused.
    number: u32,
}

// SAFETY: a plain number, counted from the start of the runtime that it belongs to.
unsafe impl NoRef for Trustee {
    fn encode(self, to: &mut Encoder) {
        match worker::with(|worker| worker.and_then(|here| here.index_of(self.number))) {
            Some(index) => (index as u32).encode(to),
            None => to.refuse_because(self, Why::OtherRuntime),
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        if let Some(itself) = from.given_back() {
            return Ok(itself);
        }
        let index = u32::decode(from)?;
        let number = worker::with(|worker| Some(worker?.shared.base + index));
        number.map(Self::numbered).ok_or_else(Malformed::instead_of::<Self>)
    }
}

impl Trustee {
    pub(crate) fn numbered(number: u32) -> Self {
        Self { number }
    }

    pub(crate) fn number(self) -> u32 {
        self.number
    }

    /// The worker that runs the caller.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Trustee;
    /// let other = Trustee::all()[1];
    /// assert_eq!(gossamer::spawn_on(other, || Trustee::here().index()).join(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// On a thread that is not a worker.
    #[track_caller]
    pub fn here() -> Self {
        let number = worker::with(|worker| worker.map(|here| here.shared.base + here.index as u32));
        match number {
            Some(number) => Self::numbered(number),
            None => no_runtime("Trustee::here", ""),
        }
    }

    /// All workers of the caller's runtime, of all nodes, in order.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Trustee;
    /// let parts: Vec<_> = Trustee::all().iter().map(|trustee| trustee.entrust(0_u64)).collect();
    /// assert_eq!(parts.len(), 2);
    /// # });
    /// ```
    ///
    /// # Panics
    /// On a thread that is not a worker.
    #[track_caller]
    pub fn all() -> Vec<Self> {
        let numbers = worker::with(|worker| {
            worker.map(|here| (here.shared.base, here.shared.base + here.shared.workers() as u32))
        });
        match numbers {
            Some((first, end)) => (first..end).map(Self::numbered).collect(),
            None => no_runtime("Trustee::all", ""),
        }
    }

    /// The index of this worker in [`Trustee::all`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Trustee;
    /// let indices: Vec<_> = Trustee::all().iter().map(Trustee::index).collect();
    /// assert_eq!(indices, [0, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// On a thread that is not a worker of its runtime, once the runtime has ended.
    pub fn index(&self) -> usize {
        let here = worker::with(|worker| worker.and_then(|here| here.index_of(self.number)));
        here.or_else(|| Shared::find(self.number).map(|(_, index)| index))
            .unwrap_or_else(|| self.ended("index"))
    }

    /// Gives a value to this trustee, and waits until it is there.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Trustee;
    /// let list = Trustee::all()[1].entrust(vec![1, 2]); // moves there
    /// assert_eq!(list.apply(|list| list.len()), 2);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait, and if the runtime has ended.
    #[track_caller]
    pub fn entrust<T: NoRef>(&self, value: T) -> Trust<T> {
        self.entrust_with(const { |value| value }, value)
    }

    /// Makes the trustee construct a value, for types that cannot travel: `make` runs there, with `arguments`.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use std::rc::Rc;
    /// let there = gossamer::Trustee::all()[1];
    /// let list = there.entrust_with(|text: String| Rc::<str>::from(text), "shared by nobody".to_owned());
    /// assert_eq!(list.apply(|list| list.len()), 16);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `make` panics; where the caller cannot wait; and if the runtime has ended.
    #[track_caller]
    pub fn entrust_with<C: NoRef, T: 'static, F>(&self, make: F, arguments: C) -> Trust<T>
    where
        F: FnOnce(C) -> T + Send,
    {
        const { refuse_captures::<F>() };
        self.make::<F, _, _, _>(make, arguments)
    }

    /// Like `entrust_with`. Reports name the type `N`: the user's closure, where `make` only wraps it.
    #[track_caller]
    pub(super) fn make<N, C: NoRef, T: 'static, F>(&self, make: F, arguments: C) -> Trust<T>
    where
        F: FnOnce(C) -> T + Send,
    {
        let shared = self.shared();
        let target: Target<'_, Root> =
            Target { shared: &shared, number: self.number, property: ROOT, of: PhantomData };
        let property: Result<u32, DelegationError> =
            target.call::<N, _, _, _>("entrust", |_, arguments| insert_here(make(arguments)), arguments);
        let property = match property {
            Ok(property) => property,
            Err(error) => rethrow(error, Location::caller()),
        };
        let trustee = self.number - shared.base;
        Trust::new(Handle::new(shared, trustee, property))
    }

    /// Starts a fiber on this worker, as [`spawn_on`](crate::spawn_on) does. Usable from any thread.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Trustee;
    /// let fiber = Trustee::all()[1].spawn(|| Trustee::here().index());
    /// assert_eq!(fiber.join(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the runtime has ended.
    #[track_caller]
    pub fn spawn<U: Returned, F>(&self, f: F) -> JoinHandle<U>
    where
        F: FnOnce() -> U + Send + 'static,
    {
        spawn::spawn_on(*self, f)
    }

    /// Like [`spawn`](Self::spawn), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Trustee;
    /// let fiber = Trustee::all()[1].spawn_with(|list: Vec<u64>| list.iter().sum::<u64>(), vec![1, 2, 3]);
    /// assert_eq!(fiber.join(), 6);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the runtime has ended.
    #[track_caller]
    pub fn spawn_with<C: NoRef, U: Returned, F>(&self, f: F, arguments: C) -> JoinHandle<U>
    where
        F: FnOnce(C) -> U + Send + 'static,
    {
        spawn::spawn_on_with(*self, f, arguments)
    }

    #[track_caller]
    fn shared(&self) -> Arc<Shared> {
        let here = worker::with(|worker| {
            worker.filter(|here| here.index_of(self.number).is_some()).map(|here| Arc::clone(&here.shared))
        });
        here.or_else(|| Shared::find(self.number).map(|(shared, _)| shared))
            .unwrap_or_else(|| self.ended("entrust"))
    }

    #[cold]
    #[track_caller]
    fn ended(&self, call: &str) -> ! {
        panic!("`Trustee::{call}` after the runtime of the trustee has ended")
    }
}

/// As written by the macros (see `arguments_first`).
#[doc(hidden)]
impl Trustee {
    #[inline(always)]
    #[track_caller]
    pub fn __entrust_with<C: Captured, T: 'static, F>(&self, arguments: C, make: F) -> Trust<T>
    where
        F: FnOnce(C) -> T + Send,
    {
        self.entrust_with(make, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __spawn_with<C: Captured, U: Returned, F>(&self, arguments: C, f: F) -> JoinHandle<U>
    where
        F: FnOnce(C) -> U + Send + 'static,
    {
        self.spawn_with(f, arguments)
    }
}

impl fmt::Debug for Trustee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trustee({})", self.number)
    }
}

/// Stores a property on this worker.
fn insert_here<T: 'static>(value: T) -> u32 {
    worker::with(|worker| match worker {
        Some(here) => here.properties.insert(value),
        None => unreachable!("a trustee runs on its worker"),
    })
}

/// Gives a value to the trustee of this worker. Never waits, so it may be called in a delegated closure too, and in the
/// initialiser of a static.
///
/// The value stays on this worker, so it need not be `Send`: an `Rc`, or a `dyn` type in a box, may be a property.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let greetings = gossamer::entrust(Vec::<String>::new());
/// greetings.apply(|list| list.push("hello".into()));
/// # });
/// ```
///
/// # Panics
/// On a thread that is not a worker: use [`Trustee::entrust`] there.
#[track_caller]
pub fn entrust<T: 'static>(value: T) -> Trust<T> {
    let handle = worker::with(|worker| {
        let here = worker?;
        if context::current() == Context::Fiber {
            here.shorten_turn();
        }
        let (shared, trustee) = (Arc::clone(&here.shared), here.index as u32);
        Some(Handle::new(shared, trustee, here.properties.insert(value)))
    });
    match handle {
        Some(handle) => Trust::new(handle),
        None => no_runtime("entrust", "; another thread uses `Trustee::entrust`"),
    }
}
