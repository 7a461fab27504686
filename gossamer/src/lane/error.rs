//! Why a delegated closure has no result.

use crate::lane::catch::{self, Caught};
use crate::lane::constant::ClosurePath;
use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use std::error::Error;
use std::fmt;
use std::io::Write;
use std::mem;
use std::panic::Location;

/// Why a request, a fiber or a launch has no result: what happened, where, and which source line asked.
///
/// It is what [`Trust::try_apply`](crate::Trust::try_apply) and [`JoinHandle::try_join`](crate::JoinHandle::try_join)
/// return, and what the plain forms of these calls panic with.
#[derive(Clone, PartialEq, Eq)]
pub struct DelegationError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    reason: Reason,
    /// Path of the closure.
    operation: String,
    /// Index of the worker that ran it, or should have.
    worker: u32,
    sent_from: Option<&'static Location<'static>>,
    untaken: Untaken,
}

/// Of an error that is still on its way: what it is to be taken from, as a report says if that is dropped.
#[derive(Default)]
struct Untaken(Option<&'static str>);

impl Clone for Untaken {
    /// The copy counts as taken.
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl PartialEq for Untaken {
    /// How an error got here is not part of it.
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Untaken {}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(dropped) = self.untaken.0 {
            self.print_untaken(dropped);
        }
    }
}

/// The kind of a [`DelegationError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The closure panicked.
    #[non_exhaustive]
    Panicked {
        /// The panic's message.
        message: String,
        /// `file:line:column` of the panic, unless another panic hook hid it.
        place: Option<String>,
    },
    /// The property, its trustee or the whole runtime ended before the request was served.
    Ended,
    /// The fiber was cancelled before it ended: by its handle, or because `main` returned, or panicked on a rack.
    Cancelled,
    /// An argument or a result cannot leave the node that made it; the text names its type. Or the closure cannot,
    /// because gossamer's macros have not processed it.
    #[non_exhaustive]
    Stays {
        /// What cannot leave, and why.
        message: String,
    },
    /// The machine could not give a fiber a stack; the text names the limit.
    #[non_exhaustive]
    NoStack {
        /// What failed, and which limit to raise.
        message: String,
    },
}

impl DelegationError {
    #[cold]
    pub(crate) fn new(reason: Reason, operation: &'static str, worker: u32) -> Self {
        Self(Box::new(Inner {
            reason,
            operation: ClosurePath(operation).to_string(),
            worker,
            sent_from: None,
            untaken: Untaken(None),
        }))
    }

    /// The same error, taken by the sender of the closure, at this source line.
    #[cold]
    pub(crate) fn with_sender(mut self, place: &'static Location<'static>) -> Self {
        self.0.sent_from.get_or_insert(place);
        self.0.untaken.0 = None;
        self
    }

    /// The same error, which is printed when it is dropped, unless it was taken before
    /// ([`with_sender`](Self::with_sender)): from what was `dropped`, as the report says it. What the end of a runtime
    /// cancels is not reported.
    #[cold]
    pub(crate) fn printed_unless_taken(mut self, dropped: &'static str) -> Self {
        self.0.untaken.0 =
            Some(dropped).filter(|_| !matches!(self.0.reason, Reason::Ended | Reason::Cancelled));
        self
    }

    /// Goes on with the panic of the closure as it was, or with one that says what else happened. For a fiber of this
    /// crate around a closure of the user's, whose own caller is told of it: nobody knows the calls in between.
    #[cold]
    pub(crate) fn resume(mut self) -> ! {
        self.0.untaken.0 = None;
        match mem::replace(&mut self.0.reason, Reason::Ended) {
            Reason::Panicked { message, place } => catch::resume(Caught { message, place }),
            reason => {
                self.0.reason = reason;
                catch::resume(Caught { message: self.to_string(), place: None })
            }
        }
    }

    /// What happened.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::Reason;
    /// let list = gossamer::entrust(vec![1, 2]);
    /// let error = list.try_apply(|list| list[7]).unwrap_err();
    /// let Reason::Panicked { message, .. } = error.reason() else { panic!("not expected: {error}") };
    /// assert!(message.starts_with("index out of bounds"));
    /// # });
    /// ```
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// The index of the worker that the closure ran on, or was meant for.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let list = gossamer::Trustee::all()[1].entrust(vec![1, 2]);
    /// let error = list.try_apply(|list| list[7]).unwrap_err();
    /// assert_eq!(error.worker(), list.trustee().index());
    /// # });
    /// ```
    pub fn worker(&self) -> usize {
        self.0.worker as usize
    }

    /// The path of the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// fn eighth(list: &mut Vec<u64>) -> u64 {
    ///     list[7]
    /// }
    /// let list = gossamer::entrust(vec![1, 2]);
    /// let error = list.try_apply(eighth).unwrap_err();
    /// assert!(error.closure().ends_with("eighth"));
    /// # });
    /// ```
    pub fn closure(&self) -> &str {
        &self.0.operation
    }

    /// The source line that sent the closure, if it is known.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let list = gossamer::entrust(vec![1, 2]);
    /// let error = list.try_apply(|list| list[7]).unwrap_err();
    /// let place = error.sent_from().expect("the call above");
    /// assert_eq!((place.file(), place.line()), (file!(), line!() - 2));
    /// # });
    /// ```
    pub fn sent_from(&self) -> Option<&'static Location<'static>> {
        self.0.sent_from
    }

    pub(crate) fn into_word(self) -> *mut () {
        Box::into_raw(self.0).cast()
    }

    /// # Safety
    /// `word` came from `into_word` and is taken back once.
    pub(crate) unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: guaranteed by the caller.
        Self(unsafe { Box::from_raw(word.cast()) })
    }
}

/// What a report says about a closure whose outcome is still awaited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    operation: fn() -> &'static str,
    worker: u32,
    sent_from: &'static Location<'static>,
}

impl Origin {
    pub(crate) fn of<F>(worker: u32, sent_from: &'static Location<'static>) -> Self {
        Self { operation: std::any::type_name::<F>, worker, sent_from }
    }

    #[cold]
    pub(crate) fn error(self, reason: Reason) -> DelegationError {
        DelegationError::new(reason, (self.operation)(), self.worker).with_sender(self.sent_from)
    }

    pub(crate) fn sent_from(self) -> &'static Location<'static> {
        self.sent_from
    }

    /// The name of the closure, and the index of the worker that runs it.
    pub(crate) fn closure(self) -> (fn() -> &'static str, u32) {
        (self.operation, self.worker)
    }

    /// Adds the details that are known here to an error from the trustee.
    #[cold]
    pub(crate) fn complete(self, error: DelegationError) -> DelegationError {
        error.with_sender(self.sent_from)
    }
}

impl fmt::Display for DelegationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

/// Reads like [`Display`](fmt::Display): it is what `unwrap` and `main` print.
impl fmt::Debug for DelegationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

/// Prints whole lines at once, so that output of other threads does not come in between.
pub(crate) fn print(lines: &str) {
    // Nothing can be done about a closed stderr.
    let _unheard = std::io::stderr().write_all(lines.as_bytes());
}

/// Reports the error of a request whose outcome nobody takes.
#[cold]
pub(crate) fn report(error: DelegationError, sent_from: &'static Location<'static>) {
    print(&format!("gossamer: {}\n", error.with_sender(sent_from)));
}

impl Inner {
    #[cold]
    fn print_untaken(&self, dropped: &str) {
        print(&format!("gossamer: {dropped} was dropped has failed: {self}\n"));
    }
}

impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self;
        match &inner.reason {
            Reason::Panicked { message, place } => {
                write!(f, "`{}` panicked on worker {}", inner.operation, inner.worker)?;
                place.iter().try_for_each(|place| write!(f, " at {place}"))?;
                write!(f, ": {message}")?;
            }
            Reason::Ended => write!(
                f,
                "`{}` was not run: worker {} (or the property it was sent to) has ended; \
                 keep the runtime alive until the last use of a trust",
                inner.operation, inner.worker
            )?,
            Reason::Cancelled => write!(
                f,
                "the fiber of `{}` on worker {} was cancelled, by its handle or because main ended; join it first",
                inner.operation, inner.worker
            )?,
            Reason::Stays { message } => write!(f, "`{}` was not answered: {message}", inner.operation)?,
            Reason::NoStack { message } => {
                write!(
                    f,
                    "the fiber of `{}` could not start on worker {}: {message}",
                    inner.operation, inner.worker
                )?;
            }
        }
        match inner.sent_from {
            Some(place) => write!(f, " (sent from {place})"),
            None => Ok(()),
        }
    }
}

impl Error for DelegationError {}

// SAFETY: it owns its texts. The place that sent the closure is a static of the program; it stays with the sender, which
// knows it.
unsafe impl NoRef for DelegationError {
    fn encode(mut self, to: &mut Encoder) {
        let Inner { reason, operation, worker, .. } = &mut *self.0;
        let (reason, operation, worker) =
            (mem::replace(reason, Reason::Ended), mem::take(operation), *worker);
        self.0.untaken.0 = None;
        let (kind, message, place) = match reason {
            Reason::Panicked { message, place } => (0, message, place),
            Reason::Ended => (1, String::new(), None),
            Reason::Cancelled => (2, String::new(), None),
            Reason::Stays { message } => (3, message, None),
            Reason::NoStack { message } => (4, message, None),
        };
        (kind, message, place, operation, worker).encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let (kind, message, place, operation, worker) =
            <(i32, String, Option<String>, String, u32)>::decode(from)?;
        let reason = match kind {
            0 => Reason::Panicked { message, place },
            1 => Reason::Ended,
            2 => Reason::Cancelled,
            3 => Reason::Stays { message },
            4 => Reason::NoStack { message },
            _ => return Err(Malformed::instead_of::<Self>()),
        };
        Ok(Self(Box::new(Inner { reason, operation, worker, sent_from: None, untaken: Untaken(None) })))
    }
}
