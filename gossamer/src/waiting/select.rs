//! Waiting for the first of several futures: the basis of [`select!`](crate::select).
//!
//! The macro chains its futures as [`Arm`]s and waits with [`first`]. The result is nested like the arms, so the
//! handlers are arms of nested matches: they run after all futures have been dropped, in the code around the macro,
//! so that `?`, `break` and `return` have their usual meaning there.

use crate::waiting::block_on;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// What an arm waits for until it is a `T`: whatever can be awaited.
#[diagnostic::on_unimplemented(
    message = "`select!` waits for futures, and `{Self}` is none",
    label = "this call has waited by itself, and returned `{Self}`",
    note = "calls that wait have a form that is a future: `recv_async`, `sleep_async`, `apply_async`, …"
)]
pub trait Awaited<T> {
    /// The future itself.
    fn into_future(self) -> impl Future<Output = T>;
}

#[diagnostic::do_not_recommend]
impl<F: IntoFuture> Awaited<F::Output> for F {
    fn into_future(self) -> impl Future<Output = F::Output> {
        IntoFuture::into_future(self)
    }
}

/// The future of an arm.
pub fn future<F: Awaited<T>, T>(awaited: F) -> impl Future<Output = T> {
    awaited.into_future()
}

pin_project! {
    /// A future, unless its condition was false, and the arms after it.
    pub struct Arm<F, R> {
        #[pin]
        future: Option<F>,
        #[pin]
        rest: R,
    }
}

impl<F, R> Arm<F, R> {
    /// An arm, with those after it.
    pub fn new(future: Option<F>, rest: R) -> Self {
        Self { future, rest }
    }
}

/// The end of the arms.
pub struct NoArm;

/// Which arm was first, with its output.
pub enum Chosen<T, R> {
    /// That arm.
    This(T),
    /// A later one.
    Other(R),
}

/// There is no arm after the last.
pub enum Never {}

/// Arms, one of which is waited for.
pub trait Arms {
    /// The output of one of the arms.
    type Chosen;
    /// The number of arms.
    const COUNT: usize;

    /// Polls the arm of this index.
    fn poll_arm(self: Pin<&mut Self>, index: usize, context: &mut Context<'_>) -> Poll<Self::Chosen>;

    /// Whether any arm has a future.
    fn any(&self) -> bool;
}

impl<F: Future, R: Arms> Arms for Arm<F, R> {
    type Chosen = Chosen<F::Output, R::Chosen>;
    const COUNT: usize = 1 + R::COUNT;

    fn poll_arm(self: Pin<&mut Self>, index: usize, context: &mut Context<'_>) -> Poll<Self::Chosen> {
        let this = self.project();
        match (index.checked_sub(1), this.future.as_pin_mut()) {
            (Some(behind), _) => this.rest.poll_arm(behind, context).map(Chosen::Other),
            (None, Some(future)) => future.poll(context).map(Chosen::This),
            (None, None) => Poll::Pending,
        }
    }

    fn any(&self) -> bool {
        self.future.is_some() || self.rest.any()
    }
}

impl Arms for NoArm {
    type Chosen = Never;
    const COUNT: usize = 0;

    fn poll_arm(self: Pin<&mut Self>, _: usize, _: &mut Context<'_>) -> Poll<Never> {
        Poll::Pending
    }

    fn any(&self) -> bool {
        false
    }
}

thread_local! {
    static TURN: Cell<usize> = const { Cell::new(0) };
}

/// The arm to poll first: each in turn, so that one that is always ready does not starve the others.
#[inline(never)]
pub fn in_turn() -> usize {
    let turn = TURN.get();
    TURN.set(turn.wrapping_add(1));
    turn
}

/// Waits for the first arm that is ready, polling from `start` on; `None` if no arm has a future.
#[track_caller]
pub fn first<A: Arms>(arms: A, start: usize) -> Option<A::Chosen> {
    if !arms.any() {
        return None;
    }
    let mut arms = pin!(arms);
    let poll = |context: &mut Context<'_>| {
        for turn in 0..A::COUNT {
            let index = (start % A::COUNT + turn) % A::COUNT;
            if let Poll::Ready(chosen) = arms.as_mut().poll_arm(index, context) {
                return Poll::Ready(Some(chosen));
            }
        }
        Poll::Pending
    };
    block_on(poll_fn(poll))
}

/// Waits for the first of several futures to become ready, drops the others, and runs the handler of that one.
///
/// ```
/// use gossamer::{select, sleep_async, sync::mpsc};
/// use std::time::Duration;
///
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let (sender, mut receiver) = mpsc::channel(8);
/// gossamer::spawn_with(|sender| sender.send(7).unwrap(), sender);
/// let mut sum = 0;
/// loop {
///     select! {
///         number = receiver.recv_async() => match number {
///             Some(number) => sum += number,
///             None => break, // all senders are gone
///         },
///         _ = sleep_async(Duration::from_secs(60)) => panic!("nothing came for a minute"),
///     }
/// }
/// assert_eq!(sum, 7);
/// # });
/// ```
///
/// - Each arm is `pattern = future => handler`. The pattern always matches: look at the value in the handler. Anything that can be
///   awaited is a future: a [`Pending`](crate::Pending), a [`JoinHandle`](crate::JoinHandle), the `_async` calls of
///   [`sync`](crate::sync) and of sockets, [`sleep_async`](crate::sleep_async), an `async` block, and `&mut` of a
///   future that is `Unpin`, to use it again later.
/// - With `pattern = future, if condition => handler` an arm takes part only if the condition is true; otherwise its
///   future is not even made. `else => handler` runs if no arm takes part; without it, that is a panic.
/// - The handlers run in the fiber, after all futures have been dropped: they may block, `break`, `return`, and use
///   `?` and what the futures borrowed.
/// - If several futures are ready, they take turns. With `biased;` in front, the first one in the source wins.
///
/// A thread that is not a worker may use it too. In async code use the macro of that runtime.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait; and if a future does.
#[macro_export]
macro_rules! select {
    (biased; $($arms:tt)+) => { $crate::__select!(@arms (0) [] $($arms)+) };
    ($($arms:tt)+) => { $crate::__select!(@arms ($crate::__private::select::in_turn()) [] $($arms)+) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // Takes the arms one by one.
    (@arms $start:tt $arms:tt else => $otherwise:expr $(,)?) => {
        $crate::__select!(@wait $start $arms ($otherwise))
    };
    (@arms $start:tt $arms:tt) => {
        $crate::__select!(@wait $start $arms (::core::panic!("no arm of `select!` takes part, and it has no `else`")))
    };
    (@arms $start:tt [$($arms:tt)*] $pattern:pat = $future:expr, if $condition:expr => $handler:block, $($rest:tt)*) => {
        $crate::__select!(@arms $start [$($arms)* { ($pattern) ($future) ($condition) ($handler) }] $($rest)*)
    };
    (@arms $start:tt [$($arms:tt)*] $pattern:pat = $future:expr, if $condition:expr => $handler:block $($rest:tt)*) => {
        $crate::__select!(@arms $start [$($arms)* { ($pattern) ($future) ($condition) ($handler) }] $($rest)*)
    };
    (@arms $start:tt [$($arms:tt)*] $pattern:pat = $future:expr, if $condition:expr => $handler:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@arms $start [$($arms)* { ($pattern) ($future) ($condition) ($handler) }] $($($rest)*)?)
    };
    (@arms $start:tt [$($arms:tt)*] $pattern:pat = $future:expr => $handler:block, $($rest:tt)*) => {
        $crate::__select!(@arms $start [$($arms)* { ($pattern) ($future) (true) ($handler) }] $($rest)*)
    };
    (@arms $start:tt [$($arms:tt)*] $pattern:pat = $future:expr => $handler:block $($rest:tt)*) => {
        $crate::__select!(@arms $start [$($arms)* { ($pattern) ($future) (true) ($handler) }] $($rest)*)
    };
    (@arms $start:tt [$($arms:tt)*] $pattern:pat = $future:expr => $handler:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@arms $start [$($arms)* { ($pattern) ($future) (true) ($handler) }] $($($rest)*)?)
    };

    (@wait ($start:expr) [$({ ($pattern:pat) ($future:expr) ($condition:expr) ($handler:expr) })*] ($otherwise:expr)) => {
        match $crate::__private::select::first($crate::__select!(@chain $(($future) ($condition))*), $start) {
            ::core::option::Option::Some(chosen) => $crate::__select!(@handle chosen $(($pattern) ($handler))*),
            ::core::option::Option::None => $otherwise,
        }
    };

    (@chain) => { $crate::__private::select::NoArm };
    (@chain ($future:expr) ($condition:expr) $($rest:tt)*) => {
        $crate::__private::select::Arm::new(
            if $condition {
                ::core::option::Option::Some($crate::__private::select::future($future))
            } else {
                ::core::option::Option::None
            },
            $crate::__select!(@chain $($rest)*),
        )
    };

    (@handle $chosen:ident) => { match $chosen {} };
    (@handle $chosen:ident ($pattern:pat) ($handler:expr) $($rest:tt)*) => {
        match $chosen {
            $crate::__private::select::Chosen::This($pattern) => $handler,
            $crate::__private::select::Chosen::Other(chosen) => $crate::__select!(@handle chosen $($rest)*),
        }
    };
}
