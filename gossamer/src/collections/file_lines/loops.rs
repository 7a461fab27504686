//! The loops over the lines of a file.

use crate::collections::FileLines;
use crate::collections::file_lines::own_lines::OwnLines;
use crate::collections::par_fold::{in_order, reduced};
use crate::collections::self_scheduling::ChunkLength;
use crate::lane::operation::refuse_captures;
use crate::trust::require_constant;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures};

impl FileLines {
    /// Calls a closure with the byte where each line begins, and the line without what ends it, and waits until that is
    /// done. The closure runs in a fiber, so it may wait.
    ///
    /// ```
    /// use gossamer::collections::{DistCounter, FileLines};
    ///
    /// #[gossamer::delegate]
    /// fn lines_with(text: &FileLines, word: &str) -> u64 {
    ///     let (found, word) = (DistCounter::new(), word.to_owned());
    ///     let count = found.clone();
    ///     text.par_for_each(move |_, line| count.add(u64::from(line.contains(&word))));
    ///     found.sum()
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// # let path = std::env::temp_dir().join(format!("gossamer-lines-with-{}", std::process::id()));
    /// std::fs::write(&path, "to be or\nnot to be\nthat is\n").unwrap();
    /// assert_eq!(lines_with(&FileLines::open(&path).unwrap(), "be"), 2);
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Panics
    /// [As described](Self#panics).
    #[track_caller]
    pub fn par_for_each<F>(&self, closure: F)
    where
        F: FnOnce(u64, &str) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.for_each_around::<F, _, _, _>(move |()| move |at, line: &str| closure(at, line), ());
    }

    /// Like [`par_for_each`](Self::par_for_each), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistCounter, FileLines};
    /// # let path = std::env::temp_dir().join(format!("gossamer-lines-{}-{}", line!(), std::process::id()));
    /// std::fs::write(&path, "3\n4\n5\n").unwrap();
    /// let text = FileLines::open(&path).unwrap();
    /// let sum = DistCounter::new();
    /// text.par_for_each_with(|_, line, sum: &DistCounter| sum.add(line.parse().unwrap()), sum.clone());
    /// assert_eq!(sum.sum(), 12);
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Panics
    /// [As described](Self#panics).
    #[track_caller]
    pub fn par_for_each_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C)
    where
        F: Fn(u64, &str, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |at, line: &str| closure(at, line, &arguments);
        self.for_each_around::<F, _, _, _>(lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_for_each_with<C: Captured + Clone, F, G>(&self, arguments: C, closure: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(u64, &str),
    {
        const { refuse_captures::<F>() };
        self.for_each_around::<F, _, _, _>(closure, arguments);
    }

    #[track_caller]
    fn for_each_around<N: 'static, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(u64, &str),
    {
        require_fiber("par_for_each");
        let body = move |own: &OwnLines, arguments: C| own.for_each(closure(arguments));
        self.on_workers::<N, _, _, _>(ChunkLength::Timed, body, arguments);
    }

    /// Folds the lines of each chunk of the file: the closure turns `initial` and the first line of a chunk into a value, that
    /// and the next line into the next value, and so on. Returns the last value of each chunk, in the order of the file.
    ///
    /// Where chunks begin depends only on the length of the file and the number of workers.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::FileLines;
    /// # let path = std::env::temp_dir().join(format!("gossamer-lines-fold-{}", std::process::id()));
    /// std::fs::write(&path, "3\n4\n5\n").unwrap();
    /// let numbers = FileLines::open(&path).unwrap();
    /// let sums = numbers.par_fold(0, |sum, _, line| sum + line.parse::<u64>().unwrap());
    /// assert_eq!(sums.into_iter().sum::<u64>(), 12);
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Panics
    /// [As described](Self#panics).
    #[track_caller]
    pub fn par_fold<A: NoRef + Clone, F>(&self, initial: A, closure: F) -> Vec<A>
    where
        F: FnOnce(A, u64, &str) -> A + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let plain = move |()| move |before, at, line: &str| closure(before, at, line);
        self.fold_around::<F, _, _, _, _>(initial, plain, ())
    }

    /// Like [`par_fold`](Self::par_fold), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::FileLines;
    /// # let path = std::env::temp_dir().join(format!("gossamer-lines-{}-{}", line!(), std::process::id()));
    /// std::fs::write(&path, "3\n4\n5\n").unwrap();
    /// let text = FileLines::open(&path).unwrap();
    /// let sums = text.par_fold_with(0, |sum, _, line, by: &u64| sum + by * line.parse::<u64>().unwrap(), 10);
    /// assert_eq!(sums.into_iter().sum::<u64>(), 120);
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Panics
    /// [As described](Self#panics).
    #[track_caller]
    pub fn par_fold_with<C: NoRef + Clone, A: NoRef + Clone, F>(
        &self,
        initial: A,
        closure: F,
        arguments: C,
    ) -> Vec<A>
    where
        F: Fn(A, u64, &str, &C) -> A + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |before, at, line: &str| closure(before, at, line, &arguments);
        self.fold_around::<F, _, _, _, _>(initial, lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_fold_with<C: Captured + Clone, A: NoRef + Clone, F, G>(
        &self,
        initial: A,
        arguments: C,
        closure: F,
    ) -> Vec<A>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(A, u64, &str) -> A,
    {
        const { refuse_captures::<F>() };
        self.fold_around::<F, _, _, _, _>(initial, closure, arguments)
    }

    #[track_caller]
    fn fold_around<N: 'static, A: NoRef + Clone, C: NoRef + Clone, F, G>(
        &self,
        initial: A,
        closure: F,
        arguments: C,
    ) -> Vec<A>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(A, u64, &str) -> A,
    {
        require_fiber("par_fold");
        let body = move |own: &OwnLines, (initial, arguments): (A, C)| {
            let closure = closure(arguments);
            let step = |before: Option<A>, at, line: &str| before.map(|before| closure(before, at, line));
            own.fold(|| Some(initial.clone()), step)
        };
        in_order(self.on_workers::<N, _, _, _>(ChunkLength::Fixed, body, (initial, arguments))).collect()
    }

    /// Maps each line to a value with one closure, and reduces neighbouring values with another. Returns `None` if the file
    /// is empty.
    ///
    /// The second closure should be associative. If it is not, as with floating-point numbers, the same number of workers
    /// still returns the same result. It captures nothing
    /// ([`par_map_reduce`](crate::collections::par_map_reduce) over numbers).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::FileLines;
    /// # let path = std::env::temp_dir().join(format!("gossamer-lines-longest-{}", std::process::id()));
    /// std::fs::write(&path, "to be or\nnot to be\nthat is\n").unwrap();
    /// let text = FileLines::open(&path).unwrap();
    /// let longest = text.par_map_reduce(|at, line| (line.len(), at), |one, other| one.max(other));
    /// assert_eq!(longest, Some((9, 9)));
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Panics
    /// [As described](Self#panics).
    #[track_caller]
    pub fn par_map_reduce<U: NoRef, F, R>(&self, map: F, reduce: R) -> Option<U>
    where
        F: FnOnce(u64, &str) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let plain = move |()| move |at, line: &str| map(at, line);
        self.map_reduce_around::<F, _, _, _, _, _>(plain, (), reduce)
    }

    /// Like [`par_map_reduce`](Self::par_map_reduce), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::FileLines;
    /// # let path = std::env::temp_dir().join(format!("gossamer-lines-{}-{}", line!(), std::process::id()));
    /// std::fs::write(&path, "3\n4\n5\n").unwrap();
    /// let text = FileLines::open(&path).unwrap();
    /// let scaled = |_: u64, line: &str, by: &u64| by * line.parse::<u64>().unwrap();
    /// assert_eq!(text.par_map_reduce_with(scaled, 10, |one, other| one.max(other)), Some(50));
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Panics
    /// [As described](Self#panics).
    #[track_caller]
    pub fn par_map_reduce_with<C: NoRef + Clone, U: NoRef, F, R>(
        &self,
        map: F,
        arguments: C,
        reduce: R,
    ) -> Option<U>
    where
        F: Fn(u64, &str, &C) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |at, line: &str| map(at, line, &arguments);
        self.map_reduce_around::<F, _, _, _, _, _>(lend, arguments, reduce)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_map_reduce_with<C: Captured + Clone, U: NoRef, F, G, R>(
        &self,
        arguments: C,
        map: F,
        reduce: R,
    ) -> Option<U>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(u64, &str) -> U,
        R: FnOnce(U, U) -> U + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.map_reduce_around::<F, _, _, _, _, _>(map, arguments, reduce)
    }

    #[track_caller]
    fn map_reduce_around<N: 'static, C: NoRef + Clone, U: NoRef, F, G, R>(
        &self,
        map: F,
        arguments: C,
        reduce: R,
    ) -> Option<U>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(u64, &str) -> U,
        R: FnOnce(U, U) -> U + Send + Copy + 'static,
    {
        require_fiber("par_map_reduce");
        const { refuse_captures::<R>() };
        require_constant::<R>(self.trustees().into_iter(), "par_map_reduce");
        let body = move |own: &OwnLines, arguments: C| {
            let map = map(arguments);
            own.fold(|| None, |before, at, line| Some(reduced(before, map(at, line), reduce)))
        };
        in_order(self.on_workers::<N, _, _, _>(ChunkLength::Fixed, body, arguments))
            .reduce(|one, other| reduce(one, other))
    }
}
