//! [`Updates`]: many small changes, sent by batches.

use crate::collections::dist_vec::out_of_range;
use crate::collections::gather::FETCHED_BEFORE;
use crate::collections::layout::Spread;
use crate::collections::{DistVec, Elements};
use crate::lane::catch::resume_saying;
use crate::lane::context::{self, Context};
use crate::lane::operation::refuse_captures;
use crate::sys::memory::prefetch;
use crate::trust::rethrow;
use crate::wire::captured::Captured;
use crate::{DelegationError, NoRef, Replies, yield_now};
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// Bytes that are gathered for a worker before they are sent.
const GATHERED_BYTES: usize = 64 * 1024;
/// Updates, if these have fewer bytes.
const MOST_GATHERED: usize = 4096;
/// Batches on their way to one worker.
const UNDER_WAY: usize = 4;

/// Places of elements in their part, and an argument for each. Both come back empty, to be used again by who made them.
type Gathered<A> = (Vec<u32>, Vec<A>);

impl<T: 'static> DistVec<T> {
    /// A handle for many updates: it takes indices and arguments one by one, and `closure` is applied to each of these elements, with its
    /// argument, where it is.
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
        F: FnOnce(&mut T, A) + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.updates_around::<F, _, _, _>(move |element, argument, ()| closure(element, argument), ())
    }

    /// As [`updates`](Self::updates), with a clone of `shared` handed to the closure for each update; it is sent once with each batch.
    #[track_caller]
    pub fn updates_with<A: NoRef, C: NoRef + Clone, F>(&self, closure: F, shared: C) -> Updates<A>
    where
        F: FnOnce(&mut T, A, C) + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.updates_around::<F, _, _, _>(closure, shared)
    }

    /// As the macros write it (`trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __updates_with<A: NoRef, C: Captured + Clone, F>(&self, shared: C, closure: F) -> Updates<A>
    where
        F: FnOnce(&mut T, A, C) + Send + Copy + 'static,
    {
        self.updates_with(closure, shared)
    }

    #[track_caller]
    fn updates_around<N, A: NoRef, C: NoRef + Clone, F>(&self, closure: F, shared: C) -> Updates<A>
    where
        F: FnOnce(&mut T, A, C) + Send + Copy + 'static,
    {
        let made_at = Location::caller();
        let parts = self.parts.clone();
        let serve = move |elements: &mut Elements<T>, (gathered, shared): (Gathered<A>, C)| {
            serve(elements, gathered, |element, argument| closure(element, argument, shared.clone()))
        };
        let send = move |replies: &Replies<usize, Gathered<A>>, part: usize, gathered| {
            let arguments = (gathered, shared.clone());
            parts[part].send_into::<N, _, _, _, _>(replies, part, serve, arguments, made_at);
        };
        let room = (GATHERED_BYTES / (size_of::<u32>() + size_of::<A>())).clamp(1, MOST_GATHERED);
        let none = || (Vec::with_capacity(room), Vec::with_capacity(room));
        Updates {
            spread: self.spread,
            room,
            gathered: self.parts.iter().map(|_| none()).collect(),
            under_way: self.parts.iter().map(|_| 0).collect(),
            replies: Replies::new(),
            spare: Vec::new(),
            failed: None,
            send: Box::new(send),
            made_at,
        }
    }
}

/// Updates of elements of a [`DistVec`], which are sent by batches: what [`DistVec::updates`] returns.
///
/// # Cost
/// An update is 4 bytes and its argument, and some nanoseconds at both ends. For each worker up to 4096 of them, or 64 KiB, are gathered, and
/// then sent by one request, whose answer carries nothing but the memory back to be used again. No more than four such batches are
/// on their way to one worker, so a handle holds 320 KiB for each worker at most (besides what arguments own); a fiber that is faster
/// than they are served waits, and lets others run at each batch.
///
/// # Order
/// Updates of elements of one worker are served in the order in which they were pushed. What else this fiber sends may overtake them while they
/// are gathered: [`flush`](Self::flush) sends them.
///
/// # The end
/// [`finish`](Self::finish) waits until all have been served. A handle that is dropped sends what it has gathered, without waiting for
/// it. Nothing is lost: if the closure panics for one update, the others are served all the same, and [`finish`](Self::finish) panics with the
/// first that came back, which names the element. Who has dropped the handle finds it printed.
///
/// It stays with its worker, as fibers do.
#[must_use = "updates that are not finished may be served at any later time"]
pub struct Updates<A: NoRef> {
    spread: Spread,
    room: usize,
    gathered: Vec<Gathered<A>>,
    /// Batches on their way, for each part.
    under_way: Vec<usize>,
    replies: Replies<usize, Gathered<A>>,
    spare: Vec<Gathered<A>>,
    failed: Option<DelegationError>,
    send: Box<dyn Fn(&Replies<usize, Gathered<A>>, usize, Gathered<A>)>,
    made_at: &'static Location<'static>,
}

impl<A: NoRef> Updates<A> {
    /// Adds an update of the element with this index.
    ///
    /// # Panics
    /// If there is no such element; what was pushed before stays. In delegated closures and callbacks, once a batch would have to wait.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, index: usize, argument: A) {
        let Some((part, offset)) = self.spread.find(index) else { out_of_range(index, self.spread) };
        let (offsets, arguments) = &mut self.gathered[part];
        offsets.push(offset.number());
        arguments.push(argument);
        if offsets.len() == self.room {
            self.send_full(part);
        }
    }

    /// Sends all that is gathered, without waiting for it.
    ///
    /// # Panics
    /// In delegated closures and callbacks, if it would have to wait.
    #[track_caller]
    pub fn flush(&mut self) {
        for part in 0..self.gathered.len() {
            if !self.gathered[part].0.is_empty() {
                self.make_way(part);
                self.send(part);
            }
        }
    }

    /// Waits until all updates have been served.
    ///
    /// # Panics
    /// If the closure panicked for one of them; where the caller cannot wait.
    #[track_caller]
    pub fn finish(self) {
        if let Err(error) = self.try_finish() {
            rethrow(error, Location::caller());
        }
    }

    /// As [`finish`](Self::finish), but returns why an update was not served.
    ///
    /// # Errors
    /// If the closure panicked for one of them, or a worker has ended.
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn try_finish(mut self) -> Result<(), DelegationError> {
        self.flush();
        while let Some(reply) = self.replies.next() {
            self.take_back(reply);
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn send_full(&mut self, part: usize) {
        self.make_way(part);
        self.send(part);
        // Publishes it, and lets the worker serve what others have sent.
        if context::current() == Context::Fiber {
            yield_now();
        }
    }

    /// Waits until another batch may be sent to a part.
    #[track_caller]
    fn make_way(&mut self, part: usize) {
        while let Some(reply) = self.replies.try_next() {
            self.take_back(reply);
        }
        while self.under_way[part] >= UNDER_WAY {
            let Some(reply) = self.replies.next() else { return };
            self.take_back(reply);
        }
    }

    fn send(&mut self, part: usize) {
        let empty = self
            .spare
            .pop()
            .unwrap_or_else(|| (Vec::with_capacity(self.room), Vec::with_capacity(self.room)));
        let gathered = std::mem::replace(&mut self.gathered[part], empty);
        self.under_way[part] += 1;
        (self.send)(&self.replies, part, gathered);
    }

    fn take_back(&mut self, (part, reply): (usize, Result<Gathered<A>, DelegationError>)) {
        self.under_way[part] -= 1;
        match reply {
            // What comes back from another node has left its memory there.
            Ok(empty) if empty.0.capacity() >= self.room => self.spare.push(empty),
            Ok(_) => {}
            Err(error) => {
                self.failed.get_or_insert(error);
            }
        }
    }
}

impl<A: NoRef> Drop for Updates<A> {
    fn drop(&mut self) {
        for part in 0..self.gathered.len() {
            if !self.gathered[part].0.is_empty() {
                let gathered = std::mem::take(&mut self.gathered[part]);
                (self.send)(&self.replies, part, gathered);
            }
        }
        if let Some(error) = self.failed.take() {
            crate::lane::error::print(&format!("gossamer: {error}; its updates were not finished\n"));
        }
    }
}

impl<A: NoRef> Extend<(usize, A)> for Updates<A> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (usize, A)>>(&mut self, updates: I) {
        for (index, argument) in updates {
            self.push(index, argument);
        }
    }
}

impl<A: NoRef> fmt::Debug for Updates<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gathered: usize = self.gathered.iter().map(|(offsets, _)| offsets.len()).sum();
        let under_way: usize = self.under_way.iter().sum();
        f.debug_struct("Updates")
            .field("gathered", &gathered)
            .field("batches_under_way", &under_way)
            .field("made_at", &format_args!("{}", self.made_at))
            .finish()
    }
}

/// Applies a closure to each of these elements, and gives the memory back. A panic is passed on when the others have been served.
fn serve<T, A>(
    elements: &mut Elements<T>,
    (mut offsets, mut arguments): Gathered<A>,
    mut closure: impl FnMut(&mut T, A),
) -> Gathered<A> {
    let (mut served, mut panicked) = (0, None);
    {
        let mut updates = offsets.iter().zip(arguments.drain(..)).enumerate();
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
            for (at, (offset, argument)) in updates.by_ref() {
                served = at;
                if let Some(soon) =
                    offsets.get(at + FETCHED_BEFORE).and_then(|offset| elements.get(*offset as usize))
                {
                    prefetch::write(soon);
                }
                closure(&mut elements[*offset as usize], argument);
            }
        })) {
            let offset = offsets[served] as usize;
            panicked.get_or_insert((elements.get(offset).map(|_| elements.index_of(offset)), payload));
        }
    }
    if let Some((index, payload)) = panicked {
        let index = index.map_or_else(|| "that is not there".to_owned(), |index| index.to_string());
        resume_saying(payload, |message| format!("element {index}: {message}"));
    }
    offsets.clear();
    (offsets, arguments)
}
