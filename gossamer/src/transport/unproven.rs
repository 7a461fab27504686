//! Connections that have come through a door and have not proved themselves yet. An end that knows the key proves it at
//! once, so if there are too many, some are strangers, and make room for others.

use crate::transport::socket::Socket;
use std::collections::VecDeque;
use std::io;
use std::net::Shutdown;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The connections of one door.
pub(crate) struct Unproven {
    most: usize,
    queue: Mutex<Queue>,
}

struct Queue {
    /// The oldest first.
    connections: VecDeque<UnprovenConnection>,
    /// How many there have been.
    count: u64,
}

struct UnprovenConnection {
    number: u64,
    socket: Socket,
}

impl Unproven {
    /// No more than `most` at once.
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, queue: Mutex::new(Queue { connections: VecDeque::new(), count: 0 }) }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection, and returns its number. If there are too many, the oldest is closed.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub(crate) fn enter(&self, socket: &Socket) -> io::Result<u64> {
        let socket = socket.try_clone()?;
        let mut queue = self.queue();
        if queue.connections.len() == self.most
            && let Some(first) = queue.connections.pop_front()
        {
            first.socket.shutdown(Shutdown::Both);
        }
        let number = queue.count;
        queue.count += 1;
        queue.connections.push_back(UnprovenConnection { number, socket });
        Ok(number)
    }

    /// It has proved itself, or will not. Returns whether it is still open: whether it did not have to make room.
    pub(crate) fn leave(&self, number: u64) -> bool {
        let mut queue = self.queue();
        let place = queue.connections.iter().position(|other| other.number == number);
        place.and_then(|place| queue.connections.remove(place)).is_some()
    }

    /// Closes all.
    pub(crate) fn close(&self) {
        self.queue().connections.drain(..).for_each(|other| other.socket.shutdown(Shutdown::Both));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_oldest_makes_room() {
        let unproven = Unproven::new(2);
        let mut ends = Vec::new();
        let mut enter = || {
            let (here, there) = UnixStream::pair().unwrap();
            there.set_nonblocking(true).unwrap();
            ends.push(there);
            unproven.enter(&Socket::Unix(here)).unwrap()
        };
        let [first, second, third] = [enter(), enter(), enter()];
        assert!(!unproven.leave(first) && unproven.leave(second));
        unproven.close();
        assert!(!unproven.leave(third));
        let mut closed = ends.iter_mut().map(|end| end.read(&mut [0]).is_ok());
        assert!(closed.all(|closed| closed));
    }
}
