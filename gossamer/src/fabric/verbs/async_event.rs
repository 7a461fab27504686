//! What a device reports by itself: it failed, a port went down, a queue pair broke.

use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::words;
use std::fmt::{self, Display, Formatter};
use std::io;

/// An asynchronous event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsyncEvent {
    /// Which event: `IBV_EVENT_…`.
    pub(crate) code: u32,
    pub(crate) about: AsyncSubject,
}

/// What an asynchronous event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsyncSubject {
    Device,
    Port(i32),
    /// The queue pair of this number.
    QueuePair(u32),
    /// A queue of another kind.
    Queue,
}

/// What follows from an asynchronous event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// What is under way will not come through any more.
    End,
    /// What is under way may not come through, or not as before.
    Tell,
    /// Nothing.
    None,
}

impl AsyncEvent {
    pub(crate) fn consequence(&self) -> Consequence {
        match self.code {
            IBV_EVENT_DEVICE_FATAL
            | IBV_EVENT_CQ_ERR
            | IBV_EVENT_QP_FATAL
            | IBV_EVENT_QP_REQ_ERR
            | IBV_EVENT_QP_ACCESS_ERR => Consequence::End,
            IBV_EVENT_PORT_ACTIVE
            | IBV_EVENT_PORT_ERR
            | IBV_EVENT_LID_CHANGE
            | IBV_EVENT_PKEY_CHANGE
            | IBV_EVENT_GID_CHANGE => Consequence::Tell,
            _ => Consequence::None,
        }
    }
}

impl Display for AsyncEvent {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(words::async_event(self.code))?;
        match self.about {
            AsyncSubject::Port(number) => write!(to, " (port {number})"),
            AsyncSubject::QueuePair(number) => write!(to, " (queue pair {number})"),
            AsyncSubject::Device | AsyncSubject::Queue => Ok(()),
        }
    }
}

impl DeviceContext {
    /// The next asynchronous event, if one has arrived.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn take_async_event(&self) -> io::Result<Option<AsyncEvent>> {
        let mut event = ibv_async_event::default();
        // SAFETY: V2, V3; it writes the event, and does not wait (`DeviceList::open`).
        if unsafe { (self.verbs().ibv_get_async_event)(self.raw(), &mut event) } != 0 {
            let error = io::Error::last_os_error();
            let is_none = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if is_none { Ok(None) } else { Err(self.error("ibv_get_async_event", "")) };
        }
        let about = subject(&event);
        // SAFETY: V7: the event that came, once.
        unsafe { (self.verbs().ibv_ack_async_event)(&mut event) };
        Ok(Some(AsyncEvent { code: event.event_type, about }))
    }
}

/// The subject of an event that is not acknowledged yet.
fn subject(event: &ibv_async_event) -> AsyncSubject {
    match event.event_type {
        IBV_EVENT_QP_FATAL
        | IBV_EVENT_QP_REQ_ERR
        | IBV_EVENT_QP_ACCESS_ERR
        | IBV_EVENT_COMM_EST
        | IBV_EVENT_SQ_DRAINED
        | IBV_EVENT_PATH_MIG
        | IBV_EVENT_PATH_MIG_ERR
        | IBV_EVENT_QP_LAST_WQE_REACHED => {
            // SAFETY: an event of this kind is about a queue pair.
            let queue_pair = unsafe { event.element.qp };
            // SAFETY: V7: it exists until the event is acknowledged.
            AsyncSubject::QueuePair(unsafe { (*queue_pair).qp_num })
        }
        IBV_EVENT_CQ_ERR | IBV_EVENT_SRQ_ERR | IBV_EVENT_SRQ_LIMIT_REACHED | IBV_EVENT_WQ_FATAL => {
            AsyncSubject::Queue
        }
        IBV_EVENT_PORT_ACTIVE
        | IBV_EVENT_PORT_ERR
        | IBV_EVENT_LID_CHANGE
        | IBV_EVENT_PKEY_CHANGE
        | IBV_EVENT_SM_CHANGE
        | IBV_EVENT_CLIENT_REREGISTER
        | IBV_EVENT_GID_CHANGE => {
            // SAFETY: an event of this kind is about a port, and any bytes are a valid number.
            AsyncSubject::Port(unsafe { event.element.port_num })
        }
        _ => AsyncSubject::Device,
    }
}
