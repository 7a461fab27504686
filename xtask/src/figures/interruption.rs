//! Ctrl-C, and what else asks to end: measurements end, and what there is gets written.

use crate::failure::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody wants an end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Takes note of signals from now on.
    pub(crate) fn watch() -> Result<Self> {
        let interruption = Self::default();
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&interruption.0)).context("signals cannot be caught")?;
        }
        Ok(interruption)
    }

    pub(crate) fn has_come(&self) -> bool {
        // Alone: nothing else is told by it.
        self.0.load(Ordering::Relaxed)
    }
}
