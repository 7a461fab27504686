//! Counting the trusts of a property.
//!
//! Inside one process an `Arc` counts them; the last to go tells the trustee, and the worker layer's grace round
//! waits for the requests still under way.

use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::worker::inbox::Message;
use crate::worker::shared::Shared;
use crate::worker::{self, Worker};
use std::sync::Arc;

/// Where a property is. Alive as long as one trust of it is.
pub(crate) struct Handle {
    pub(crate) shared: Arc<Shared>,
    /// Index of the trustee in its runtime.
    pub(crate) trustee: u32,
    /// Index of the property in the trustee's table.
    pub(crate) property: u32,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let (trustee, property) = (self.trustee as usize, self.property);
        worker::with(|current| match current {
            Some(here) if Arc::ptr_eq(&here.shared, &self.shared) => retire(here, trustee, property),
            _ => {
                // Refused only once the runtime has ended, and the property with it.
                let _ended = self.shared.posts[trustee].send(Message::Retire { property });
            }
        });
    }
}

fn retire(here: &Worker, trustee: usize, property: u32) {
    if trustee == here.index {
        here.retire(property);
    } else {
        here.tell(
            trustee,
            Delegated::of::<Root, _>(|_: &mut Root, property| retire_here(property)),
            property,
        );
    }
}

fn retire_here(property: u32) {
    worker::with(|worker| {
        if let Some(worker) = worker {
            worker.retire(property);
        }
    });
}
