//! `#[gossamer::main]` on a function that returns a `Result`, with a constant for the number of workers.
#![deny(warnings)]

use std::error::Error;

const WORKERS: usize = 2;

/// Attributes, visibility and the result stay as they are.
#[allow(dead_code)]
#[gossamer::main(threads = WORKERS + 1)]
pub(crate) fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let total = gossamer::entrust(0u64);
    let parsed: u64 = "12".parse()?;
    total.apply(move |total| *total = parsed);
    if total.apply(|total| *total) != 12 {
        return Err("lost".into());
    }
    Ok(())
}
