//! Where the two ends of a channel find each other, or learn that one cannot be opened: a property that both have a
//! trust of.

use crate::NoRef;
use crate::stream::Error;
use crate::stream::error::End;
use crate::trust::Trust;

/// What is known about the end that came first.
#[derive(NoRef)]
pub(super) enum Meeting {
    /// Neither was opened, or they have met.
    Empty,
    /// It waits at this address.
    Waits(String),
    /// It could not be opened.
    Failed(OpenFailure),
}

/// Why an end was not opened.
#[derive(NoRef, Clone)]
pub(super) struct OpenFailure {
    /// Where it was opened: the line, and the worker.
    pub(super) place: String,
    pub(super) why: String,
}

impl OpenFailure {
    /// The error for the other end, which was opened `here`.
    fn of(self, end: End, here: &str) -> Error {
        Error::NotOpened { end, there: self.place, here: here.to_owned(), why: self.why }
    }
}

/// One end that comes to the meeting.
pub(super) struct Comer<'a> {
    pub(super) meeting: &'a Trust<Meeting>,
    pub(super) end: End,
    /// Where it is opened.
    pub(super) here: String,
}

/// An end that is being opened. If it is dropped before it [`came`](Self::came), the other end is told.
pub(super) struct Coming<'a>(Option<&'a Comer<'a>>);

impl Coming<'_> {
    pub(super) fn came(mut self) {
        self.0 = None;
    }
}

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        if let Some(comer) = self.0 {
            comer.give_up("its fiber was cancelled, or has panicked");
        }
    }
}

impl Comer<'_> {
    /// Offers an address to the other end, or takes the one that it has offered, and goes on with that. If the fiber is
    /// unwound meanwhile, the other end is told, so that it does not wait for this one.
    ///
    /// # Errors
    /// If the other one could not be opened.
    pub(super) fn meet<E>(
        &self,
        address: &str,
        go_on: impl FnOnce(Option<String>) -> Result<E, Error>,
    ) -> Result<E, Error> {
        // Before the caller's listener is gone.
        let coming = self.coming();
        let met = self.meeting.try_apply_with(exchange, address.to_owned()).map_err(not_found);
        let outcome = met.and_then(|met| match met {
            Meeting::Empty => go_on(None),
            Meeting::Waits(theirs) => go_on(Some(theirs)),
            Meeting::Failed(failure) => Err(failure.of(self.end.other(), &self.here)),
        });
        coming.came();
        outcome
    }

    /// What tells the other end if the fiber is unwound.
    pub(super) fn coming(&self) -> Coming<'_> {
        Coming(Some(self))
    }

    /// Tells the other end why this one is not opened, without waiting until it hears that.
    pub(super) fn give_up(&self, why: &str) {
        let failure = OpenFailure { place: self.here.clone(), why: why.to_owned() };
        // If that cannot be told, the application is ending.
        drop(self.meeting.apply_with_async(give_up, failure));
    }

    /// Checks whether the other end can still come.
    ///
    /// # Errors
    /// If it could not be opened.
    pub(super) fn check(&self) -> Result<(), Error> {
        let failure = self.meeting.try_apply(failure).map_err(not_found)?;
        failure.map_or(Ok(()), |failure| Err(failure.of(self.end.other(), &self.here)))
    }

    /// Tells the other end that this one cannot be opened, unless the other end is the cause.
    pub(super) fn fail(&self, error: Error) -> Error {
        if matches!(error, Error::NotOpened { .. }) {
            return error;
        }
        // The error of the other end explains more.
        if let Err(other @ Error::NotOpened { .. }) = self.check() {
            return other;
        }
        let failure = OpenFailure { place: self.here.clone(), why: error.to_string() };
        // If that cannot be told, the application is ending.
        let _unheard = self.meeting.try_apply_with(give_up, failure);
        error
    }
}

fn not_found(error: impl std::fmt::Display) -> Error {
    Error::Refused(format!("the other end cannot be found: {error}"))
}

fn exchange(meeting: &mut Meeting, ours: String) -> Meeting {
    match std::mem::replace(meeting, Meeting::Empty) {
        Meeting::Empty => {
            *meeting = Meeting::Waits(ours);
            Meeting::Empty
        }
        theirs => theirs,
    }
}

fn failure(meeting: &mut Meeting) -> Option<OpenFailure> {
    match meeting {
        Meeting::Failed(failure) => Some(failure.clone()),
        _ => None,
    }
}

fn give_up(meeting: &mut Meeting, failure: OpenFailure) {
    *meeting = Meeting::Failed(failure);
}
