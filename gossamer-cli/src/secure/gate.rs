//! Bounds the number of connections whose other side has not proved that it knows the key. If there are too many, the
//! oldest is closed: a peer that knows the key gets through in a moment.
//!
//! Nobody can make up a first message without the key. So connections that have not sent one can only displace each
//! other, and a peer that replays a recorded one is turned away.

use crate::secure::noise::HANDSHAKE;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::{AbortHandle, JoinSet, yield_now};

/// The most connections in that state: of those that have said nothing yet, and of the others.
const MOST: usize = 64;
/// How many first messages are remembered.
const REMEMBERED: usize = 4096;
/// Connections that the kernel keeps until they are accepted, if it allows as many.
const BACKLOG: i32 = 4096;

/// The connections that have proved nothing yet.
#[derive(Debug, Default)]
pub struct Gate(Mutex<Waiting>);

/// Makes room in front of a gate: the libraries' listeners have 128 places or 1024, which strangers fill at once, and
/// then the kernel drops the next peer.
///
/// # Errors
/// If the socket does not listen.
pub fn widen(listener: &impl AsFd) -> io::Result<()> {
    Ok(rustix::net::listen(listener, BACKLOG)?)
}

/// Connections, oldest first.
type Queue = VecDeque<(u64, AbortHandle)>;

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    silent: Queue,
    answered: Queue,
    heard: VecDeque<[u8; HANDSHAKE]>,
}

/// A place among those connections, until it is dropped.
#[derive(Debug)]
pub struct Ticket {
    gate: Arc<Gate>,
    number: u64,
}

/// Adds a connection to others, of which the oldest may have to make room.
fn enter(queue: &mut Queue, connection: (u64, AbortHandle)) {
    queue.push_back(connection);
    if queue.len() > MOST
        && let Some((_, oldest)) = queue.pop_front()
    {
        oldest.abort();
    }
}

impl Gate {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to serve a connection, which has a turn before the next one comes.
    pub async fn admit<F>(self: &Arc<Self>, sessions: &mut JoinSet<()>, serve: impl FnOnce(Ticket) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let number = {
            let mut waiting = self.waiting();
            waiting.next += 1;
            waiting.next
        };
        let session = sessions.spawn(serve(Ticket { gate: Arc::clone(self), number }));
        enter(&mut self.waiting().silent, (number, session));
        yield_now().await;
    }
}

impl Ticket {
    /// The connection has sent its first message, which only a peer that knows the key can make. Returns whether that
    /// message is new.
    #[must_use]
    pub fn heard(&self, message: &[u8; HANDSHAKE]) -> bool {
        let waiting = &mut *self.gate.waiting();
        let place = waiting.silent.iter().position(|(number, _)| *number == self.number);
        let Some(connection) = place.and_then(|place| waiting.silent.remove(place)) else { return false };
        if waiting.heard.contains(message) {
            return false;
        }
        if waiting.heard.len() == REMEMBERED {
            waiting.heard.pop_front();
        }
        waiting.heard.push_back(*message);
        enter(&mut waiting.answered, connection);
        true
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut waiting = self.gate.waiting();
        let other = |(number, _): &(u64, AbortHandle)| *number != self.number;
        waiting.silent.retain(other);
        waiting.answered.retain(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_connection_that_proves_nothing_makes_room() {
        let gate = Arc::new(Gate::default());
        let mut sessions = JoinSet::new();
        for index in 0..MOST + 3 {
            gate.admit(&mut sessions, |ticket| async move {
                match index {
                    0 => drop(ticket),
                    // This connection is not closed to make room for silent ones.
                    1 => assert!(ticket.heard(&[1; HANDSHAKE])),
                    _ => {}
                }
                std::future::pending::<()>().await;
            })
            .await;
        }
        let ended = sessions.join_next().await.unwrap().unwrap_err();
        assert!(ended.is_cancelled());
        let waiting = gate.waiting();
        assert_eq!((waiting.silent.len(), waiting.answered.len(), sessions.len()), (MOST, 1, MOST + 2));
        assert_eq!(waiting.answered[0].0, 2);
    }

    #[tokio::test]
    async fn a_first_message_is_taken_once() {
        let gate = Arc::new(Gate::default());
        let mut sessions = JoinSet::new();
        for (byte, new) in [(1, true), (1, false), (2, true), (1, false)] {
            gate.admit(&mut sessions, |ticket| async move {
                assert_eq!(ticket.heard(&[byte; HANDSHAKE]), new);
            })
            .await;
            sessions.join_next().await.unwrap().unwrap();
        }
    }
}
