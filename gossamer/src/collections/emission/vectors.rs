//! [`DistVec::par_emit`].

use crate::collections::element_loop::{BETWEEN, TURN};
use crate::collections::emission::Emission;
use crate::collections::emission::domain::{Domain, Emit};
use crate::collections::emission::emitted::Emitted;
use crate::collections::emission::update_handle::UpdateHandle;
use crate::collections::frontier::Make;
use crate::collections::parts::{OwnPart, in_fibers_on};
use crate::collections::{DistVec, Elements};
use crate::lane::catch::resume_saying;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, Trustee, WithoutCaptures, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

impl<T: 'static> DistVec<T> {
    /// A loop over all elements that emits arguments for elements of another vector, or for entries of a map: `closure` is called
    /// with the index of each element, the element itself, and an [`Emitted`] that takes pairs of an index or a
    /// key, and an argument. Nothing is done before the [`Emission`] is applied or merged.
    ///
    /// Each worker visits its elements in order, for some 100 us, then serves the requests of others, and goes on.
    ///
    /// ```
    /// use gossamer::collections::{DistMap, DistVec};
    ///
    /// #[gossamer::delegate]
    /// fn initials(words: &DistVec<String>, least: usize) -> DistMap<char, u64> {
    ///     let counts = DistMap::new();
    ///     words
    ///         .par_emit(|_, word, out| {
    ///             if word.len() >= least {
    ///                 out.extend(word.chars().next().map(|initial| (initial, 1)));
    ///             }
    ///         })
    ///         .merge_into(&counts, |count, more| *count += more);
    ///     counts
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let words = DistVec::from_vec(3, ["tea", "toast", "to"].map(String::from).to_vec());
    /// assert_eq!(initials(&words, 3).get('t'), Some(2));
    /// # });
    /// ```
    ///
    /// # Cost
    /// [Of an emission](Emission#cost).
    pub fn par_emit<K: NoRef, A: NoRef, F>(
        &self,
        closure: F,
    ) -> Emission<Self, K, A, F, (), impl Make<(), Made: Emit<Self, K, A>> + use<T, K, A, F>>
    where
        F: FnOnce(usize, &mut T, &mut Emitted<K, A>) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let plain = move |()| {
            move |index: usize, element: &mut T, out: &mut Emitted<K, A>| closure(index, element, out)
        };
        Emission::new(self.clone(), plain, ())
    }

    /// Like [`par_emit`](Self::par_emit), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Emitted};
    /// let (numbers, counts) = (DistVec::from_fn(100, |index| index as u64), DistVec::filled(10, 0_u64));
    /// let last_digit = |_, number: &mut u64, out: &mut Emitted<usize, u64>, base: &u64| out.push((*number % base) as usize, 1);
    /// numbers.par_emit_with(last_digit, 8).apply_to(&counts, |count, more| *count += more);
    /// assert_eq!(counts.to_vec(), [13, 13, 13, 13, 12, 12, 12, 12, 0, 0]);
    /// # });
    /// ```
    pub fn par_emit_with<C: NoRef + Clone, K: NoRef, A: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
    ) -> Emission<Self, K, A, F, C, impl Make<C, Made: Emit<Self, K, A>> + use<T, C, K, A, F>>
    where
        F: Fn(usize, &mut T, &mut Emitted<K, A>, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| {
            move |index: usize, element: &mut T, out: &mut Emitted<K, A>| {
                closure(index, element, out, &arguments)
            }
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
        G: Fn(usize, &mut T, &mut Emitted<K, A>),
    {
        const { refuse_captures::<F>() };
        Emission::new(self.clone(), closure, arguments)
    }
}

impl<T: 'static> Domain for DistVec<T> {
    type Own = OwnPart<T>;

    #[track_caller]
    fn on_workers<N: 'static, C: NoRef + Clone, F>(&self, run: F, arguments: C) -> Vec<u64>
    where
        F: FnOnce(&OwnPart<T>, C) -> u64 + Send + Copy + 'static,
    {
        let run = move |(number, vector, arguments): (usize, DistVec<T>, C)| {
            let elements = vector.parts[number].clone();
            run(&OwnPart { number, spread: vector.spread, elements }, arguments)
        };
        let arguments = |part| (part, self.clone(), arguments.clone());
        in_fibers_on::<N, _, _, _>(self.trustees(), run, arguments)
    }

    fn trustees(&self) -> Vec<Trustee> {
        self.trustees()
    }
}

impl<T: 'static, K: NoRef, A: NoRef, G> Emit<DistVec<T>, K, A> for G
where
    G: Fn(usize, &mut T, &mut Emitted<K, A>),
{
    fn visit(&self, own: &OwnPart<T>, out: &mut Emitted<K, A>, handle: &mut impl UpdateHandle<K, A>) {
        let mut done = 0;
        while done < own.len() {
            done = own.elements.visit(|elements| take_turn(elements, done, self, out));
            out.send(handle);
            yield_now();
        }
    }
}

/// Visits elements from `first` on until enough is emitted or the turn is over; returns where to continue.
fn take_turn<T, K: NoRef, A: NoRef>(
    elements: &mut Elements<T>,
    first: usize,
    emit: &impl Fn(usize, &mut T, &mut Emitted<K, A>),
    out: &mut Emitted<K, A>,
) -> usize {
    let (begun, mut at) = (Instant::now(), first);
    let run = AssertUnwindSafe(|| {
        for (index, element) in elements.indexed_mut_from(first) {
            emit(index, element, out);
            at += 1;
            if out.is_full() || at.is_multiple_of(BETWEEN) && begun.elapsed() > TURN {
                return;
            }
        }
    });
    if let Err(payload) = catch_unwind(run) {
        let index = elements.index_of(at);
        resume_saying(payload, |message| format!("element {index}: {message}"));
    }
    at
}
