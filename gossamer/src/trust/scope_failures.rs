//! The fibers of a scope that have failed and were not joined.

use crate::lane::error::DelegationError;
use crate::sys::fibers::job::JobId;

/// Of fibers that somebody may still join it keeps each error, of the others the first one and their number: a scope may
/// last as long as a server.
#[derive(Default)]
pub(super) struct Failures {
    /// All so far, also of fibers that were joined: it numbers them.
    noted: u64,
    joinable: Vec<(u64, JobId, DelegationError)>,
    /// The first one whose handle was dropped.
    first: Option<(u64, DelegationError)>,
    /// Those whose handles were dropped.
    dropped: u64,
}

impl Failures {
    pub(super) fn note(&mut self, job: JobId, error: DelegationError, is_joinable: bool) {
        self.noted += 1;
        if is_joinable {
            self.joinable.push((self.noted, job, error));
        } else {
            self.add_dropped(self.noted, error);
        }
    }

    /// The fiber was joined: its joiner has the outcome.
    pub(super) fn forget(&mut self, job: JobId) {
        self.joinable.retain(|(_, other, _)| *other != job);
    }

    /// The handle of the fiber was dropped.
    pub(super) fn drop_handle(&mut self, job: JobId) {
        if let Some(place) = self.joinable.iter().position(|(_, other, _)| *other == job) {
            let (number, _, error) = self.joinable.remove(place);
            self.add_dropped(number, error);
        }
    }

    fn add_dropped(&mut self, number: u64, error: DelegationError) {
        self.dropped += 1;
        if self.first.as_ref().is_none_or(|(first, _)| number < *first) {
            self.first = Some((number, error));
        }
    }

    /// What the scope panics with: the first error, and how many there are beside it.
    pub(super) fn message(self) -> Option<String> {
        let all = self.dropped + self.joinable.len() as u64;
        let joinable = self.joinable.into_iter().map(|(number, _, error)| (number, error));
        let (_, error) = self.first.into_iter().chain(joinable).min_by_key(|(number, _)| *number)?;
        Some(match all {
            1 => error.to_string(),
            2 => format!("{error} (one more fiber of the scope has failed)"),
            _ => format!("{error} ({} more fibers of the scope have failed)", all - 1),
        })
    }
}
