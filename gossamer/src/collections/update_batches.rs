//! [`DistVec::updates`] and its like: which closure is applied to the elements of a batch, and how.

use crate::collections::filling::Gathered;
use crate::collections::frontier::marks::Marker;
use crate::collections::gather::FETCHED_BEFORE;
use crate::collections::near::Near;
use crate::collections::updates::ServeHere;
use crate::collections::{DistVec, Elements, Updates};
use crate::lane::catch::{caught, resume_saying};
use crate::lane::operation::refuse_captures;
use crate::sys::memory::prefetch;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, Replies, WithoutCaptures};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// How many updates ahead what an element owns is fetched into the cache: when the element itself is there.
const OWNED_FETCHED_BEFORE: usize = FETCHED_BEFORE / 2;
/// Lines of that: an update mostly uses one, at the beginning or at the end.
const OWNED_LINES: usize = 2;

impl<T: 'static> DistVec<T> {
    /// A handle for many updates: push indices and arguments one by one, and `closure` is applied to each of these
    /// elements in place, with its argument.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    ///
    /// #[gossamer::delegate]
    /// fn count_remainders(count: usize, weight: u64) -> Vec<u64> {
    ///     let counts = DistVec::filled(7, 0_u64);
    ///     let mut updates = counts.updates(|count, ()| *count += weight);
    ///     (0..count).for_each(|number| updates.push(number * number % 7, ()));
    ///     updates.finish();
    ///     counts.to_vec()
    /// }
    ///
    /// let counts = gossamer::run(gossamer::Config::default().threads(2), || count_remainders(7, 3));
    /// assert_eq!(counts, [3, 6, 6, 0, 6, 0, 0]);
    /// ```
    #[track_caller]
    pub fn updates<A: NoRef, F>(&self, closure: F) -> Updates<A>
    where
        F: FnOnce(&mut T, A) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let unmarked =
            move |()| move |element: &mut T, argument, _: &mut Marker<'_>| closure(element, argument);
        self.updates_around::<F, _, _, _, _>(unmarked, (), Location::caller())
    }

    /// Like [`updates`](Self::updates), with `shared`, which each call gets by reference; it is sent once with each batch.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let sums = DistVec::filled(4, 0_u64);
    /// let mut adds = sums.updates_with(|sum, number: u64, weight| *sum += number * weight, 10);
    /// (0..8).for_each(|number| adds.push(number as usize % 4, number));
    /// adds.finish();
    /// assert_eq!(sums.to_vec(), [40, 60, 80, 100]);
    /// # });
    /// ```
    #[track_caller]
    pub fn updates_with<C: NoRef + Clone, A: NoRef, F>(&self, closure: F, shared: C) -> Updates<A>
    where
        F: Fn(&mut T, A, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let unmarked = move |shared: C| {
            move |element: &mut T, argument, _: &mut Marker<'_>| closure(element, argument, &shared)
        };
        self.updates_around::<F, _, _, _, _>(unmarked, shared, Location::caller())
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __updates_with<C: Captured + Clone, A: NoRef, F, G>(&self, shared: C, closure: F) -> Updates<A>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&mut T, A) + 'static,
    {
        const { refuse_captures::<F>() };
        let unmarked = move |shared| {
            let closure = closure(shared);
            move |element: &mut T, argument, _: &mut Marker<'_>| closure(element, argument)
        };
        self.updates_around::<F, _, _, _, _>(unmarked, shared, Location::caller())
    }

    /// Like [`updates`](Self::updates), with a closure that returns, for each update, whether the element is to be
    /// visited in the next round: for example in a search that goes from a vertex to its neighbours.
    ///
    /// The element is marked on its worker each time the closure returns true; a mark takes 4 bytes. When all handles
    /// are finished, each worker takes its marked elements with [`Elements::take_marked`]; [`marked`](Self::marked)
    /// counts them. A vector has one list of marks on each worker, which all handles share.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// // How far each number is from 1, by steps that double a number or add 3 to it.
    /// let steps = DistVec::filled(20, u32::MAX);
    /// steps.set(1, 0);
    /// let (mut front, mut round) = (vec![1], 0);
    /// while !front.is_empty() {
    ///     round += 1;
    ///     let mut reached = steps.updates_marking(|steps, round| {
    ///         let is_new = *steps == u32::MAX;
    ///         if is_new {
    ///             *steps = round;
    ///         }
    ///         is_new
    ///     });
    ///     for number in front.into_iter().flat_map(|number| [2 * number, number + 3]).filter(|next| *next < 20) {
    ///         reached.push(number, round);
    ///     }
    ///     reached.finish();
    ///     front = steps.map_all(|steps| steps.take_marked()).concat();
    /// }
    /// assert_eq!(steps.range(..9), [u32::MAX, 0, 1, u32::MAX, 1, 2, u32::MAX, 2, 2]);
    /// # });
    /// ```
    #[track_caller]
    pub fn updates_marking<A: NoRef, F>(&self, closure: F) -> Updates<A>
    where
        F: FnOnce(&mut T, A) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.marking_around::<F, _, _, _, _>(
            move |()| move |element: &mut T, argument| closure(element, argument),
            (),
        )
    }

    /// Like [`updates_marking`](Self::updates_marking), with `shared`, which each call gets by reference; it is sent once with
    /// each batch.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let levels = DistVec::filled(6, 0_u32);
    /// let mut rises = levels.updates_marking_with(|level, by: u32, limit| { *level += by; *level > *limit }, 4);
    /// [(1, 3), (4, 5), (5, 9)].map(|(index, by)| rises.push(index, by));
    /// rises.finish();
    /// assert_eq!(levels.map_all(|own| own.take_marked()).concat(), [4, 5]);
    /// # });
    /// ```
    #[track_caller]
    pub fn updates_marking_with<C: NoRef + Clone, A: NoRef, F>(&self, closure: F, shared: C) -> Updates<A>
    where
        F: Fn(&mut T, A, &C) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |shared: C| move |element: &mut T, argument| closure(element, argument, &shared);
        self.marking_around::<F, _, _, _, _>(lend, shared)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __updates_marking_with<C: Captured + Clone, A: NoRef, F, G>(
        &self,
        shared: C,
        closure: F,
    ) -> Updates<A>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&mut T, A) -> bool + 'static,
    {
        const { refuse_captures::<F>() };
        self.marking_around::<F, _, _, _, _>(closure, shared)
    }

    #[track_caller]
    fn marking_around<N, A: NoRef, C: NoRef + Clone, F, G>(&self, closure: F, shared: C) -> Updates<A>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&mut T, A) -> bool + 'static,
    {
        let marking = move |shared| {
            let closure = closure(shared);
            move |element: &mut T, argument, next: &mut Marker<'_>| {
                if closure(element, argument) {
                    next.mark();
                }
            }
        };
        self.updates_around::<N, _, _, _, _>(marking, shared, Location::caller())
    }

    /// The number of marks on all workers. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let levels = DistVec::filled(6, 0_u32);
    /// let mut rises = levels.updates_marking(|level, by| { *level += by; *level > 2 });
    /// [(1, 3), (4, 1), (5, 9)].map(|(index, by)| rises.push(index, by));
    /// rises.finish();
    /// assert_eq!(levels.marked(), 2); // on all workers: there is another round
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn marked(&self) -> usize {
        require_fiber("marked");
        self.map_all(const { |elements: &mut Elements<T>| elements.marked() }).into_iter().sum()
    }

    pub(super) fn updates_around<N, A: NoRef, C: NoRef + Clone, F, G>(
        &self,
        closure: F,
        shared: C,
        made_at: &'static Location<'static>,
    ) -> Updates<A>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&mut T, A, &mut Marker<'_>) + 'static,
    {
        let serve_there = move |elements: &mut Elements<T>, (gathered, shared): (Gathered<A>, C)| {
            serve(elements, gathered, &closure(shared))
        };
        let near = Near::of(self).map(|near| {
            // Here one closure serves all batches, without further copies of what it shares.
            let (elements, closure) = (self.parts[near.part()].clone(), closure(shared.clone()));
            let serve_here = move |gathered| {
                elements.apply_here_around::<N, _>(|elements| serve(elements, gathered, &closure))
            };
            (near, Box::new(serve_here) as ServeHere<A>)
        });
        let parts = self.parts.clone();
        let send = move |replies: &Replies<usize, Gathered<A>>, part: usize, gathered| {
            let arguments = (gathered, shared.clone());
            parts[part].send_into::<N, _, _, _, _>(replies, part, serve_there, arguments, made_at);
        };
        Updates::new(self.spread, near, Box::new(send), made_at)
    }
}

/// Applies a closure to each of these elements, which may mark them, and returns the memory. A panic is passed on
/// after the others have been served.
fn serve<T, A>(
    elements: &mut Elements<T>,
    (mut offsets, mut arguments): Gathered<A>,
    closure: &impl Fn(&mut T, A, &mut Marker<'_>),
) -> Gathered<A> {
    let (mut served, mut panicked) = (0, None);
    let mut updates = offsets.iter().zip(arguments.drain(..)).enumerate();
    let (values, marks) = elements.with_marks();
    while let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
        for (at, (offset, argument)) in updates.by_ref() {
            served = at;
            let soon = offsets.get(at + FETCHED_BEFORE).and_then(|offset| values.get(*offset as usize));
            if let Some(soon) = soon {
                prefetch::write(soon);
            }
            // Several updates of one element are often next to each other.
            if let Some([before, sooner]) =
                offsets.get(at + OWNED_FETCHED_BEFORE - 1..=at + OWNED_FETCHED_BEFORE)
                && before != sooner
                && let Some(sooner) = values.get(*sooner as usize)
            {
                prefetch::owned_by(sooner, OWNED_LINES);
            }
            closure(&mut values[*offset as usize], argument, &mut marks.next(*offset));
        }
    })) {
        match panicked {
            None => panicked = Some((offsets[served] as usize, payload)),
            // Only the first is reported. The payload of another may panic when it is dropped.
            Some(_) => drop(caught(payload)),
        }
    }
    drop(updates);
    if let Some((offset, payload)) = panicked {
        let index = elements.index_of(offset);
        resume_saying(payload, |message| format!("element {index}: {message}"));
    }
    offsets.clear();
    (offsets, arguments)
}
