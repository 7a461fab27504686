//! Counting the trusts of a property.
//!
//! Inside one node an `Arc` counts them. The last one to be dropped tells the worker that lent them to this
//! node, or else the trustee, where the worker layer's grace round waits for the requests still under way.

use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::worker::mailbox::inbox::Message;
use crate::worker::nodes::lending::{AnyHandle, PropertyKey};
use crate::worker::shared::Shared;
use crate::worker::{self, Worker, with_worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where a property is. Alive as long as there is a trust of it in this node.
pub(crate) struct Handle {
    pub(crate) shared: Arc<Shared>,
    /// Index of the trustee among the workers of all nodes.
    pub(crate) trustee: u32,
    /// Index of the property in the trustee's table.
    pub(crate) property: u32,
    /// The worker that lent it to this node.
    loan: Option<Loan>,
    /// Whether another node has ever known the property.
    travelled: AtomicBool,
}

/// A loan of a handle by a worker of another node.
struct Loan {
    lender: u32,
    /// How many times it was lent: all are given back together.
    times: AtomicU64,
}

impl Handle {
    /// The first handle of a property.
    pub(crate) fn new(shared: Arc<Shared>, trustee: u32, property: u32) -> Self {
        let travelled = AtomicBool::new(!shared.is_here(trustee as usize));
        Self { shared, trustee, property, loan: None, travelled }
    }

    /// Lends a handle to the node that it is sent to, if that node belongs to the same runtime: in another
    /// one its numbers mean something else (X1). Returns whether it does.
    pub(crate) fn lend(this: &Arc<Self>, to: &mut Encoder) -> bool {
        worker::with(|worker| {
            let Some(here) = worker.filter(|here| Arc::ptr_eq(&here.shared, &this.shared)) else {
                return false;
            };
            // Relaxed: the last drop of a handle comes after every other use of it.
            this.travelled.store(true, Ordering::Relaxed);
            let property = (this.trustee, this.property);
            here.nodes.lending.lend(property, this);
            to.undo(move || with_worker(|here| here.nodes.lending.give_back(property, 1)));
            (this.trustee, this.property, here.index as u32).encode(to);
            true
        })
    }

    /// A handle lent by another node, or by this one if the loan never left it.
    pub(crate) fn decode(from: &mut Decoder<'_>) -> Result<Arc<Self>, Malformed> {
        let (trustee, property, lender) = <(u32, u32, u32)>::decode(from)?;
        let handle = worker::with(|worker| {
            let here = worker.filter(|here| (trustee.max(lender) as usize) < here.shared.workers())?;
            Some(Self::borrowed(here, (trustee, property), lender))
        });
        handle.ok_or_else(Malformed::instead_of::<Self>)
    }

    /// The handle of a property that `lender` has just lent to this node.
    fn borrowed(here: &Worker, property: PropertyKey, lender: u32) -> Arc<Self> {
        let lending = &here.nodes.lending;
        if let Some(known) = lending.known::<Self>(property) {
            match &known.loan {
                // Relaxed: the drop of the last clone comes after all clones were made.
                Some(loan) if loan.lender == lender => drop(loan.times.fetch_add(1, Ordering::Relaxed)),
                _ => give_back(here, property, lender, 1),
            }
            return known;
        }
        let handle = Arc::new(Self {
            shared: Arc::clone(&here.shared),
            trustee: property.0,
            property: property.1,
            loan: Some(Loan { lender, times: AtomicU64::new(1) }),
            travelled: AtomicBool::new(true),
        });
        let any: Arc<AnyHandle> = Arc::<Self>::clone(&handle);
        lending.know(property, &any);
        handle
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let (trustee, property) = (self.trustee as usize, self.property);
        let travelled = *self.travelled.get_mut();
        let loan = self.loan.take().map(|loan| (loan.lender, loan.times.into_inner()));
        worker::with(|current| match current {
            Some(here) if Arc::ptr_eq(&here.shared, &self.shared) => {
                give_up(here, trustee, property, loan, travelled);
            }
            _ if loan.is_none() && self.shared.is_here(trustee) => {
                // Refused only once the runtime has ended, and the property with it.
                let _ended = self.shared.mailbox(trustee).send(Message::Retire { property, travelled });
            }
            // By the worker that sends the requests of threads, after those requests.
            _ => {
                let give_up = move |here: &Worker| give_up(here, trustee, property, loan, travelled);
                let _ended = self.shared.mailbox_towards(trustee).send(Message::Act(Box::new(give_up)));
            }
        });
    }
}

fn give_up(here: &Worker, trustee: usize, property: u32, loan: Option<(u32, u64)>, travelled: bool) {
    let retire = |_: &mut Root, (property, travelled): (u32, bool)| {
        with_worker(|here| here.retire(property, travelled));
    };
    match loan {
        Some((lender, times)) => give_back(here, (trustee as u32, property), lender, times),
        None if trustee == here.index => here.retire(property, travelled),
        None => here.tell_worker(trustee, Delegated::travelling::<Root, _>(retire), (property, travelled)),
    }
}

/// Gives a lender back what it has lent this many times.
fn give_back(here: &Worker, property: PropertyKey, lender: u32, times: u64) {
    if lender as usize == here.index {
        return here.nodes.lending.give_back(property, times);
    }
    let give_back = |_: &mut Root, (trustee, property, times): (u32, u32, u64)| {
        with_worker(|here| here.nodes.lending.give_back((trustee, property), times));
    };
    let (trustee, property) = property;
    here.tell_worker(
        lender as usize,
        Delegated::travelling::<Root, _>(give_back),
        (trustee, property, times),
    );
}
