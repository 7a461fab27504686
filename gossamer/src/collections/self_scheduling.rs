//! Self-scheduling: the fibers of a loop over numbers ask for more of them as they need them.

use crate::collections::layout::or_all;
use crate::lane::catch::resume_saying;
use crate::trust::{FibersOfCall, on_all_workers, spawn_around};
use crate::worker::Cancelled;
use crate::{NoRef, Pending, Trust, Trustee, entrust, rack, yield_now};
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
const LONGEST: Duration = TURN;
/// Divides the time that a fiber has spent on a loop, for the longest that a chunk should take: it is requested before
/// anybody knows whether its numbers take longer than those before.
const PART_OF_TIME: u32 = 16;
/// How long the numbers of a request should take at least: what is shorter is not worth the request.
const SHORTEST: Duration = Duration::from_micros(5);
/// The clock is read after twice as many iterations each time, until they take as long as a turn.
const MOST_BETWEEN: usize = 1 << 16;

/// The numbers that no fiber has yet.
struct Remaining {
    left: Range<usize>,
    workers: usize,
}

impl Remaining {
    /// Whole chunks that have at least so many numbers together, but no more than a worker's share of what is left.
    fn take(&mut self, least: usize, most: usize) -> (usize, usize) {
        let Range { start, end } = self.left;
        let least = least.min(self.left.len() / self.workers);
        let mut at = start + chunk(end - start, self.workers, most);
        while at - start < least {
            at += chunk(end - at, self.workers, most);
        }
        self.left = at..end;
        (start, at)
    }
}

/// The length of the next chunk if so many numbers are left.
fn chunk(left: usize, workers: usize, most: usize) -> usize {
    (left / (SHARE * workers)).min(most).max(1).min(left)
}

/// What decides how many numbers a chunk has.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ChunkLength {
    /// How long they are likely to take, and how many are left.
    Timed,
    /// How many are left, and nothing else.
    Fixed,
}

/// The numbers of a loop, and how they are divided.
#[derive(Clone, Copy, NoRef)]
struct Numbers {
    start: usize,
    end: usize,
    workers: usize,
    /// [`ChunkLength::Timed`].
    is_timed: bool,
}

impl Numbers {
    /// The length of the chunk that begins at a number, before anybody knows how long its numbers take.
    fn first_chunk(self, at: usize) -> usize {
        chunk(self.end - at, self.workers, if self.is_timed { 1 } else { usize::MAX })
    }

    /// A chunk by its number, where all before are first chunks: empty if there are fewer.
    fn chunk(self, number: usize) -> (usize, usize) {
        let start = if self.is_timed {
            self.start + number.min(self.end - self.start)
        } else {
            (0..number).fold(self.start, |at, _| at + self.first_chunk(at))
        };
        (start, start + self.first_chunk(start))
    }

    /// The first chunk of those that a fiber has been given.
    fn whole_chunk(self, Range { start, end }: Range<usize>) -> Range<usize> {
        if self.is_timed { start..end } else { start..start + self.first_chunk(start) }
    }

    /// Where the numbers begin that no fiber has from the start.
    fn shared(self) -> usize {
        self.chunk(2 * self.workers).0
    }
}

/// The numbers of one fiber of a loop: two first chunks of its own, and what it gets of those that remain.
pub struct OwnNumbers {
    fiber: usize,
    numbers: Numbers,
    remaining: Trust<Remaining>,
}

/// Runs a closure in a fiber on each of these workers (on all, if none are named), which share the numbers, and returns
/// the results in the order of the workers. If there are fewer numbers than workers, each has a fiber, the first on the
/// caller's worker. The closure captures the user's closure of type `N`, or one that was checked (`require_constant`),
/// and nothing else.
#[track_caller]
pub(super) fn on_workers<N: 'static, C: NoRef + Clone, U: NoRef, F>(
    (range, trustees): (Range<usize>, Option<Vec<Trustee>>),
    chunks: ChunkLength,
    body: F,
    arguments: C,
) -> Vec<U>
where
    F: FnOnce(OwnNumbers, C) -> U + Send + Copy + 'static,
{
    let (mut fibers, is_of_all) = (FibersOfCall::new(), trustees.is_none());
    let mut trustees = or_all(trustees);
    let (workers, count) = (trustees.len(), trustees.len().min(range.len()));
    if count == 0 {
        return Vec::new();
    }
    let Range { start, end } = range;
    let numbers = Numbers { start, end, workers, is_timed: chunks == ChunkLength::Timed };
    let remaining = entrust(Remaining { left: numbers.shared()..end, workers });
    // Where there is only this node, its fiber here begins sooner by a message for each worker.
    if is_of_all && count == workers && rack::nodes().len() > 1 {
        let body = move |fiber, (numbers, remaining, arguments): (Numbers, Trust<Remaining>, C)| {
            body(OwnNumbers { fiber, numbers, remaining }, arguments)
        };
        return on_all_workers::<N, _, _, _>(body, (numbers, remaining, arguments));
    }
    if is_of_all && count < workers {
        trustees.rotate_left(Trustee::here().index());
    }
    let body = move |(fiber, numbers, remaining, arguments): (usize, Numbers, Trust<Remaining>, C)| {
        body(OwnNumbers { fiber, numbers, remaining }, arguments)
    };
    // Not `map`, whose closure would be named as the caller when a panic is reported.
    for (fiber, trustee) in trustees.into_iter().take(count).enumerate() {
        let arguments = (fiber, numbers, remaining.clone(), arguments.clone());
        fibers.push(spawn_around::<N, _, _, _>(trustee, body, arguments, Location::caller()));
    }
    fibers.all_joined()
}

/// The message of a panic, with the number that the loop was at.
pub(super) fn of_iteration(number: usize, message: String) -> String {
    format!("iteration {number}: {message}")
}

impl OwnNumbers {
    /// Calls a closure for each number, chunk by chunk, until none are left. After a panic no fiber gets any more.
    pub(super) fn for_each(&self, closure: impl FnMut(usize)) {
        self.for_each_saying(closure, of_iteration);
    }

    /// Like [`for_each`](Self::for_each); `say` turns the message of a panic, and the number where it happened, into
    /// the message that goes on.
    pub(super) fn for_each_saying(
        &self,
        mut closure: impl FnMut(usize),
        say: impl FnOnce(usize, String) -> String,
    ) {
        let visit = |stretch: Range<usize>, _, at: &mut usize| {
            for number in stretch {
                *at = number;
                closure(number);
            }
        };
        self.for_each_stretch(visit, say);
    }

    /// Like [`for_each_saying`](Self::for_each_saying), with some numbers in a row at a time. The closure learns whether
    /// one of the [fixed](ChunkLength::Fixed) chunks begins with them, and notes the number that it is at.
    pub(super) fn for_each_stretch(
        &self,
        mut closure: impl FnMut(Range<usize>, bool, &mut usize),
        say: impl FnOnce(usize, String) -> String,
    ) {
        let mut at = 0;
        let run = AssertUnwindSafe(|| {
            self.for_each_taken(|stretch, is_first| closure(stretch, is_first, &mut at));
        });
        if let Err(payload) = catch_unwind(run) {
            if payload.is::<Cancelled>() {
                resume_unwind(payload);
            }
            self.remaining.apply_then(const { |remaining: &mut Remaining| remaining.left = 0..0 }, drop);
            resume_saying(payload, |message| say(at, message));
        }
    }

    fn for_each_taken(&self, mut closure: impl FnMut(Range<usize>, bool)) {
        let (begun_loop, mut between, mut seen) = (Instant::now(), 1, 0);
        let (mut start, mut end) = self.numbers.chunk(self.fiber);
        let mut second = Some(self.numbers.chunk(self.fiber + self.numbers.workers));
        let (is_shared, mut asked) = (self.numbers.shared() < self.numbers.end, None);
        while start < end {
            let (mut numbers, mut spent) = (start..end, Duration::ZERO);
            let mut chunk = start..start;
            while !numbers.is_empty() {
                let begun_turn = Instant::now();
                let mut in_turn = Duration::ZERO;
                while in_turn < TURN && !numbers.is_empty() {
                    if numbers.start == chunk.end {
                        chunk = self.numbers.whole_chunk(numbers.clone());
                    }
                    let count = between.min(chunk.end - numbers.start);
                    let stretch = numbers.start..numbers.start + count;
                    numbers.start = stretch.end;
                    let is_first = stretch.start == chunk.start;
                    closure(stretch, is_first);
                    let before = in_turn;
                    in_turn = begun_turn.elapsed();
                    let took = in_turn - before;
                    if took >= TURN {
                        between = (between / 2).max(1);
                    } else if count == between && took < TURN / 2 {
                        between = (between * 2).min(MOST_BETWEEN);
                    }
                }
                spent += in_turn;
                if asked.is_none() && is_shared {
                    let done = numbers.start - start;
                    asked = Some(self.ask(begun_loop.elapsed(), (spent, done), seen + done));
                }
                yield_now();
            }
            let length = end - start;
            seen += length;
            if let Some(second) = second.take() {
                (start, end) = second;
                continue;
            }
            let Some(more) = asked.take() else { return };
            (start, end) = more.wait();
            if start < end {
                asked = Some(self.ask(begun_loop.elapsed(), (spent, length), seen));
            }
        }
    }

    /// Asks for more numbers. The last ones took a time, and this fiber has seen so many.
    fn ask(&self, in_loop: Duration, last: (Duration, usize), seen: usize) -> Pending<(usize, usize)> {
        let lasting = |time: Duration| (last.1 as f64 * time.as_secs_f64() / last.0.as_secs_f64()) as usize;
        // What comes may take longer than expected, the more likely the fewer have been seen.
        let least = lasting(SHORTEST).min(seen / 2);
        let most =
            if self.numbers.is_timed { lasting(LONGEST.max(in_loop / PART_OF_TIME)) } else { usize::MAX };
        let take = const { |remaining: &mut Remaining, (least, most)| remaining.take(least, most) };
        self.remaining.apply_with_async(take, (least, most))
    }
}
