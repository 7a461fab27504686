//! [`Frontier`]: visiting the elements of a vector in rounds.

mod buckets;
mod expansion;
mod mark_where;
pub(super) mod marks;
mod outgoing;

pub use expansion::Expansion;
pub use marks::Marker;
pub use outgoing::Outgoing;

use crate::collections::{DistVec, Elements};
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures};
pub(super) use expansion::Make;
use std::fmt;

/// The elements of a [`DistVec`] that are visited in this round, and those that are marked for later ones: the basis
/// of graph searches.
///
/// A round has two closures. The first looks at an element of the front and its row of another vector, on their
/// worker, and emits arguments for other elements. The second is applied to these elements, on their workers, and may
/// mark them for a later round. The arguments are gathered and sent in batches, like [`updates`](DistVec::updates).
///
/// ```
/// use gossamer::collections::{DistVec, Frontier};
///
/// /// Breadth-first search: the parent of each vertex in the tree of the shortest paths from `root`.
/// #[gossamer::delegate]
/// fn search(graph: &DistVec<Vec<u32>>, root: u32) -> DistVec<u32> {
///     let parents = DistVec::filled(graph.len(), u32::MAX);
///     parents.set(root as usize, root);
///     let mut front = Frontier::of(&parents);
///     front.mark(root as usize);
///     while front.swap() > 0 {
///         front
///             .par_for_each(graph, |u, _, row, out| row.iter().for_each(|v| out.once(*v as usize, u as u32)))
///             .apply(|parent, u, next| {
///                 if *parent == u32::MAX {
///                     *parent = u;
///                     next.mark();
///                 }
///             });
///     }
///     parents
/// }
///
/// /// The lengths of the shortest paths from `root`, by delta-stepping (Meyer and Sanders, 2003).
/// #[gossamer::delegate]
/// fn distances(graph: &DistVec<Vec<(u32, f32)>>, root: usize, delta: f32) -> DistVec<f32> {
///     let distances = DistVec::filled(graph.len(), f32::INFINITY);
///     distances.set(root, 0.0);
///     let mut front = Frontier::of(&distances);
///     front.mark(root);
///     while front.swap() > 0 {
///         let bucket = front.priority();
///         front
///             .par_for_each(graph, |_, distance, row, out| {
///                 // One that was found nearer meanwhile has had its turn.
///                 let row = if ((*distance / delta) as usize) < bucket { &[] } else { &row[..] };
///                 row.iter().for_each(|(v, length)| out.least(*v as usize, distance + length));
///             })
///             .apply(|distance, new, next| {
///                 if new < *distance {
///                     *distance = new;
///                     next.mark_at((new / delta) as usize);
///                 }
///             });
///     }
///     distances
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let graph = DistVec::from_vec(4, vec![vec![1, 2], vec![0, 2], vec![0, 1, 3], vec![2]]);
/// assert_eq!(search(&graph, 0).to_vec(), [0, 0, 0, 2]);
/// let graph = DistVec::from_vec(3, vec![vec![(1, 5.0), (2, 1.0)], vec![], vec![(1, 2.5)]]);
/// assert_eq!(distances(&graph, 0, 1.0).to_vec(), [0.0, 3.5, 1.0]);
/// # });
/// ```
///
/// A vector has one front and one list of marks, which all handles share
/// ([`updates_marking`](DistVec::updates_marking) also adds marks).
pub struct Frontier<T: 'static> {
    pub(super) vector: DistVec<T>,
    pub(super) priority: usize,
}

impl<T: 'static> Frontier<T> {
    /// The front of a vector, empty: all marks are removed. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let seen = DistVec::filled(8, false);
    /// let mut front = Frontier::of(&seen);
    /// assert_eq!(front.swap(), 0); // nothing is marked
    /// front.mark(5);
    /// assert_eq!(front.swap(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn of(vector: &DistVec<T>) -> Self {
        require_fiber("of");
        vector.map_all(
            const { |elements: &mut Elements<T>| *elements.with_marks().1 = marks::Marks::default() },
        );
        Self { vector: vector.clone(), priority: 0 }
    }

    /// Marks an element for the next round. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let seen = DistVec::filled(8, false);
    /// let mut front = Frontier::of(&seen);
    /// [1, 5, 5].map(|root| front.mark(root)); // a search from two roots
    /// assert_eq!(front.swap(), 2);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element; where the caller cannot wait.
    #[track_caller]
    pub fn mark(&mut self, index: usize) {
        self.mark_at(index, 0);
    }

    /// Marks an element for a round of this priority. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let tasks = DistVec::filled(8, 0_u64);
    /// let mut front = Frontier::of(&tasks);
    /// front.mark_at(1, 9);
    /// front.mark_at(5, 2); // earlier
    /// assert_eq!((front.swap(), front.priority()), (1, 2));
    /// assert_eq!((front.swap(), front.priority()), (1, 9));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`mark`](Self::mark).
    #[track_caller]
    pub fn mark_at(&mut self, index: usize, priority: usize) {
        let (part, offset) = self.vector.at(index);
        let mark = const {
            |elements: &mut Elements<T>, (offset, priority): (usize, usize)| {
                elements.with_marks().1.mark(offset as u32, priority);
            }
        };
        part.apply_with(mark, (offset, priority));
    }

    /// Begins the next round: the elements that are marked with the least priority become the front, each once.
    /// Returns how many they are, on all workers.
    ///
    /// Two requests for each worker, one after the other. A mark takes 4 bytes; to visit each element once, its
    /// worker needs a bit for each of its elements.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let seen = DistVec::filled(8, false);
    /// let mut front = Frontier::of(&seen);
    /// front.mark(5);
    /// let mut rounds = 0;
    /// while front.swap() > 0 {
    ///     rounds += 1; // visits the front, which marks what comes next
    /// }
    /// assert_eq!(rounds, 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn swap(&mut self) -> usize {
        let least = const { |elements: &mut Elements<T>| elements.with_marks().1.least() };
        let least = self.vector.map_all(least).into_iter().flatten().min();
        // Without marks, all fronts become empty.
        self.priority = least.unwrap_or(self.priority);
        let swap = const {
            |elements: &mut Elements<T>, priority: usize| {
                let (values, marks) = elements.with_marks();
                let len = values.len();
                marks.swap(priority, len)
            }
        };
        self.vector.map_all_with(swap, self.priority).into_iter().sum()
    }

    /// The priority with which the elements of the front were marked.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let tasks = DistVec::filled(8, 0_u64);
    /// let mut front = Frontier::of(&tasks);
    /// front.mark_at(1, 7);
    /// front.swap();
    /// assert_eq!(front.priority(), 7); // the bucket of delta-stepping, for example
    /// # });
    /// ```
    #[must_use]
    pub fn priority(&self) -> usize {
        self.priority
    }

    /// Defines what follows from each element of the front: `closure` is called with its index, the element, the
    /// entry of `rows` at this index, and an [`Outgoing`] for its results. Nothing is done before
    /// [`Expansion::apply`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let graph = DistVec::from_vec(3, vec![vec![1, 2], vec![0], vec![1]]);
    /// let parents = DistVec::filled(3, u32::MAX);
    /// let mut front = Frontier::of(&parents);
    /// front.mark(0);
    /// front.swap();
    /// front
    ///     .par_for_each(&graph, |u, _, row: &Vec<usize>, out| row.iter().for_each(|v| out.push(*v, u as u32)))
    ///     .apply(|parent, u, _| *parent = u); // nothing is visited before
    /// assert_eq!(parents.to_vec(), [u32::MAX, 0, 0]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `rows` has a different layout from the vector of this front, or is the same vector.
    #[track_caller]
    pub fn par_for_each<'a, R: 'static, A: NoRef, F>(
        &'a self,
        rows: &'a DistVec<R>,
        closure: F,
    ) -> Expansion<
        'a,
        T,
        R,
        A,
        F,
        (),
        impl Make<(), Made: Fn(usize, &T, &R, &mut Outgoing<A>)> + use<T, R, A, F>,
    >
    where
        F: FnOnce(usize, &T, &R, &mut Outgoing<A>) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let plain = move |()| {
            move |index: usize, element: &T, row: &R, out: &mut Outgoing<A>| closure(index, element, row, out)
        };
        Expansion::new(&self.vector, rows, plain, ())
    }

    /// Like [`par_for_each`](Self::par_for_each), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier, Outgoing};
    /// let graph = DistVec::from_vec(3, vec![vec![(1, 30_u64), (2, 7)], vec![], vec![]]);
    /// let distances = DistVec::filled(3, u64::MAX);
    /// let mut front = Frontier::of(&distances);
    /// front.mark(0);
    /// front.swap();
    /// let short = |_, _: &u64, row: &Vec<(usize, u64)>, out: &mut Outgoing<u64>, most: &u64| {
    ///     row.iter().filter(|(_, way)| way <= most).for_each(|(to, way)| out.push(*to, *way));
    /// };
    /// front.par_for_each_with(&graph, short, 10).apply(|distance, way, _| *distance = way);
    /// assert_eq!(distances.to_vec(), [u64::MAX, u64::MAX, 7]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_for_each`](Self::par_for_each).
    #[track_caller]
    pub fn par_for_each_with<'a, C: NoRef + Clone, R: 'static, A: NoRef, F>(
        &'a self,
        rows: &'a DistVec<R>,
        closure: F,
        arguments: C,
    ) -> Expansion<
        'a,
        T,
        R,
        A,
        F,
        C,
        impl Make<C, Made: Fn(usize, &T, &R, &mut Outgoing<A>)> + use<T, R, A, C, F>,
    >
    where
        F: Fn(usize, &T, &R, &mut Outgoing<A>, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| {
            move |index: usize, element: &T, row: &R, out: &mut Outgoing<A>| {
                closure(index, element, row, out, &arguments);
            }
        };
        Expansion::new(&self.vector, rows, lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_for_each_with<'a, C: Captured + Clone, R: 'static, A: NoRef, F, G>(
        &'a self,
        rows: &'a DistVec<R>,
        arguments: C,
        closure: F,
    ) -> Expansion<'a, T, R, A, F, C, F>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T, &R, &mut Outgoing<A>),
    {
        const { refuse_captures::<F>() };
        Expansion::new(&self.vector, rows, closure, arguments)
    }
}

impl<T> Clone for Frontier<T> {
    fn clone(&self) -> Self {
        Self { vector: self.vector.clone(), priority: self.priority }
    }
}

impl<T> fmt::Debug for Frontier<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frontier")
            .field("of", &format_args!("{} elements {}", self.vector.len(), self.vector.spread.words()))
            .field("priority", &self.priority)
            .finish()
    }
}
