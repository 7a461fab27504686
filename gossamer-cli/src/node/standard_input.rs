//! The standard input of node 0.

use crate::node::message::{Event, cost};
use crate::node::window::WINDOW;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// The way to the standard input of node 0, as long as node 0 is on this machine and reads.
#[derive(Debug, Default)]
pub struct StandardInput {
    queue: Option<UnboundedSender<Vec<u8>>>,
    taken: Option<Arc<AtomicUsize>>,
}

impl StandardInput {
    /// Writes to this pipe, in a task, and tells how much it has taken.
    pub fn to(mut stdin: Sender, events: UnboundedSender<Event>, tasks: &mut JoinSet<()>) -> Self {
        let (queue, mut waiting) = unbounded_channel::<Vec<u8>>();
        let held = Arc::new(AtomicUsize::new(0));
        let taken = Arc::clone(&held);
        tasks.spawn(async move {
            let mut open = true;
            while let Some(bytes) = waiting.recv().await {
                // A node that no longer reads does not stop the launcher from reading: the input is lost, as in a
                // shell.
                open = open && stdin.write_all(&bytes).await.is_ok();
                taken.fetch_sub(cost(&bytes), Ordering::Relaxed);
                let _ = events.send(Event::Taken(u32::try_from(cost(&bytes)).unwrap_or(u32::MAX)));
            }
        });
        Self { queue: Some(queue), taken: Some(held) }
    }

    /// Queues input. If a launcher sends more than it may, the excess is lost.
    pub fn push(&mut self, bytes: Vec<u8>) {
        if let (Some(queue), Some(held)) = (&self.queue, &self.taken) {
            let before = held.fetch_add(cost(&bytes), Ordering::Relaxed);
            if before + cost(&bytes) > WINDOW || queue.send(bytes).is_err() {
                self.end();
            }
        }
    }

    /// The end of the input: the pipe is closed once everything that is queued was written.
    pub fn end(&mut self) {
        self.queue = None;
    }
}
