//! The geometries and lengths that a stream can have.

use crate::stream::geometry::{MOST_BYTES, MOST_SLOTS};
use crate::stream::{Error, Geometry, Length, Options};

/// The smallest block: a page.
const LEAST_BLOCK: usize = 4096;
/// The largest block.
const MOST_BLOCK: usize = 1 << 30;

impl Geometry {
    /// Checks whether a stream can have this geometry. Everything that makes streams also checks it.
    ///
    /// ```
    /// use gossamer::stream::Geometry;
    /// assert!(Geometry::new().block(64 * 1024).check().is_ok());
    /// assert!(Geometry::new().block(1000).check().is_err()); // not a power of two
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`], with the reason.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |why: String| Err(Error::Refused(format!("a stream with {self} cannot be: {why}")));
        if !self.block.is_power_of_two() || !(LEAST_BLOCK..=MOST_BLOCK).contains(&self.block) {
            return wrong(format!("a block has a power of two bytes, from {LEAST_BLOCK} to {MOST_BLOCK}"));
        }
        if self.ahead < self.comeback.max(1) {
            return wrong("at least one block is ahead, and as many as come back".into());
        }
        match self.ahead.checked_add(self.comeback) {
            Some(blocks) if blocks < MOST_SLOTS => Ok(()),
            _ => wrong(format!("a ring has at most {MOST_SLOTS} blocks")),
        }
    }
}

/// Checks whether a stream can have this length and these options.
pub(crate) fn check(length: Length, options: &Options) -> Result<(), Error> {
    options.geometry.check()?;
    match length {
        Length::Known(bytes) if bytes > MOST_BYTES => Err(Error::Refused(format!(
            "a stream of {bytes} bytes is too long: a process can address {MOST_BYTES}; leave the length open, and use blocks"
        ))),
        _ => Ok(()),
    }
}
