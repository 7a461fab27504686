//! [`FiberLocal`]: values that each fiber has its own copy of.

use crate::lane::catch;
use crate::lane::context;
use crate::structures::locals::{LocalEntry, LocalKey, Locals};
use crate::sys::fibers::fiber::Fiber;
use std::any::Any;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Values that are dropped at the end of a job: only destructors that keep using fiber-locals make more.
const MOST: usize = 10_000;

thread_local! {
    /// Those of the thread itself.
    static OF_THREAD: Locals = const { Locals::new() };
}

/// A value that each fiber has its own copy of: what [`fiber_local!`](crate::fiber_local) declares.
///
/// It is to fibers what a `thread_local!` is to threads: made at the first use in a fiber, and dropped when
/// the fiber ends, before its joiner is told, in reverse order. Its initialiser may wait. Code outside of
/// fibers (threads, delegated closures, callbacks) uses the value of its thread.
///
/// ```
/// use std::cell::Cell;
///
/// gossamer::fiber_local! {
///     /// How deep this fiber is in the tree.
///     static DEPTH: Cell<u32> = Cell::new(0);
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let count = || {
///     DEPTH.with(|depth| depth.set(depth.get() + 1));
///     gossamer::yield_now(); // others run on this thread meanwhile
///     DEPTH.with(Cell::get)
/// };
/// let fibers: Vec<_> = (0..10).map(|_| gossamer::spawn(count)).collect();
/// assert!(fibers.into_iter().all(|fiber| fiber.join() == 1));
/// # });
/// ```
pub struct FiberLocal<T: 'static> {
    name: &'static str,
    initialise: fn() -> T,
    /// Zero until its first use.
    key: AtomicU32,
}

impl<T: 'static> FiberLocal<T> {
    /// What the macro writes.
    #[doc(hidden)]
    pub const fn new(name: &'static str, initialise: fn() -> T) -> Self {
        Self { name, initialise, key: AtomicU32::new(0) }
    }

    /// Calls `f` with this fiber's value; `f` may wait.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use std::cell::Cell;
    /// gossamer::fiber_local! {
    ///     static DEPTH: Cell<u64> = Cell::new(0);
    /// }
    /// DEPTH.with(|depth| depth.set(3));
    /// assert_eq!(gossamer::spawn(|| DEPTH.with(Cell::get)).join(), 0); // another fiber has its own
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the initialiser panics, or uses the value that it makes; and on a thread that is not a worker, once
    /// the thread is ending and has dropped its values.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        // A count of its own, so that no list is borrowed while `f` runs.
        f(&self.value())
    }

    fn value(&'static self) -> Rc<T> {
        let key = self.key();
        let value = match locals(|locals| locals.get(key)) {
            LocalEntry::Value(value) => value,
            LocalEntry::Absent => self.make(key),
            LocalEntry::Beginning => {
                panic!("the initialiser of the fiber-local `{}` uses the value that it makes", self.name)
            }
        };
        match value.downcast() {
            Ok(value) => value,
            Err(_) => unreachable!("a key names values of one type"),
        }
    }

    #[cold]
    fn make(&'static self, key: LocalKey) -> Rc<dyn Any> {
        /// An initialiser that panics leaves nothing.
        struct Begun(LocalKey);
        impl Drop for Begun {
            fn drop(&mut self) {
                locals(|locals| locals.finish(self.0, None));
            }
        }
        locals(|locals| locals.begin(key));
        let begun = Begun(key);
        let value: Rc<dyn Any> = Rc::new((self.initialise)());
        std::mem::forget(begun);
        locals(|locals| locals.finish(key, Some(Rc::clone(&value))));
        value
    }

    fn key(&self) -> LocalKey {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        match self.key.load(Ordering::Relaxed) {
            0 => {
                let next = NEXT.fetch_add(1, Ordering::Relaxed);
                // Relaxed: a key is just a number, assigned by the first user.
                self.key
                    .compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed)
                    .map_or_else(|first| first, |_| next)
            }
            key => key,
        }
    }
}

impl<T: 'static> fmt::Debug for FiberLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FiberLocal").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Calls `f`, which runs no code of the program, with the values of the running fiber, or else of the thread.
fn locals<R>(f: impl FnOnce(&Locals) -> R) -> R {
    match Fiber::running().filter(|_| context::is_fiber()) {
        Some(fiber) => f(&fiber.locals),
        None => OF_THREAD.with(f),
    }
}

/// Drops the values of the running fiber, whose job has ended.
pub(crate) fn drop_locals() {
    let Some(fiber) = Fiber::running() else { return };
    for _ in 0..MOST {
        let Some(value) = fiber.locals.pop() else { return };
        catch::contained(|| drop(value));
    }
    eprintln!(
        "gossamer: the destructors of fiber-locals of the fiber spawned at {} make new ones without end; the last ones are not \
         dropped",
        fiber.spawned_at()
    );
    std::iter::from_fn(|| fiber.locals.pop()).for_each(std::mem::forget);
}
