//! Ctrl-C and other signals to end: measurements end, and what was measured is written.

use crate::failure::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether such a signal has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Watches for signals from now on.
    pub(crate) fn watch() -> Result<Self> {
        let interruption = Self::default();
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&interruption.0)).context("signals cannot be caught")?;
        }
        Ok(interruption)
    }

    pub(crate) fn has_come(&self) -> bool {
        // Relaxed: nothing else depends on it.
        self.0.load(Ordering::Relaxed)
    }
}
