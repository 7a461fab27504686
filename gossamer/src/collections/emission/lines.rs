//! [`FileLines::par_emit`].

use crate::collections::FileLines;
use crate::collections::emission::Emission;
use crate::collections::emission::domain::{Domain, Emit};
use crate::collections::emission::emitted::Emitted;
use crate::collections::emission::update_handle::UpdateHandle;
use crate::collections::file_lines::OwnLines;
use crate::collections::frontier::Make;
use crate::collections::self_scheduling::ChunkLength;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, Trustee, WithoutCaptures};

impl FileLines {
    /// A loop over all lines that emits arguments for elements of a vector, or for entries of a map: `closure` is called with
    /// the byte where each line begins, the line, and an [`Emitted`] that takes pairs of an index or a key, and an
    /// argument. Nothing is done before the [`Emission`] is applied or merged. The closure runs in a fiber, so it may wait.
    ///
    /// ```
    /// use gossamer::collections::{DistMap, FileLines};
    ///
    /// /// Where each word is.
    /// #[gossamer::delegate]
    /// fn index_of(text: &FileLines, least: usize) -> DistMap<String, Vec<u64>> {
    ///     let places = DistMap::new();
    ///     text.par_emit(|at, line, out| {
    ///         line.split(' ').filter(|word| word.len() >= least).for_each(|word| out.push(word.to_owned(), at));
    ///     })
    ///     .update_into(&places, Vec::new(), |places, at| places.push(at));
    ///     places
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// # let path = std::env::temp_dir().join(format!("gossamer-index-{}", std::process::id()));
    /// std::fs::write(&path, "to be or\nnot to be\n").unwrap();
    /// let index = index_of(&FileLines::open(&path).unwrap(), 3);
    /// assert_eq!((index.get("not".to_owned()), index.get("be".to_owned())), (Some(vec![9]), None));
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Cost
    /// [Of an emission](Emission#cost), and of a [loop over lines](Self#cost).
    pub fn par_emit<K: NoRef, A: NoRef, F>(
        &self,
        closure: F,
    ) -> Emission<Self, K, A, F, (), impl Make<(), Made: Emit<Self, K, A>> + use<K, A, F>>
    where
        F: FnOnce(u64, &str, &mut Emitted<K, A>) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let plain = move |()| move |at: u64, line: &str, out: &mut Emitted<K, A>| closure(at, line, out);
        Emission::new(self.clone(), plain, ())
    }

    /// Like [`par_emit`](Self::par_emit), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Emitted, FileLines};
    /// # let path = std::env::temp_dir().join(format!("gossamer-lines-{}-{}", line!(), std::process::id()));
    /// std::fs::write(&path, "3\n4\n5\n").unwrap();
    /// let text = FileLines::open(&path).unwrap();
    /// let (digits, by) = (DistVec::filled(10, 0_u64), 2);
    /// let digit = |_: u64, line: &str, out: &mut Emitted<usize, u64>, by: &usize| out.push(line.parse::<usize>().unwrap() / by, 1);
    /// text.par_emit_with(digit, by).apply_to(&digits, |digit, more| *digit += more);
    /// assert_eq!(digits.range(..3), [0, 1, 2]);
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    pub fn par_emit_with<C: NoRef + Clone, K: NoRef, A: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
    ) -> Emission<Self, K, A, F, C, impl Make<C, Made: Emit<Self, K, A>> + use<C, K, A, F>>
    where
        F: Fn(u64, &str, &mut Emitted<K, A>, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| {
            move |at: u64, line: &str, out: &mut Emitted<K, A>| closure(at, line, out, &arguments)
        };
        Emission::new(self.clone(), lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    pub fn __par_emit_with<C: Captured + Clone, K: NoRef, A: NoRef, F, G>(
        &self,
        arguments: C,
        closure: F,
    ) -> Emission<Self, K, A, F, C, F>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(u64, &str, &mut Emitted<K, A>),
    {
        const { refuse_captures::<F>() };
        Emission::new(self.clone(), closure, arguments)
    }
}

impl Domain for FileLines {
    type Own = OwnLines;

    #[track_caller]
    fn on_workers<N: 'static, C: NoRef + Clone, F>(&self, run: F, arguments: C) -> Vec<u64>
    where
        F: FnOnce(&OwnLines, C) -> u64 + Send + Copy + 'static,
    {
        self.on_workers::<N, _, _, _>(ChunkLength::Timed, run, arguments)
    }

    fn trustees(&self) -> Vec<Trustee> {
        self.trustees()
    }
}

impl<K: NoRef, A: NoRef, G> Emit<FileLines, K, A> for G
where
    G: Fn(u64, &str, &mut Emitted<K, A>),
{
    fn visit(&self, own: &OwnLines, out: &mut Emitted<K, A>, handle: &mut impl UpdateHandle<K, A>) {
        own.for_each(|at, line| {
            self(at, line, out);
            if out.is_full() {
                out.send(handle);
            }
        });
    }
}
