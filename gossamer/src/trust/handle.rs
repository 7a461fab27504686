//! Counting the trusts of a property.
//!
//! Inside one node an `Arc` counts them. The last to go tells the worker that lent them to this node, or else the
//! trustee, where the worker layer's grace round waits for the requests still under way.

use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::Shared;
use crate::worker::{self, Worker, with_worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a property is. Alive as long as one trust of it is in this node.
pub(crate) struct Handle {
    pub(crate) shared: Arc<Shared>,
    /// Index of the trustee among the workers of all nodes.
    pub(crate) trustee: u32,
    /// Index of the property in the trustee's table.
    pub(crate) property: u32,
    /// The worker of another node that lent it, and under which number.
    lender: Option<(u32, u64)>,
    /// Whether another node has known the property.
    travelled: AtomicBool,
}

impl Handle {
    /// The first handle of a property.
    pub(crate) fn new(shared: Arc<Shared>, trustee: u32, property: u32) -> Self {
        let travelled = AtomicBool::new(!shared.is_here(trustee as usize));
        Self { shared, trustee, property, lender: None, travelled }
    }

    /// Lends a handle to the node that it is sent to, if that is of its own runtime: the numbers that it names mean something else in
    /// another one (X1). Whether it is.
    pub(crate) fn lend(this: &Arc<Self>, to: &mut Encoder) -> bool {
        worker::with(|worker| {
            let Some(here) = worker.filter(|here| Arc::ptr_eq(&here.shared, &this.shared)) else {
                return false;
            };
            // Relaxed: the last to drop a handle comes after all that were done with it.
            this.travelled.store(true, Ordering::Relaxed);
            let number = here.nodes.lending.lend(Arc::clone(this));
            to.undo(move || with_worker(|here| here.nodes.lending.give_back(number)));
            (this.trustee, this.property, here.index as u32, number).encode(to);
            true
        })
    }

    /// A handle that another node has lent.
    pub(crate) fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let (trustee, property, lender, number) = <(u32, u32, u32, u64)>::decode(from)?;
        let shared = worker::with(|worker| worker.map(|here| Arc::clone(&here.shared)));
        let shared = shared.filter(|shared| (trustee as usize) < shared.workers());
        let shared = shared.ok_or_else(Malformed::instead_of::<Self>)?;
        let travelled = AtomicBool::new(true);
        Ok(Self { shared, trustee, property, lender: Some((lender, number)), travelled })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let (trustee, property, lender) = (self.trustee as usize, self.property, self.lender);
        let travelled = *self.travelled.get_mut();
        worker::with(|current| match current {
            Some(here) if Arc::ptr_eq(&here.shared, &self.shared) => {
                give_up(here, trustee, property, lender, travelled);
            }
            _ if lender.is_none() && self.shared.is_here(trustee) => {
                // Refused only once the runtime has ended, and the property with it.
                let _ended = self.shared.mailbox(trustee).send(Message::Retire { property, travelled });
            }
            // By the worker that sends the requests of threads, behind those.
            _ => {
                let give_up = move |here: &Worker| give_up(here, trustee, property, lender, travelled);
                let _ended = self.shared.mailbox_towards(trustee).send(Message::Act(Box::new(give_up)));
            }
        });
    }
}

fn give_up(here: &Worker, trustee: usize, property: u32, lender: Option<(u32, u64)>, travelled: bool) {
    let retire = |_: &mut Root, (property, travelled): (u32, bool)| {
        with_worker(|here| here.retire(property, travelled));
    };
    match lender {
        Some((lender, number)) => {
            let give_back =
                |_: &mut Root, number: u64| with_worker(|here| here.nodes.lending.give_back(number));
            here.tell_worker(lender as usize, Delegated::travelling::<Root, _>(give_back), number);
        }
        None if trustee == here.index => here.retire(property, travelled),
        None => here.tell_worker(trustee, Delegated::travelling::<Root, _>(retire), (property, travelled)),
    }
}
