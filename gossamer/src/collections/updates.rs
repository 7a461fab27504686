//! [`Updates`]: many small changes, gathered and sent in batches.

use crate::collections::combining::{IndexSet, Latest};
use crate::collections::dist_vec::out_of_range;
use crate::collections::filling::{self, Filling, Gathered};
use crate::collections::layout::Spread;
use crate::collections::near::Near;
use crate::collections::outbox::{Deliver, Outbox, pause};
use crate::lane::context::{self, Context};
use crate::trust::rethrow;
use crate::{DelegationError, NoRef};
use std::fmt;
use std::panic::Location;

/// Serves a batch of the fiber's own worker within the call.
pub(super) type ServeHere<A> = Box<dyn Fn(Gathered<A>) -> Result<Gathered<A>, DelegationError>>;

/// Updates of elements of a [`DistVec`](crate::collections::DistVec), sent in batches: what
/// [`DistVec::updates`](crate::collections::DistVec::updates) returns.
///
/// # Cost
/// An update takes 4 bytes and its argument, and some nanoseconds at both ends. For each worker up to 4096 updates,
/// of at most 64 KiB, are gathered and then sent in one request, whose answer only brings the memory back for reuse;
/// with more than 16 workers no more than a worker's share of 65,536, or 64.
/// At most four such batches are on their way to one worker, so a handle holds at most 320 KiB for each worker
/// (besides what arguments own); a fiber that pushes faster than its updates are served waits, and lets others run at
/// each batch. Updates of elements of the fiber's own worker take no request: each 512 of them are served within the
/// call that fills their batch.
///
/// # Order
/// Updates of elements of one worker are served in the order in which they were pushed. Other requests of this fiber
/// may overtake updates that are still gathered: [`flush`](Self::flush) sends these.
///
/// # The end
/// [`finish`](Self::finish) waits until all have been served. A handle that is dropped sends its gathered updates
/// without waiting for them. Nothing is lost: if the closure panics for one update, the others are served all the
/// same, and [`finish`](Self::finish) panics with the first such error, which names the element. If the handle was
/// dropped, the error is printed.
///
/// It stays with its worker, as fibers do.
#[must_use = "updates that are not finished may be served at any later time"]
pub struct Updates<A: NoRef> {
    spread: Spread,
    near: Option<(Near, ServeHere<A>)>,
    /// For [`combine`](Self::combine), of each part.
    latest: Vec<Latest>,
    /// For [`once`](Self::once).
    sent: IndexSet,
    /// Of a batch.
    room: usize,
    /// For each part.
    gathered: Vec<Filling<A>>,
    outbox: Outbox<Gathered<A>>,
    /// Updates served within calls of this fiber since it let others run.
    served: usize,
    made_at: &'static Location<'static>,
}

impl<A: NoRef> Updates<A> {
    pub(super) fn new(
        spread: Spread,
        near: Option<(Near, ServeHere<A>)>,
        send: Deliver<Gathered<A>>,
        made_at: &'static Location<'static>,
    ) -> Self {
        let own = near.as_ref().map(|(near, _)| near.part());
        let room = filling::room::<A>(spread.parts());
        let gathered = (0..spread.parts()).map(|part| Filling::new(room, own == Some(part))).collect();
        Self {
            spread,
            near,
            latest: Vec::new(),
            sent: IndexSet::default(),
            room,
            gathered,
            outbox: Outbox::new(spread.parts(), send),
            served: 0,
            made_at,
        }
    }

    /// Adds an update of the element with this index.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let numbers = DistVec::from_fn(Layout::cyclic(5), |index| index as u64);
    /// let mut adds = numbers.updates(|number, by: u64| *number += by);
    /// (0..1000).for_each(|step| adds.push(step % 5, 1)); // gathered, and sent by batches
    /// adds.finish();
    /// assert_eq!(numbers.get(0), 200);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element; earlier updates stay. In delegated closures and callbacks, if a batch would have
    /// to wait.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, index: usize, argument: A) {
        if let Some(part) = self.gather(index, argument) {
            self.send_full(part);
        }
    }

    /// Like [`push`](Self::push), but if an update of this element is still gathered, combines their arguments
    /// instead of adding one.
    ///
    /// Whether two updates are combined depends on how far apart they are: with some hundreds of elements that are
    /// used again and again, nearly all are; updates that are a batch apart never are. So the result must be the same
    /// either way, as for sums and minima. A combined update takes the place of the first one. This uses 16 KiB for
    /// each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let counts = DistVec::filled(10, 0);
    /// let mut updates = counts.updates(|count, by: u64| *count += by);
    /// for number in 0..1000 {
    ///     updates.combine(number * number % 10, 1, |one, other| one + other); // six updates are sent
    /// }
    /// updates.finish();
    /// assert_eq!(counts.to_vec(), [100, 200, 0, 0, 200, 100, 200, 0, 0, 200]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`push`](Self::push), and if `combine` does: then both arguments are lost.
    #[inline]
    #[track_caller]
    pub fn combine(&mut self, index: usize, argument: A, combine: impl FnOnce(A, A) -> A) {
        if let Some(part) = self.gather_combined(index, argument, combine) {
            self.send_full(part);
        }
    }

    /// Like [`push`](Self::push), but only for the first argument of an element: later ones on this handle are
    /// dropped here.
    ///
    /// This uses a bit for each element of the vector.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let firsts = DistVec::filled(10, None);
    /// let mut updates = firsts.updates(|first, number| *first = Some(number));
    /// for number in 0..1000 {
    ///     updates.once(number * number % 10, number);
    /// }
    /// updates.finish();
    /// assert_eq!(firsts.range(4..7), [Some(2), Some(5), Some(4)]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`push`](Self::push).
    #[inline]
    #[track_caller]
    pub fn once(&mut self, index: usize, argument: A) {
        if let Some(part) = self.gather_once(index, argument) {
            self.send_full(part);
        }
    }

    /// Like [`push`](Self::push), without sending: returns a part that has a full batch.
    #[inline]
    #[track_caller]
    pub(super) fn gather(&mut self, index: usize, argument: A) -> Option<usize> {
        self.gather_inline(index, argument)
    }

    /// For loops, whose variables then stay in registers.
    #[inline(always)]
    #[track_caller]
    fn gather_inline(&mut self, index: usize, argument: A) -> Option<usize> {
        let Some((part, offset)) = self.spread.find(index) else { out_of_range(index, self.spread) };
        if let Some((near, _)) = &self.near {
            near.fetch(part, offset.get());
        }
        self.add(part, offset.number(), argument)
    }

    #[inline]
    #[track_caller]
    pub(super) fn gather_combined(
        &mut self,
        index: usize,
        argument: A,
        combine: impl FnOnce(A, A) -> A,
    ) -> Option<usize> {
        let Some((part, offset)) = self.spread.find(index) else { out_of_range(index, self.spread) };
        if self.latest.is_empty() {
            self.latest = (0..self.spread.parts()).map(|_| Latest::new()).collect();
        }
        let Some(at) = self.latest[part].find(offset.number(), self.gathered[part].offsets()) else {
            return self.add(part, offset.number(), argument);
        };
        self.gathered[part].combine(at, argument, combine);
        None
    }

    /// Whether this worker has sent an update for this element that was to be sent once.
    #[inline]
    pub(super) fn has_sent(&self, index: usize) -> bool {
        self.sent.contains(index)
    }

    #[inline]
    #[track_caller]
    pub(super) fn gather_once(&mut self, index: usize, argument: A) -> Option<usize> {
        if index < self.spread.len() && !self.sent.insert(index, self.spread.len()) {
            return None;
        }
        self.gather(index, argument)
    }

    #[inline]
    fn add(&mut self, part: usize, offset: u32, argument: A) -> Option<usize> {
        self.gathered[part].add(offset, argument).then_some(part)
    }

    /// Sends everything that is gathered, without waiting for it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let numbers = DistVec::from_fn(Layout::cyclic(5), |index| index as u64);
    /// let mut adds = numbers.updates(|number, by: u64| *number += by);
    /// adds.push(0, 1);
    /// adds.flush(); // on its way; nobody waits
    /// adds.push(0, 1);
    /// adds.finish();
    /// assert_eq!(numbers.get(0), 2);
    /// # });
    /// ```
    ///
    /// # Panics
    /// In delegated closures and callbacks, if it would have to wait.
    #[track_caller]
    pub fn flush(&mut self) {
        for part in 0..self.gathered.len() {
            if !self.gathered[part].is_empty() {
                self.send_gathered(part);
            }
        }
    }

    /// Waits until all updates have been served.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let numbers = DistVec::from_fn(Layout::cyclic(5), |index| index as u64);
    /// let mut adds = numbers.updates(|number, by: u64| *number += by);
    /// adds.push(3, 100);
    /// adds.finish(); // all are served
    /// assert_eq!(numbers.get(3), 103);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panicked for one of them; where the caller cannot wait.
    #[track_caller]
    pub fn finish(self) {
        if let Err(error) = self.try_finish() {
            rethrow(error, Location::caller());
        }
    }

    /// Like [`finish`](Self::finish), but returns an error instead of panicking.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = gossamer::collections::DistVec::filled(4, 0_u64);
    /// let mut divide = counts.updates(|count, by: u64| *count = 60 / by);
    /// [10, 0, 30].into_iter().enumerate().for_each(|(index, by)| divide.push(index, by));
    /// assert!(divide.try_finish().is_err()); // a division by zero
    /// assert_eq!(counts.to_vec(), [6, 0, 2, 0]); // the others were served all the same
    /// # });
    /// ```
    ///
    /// # Errors
    /// If the closure panicked for one of them, or a worker has ended.
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn try_finish(mut self) -> Result<(), DelegationError> {
        self.flush();
        self.outbox.finish()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn send_full(&mut self, part: usize) {
        self.served += self.gathered[part].offsets().len();
        self.send_gathered(part);
        if self.served >= filling::room::<A>(1) {
            self.served = 0;
            pause();
        }
    }

    /// Sends what is gathered for a part, as soon as there is room. If the caller cannot wait, it stays.
    #[track_caller]
    fn send_gathered(&mut self, part: usize) {
        if self.here(part).is_none() {
            self.outbox.make_way(part);
        }
        let gathered = self.take(part);
        self.send(part, gathered);
    }

    /// How to serve a part within the call, if that is possible.
    fn here(&self, part: usize) -> Option<&ServeHere<A>> {
        let (near, serve_here) = self.near.as_ref()?;
        (near.part() == part && context::current() == Context::Fiber).then_some(serve_here)
    }

    /// What is gathered for a part.
    pub(super) fn take(&mut self, part: usize) -> Gathered<A> {
        // A batch that comes back from another node has left its memory there.
        let spare = self.outbox.spare().filter(|spare| spare.0.capacity() >= self.room);
        self.gathered[part].replace(spare.unwrap_or_else(|| filling::empty(self.room)))
    }

    /// Sends a batch to a part, as soon as there is room.
    #[track_caller]
    pub(super) fn send(&mut self, part: usize, gathered: Gathered<A>) {
        match self.here(part) {
            Some(serve) => {
                let reply = serve(gathered);
                self.outbox.served(reply);
            }
            None => {
                self.outbox.make_way(part);
                self.outbox.send(part, gathered);
            }
        }
    }

    /// How many updates are gathered, for all parts.
    pub(super) fn gathered(&self) -> usize {
        self.gathered.iter().map(|filling| filling.offsets().len()).sum()
    }

    /// How many elements the vector has, and where.
    pub(super) fn spread(&self) -> Spread {
        self.spread
    }

    /// With what an earlier handle has sent [`once`](Self::once).
    pub(super) fn with_sent(mut self, sent: IndexSet) -> Self {
        self.sent = sent;
        self
    }

    /// What was sent [`once`](Self::once).
    pub(super) fn take_sent(&mut self) -> IndexSet {
        std::mem::take(&mut self.sent)
    }
}

impl<A: NoRef> Drop for Updates<A> {
    fn drop(&mut self) {
        for part in 0..self.gathered.len() {
            if !self.gathered[part].is_empty() {
                let gathered = self.gathered[part].replace(Default::default());
                self.outbox.send_in_drop(part, gathered);
            }
        }
    }
}

impl<A: NoRef> Extend<(usize, A)> for Updates<A> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (usize, A)>>(&mut self, updates: I) {
        for (index, argument) in updates {
            if let Some(part) = self.gather_inline(index, argument) {
                self.send_full(part);
            }
        }
    }
}

impl<A: NoRef> fmt::Debug for Updates<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates")
            .field("gathered", &self.gathered())
            .field("batches_under_way", &self.outbox.under_way())
            .field("made_at", &format_args!("{}", self.made_at))
            .finish()
    }
}
