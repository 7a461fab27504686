//! Memory streams: one end writes, the other reads, as memory, whatever its size.
#![deny(unsafe_code)]

mod apart;
mod channel;
mod error;
mod fault;
mod flow;
mod geometry;
mod half;
mod hello;
mod local;
mod meet;
mod options;
mod pump;
mod raw;
mod receiver;
mod ring;
mod sender;
mod window;

pub use channel::{ReceiveEnd, SendEnd, channel};
pub use error::{End, Error};
pub use geometry::{Geometry, Length};
pub use local::pair;
pub use meet::Listener;
pub use options::{Faults, Key, Options, Route};
pub use raw::{ReceiveWindow, SendWindow};
pub use receiver::{Block, Receiver, Values};
pub use sender::{BlockMut, Sender};
