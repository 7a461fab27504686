//! [`DistVec::par_group_by`]: grouping elements by a key.

use crate::collections::DistVec;
use crate::collections::exchange::{RunArrivals, arrivals, balanced, send_runs, take_runs};
use crate::collections::parts::OwnPart;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures, entrust};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

impl<T: NoRef + Clone> DistVec<T> {
    /// A vector of the keys that a closure returns for the elements, each with clones of its elements: in blocks over
    /// the same workers.
    ///
    /// The same elements in the same layout give the same vector: the elements of a key are in the order of the
    /// workers, and on each worker in the order of their indices. The order of the keys is not defined.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    ///
    /// #[gossamer::delegate]
    /// fn by_remainder(numbers: &DistVec<u64>, divisor: u64) -> Vec<(u64, Vec<u64>)> {
    ///     let groups = numbers.par_group_by(|_, number| number % divisor);
    ///     groups.par_sort();
    ///     groups.to_vec()
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let groups = by_remainder(&(0..8).collect(), 3);
    /// assert_eq!(groups, [(0, vec![0, 3, 6]), (1, vec![1, 4, 7]), (2, vec![2, 5])]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// Five fibers on each worker. Each worker groups its own elements and sends each group to the worker of its key, by one request to
    /// each; groups then move to neighbours so that all workers have the same number.
    ///
    /// # Panics
    /// If the closure panics, with the index of the element ([Loops](Self#loops)).
    #[track_caller]
    pub fn par_group_by<K: NoRef + Clone + Hash + Eq, F>(&self, key: F) -> DistVec<(K, Vec<T>)>
    where
        F: FnOnce(usize, &T) -> K + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.group_around::<F, _, _, _, _>(move |()| move |index, element| key(index, element), ())
    }

    /// Like [`par_group_by`](Self::par_group_by), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let numbers = DistVec::from_fn(8, |index| index as u64);
    /// let groups = numbers.par_group_by_with(|_, number, divisor| number % divisor, 3);
    /// groups.par_sort();
    /// assert_eq!(groups.to_vec(), [(0, vec![0, 3, 6]), (1, vec![1, 4, 7]), (2, vec![2, 5])]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_group_by`](Self::par_group_by).
    #[track_caller]
    pub fn par_group_by_with<C: NoRef + Clone, K: NoRef + Clone + Hash + Eq, F>(
        &self,
        key: F,
        arguments: C,
    ) -> DistVec<(K, Vec<T>)>
    where
        F: Fn(usize, &T, &C) -> K + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |index, element: &T| key(index, element, &arguments);
        self.group_around::<F, _, _, _, _>(lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_group_by_with<C: Captured + Clone, K: NoRef + Clone + Hash + Eq, F, G>(
        &self,
        arguments: C,
        key: F,
    ) -> DistVec<(K, Vec<T>)>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T) -> K,
    {
        const { refuse_captures::<F>() };
        self.group_around::<F, _, _, _, _>(key, arguments)
    }

    #[track_caller]
    fn group_around<N, K: NoRef + Clone + Hash + Eq, C: NoRef + Clone, F, G>(
        &self,
        key: F,
        arguments: C,
    ) -> DistVec<(K, Vec<T>)>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T) -> K,
    {
        require_fiber("par_group_by");
        let arrivals = arrivals::<(K, Vec<T>)>(&self.trustees(), self.parts.len());
        let group = move |part: &OwnPart<T>, (arrivals, arguments): (RunArrivals<(K, Vec<T>)>, C)| {
            let (key, mut groups) = (key(arguments), Groups::default());
            part.for_each(|index, element| {
                groups.of(key(index, element)).push(element.clone());
            });
            let mut runs: Vec<_> = arrivals.iter().map(|_| Vec::new()).collect();
            for (key, values) in groups.in_order {
                // The same on all nodes, and independent of the bits that the maps there use.
                let hash = FixedState::with_seed(1).hash_one(&key);
                runs[(hash % arrivals.len() as u64) as usize].push((key, values));
            }
            send_runs(&arrivals, part.number, runs.into_iter().enumerate());
        };
        self.on_parts::<N, _, _, _>(group, (arrivals.clone(), arguments));
        let merge = const {
            |part: &OwnPart<T>, arrivals: RunArrivals<(K, Vec<T>)>| {
                let mut groups = Groups::default();
                for (key, mut values) in take_runs(&arrivals[part.number]).into_iter().flatten() {
                    groups.of(key).append(&mut values);
                }
                let count = groups.in_order.len();
                (entrust(groups.in_order), count)
            }
        };
        balanced(self.on_parts_as_is(merge, arrivals))
    }
}

/// Values by their keys.
struct Groups<K, T> {
    in_order: Vec<(K, Vec<T>)>,
    places: HashMap<K, usize, FixedState>,
}

impl<K, T> Default for Groups<K, T> {
    fn default() -> Self {
        Self { in_order: Vec::new(), places: HashMap::default() }
    }
}

impl<K: Clone + Hash + Eq, T> Groups<K, T> {
    /// The values of a key, which may be new.
    fn of(&mut self, key: K) -> &mut Vec<T> {
        let place = *self.places.entry(key).or_insert_with_key(|key| {
            self.in_order.push((key.clone(), Vec::new()));
            self.in_order.len() - 1
        });
        &mut self.in_order[place].1
    }
}
