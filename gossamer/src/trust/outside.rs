//! Delegating from a thread that is not a worker of the runtime: through the inbox of a worker that acts for it.

use crate::lane::catch::{self, Caught};
use crate::lane::context::{self, Context};
use crate::lane::error::{DelegationError, Reason};
use crate::lane::operation::Delegated;
use crate::sys::threads::outside;
use crate::trust::NoRef;
use crate::trust::call::{From, Target};
use crate::worker::mailbox::inbox::Message;
use crate::worker::{self, Worker};
use std::marker::PhantomData;
use std::time::{Duration, Instant};

impl<T: 'static> Target<'_, T> {
    /// Sends a closure through the inbox. If the runtime has ended, `then` is dropped.
    pub(super) fn send_from_outside<N, C, U, F, R>(&self, closure: F, arguments: C, then: R)
    where
        C: NoRef,
        U: NoRef,
        F: FnOnce(&mut T, C) -> U + Send,
        R: FnOnce(Result<U, DelegationError>) + Send + 'static,
    {
        let delegated = Delegated::travelling::<N, F>(closure);
        if self.is_here() {
            self.send_inbox(delegated, arguments, then);
        } else {
            // A worker of this node forwards it.
            self.ask_worker(move |here, target| {
                let trustee = target.index() as usize;
                target.push_to_node_apart::<N, _, _, _>(here, trustee, delegated, arguments, then);
            });
        }
    }

    /// Whether the trustee is of this node.
    pub(super) fn is_here(&self) -> bool {
        self.shared.is_here(self.index() as usize)
    }

    /// Applies a closure at a trustee of this node, without waiting for an answer.
    pub(super) fn send_here<C: Send + 'static>(&self, delegated: Delegated<T, C, ()>, arguments: C) {
        worker::with(|current| match self.from(current) {
            From::Worker(here, trustee) => self.push(here, trustee, delegated, arguments, |_| ()),
            From::Trustee(here) => self.push(here, here.index, delegated, arguments, |_| ()),
            From::Node(..) | From::Elsewhere => self.send_inbox(delegated, arguments, |_| ()),
        });
    }

    /// Runs what needs a worker: at once on a worker of the runtime, or else through the inbox of one.
    pub(super) fn on_a_worker(&self, act: impl FnOnce(&Worker, Target<'_, T>) + Send + 'static) {
        worker::with(|current| match current.filter(|here| here.index_of(self.number).is_some()) {
            Some(here) => act(here, *self),
            None => {
                self.ask_worker(act);
            }
        });
    }

    /// Makes a worker of this node run what needs a worker, with the target, for a thread that is not one. Returns
    /// whether it will.
    pub(super) fn ask_worker(&self, act: impl FnOnce(&Worker, Target<'_, T>) + Send + 'static) -> bool {
        let (number, property) = (self.number, self.property);
        let act = move |here: &Worker| {
            act(here, Target { shared: &here.shared, number, property, of: PhantomData });
        };
        self.post(if self.is_here() {
            Message::Request(Box::new(act))
        } else {
            Message::ForNode { trustee: self.index() as usize, act: Box::new(act) }
        })
    }

    /// Sends a message to the worker that acts for the trustee. Returns whether it was taken.
    fn post(&self, message: Message) -> bool {
        let mailbox = self.shared.mailbox_towards(self.index() as usize);
        while mailbox.inbox.len() >= self.shared.config.backlog {
            wait_for_inbox();
        }
        // Refused only once the runtime is ending: what the message holds is dropped, which tells the caller.
        mailbox.send(message).is_ok()
    }

    fn send_inbox<C, U, R>(&self, delegated: Delegated<T, C, U>, arguments: C, then: R)
    where
        C: Send + 'static,
        U: Send + 'static,
        R: FnOnce(Result<U, DelegationError>) + Send + 'static,
    {
        let (property, trustee) = (self.property, self.index());
        let request = move |here: &Worker, _target: Target<'_, T>| {
            let operation = delegated.operation();
            let outcome = match here.properties.get(property) {
                None => Err(DelegationError::new(Reason::Ended, operation.name(), trustee)),
                Some(property) => catch::delegated(|| {
                    // SAFETY: A1 and A2: the inbox is in order and a round ends behind it, so the property is this one. R3: the
                    // worker's loop runs this, where no other delegated closure does.
                    unsafe { delegated.apply(property, arguments) }
                })
                .map_err(|Caught { message, place }| {
                    DelegationError::new(Reason::Panicked { message, place }, operation.name(), trustee)
                }),
            };
            here.counters.outside.served.add(1);
            if outcome.is_err() {
                here.counters.outside.failed.add(1);
            }
            then(outcome);
        };
        self.ask_worker(request);
    }
}

/// How long a thread waits for a full inbox before it tries again.
const WAIT_FOR_INBOX: Duration = Duration::from_millis(1);

/// Lets some time pass, if the caller can wait.
///
/// # Panics
/// In a delegated closure or a callback of another runtime than the one it sends requests to.
fn wait_for_inbox() {
    match context::current() {
        Context::Outside => outside::sleep(WAIT_FOR_INBOX),
        Context::Fiber => {
            let due = Instant::now() + WAIT_FOR_INBOX;
            worker::with(|worker| worker.map(|here| here.sleep_until(due)));
        }
        Context::Delegated | Context::Loop | Context::Steady => panic!(
            "the inbox of a trustee of another runtime is full (Config::backlog), and a delegated closure, a callback, or \
             code inside `without_suspending` cannot wait: send from a fiber, or send less"
        ),
    }
}
