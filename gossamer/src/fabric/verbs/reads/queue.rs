//! Reads of this side: bytes of the other end's memory land at the same place in this end's memory.

use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::async_event::AsyncSubject;
use crate::fabric::verbs::choice::address::LARGEST_PACKET;
use crate::fabric::verbs::completion::WorkCompletion;
use crate::fabric::verbs::memory::RemoteAddress;
use crate::fabric::verbs::reads::end::{MOST_READS, ReadEnd};
use crate::fabric::verbs::reads::parameters::ReadParameters;
use crate::fabric::verbs::send_chain::{SendChain, Signal};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// The most bytes that are read at once: enough that a device never has to wait for the next work request.
const LARGEST_READ: usize = 2 << 20;
/// How many parts at most are begun and not fetched.
const MOST_PARTS: usize = 64;

/// Parts that are being read, in the order in which they were begun.
pub(crate) struct ReadQueue {
    end: ReadEnd,
    remote: RemoteAddress,
    /// The most bytes that a read has, and how many reads at most are under way.
    largest: usize,
    most: usize,
    chain: SendChain,
    /// What is still to be read.
    waiting: VecDeque<Range<usize>>,
    under_way: usize,
    /// For each part, the reads that have not completed.
    parts: VecDeque<usize>,
}

/// Why nothing can be read any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadFailure {
    /// The status of the completion, or zero.
    pub(crate) status: u32,
    /// Names the device.
    pub(crate) why: String,
}

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> Self {
        Self { status: 0, why: error.to_string() }
    }
}

impl ReadQueue {
    /// Reads from the other end, to which this end is connected.
    ///
    /// # Errors
    /// One of the devices supports no read under way.
    pub(crate) fn new(end: ReadEnd, theirs: &ReadParameters) -> io::Result<Self> {
        let granted = end.queue_pair.granted().sends.min(MOST_READS);
        let most = granted.min(end.reads_under_way(theirs).into()) as usize;
        if most == 0 {
            let why = format!(
                "RDMA device {}: it, or the device of the other end, takes no READ (max_qp_rd_atom, max_qp_init_rd_atom)",
                end.context.name()
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        // A message has at least as many bytes as a packet.
        let largest =
            end.parameters().largest_message.min(theirs.largest_message).max(LARGEST_PACKET) as usize;
        Ok(Self {
            end,
            remote: theirs.memory,
            largest: largest.min(LARGEST_READ),
            most,
            chain: SendChain::new(most, 1, 0),
            waiting: VecDeque::new(),
            under_way: 0,
            parts: VecDeque::new(),
        })
    }

    /// Whether nothing is under way or waits to be fetched.
    pub(crate) fn is_idle(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether one more part may begin.
    pub(crate) fn has_room(&self) -> bool {
        self.parts.len() < MOST_PARTS
    }

    /// Begins to read a part, which is not empty, into its place.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn begin(&mut self, place: Range<usize>) -> Result<(), ReadFailure> {
        let before = self.waiting.len();
        let starts = place.clone().step_by(self.largest);
        self.waiting.extend(starts.map(|start| start..place.end.min(start.saturating_add(self.largest))));
        self.parts.push_back(self.waiting.len() - before);
        self.post()
    }

    /// Fetches the part that was begun first, if it has arrived. Returns whether it had.
    ///
    /// # Errors
    /// A read has failed, or the device is gone.
    pub(crate) fn fetch(&mut self) -> Result<bool, ReadFailure> {
        if self.under_way > 0 {
            self.take_completions()?;
        }
        let is_there = self.parts.front() == Some(&0);
        if is_there {
            self.parts.pop_front();
        }
        Ok(is_there)
    }

    /// Waits for the part that was begun first, and fetches it.
    ///
    /// # Errors
    /// A read has failed, the device is gone, or the part did not arrive in time: some devices try for ever.
    pub(crate) fn await_part(&mut self, due: Instant) -> Result<(), ReadFailure> {
        while !self.fetch()? {
            if Instant::now() >= due {
                let why = format!("RDMA device {}: READ: no answer in time", self.end.context.name());
                return Err(ReadFailure { status: 0, why });
            }
            self.sleep(None, Some(due))?;
        }
        Ok(())
    }

    /// Sleeps until a read has completed, or there is something in the socket, but not longer than `due`. Returns
    /// whether there is something in the socket, unless the device has reported something.
    ///
    /// # Errors
    /// The device has failed.
    pub(crate) fn sleep(
        &mut self,
        socket: Option<BorrowedFd<'_>>,
        due: Option<Instant>,
    ) -> Result<bool, ReadFailure> {
        self.end.completions.arm()?;
        // Completions from before are not reported.
        self.take_completions()?;
        if self.parts.front() == Some(&0) {
            return Ok(false);
        }
        let (channel, device) = (self.end.channel.descriptor(), self.end.context.async_descriptor());
        let awaited = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
        let mut awaited = [awaited(channel), awaited(device), awaited(socket.unwrap_or(channel))];
        let left = due.map(|due| due.saturating_duration_since(Instant::now()).try_into());
        let left = left.transpose().map_err(io::Error::other)?;
        match poll(&mut awaited, left.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let [_, device, other] = awaited.map(|descriptor| !descriptor.revents().is_empty());
        while self.end.channel.take_event()? {}
        if device {
            self.hear()?;
        }
        Ok(other && socket.is_some())
    }

    /// Posts as many reads as may be under way.
    fn post(&mut self) -> Result<(), ReadFailure> {
        while self.under_way < self.most
            && let Some(place) = self.waiting.pop_front()
        {
            let from = self.remote.behind(place.start);
            self.chain.read(&[self.end.region.entry(place)], from, Signal { id: 0, always: true });
            self.under_way += 1;
        }
        Ok(self.end.queue_pair.post(&mut self.chain)?)
    }

    fn take_completions(&mut self) -> Result<(), ReadFailure> {
        let mut completions = [WorkCompletion::default(); MOST_READS as usize];
        let found = self.end.completions.poll(&mut completions)?;
        for completion in &completions[..found] {
            if let Some(failure) = completion.failure() {
                if failure.is_flush() {
                    // The device has reported why.
                    self.hear()?;
                }
                let why = format!("RDMA device {}: READ: {failure}", self.end.context.name());
                return Err(ReadFailure { status: failure.status, why });
            }
            self.under_way -= 1;
            // A queue pair keeps the order of its reads.
            if let Some(left) = self.parts.iter_mut().find(|left| **left > 0) {
                *left -= 1;
            }
        }
        if found > 0 { self.post() } else { Ok(()) }
    }

    /// Takes what the device reports by itself.
    fn hear(&self) -> Result<(), ReadFailure> {
        while let Some(event) = self.end.context.take_async_event()? {
            let concerns = match event.about {
                AsyncSubject::QueuePair(number) => number == self.end.queue_pair.number(),
                AsyncSubject::Device | AsyncSubject::Queue => true,
                // This alone ends nothing: what is under way is retried.
                AsyncSubject::Port(_) => false,
            };
            let is_end = matches!(
                event.code,
                IBV_EVENT_QP_FATAL
                    | IBV_EVENT_QP_REQ_ERR
                    | IBV_EVENT_QP_ACCESS_ERR
                    | IBV_EVENT_CQ_ERR
                    | IBV_EVENT_DEVICE_FATAL
            );
            if concerns && is_end {
                let why = format!("RDMA device {}: {event}", self.end.context.name());
                return Err(ReadFailure { status: 0, why });
            }
        }
        Ok(())
    }
}
