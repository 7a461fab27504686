//! [`par_for_each`]: a loop over numbers, on all workers.

use crate::collections::IndexRange;
use crate::lane::catch::resume_saying;
use crate::lane::operation::refuse_captures;
use crate::trust::{FibersOfCall, on_all_workers, spawn_around};
use crate::wire::captured::Captured;
use crate::worker::Cancelled;
use crate::{NoRef, Trust, Trustee, entrust, rack, yield_now};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Divides a worker's share of what is left into chunks: so the last ones are small, and all workers end together
/// (guided self-scheduling, Polychronopoulos and Kuck, 1987).
const SHARE: usize = 4;
/// How long a fiber goes on before the other fibers of its worker, and its trustee, get a turn.
const TURN: Duration = Duration::from_micros(50);
/// How long a chunk may take in any case. Chunks of 100 to 200 us were a quarter slower on work whose longest numbers
/// come first.
const SHORTEST: Duration = TURN;
/// Divides the time that a fiber has spent on a loop, for the longest that a chunk should take: it is requested before
/// anybody knows whether its numbers take longer than those before.
const PART_OF_TIME: u32 = 16;
/// The clock is read after twice as many iterations each time, until they take as long as a turn.
const MOST_BETWEEN: usize = 1 << 16;

/// Calls a closure for each number of a range, on all workers of all nodes, and waits until that is done.
/// [`IndexRange`] does so on some workers.
///
/// Workers ask for numbers as they need them, in chunks that become smaller towards the end, which balances uneven
/// work. If numbers take as long as those before, no chunk takes longer than 50 us or a sixteenth of the loop so
/// far. The closure runs in a fiber, so it may wait. The order and the workers are not defined.
///
/// ```
/// use gossamer::collections::{self, DistVec};
///
/// #[gossamer::delegate]
/// fn divisors(most: usize) -> Vec<u64> {
///     let counts = DistVec::filled(most + 1, 0_u64);
///     let by = counts.clone();
///     collections::par_for_each(1..most + 1, move |divisor| {
///         (divisor..=most).step_by(divisor).for_each(|number| by.update(number, |count| *count += 1));
///     });
///     counts.to_vec()
/// }
///
/// let counts = gossamer::run(gossamer::Config::default().threads(2), || divisors(6));
/// assert_eq!(counts, [0, 1, 2, 2, 3, 2, 4]);
/// ```
///
/// # Cost
/// A fiber on each worker, started by one message for each node (for each worker if there is only one node), which has
/// the captures of the closure; they are cloned for each worker, and each call borrows them. A request of 16 bytes with an
/// answer of 16 for each chunk: with `n` numbers and `w` workers there are about `4 w ln n` chunks, and up to `16 w (1 + ln t)`
/// more if the loop takes `t` milliseconds.
///
/// # Panics
/// If the closure panics, with the number that it was called for: the chunks that have begun are finished, and no
/// others begin. Where the caller cannot wait; on a thread that is not a worker.
#[track_caller]
pub fn par_for_each<F>(range: Range<usize>, closure: F)
where
    F: FnOnce(usize) + Send + Copy + 'static,
{
    const { refuse_captures::<F>() };
    for_each_around::<F, _, _, _>(range.into(), move |()| move |number| closure(number), ());
}

/// Like [`par_for_each`], with `arguments`, which each call gets by reference.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::collections::{DistVec, par_for_each_with};
/// let squares = DistVec::filled(100, 0_usize);
/// let square = |number: usize, squares: &DistVec<usize>| squares.set(number, number * number);
/// par_for_each_with(0..100, square, squares.clone());
/// assert_eq!(squares.get(9), 81);
/// # });
/// ```
///
/// # Panics
/// Like [`par_for_each`].
#[track_caller]
pub fn par_for_each_with<C: NoRef + Clone, F>(range: Range<usize>, closure: F, arguments: C)
where
    F: Fn(usize, &C) + Send + Copy + 'static,
{
    const { refuse_captures::<F>() };
    let lend = move |arguments: C| move |number| closure(number, &arguments);
    for_each_around::<F, _, _, _>(range.into(), lend, arguments);
}

/// As written by the macros (see `trust::arguments_first`).
#[doc(hidden)]
#[track_caller]
pub fn par_for_each_with_arguments_first<C: Captured + Clone, F, G>(
    range: Range<usize>,
    arguments: C,
    closure: F,
) where
    F: FnOnce(C) -> G + Send + Copy + 'static,
    G: Fn(usize),
{
    const { refuse_captures::<F>() };
    for_each_around::<F, _, _, _>(range.into(), closure, arguments);
}

/// The numbers that no worker has yet.
pub(super) struct Remaining {
    left: Range<usize>,
    /// What is left is divided by this for a chunk.
    divisor: usize,
}

impl Remaining {
    fn take(&mut self, most: usize) -> (usize, usize) {
        let Range { start, end } = self.left;
        let chunk = (self.left.len() / self.divisor).min(most).max(1).min(self.left.len());
        self.left = start + chunk..end;
        (start, start + chunk)
    }
}

/// What decides how many numbers a chunk has.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ChunkLength {
    /// How long they are likely to take, and how many are left.
    Timed,
    /// How many are left, and nothing else.
    Fixed,
}

#[track_caller]
pub(super) fn for_each_around<N: 'static, C: NoRef + Clone, F, G>(range: IndexRange, closure: F, arguments: C)
where
    F: FnOnce(C) -> G + Send + Copy + 'static,
    G: Fn(usize),
{
    let body = move |remaining: &Trust<Remaining>, arguments: C| {
        let closure = closure(arguments);
        run_chunks(remaining, ChunkLength::Timed, |number, _| closure(number));
    };
    on_workers::<N, _, _, _>(range.into_parts(), body, arguments);
}

/// Runs a closure in a fiber on each of these workers (on all, if none are named), with the numbers that they share, and
/// returns the results in their order. The closure captures the user's closure of type `N`, or one that was checked
/// (`require_constant`), and nothing else.
#[track_caller]
pub(super) fn on_workers<N: 'static, C: NoRef + Clone, U: NoRef, F>(
    (numbers, trustees): (Range<usize>, Option<Vec<Trustee>>),
    body: F,
    arguments: C,
) -> Vec<U>
where
    F: FnOnce(&Trust<Remaining>, C) -> U + Send + Copy + 'static,
{
    let on_all = trustees.is_none();
    let trustees = trustees.unwrap_or_else(|| Trustee::all());
    let remaining = entrust(Remaining { left: numbers, divisor: SHARE * trustees.len() });
    // Where there is only this node, its fiber here begins sooner by a message for each worker.
    if on_all && rack::nodes().len() > 1 {
        let body = move |_, (remaining, arguments): (Trust<Remaining>, C)| body(&remaining, arguments);
        return on_all_workers::<N, _, _, _>(body, (remaining, arguments));
    }
    let body = move |(remaining, arguments): (Trust<Remaining>, C)| body(&remaining, arguments);
    let mut fibers = FibersOfCall::new();
    // Not `map`, whose closure would be named as the caller when a panic is reported.
    for trustee in trustees {
        let arguments = (remaining.clone(), arguments.clone());
        fibers.push(spawn_around::<N, _, _, _>(trustee, body, arguments, Location::caller()));
    }
    fibers.all_joined()
}

/// Calls a closure for each number, chunk by chunk, until none are left, and tells it whether a chunk begins there.
/// After a panic no new chunk begins.
pub(super) fn run_chunks(
    remaining: &Trust<Remaining>,
    chunks: ChunkLength,
    mut closure: impl FnMut(usize, bool),
) {
    let mut at = 0;
    let run = AssertUnwindSafe(|| {
        each_taken(remaining, chunks, |number, is_first| {
            at = number;
            closure(number, is_first);
        });
    });
    if let Err(payload) = catch_unwind(run) {
        if payload.is::<Cancelled>() {
            resume_unwind(payload);
        }
        remaining.apply_then(const { |remaining: &mut Remaining| remaining.left = 0..0 }, drop);
        resume_saying(payload, |message| format!("iteration {at}: {message}"));
    }
}

/// Calls the closure for each number that this fiber takes. It requests the next chunk while it works on the present
/// one.
fn each_taken(remaining: &Trust<Remaining>, chunks: ChunkLength, mut closure: impl FnMut(usize, bool)) {
    let take = const { |remaining: &mut Remaining, most: usize| remaining.take(most) };
    let (loop_begun, mut between) = (Instant::now(), 1);
    // Nothing is known of the first number.
    let mut most = if chunks == ChunkLength::Timed { 1 } else { usize::MAX };
    let mut next = remaining.apply_with_async(take, most);
    loop {
        let (start, end) = next.wait();
        if start == end {
            return;
        }
        next = remaining.apply_with_async(take, most);
        let (mut numbers, mut spent) = (start..end, Duration::ZERO);
        while !numbers.is_empty() {
            let (begun, count) = (Instant::now(), between.min(numbers.len()));
            numbers.by_ref().take(count).for_each(|number| closure(number, number == start));
            let took = begun.elapsed();
            spent += took;
            if took >= TURN {
                between = (between / 2).max(1);
            } else if count == between {
                between = (between * 2).min(MOST_BETWEEN);
            }
            yield_now();
        }
        if chunks == ChunkLength::Timed {
            let longest = SHORTEST.max(loop_begun.elapsed() / PART_OF_TIME);
            most = ((end - start) as f64 * longest.as_secs_f64() / spent.as_secs_f64()) as usize;
        }
    }
}
