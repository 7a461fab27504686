//! Large values that arrive, until the requests that name them take them.

use crate::fabric::Fragment;
use crate::wire::refusal::Malformed;
use crate::wire::row::Row;
use crate::wire::rows::Rows;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The values for one worker, by sender and ticket. Another worker of its node may read the connection that they arrive
/// on.
#[derive(Default)]
pub(crate) struct Arrivals(Mutex<HashMap<(usize, u64), Vec<Row>>>);

impl Arrivals {
    fn lock(&self) -> MutexGuard<'_, HashMap<(usize, u64), Vec<Row>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a fragment of a value.
    ///
    /// # Errors
    /// If there is no memory for the fragment's row, or the fragment does not fit it.
    pub(crate) fn arrive(&self, sender: usize, fragment: Fragment<'_>) -> Result<(), Malformed> {
        let mut values = self.lock();
        let rows = values.entry((sender, fragment.ticket)).or_default();
        if rows.last().is_none_or(Row::is_full) {
            rows.push(fragment.row.allocate().ok_or_else(Malformed::instead_of::<Row>)?);
        }
        rows.last_mut().map_or(Ok(()), |row| row.extend(fragment.bytes))
    }

    /// Adds a row that has arrived as a whole.
    ///
    /// # Errors
    /// If the row before it is not whole yet.
    pub(crate) fn arrive_whole(&self, sender: usize, ticket: u64, row: Row) -> Result<(), Malformed> {
        let mut values = self.lock();
        let rows = values.entry((sender, ticket)).or_default();
        if rows.last().is_some_and(|last| !last.is_full()) {
            return Err(Malformed::instead_of::<Row>());
        }
        rows.push(row);
        Ok(())
    }

    /// The value of a request.
    ///
    /// # Errors
    /// If it has not arrived.
    pub(crate) fn take(&self, sender: usize, ticket: u64) -> Result<Rows, Malformed> {
        let rows = self.lock().remove(&(sender, ticket));
        Rows::arrived(rows.ok_or_else(Malformed::instead_of::<Rows>)?)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::fabric::sim::{Network, SimEndpoint};
    use crate::fabric::{Busy, Endpoint, Event, FRAGMENT_BYTES, Lane};
    use crate::lane::large::Progress;
    use crate::wire::decoder::Decoder;
    use crate::wire::encoder::Encoder;
    use crate::wire::row::RowLayout;

    type Value = (String, Vec<u64>, Vec<u8>);

    fn value(size: usize) -> Value {
        (size.to_string(), (0..size as u64).collect(), vec![7; 3 * size])
    }

    #[test]
    fn values_that_are_sent_at_once_come_whole_and_apart() {
        for seed in 0..50 {
            let network = Network::seeded(seed);
            let (fabric, reader) = (network.connect(Lane::requests(3, 7)), SimEndpoint::new(7, network));
            let (incoming, sizes) =
                (Arrivals::default(), [1, FRAGMENT_BYTES / 8, 100_000, 3 * FRAGMENT_BYTES]);
            let mut sending: Vec<_> = (0..)
                .zip(sizes)
                .map(|(ticket, size)| {
                    let rows = Encoder::marshal_in_rows(value(size)).unwrap().send();
                    (ticket, rows, Progress::default())
                })
                .collect();
            while !sending.is_empty() {
                sending.retain_mut(|(ticket, rows, progress)| {
                    progress.send(*ticket, rows, &fabric, || ()) == Err(Busy)
                });
                let told = |event: Event<'_>| match event {
                    Event::Fragment { writer, fragment, .. } => incoming.arrive(writer, fragment),
                    Event::Row { writer, ticket, row, .. } => incoming.arrive_whole(writer, ticket, row),
                    _ => Ok(()),
                };
                reader.poll(told).unwrap();
            }
            for (ticket, size) in (0..).zip(sizes) {
                let mut rows = incoming.take(3, ticket).unwrap();
                assert_eq!(Decoder::decoded_rows(&mut rows), Ok(value(size)), "seed {seed}");
                assert!(incoming.take(3, ticket).is_err(), "it was taken twice");
            }
        }
    }

    #[test]
    fn fragments_that_do_not_fit_their_row_are_refused() {
        let incoming = Arrivals::default();
        let arrive = |ticket, bytes, align, length| {
            let (row, bytes) = (RowLayout { bytes, align }, vec![1; length]);
            incoming.arrive(0, Fragment { ticket, row, bytes: &bytes })
        };
        assert!(arrive(0, u64::MAX, 0, 1).is_err());
        assert!(arrive(1, 8, 77, 8).is_err());
        assert!(arrive(2, 1, 0, 2).is_err());
        assert!(arrive(3, 8, 0, 4).is_ok());
        assert!(arrive(3, 8, 0, 5).is_err(), "more than the rest of the row");
    }
}
