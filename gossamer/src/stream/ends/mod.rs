//! The two ends of a stream and their safe calls, by blocks of the ring. A call that waits blocks only its fiber.

mod access;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod stream_end;
