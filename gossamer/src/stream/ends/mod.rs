//! The two ends of a stream and their safe calls, by blocks of the ring. A call that waits blocks only its fiber.

mod access;
pub(crate) mod receiver;
mod receiver_io;
pub(crate) mod sender;
mod sender_io;
pub(crate) mod stream_end;
