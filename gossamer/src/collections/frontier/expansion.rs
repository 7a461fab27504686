//! [`Expansion`]: a round of a [`Frontier`](crate::collections::Frontier).

use crate::collections::alignment::{are_aligned, difference};
use crate::collections::frontier::marks::Marker;
use crate::collections::frontier::outgoing::Outgoing;
use crate::collections::near::are_same;
use crate::collections::parts::in_fibers_on;
use crate::collections::{DistVec, Elements};
use crate::lane::catch::resume_saying;
use crate::lane::operation::refuse_captures;
use crate::sys::memory::prefetch;
use crate::trust::{require_constant, spawned_at};
use crate::wire::captured::Captured;
use crate::{NoRef, WithoutCaptures, yield_now};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a fiber goes on before the other fibers of its worker, and its trustee, get a turn.
const TURN: Duration = Duration::from_micros(100);
/// How many elements ahead an element is fetched into the cache, with its row: enough to cover the latency, since a
/// row has some edges.
const FETCHED_BEFORE: usize = 4;
/// How many elements ahead that is fetched which an element, or its row, owns: those that have been fetched by then.
const OWNED_FETCHED_BEFORE: usize = 2;
/// Lines of that: most rows of a graph have no more, and the processor itself finds what lies behind.
const OWNED_LINES: usize = 4;
/// Elements between two looks at the clock.
const BETWEEN: usize = 64;

/// A closure that takes captures once and makes the closure that is called for each element: a name for the result of
/// that which `FnOnce` has not.
pub trait Make<C>: Send + Copy + 'static {
    /// What is called.
    type Made;

    /// Takes the captures.
    fn make(self, captures: C) -> Self::Made;
}

impl<C, G, F: FnOnce(C) -> G + Send + Copy + 'static> Make<C> for F {
    type Made = G;

    fn make(self, captures: C) -> G {
        self(captures)
    }
}

/// A prepared round of a [`Frontier`](crate::collections::Frontier): what
/// [`par_for_each`](crate::collections::Frontier::par_for_each) returns. [`apply`](Self::apply) runs it.
#[must_use = "nothing is done before `apply`"]
pub struct Expansion<'a, T: 'static, R: 'static, A, N, C, F> {
    vector: &'a DistVec<T>,
    rows: &'a DistVec<R>,
    expand: F,
    arguments: C,
    /// The type of the arguments, and the closure of the user that `expand` is or wraps.
    names: PhantomData<fn(A, N)>,
}

impl<'a, T, R, A, N, C, F> Expansion<'a, T, R, A, N, C, F>
where
    T: 'static,
    R: 'static,
    A: NoRef,
    C: NoRef + Clone,
    N: 'static,
    F: Make<C, Made: Fn(usize, &T, &R, &mut Outgoing<A>)>,
{
    #[track_caller]
    pub(super) fn new(vector: &'a DistVec<T>, rows: &'a DistVec<R>, expand: F, arguments: C) -> Self {
        assert!(
            are_aligned(vector, rows),
            "a front of a `DistVec` with {} elements {}, and rows of one {}: both are to have the same layout on the same workers",
            vector.len(),
            vector.spread.words(),
            difference(vector, rows),
        );
        assert!(
            !are_same(vector, rows),
            "the rows of a round are the vector of the front itself, whose elements the closure gets anyway: pass another vector"
        );
        Self { vector, rows, expand, arguments, names: PhantomData }
    }

    /// Visits the front, on all workers at once, and applies `closure` to each element that follows from it, with its
    /// argument and a [`Marker`] that can mark it for a later round. Waits until that is done, and returns how many
    /// updates were sent, without those that [`Outgoing::once`] and similar methods have dropped. The front stays as it is
    /// until the next [`swap`](crate::collections::Frontier::swap).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let graph = DistVec::from_vec(4, vec![vec![1, 2], vec![3], vec![3], vec![]]);
    /// let paths = DistVec::filled(4, 0_u64);
    /// let mut front = Frontier::of(&paths);
    /// front.mark(0);
    /// front.swap();
    /// let sent = front
    ///     .par_for_each(&graph, |_, _, row: &Vec<usize>, out| row.iter().for_each(|next| out.push(*next, 1)))
    ///     .apply(|paths, more, next| {
    ///         *paths += more;
    ///         next.mark(); // for the next round
    ///     });
    /// assert_eq!((sent, front.swap()), (2, 2));
    /// # });
    /// ```
    ///
    /// # Cost
    /// A fiber on each worker. An element that follows costs 4 bytes and its argument, and some nanoseconds at both
    /// ends. Gathered updates are bounded as in [`Updates`](crate::collections::Updates), plus those that follow from
    /// one element.
    ///
    /// # Panics
    /// If one of the closures panics, with the index of the element: its worker stops expanding, the others go on;
    /// what follows from earlier elements is applied, and marks stay. Where the caller cannot wait. If a closure
    /// would have to go to another node and cannot ([Delegated closures](crate::Trust#delegated-closures)).
    #[track_caller]
    pub fn apply<G>(self, closure: G) -> u64
    where
        G: FnOnce(&mut T, A, &mut Marker<'_>) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<G>() };
        let plain = move |()| {
            move |element: &mut T, argument, next: &mut Marker<'_>| closure(element, argument, next)
        };
        self.run::<G, _, _, _>(plain, ())
    }

    /// Like [`apply`](Self::apply), with `shared`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let graph = DistVec::from_vec(3, vec![vec![(1, 5.0), (2, 1.0)], vec![], vec![]]);
    /// let costs = DistVec::filled(3, f64::INFINITY);
    /// let mut front = Frontier::of(&costs);
    /// front.mark(0);
    /// front.swap();
    /// front
    ///     .par_for_each(&graph, |_, _, row: &Vec<(usize, f64)>, out| {
    ///         row.iter().for_each(|(next, way)| out.push(*next, *way));
    ///     })
    ///     .apply_with(|cost, way, _, toll| *cost = cost.min(way + toll), 0.5);
    /// assert_eq!(costs.to_vec(), [f64::INFINITY, 5.5, 1.5]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply`](Self::apply).
    #[track_caller]
    pub fn apply_with<D: NoRef + Clone, G>(self, closure: G, shared: D) -> u64
    where
        G: Fn(&mut T, A, &mut Marker<'_>, &D) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<G>() };
        let lend = move |shared: D| {
            move |element: &mut T, argument, next: &mut Marker<'_>| closure(element, argument, next, &shared)
        };
        self.run::<G, _, _, _>(lend, shared)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __apply_with<D: Captured + Clone, G, H>(self, shared: D, closure: G) -> u64
    where
        G: FnOnce(D) -> H + Send + Copy + 'static,
        H: Fn(&mut T, A, &mut Marker<'_>) + 'static,
    {
        const { refuse_captures::<G>() };
        self.run::<G, _, _, _>(closure, shared)
    }

    #[track_caller]
    fn run<M: 'static, D: NoRef + Clone, G, H>(self, apply: G, shared: D) -> u64
    where
        G: FnOnce(D) -> H + Send + Copy + 'static,
        H: Fn(&mut T, A, &mut Marker<'_>) + 'static,
    {
        let Self { vector, rows, expand, arguments, .. } = self;
        require_constant::<M>(vector.trustees().into_iter(), "Expansion::apply");
        let fiber = move |(part, vector, rows, arguments, shared): (usize, DistVec<T>, DistVec<R>, C, D)| {
            let round = Expander { part, vector: &vector, rows: &rows };
            round.run::<M, _, _, _, _>(expand.make(arguments), apply, shared)
        };
        let arguments = |part| (part, vector.clone(), rows.clone(), arguments.clone(), shared.clone());
        in_fibers_on::<N, _, _, _>(vector.trustees(), fiber, arguments).into_iter().sum()
    }
}

impl<T, R, A, N, C, F> fmt::Debug for Expansion<'_, T, R, A, N, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expansion").field("elements", &self.vector.len()).finish_non_exhaustive()
    }
}

/// What the fiber of one part does.
struct Expander<'a, T: 'static, R: 'static> {
    part: usize,
    vector: &'a DistVec<T>,
    rows: &'a DistVec<R>,
}

impl<T: 'static, R: 'static> Expander<'_, T, R> {
    /// Returns how many updates it sent.
    fn run<M, A: NoRef, D: NoRef + Clone, G, H>(
        &self,
        expand: impl Fn(usize, &T, &R, &mut Outgoing<A>),
        apply: G,
        shared: D,
    ) -> u64
    where
        G: FnOnce(D) -> H + Send + Copy + 'static,
        H: Fn(&mut T, A, &mut Marker<'_>) + 'static,
    {
        let own = &self.vector.parts[self.part];
        let updates = self.vector.updates_around::<M, _, _, _, _>(apply, shared, spawned_at());
        let (front, sent) = own.apply_here(|elements| {
            let marks = elements.with_marks().1;
            (Rc::clone(&marks.front), std::mem::take(&mut marks.sent))
        });
        let (mut out, mut done, mut count) = (Outgoing::new(updates, sent), 0, 0);
        while done < front.len() {
            let turn = own.visit_both(&self.rows.parts[self.part], |elements, rows| {
                take_turn(elements, rows, &front[done..], &mut out, &expand)
            });
            for (part, batch) in out.full.drain(..) {
                count += batch.0.len();
                out.updates.send(part, batch);
            }
            match turn {
                Ok(expanded) => done += expanded,
                Err((index, payload)) => {
                    // Later rounds need it, too.
                    let sent = out.take_sent();
                    own.apply_here(|elements| elements.with_marks().1.sent = sent);
                    resume_saying(payload, |message| format!("element {index}: {message}"))
                }
            }
            yield_now();
        }
        let sent = out.take_sent();
        own.apply_here(|elements| elements.with_marks().1.sent = sent);
        count += out.updates.gathered();
        if let Err(error) = out.updates.try_finish() {
            error.resume();
        }
        count as u64
    }
}

/// Expands elements of the front until a batch is full or the turn is over. Returns how many, or the element whose
/// closure panicked.
fn take_turn<T, R, A: NoRef>(
    elements: &Elements<T>,
    rows: &Elements<R>,
    front: &[u32],
    out: &mut Outgoing<A>,
    expand: impl Fn(usize, &T, &R, &mut Outgoing<A>),
) -> Result<usize, (usize, Box<dyn Any + Send>)> {
    let (begun, mut done) = (Instant::now(), 0);
    let run = AssertUnwindSafe(|| {
        for (at, offset) in front.iter().enumerate() {
            if let Some(soon) = front.get(at + FETCHED_BEFORE) {
                prefetch::read(&elements[*soon as usize]);
                prefetch::read(&rows[*soon as usize]);
            }
            if let Some(soon) = front.get(at + OWNED_FETCHED_BEFORE) {
                prefetch::owned_by(&elements[*soon as usize], OWNED_LINES);
                prefetch::owned_by(&rows[*soon as usize], OWNED_LINES);
            }
            let offset = *offset as usize;
            expand(elements.index_of(offset), &elements[offset], &rows[offset], out);
            done += 1;
            if !out.full.is_empty() || done % BETWEEN == 0 && begun.elapsed() > TURN {
                return;
            }
        }
    });
    match catch_unwind(run) {
        Ok(()) => Ok(done),
        Err(payload) => Err((elements.index_of(front[done] as usize), payload)),
    }
}
