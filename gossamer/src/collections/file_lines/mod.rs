//! [`FileLines`]: loops over the lines of a text file.

mod own_lines;

pub(super) use own_lines::OwnLines;

use crate::collections::files::regular;
use crate::collections::par_fold::{in_order, reduced};
use crate::collections::self_scheduling::ChunkLength;
use crate::lane::operation::refuse_captures;
use crate::trust::require_constant;
use crate::wire::captured::Captured;
use crate::{NoRef, Trustee, WithoutCaptures};
use own_lines::{Sections, on_workers_of};
use std::io;
use std::path::{Path, PathBuf};

/// The lines of a text file, and the workers among which loops share them out. No more of the file is in memory than
/// what workers are reading; [`DistVec::from_lines`](crate::collections::DistVec::from_lines) keeps all of it.
///
/// ```
/// use gossamer::collections::{DistMap, FileLines};
///
/// #[gossamer::delegate]
/// fn count_words(text: &FileLines) -> DistMap<String, u64> {
///     let counts = DistMap::new();
///     text.par_emit(|_, line, out| line.split_whitespace().for_each(|word| out.push_ref(word, 1)))
///         .merge_into(&counts, |count, more| *count += more);
///     counts
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// # let path = std::env::temp_dir().join(format!("gossamer-file-lines-{}", std::process::id()));
/// std::fs::write(&path, "to be or\nnot to be\n").unwrap();
/// let counts = count_words(&FileLines::open(&path).unwrap());
/// assert_eq!(counts.get("be".to_owned()), Some(2));
/// # std::fs::remove_file(path).unwrap();
/// # });
/// ```
///
/// # Cost
/// A loop has a fiber on each worker. Workers ask for pieces as they need them, of a sixteenth of their share of the file, but 4 KiB
/// at least and 256 KiB at most. A thread of the [pool](crate::unblock) reads one while other fibers go on; it also
/// reads the end of a piece's last line. So each worker has a piece and the longest line in memory.
/// All nodes need the file under this path. What others write into it meanwhile, or put in its place, may be read.
///
/// # Panics
/// A loop panics if its closure does, with the byte where the line begins: that worker stops there, and the others finish
/// the chunks that they have begun, and the two that each begins with. Also with the node's number if it cannot read the file, if the file has become shorter, or if a line is
/// not UTF-8; where the caller cannot wait; on a thread that is not a worker.
#[derive(Clone, Debug, NoRef)]
pub struct FileLines {
    path: PathBuf,
    len: u64,
    trustees: Option<Vec<Trustee>>,
}

impl FileLines {
    /// The lines of this file, as long as it is now, for all workers of all nodes. Lines end with `\n`, or `\r\n`.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let error = gossamer::collections::FileLines::open("/no/such/file").unwrap_err();
    /// assert!(error.to_string().contains("/no/such/file on node 0: No such file"), "{error}");
    /// # });
    /// ```
    ///
    /// # Errors
    /// If this node cannot open the file, or it is not a regular one, such as a pipe.
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        Ok(Self { len: regular::length("open", "reading lines of", &path)?, path, trustees: None })
    }

    /// The same lines, for these workers. Only their nodes, and the caller's, need the file. A worker that is listed
    /// twice gets two fibers, so that one can go on while the closure of the other waits.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, collections::FileLines};
    /// # let path = std::env::temp_dir().join(format!("gossamer-lines-on-{}", std::process::id()));
    /// std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
    /// let other = Trustee::all()[1];
    /// FileLines::open(&path).unwrap().on(&[other]).par_for_each(|_, _| assert_eq!(Trustee::here().index(), 1));
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `trustees` is empty.
    #[must_use]
    #[track_caller]
    pub fn on(mut self, trustees: &[Trustee]) -> Self {
        assert!(!trustees.is_empty(), "a loop on no workers cannot go through its lines");
        self.trustees = Some(trustees.to_vec());
        self
    }

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
        const { refuse_captures::<R>() };
        require_constant::<R>(self.trustees().into_iter(), "par_map_reduce");
        let body = move |own: &OwnLines, arguments: C| {
            let map = map(arguments);
            own.fold(|| None, |before, at, line| Some(reduced(before, map(at, line), reduce)))
        };
        in_order(self.on_workers::<N, _, _, _>(ChunkLength::Fixed, body, arguments))
            .reduce(|one, other| reduce(one, other))
    }

    /// Its workers.
    pub(super) fn trustees(&self) -> Vec<Trustee> {
        self.trustees.clone().unwrap_or_else(|| Trustee::all())
    }

    /// Runs a closure in a fiber on each worker, which share the lines ([`on_workers_of`]).
    #[track_caller]
    pub(super) fn on_workers<N: 'static, C: NoRef + Clone, U: NoRef, F>(
        &self,
        chunks: ChunkLength,
        body: F,
        arguments: C,
    ) -> Vec<U>
    where
        F: FnOnce(&OwnLines, C) -> U + Send + Copy + 'static,
    {
        let sections = Sections::new(self.path.clone(), self.len, self.trustees().len());
        on_workers_of::<N, _, _, _>((sections, self.trustees.clone()), chunks, body, arguments)
    }
}
