//! [`pair`]: both ends of a stream in one process, on one ring.

use crate::stream::blocks::ring::Ring;
use crate::stream::ends::stream_end::StreamEnd;
use crate::stream::error::End;
use crate::stream::limits::check;
use crate::stream::options::Options;
use crate::stream::{Error, Length, Receiver, Sender};
use std::sync::Arc;

/// Both ends of a stream in this process. Nothing is copied: they share one ring, and no key is needed.
///
/// ```
/// use gossamer::stream::{self, Geometry};
/// use std::io::Read;
///
/// let (mut sender, mut receiver) = stream::pair(5, Geometry::default())?;
/// let sending = std::thread::spawn(move || {
///     sender.write_everything(b"hello")?;
///     sender.finish() // returns when the other end has all
/// });
/// let mut text = String::new();
/// receiver.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// sending.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the geometry is not possible, or there is not so much memory.
pub fn pair(length: impl Into<Length>, options: impl Into<Options>) -> Result<(Sender, Receiver), Error> {
    let (length, options) = (length.into(), options.into());
    check(length, &options)?;
    let ring = Arc::new(Ring::create(options.geometry)?);
    let stream = |end| StreamEnd::new(Arc::clone(&ring), end, length.known(), &options, None);
    Ok((Sender::new(stream(End::Sender)), Receiver::new(stream(End::Receiver))))
}
