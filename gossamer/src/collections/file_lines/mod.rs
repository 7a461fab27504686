//! [`FileLines`]: the lines of a text file, to loop over.

mod loops;
mod own_lines;

pub(super) use own_lines::OwnLines;

use crate::collections::files::regular;
use crate::collections::layout::or_all;
use crate::collections::self_scheduling::{ChunkLength, OwnNumbers, on_workers};
use crate::{NoRef, Trustee};
use own_lines::Sections;
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
/// A loop has a fiber on each worker. Workers ask for pieces as they need them, of a sixteenth of their share of the
/// file, but 4 KiB at least and 256 KiB at most. A thread of the [pool](crate::unblock) reads one while other fibers go
/// on; it also reads the end of a piece's last line. So each worker has a piece and the longest line in memory. All
/// nodes need the file under this path. What others write into it meanwhile, or put in its place, may be read.
///
/// # Panics
/// A loop panics if its closure does, with the byte where the line begins: that worker stops there, and the others
/// finish the chunks that they have begun, and the two that each begins with. It also panics, with the number of the
/// node, if a node cannot read the file, if the file has become shorter, or if a line is not UTF-8; and where the caller
/// cannot wait, or on a thread that is not a worker.
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

    /// Its workers.
    #[track_caller]
    pub(super) fn trustees(&self) -> Vec<Trustee> {
        or_all(self.trustees.clone())
    }

    /// Runs a closure in a fiber on each worker, which share the lines. It captures what [`on_workers`] allows.
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
        let numbers = (0..sections.count(), self.trustees.clone());
        let body = move |numbers: OwnNumbers, (sections, arguments): (Sections, C)| {
            body(&OwnLines { numbers, sections }, arguments)
        };
        on_workers::<N, _, _, _>(numbers, chunks, body, (sections, arguments))
    }
}
