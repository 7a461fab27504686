//! How handles travel to other fibers of the process.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::NoRef;
use crate::sync::{Barrier, Mutex, Notify, Permit, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use crate::wire::shape::Shape;

/// SAFETY of each: it owns its share of its channel or lock, and has no reference; `NoRef` requires it to be `Send`.
/// It has a meaning in this process only, and it never leaves the process, since it has no encoding.
macro_rules! stays_in_its_node {
    ($($handle:ty $(where $value:ident: $($bound:path),+)?;)+) => {
        $(
            // SAFETY: see above.
            unsafe impl $(<$value: $($bound +)+ 'static>)? NoRef for $handle {
                const SHAPE: Shape = Shape::Stays;
            }
        )+
    };
}

stays_in_its_node! {
    mpsc::Sender<T> where T: Send;
    mpsc::Receiver<T> where T: Send;
    mpsc::UnboundedSender<T> where T: Send;
    mpsc::UnboundedReceiver<T> where T: Send;
    oneshot::Sender<T> where T: Send;
    oneshot::Receiver<T> where T: Send;
    broadcast::Sender<T> where T: Send;
    broadcast::Receiver<T> where T: Send;
    watch::Sender<T> where T: Send, Sync;
    watch::Receiver<T> where T: Send, Sync;
    Mutex<T> where T: Send;
    RwLock<T> where T: Send, Sync;
    Notify;
    Semaphore;
    Permit;
    Barrier;
}
