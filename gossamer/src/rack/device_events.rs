//! Asynchronous events of RDMA devices: a failure ends the application, as a lost connection does; a change is
//! reported.

use crate::fabric::verbs::async_event::{AsyncEvent, Consequence};
use crate::fabric::verbs::context::DeviceContext;
use crate::sys::sync::eventfd::EventFd;
use crate::sys::threads::bystander::Bystander;
use crate::worker::end::fate;
use crate::worker::nodes::peers::Peers;
use crate::worker::shared::{Phase, Shared};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

/// A thread that takes the asynchronous events of devices, until this is dropped.
pub(crate) struct DeviceWatch {
    stop: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
}

impl DeviceWatch {
    /// Watches the devices that a node uses, if there are any.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn of(node: &Arc<Shared>) -> io::Result<Option<Self>> {
        let devices = node.peers.as_ref().map_or(Vec::new(), |peers| peers.devices().to_vec());
        if devices.is_empty() {
            return Ok(None);
        }
        let (stop, node) = (Arc::new(EventFd::new()?), Arc::downgrade(node));
        let stopped = Arc::clone(&stop);
        let watch = move || {
            let _bystander = Bystander::here();
            watch(&devices, &node, &stopped);
        };
        let thread = thread::Builder::new().name("gossamer-rdma".to_owned()).spawn(watch)?;
        Ok(Some(Self { stop, thread: Some(thread) }))
    }
}

impl Drop for DeviceWatch {
    fn drop(&mut self) {
        // It is an eventfd, and the thread does not panic.
        let _signalled = self.stop.signal();
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn watch(devices: &[Arc<DeviceContext>], node: &Weak<Shared>, stop: &EventFd) {
    loop {
        let stopped = PollFd::new(stop, PollFlags::IN);
        let events =
            devices.iter().map(|device| PollFd::from_borrowed_fd(device.async_descriptor(), PollFlags::IN));
        let mut watched: Vec<PollFd<'_>> = [stopped].into_iter().chain(events).collect();
        if poll(&mut watched, None).is_err() {
            // A signal.
            continue;
        }
        if !watched[0].revents().is_empty() {
            return;
        }
        for device in devices {
            loop {
                match device.take_async_event() {
                    Ok(Some(event)) => act(device, event, node),
                    Ok(None) => break,
                    Err(error) => return end(node, &error.to_string()),
                }
            }
        }
    }
}

fn act(device: &DeviceContext, event: AsyncEvent, node: &Weak<Shared>) {
    let text = format!("RDMA device {}: {event}", device.name());
    match event.consequence() {
        Consequence::End => end(node, &text),
        // If it matters, writes to other nodes will fail.
        Consequence::Tell => eprintln!("gossamer: {}: {text}", name(node)),
        Consequence::None => {}
    }
}

/// Ends the application, unless it is already ending: then queue pairs of other nodes may fail at any time.
fn end(node: &Weak<Shared>, why: &str) {
    if node.upgrade().is_some_and(|node| node.phase() != Phase::Ended) {
        fate::end(&format!("{} cannot go on: {why}", name(node)));
    }
}

fn name(node: &Weak<Shared>) -> String {
    let node = node.upgrade().and_then(|node| node.peers.as_ref().map(Peers::node));
    format!("node {}", node.unwrap_or_default())
}
