//! Bounds how many connections there are whose other side has not proved that it knows the key. When there are too many,
//! the oldest is closed: a peer that knows the key is through in a moment.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::{AbortHandle, JoinSet};

/// The most connections in that state.
const MOST: usize = 64;

/// The connections that have proved nothing yet, oldest first.
#[derive(Debug, Default)]
pub struct Gate(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    connections: VecDeque<(u64, AbortHandle)>,
}

/// A place among those connections, until it is dropped.
#[derive(Debug)]
pub struct Ticket {
    gate: Arc<Gate>,
    number: u64,
}

impl Gate {
    /// Starts to serve a connection.
    pub fn admit<F>(self: &Arc<Self>, sessions: &mut JoinSet<()>, serve: impl FnOnce(Ticket) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let number = {
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.next += 1;
            waiting.next
        };
        let session = sessions.spawn(serve(Ticket { gate: Arc::clone(self), number }));
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.connections.push_back((number, session));
        if waiting.connections.len() > MOST
            && let Some((_, oldest)) = waiting.connections.pop_front()
        {
            oldest.abort();
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut waiting = self.gate.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.connections.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_connection_that_proves_nothing_makes_room() {
        let gate = Arc::new(Gate::default());
        let mut sessions = JoinSet::new();
        let (entered, mut proved) = tokio::sync::mpsc::unbounded_channel();
        for index in 0..MOST + 2 {
            let entered = entered.clone();
            gate.admit(&mut sessions, |ticket| async move {
                if index == 0 {
                    drop(ticket);
                    entered.send(index).unwrap();
                }
                std::future::pending::<()>().await;
            });
            if index == 0 {
                assert_eq!(proved.recv().await, Some(0));
            }
        }
        let ended = sessions.join_next().await.unwrap().unwrap_err();
        assert!(ended.is_cancelled());
        assert_eq!(gate.0.lock().unwrap().connections.len(), MOST);
        assert_eq!(sessions.len(), MOST + 1);
    }
}
